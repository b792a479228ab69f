//! What must come of each file.

use super::corpus::{Form, Group};

/// What must come of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// It is read, and equals the JSON beside it.
    Truth,
    /// It is read.
    Data,
    /// It is refused with this kind of error, for this reason.
    Refused(&'static str, &'static str),
    /// It is refused, whatever the kind of error.
    Malformed,
}

/// What must come of the file at this path.
pub fn of(path: &str, group: Group, _form: Form) -> Expected {
    if path.contains("bigendian") {
        return Expected::Refused("BigEndian", "big-endian");
    }
    match group {
        Group::Golden => Expected::Truth,
        Group::Other => Expected::Data,
        Group::Crasher => Expected::Malformed,
    }
}
