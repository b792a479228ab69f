//! stub
use crate::args::InspectArgs;
use crate::failure::Outcome;
pub fn run(_: &InspectArgs) -> Outcome { Ok(()) }
