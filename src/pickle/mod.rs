//! Python's pickle, protocol 5 with out-of-band buffers (PEP 574): what columns travel as
//! when Arrow buffers cannot carry them exactly to the receiver.
//!
//! Bytes are written and read; nothing is ever executed.
//!
//! - [`Writer`] writes opcodes; big buffers stay beside the pickle, shared.
//! - [`Forms`] chooses among the forms that a column can take.

mod forms;
mod opcode;
mod writer;

pub(crate) use forms::{Categories, Pickler, dtype_name};
pub use forms::{Forms, Inexact, TextForm, ZonedForm, index, multi_index, range_index};
pub use writer::Writer;
