//! stub
use crate::args::ConvertArgs;
use crate::failure::Outcome;
pub fn run(_: &ConvertArgs) -> Outcome { Ok(()) }
