//! The names that a pickle may refer to: an exact list. No prefix is enough, and no
//! attribute of a name is reached but those listed here themselves.
//!
//! That a name is on the list lets a pickle parse. Whether Python may be given the pickle is
//! decided by `super::check`, which looks at the arguments of every call.

mod names;

use std::collections::HashMap;
use std::sync::OnceLock;

pub(super) use names::Name;
use names::TABLE;

/// A name that a pickle may refer to, as [`allowed_names`] lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedName {
    /// The module.
    pub module: &'static str,
    /// The name in the module, with dots if it is one inside a class.
    pub name: &'static str,
    /// What a pickle may do with it.
    pub role: Role,
    /// Whether it is in what this crate writes, and [`Pickle::check`](super::Pickle::check) lets it
    /// pass; if not, it is in other pickles of columns, such as pandas' own.
    pub is_written: bool,
    /// Why it is needed and what it can do.
    pub reason: &'static str,
}

/// What a pickle may do with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Call it with arguments (`REDUCE`).
    Call,
    /// Make an empty object of it, to be filled by `BUILD` (`NEWOBJ`).
    New,
    /// Both.
    CallOrNew,
    /// Hand it on; it is never called.
    Value,
}

impl Role {
    /// Whether `REDUCE` may call it.
    pub(super) fn may_be_called(self) -> bool {
        matches!(self, Role::Call | Role::CallOrNew)
    }

    /// Whether `NEWOBJ` may make an object of it.
    pub(super) fn may_be_made(self) -> bool {
        matches!(self, Role::New | Role::CallOrNew)
    }
}

/// Every name that a pickle may refer to, by module and name.
///
/// ```
/// use arrow_frames::pickle::allowed_names;
///
/// assert!(allowed_names().iter().any(|n| n.module == "numpy" && n.name == "frombuffer"));
/// assert!(!allowed_names().iter().any(|n| n.name == "eval"));
/// ```
pub fn allowed_names() -> Vec<AllowedName> {
    let mut names: Vec<AllowedName> = TABLE.iter().map(|(_, allowed)| *allowed).collect();
    names.sort_by_key(|allowed| (allowed.module, allowed.name));
    names
}

/// The place of a name in the table, if it is allowed.
pub(super) fn lookup(module: &str, name: &str) -> Option<usize> {
    static INDEX: OnceLock<HashMap<(&'static str, &'static str), usize>> = OnceLock::new();
    let key = |(place, (_, allowed)): (usize, &'static (Name, AllowedName))| {
        ((allowed.module, allowed.name), place)
    };
    INDEX.get_or_init(|| TABLE.iter().enumerate().map(key).collect()).get(&(module, name)).copied()
}

/// The name at a place of the table.
pub(super) fn at(place: usize) -> Option<(Name, &'static AllowedName)> {
    TABLE.get(place).map(|(name, allowed)| (*name, allowed))
}
