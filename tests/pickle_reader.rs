//! The restricted reader of pickles: what it reads ([`forms`]), what it refuses
//! ([`refusals`], [`values`], [`hostile`]), and that no bytes make it panic ([`mutations`]).

#[path = "pickle_reader/assemble.rs"]
mod assemble;
#[path = "pickle_reader/forms.rs"]
mod forms;
#[path = "pickle_reader/hostile.rs"]
mod hostile;
#[path = "pickle_reader/mutations.rs"]
mod mutations;
#[path = "pickle_reader/refusals.rs"]
mod refusals;
#[path = "pickle_reader/values.rs"]
mod values;
