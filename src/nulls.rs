//! Nulls in fields that say they have none: one rule for what is encoded and what is decoded.
//!
//! It is arrow-rs's own rule, since an array that breaks it makes kernels panic; arrays from
//! [`ArrayData`](arrow_data::ArrayData) or from another library (pyarrow checks nothing) may break it.
//!
//! | a field of | has a null where |
//! |---|---|
//! | a schema | the column's own bitmap has one, as for a `RecordBatch` |
//! | a struct, a map's entries | a row is null that is not null in the struct |
//! | a fixed-size list | a value is null whose list is not |
//! | a list, a list-view, a map | any row of the child is null, also one that no list shows |
//! | run-end encoded values | any value is null |
//! | a union | nowhere: `UnionBuilder` of arrow-rs says "not nullable" whatever it appends |
//!
//! Inside another type a dictionary's row is null also if its value is. Dictionary values have
//! no field of their own.

use arrow_array::Array;
use arrow_buffer::NullBuffer;
use arrow_schema::Field;

use crate::error::{ErrorKind, Result};

/// Rows of a child that are hidden, since they are null in the array around it.
#[derive(Clone, Copy)]
pub(crate) enum Hidden<'n> {
    /// None.
    Nothing,
    /// Any: a union's children.
    Anything,
    /// Those that are null in a struct.
    Rows(Option<&'n NullBuffer>),
    /// Those of each list of so many values that is null.
    Lists(Option<&'n NullBuffer>, usize),
}

/// Refuses nulls in a column whose field says that it has none. What is inside of it was
/// checked before.
#[inline]
pub(crate) fn check_column(field: &Field, array: &dyn Array) -> Result<()> {
    if field.is_nullable() { Ok(()) } else { refuse(field, array.null_count()) }
}

/// Refuses nulls in a child whose field says that it has none, unless they are hidden.
#[inline]
pub(crate) fn check_child(field: &Field, child: &dyn Array, hidden: Hidden<'_>) -> Result<()> {
    if field.is_nullable() || matches!(hidden, Hidden::Anything) {
        return Ok(());
    }
    check_not_nullable(field, child, hidden)
}

fn check_not_nullable(field: &Field, child: &dyn Array, hidden: Hidden<'_>) -> Result<()> {
    let Some(nulls) = child.logical_nulls().filter(|nulls| nulls.null_count() > 0) else { return Ok(()) };
    let are_hidden = match hidden {
        Hidden::Anything => true,
        Hidden::Nothing | Hidden::Rows(None) | Hidden::Lists(None, _) => false,
        Hidden::Rows(Some(around)) => around.len() == nulls.len() && around.contains(&nulls),
        Hidden::Lists(Some(around), size) => {
            around.len().checked_mul(size) == Some(nulls.len()) && around.expand(size).contains(&nulls)
        }
    };
    if are_hidden { Ok(()) } else { refuse(field, nulls.null_count()) }
}

fn refuse(field: &Field, nulls: usize) -> Result<()> {
    if nulls == 0 {
        return Ok(());
    }
    Err(ErrorKind::Nulls { column: field.name().clone(), nulls }.into())
}
