//! Tables on a terminal.

use comfy_table::{CellAlignment, Table};

/// Puts the numbers of these columns under each other.
pub fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
