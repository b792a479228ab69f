//! pandas' metadata in a schema: JSON under the key `pandas`, which says what a reader in
//! Python builds of each column.
//!
//! Source: pandas' documentation, "Storing pandas DataFrame objects in Apache Parquet
//! format", which Arrow's readers follow.

mod describe;
mod entries;

pub(crate) use describe::describe;
pub(crate) use entries::{complete, hide, restore};

/// The key in schema metadata.
pub(crate) const KEY: &str = "pandas";

/// What the metadata that this crate makes names as its creator.
const CREATOR: &str = "arrow-frames";
