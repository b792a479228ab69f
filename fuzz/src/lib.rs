//! What the fuzz targets do, as plain functions: `tests/fuzz.rs` calls the same ones.

pub mod bodies;
pub mod check;
pub mod choices;
pub mod json;
pub mod mutate;
pub mod notes;
#[allow(clippy::should_implement_trait)] // A library's lint; it is the tests' own.
#[path = "../../tests/common/rng.rs"]
pub mod rng;
#[allow(dead_code)]
#[path = "../../tests/common/same.rs"]
mod same;
pub mod sites;
pub mod split;
pub mod targets;
pub mod tensor;
