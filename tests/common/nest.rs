//! Puts a column inside another type.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, DictionaryArray, Int8Array, ListArray, StructArray, UInt16Array};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, UInt16Type};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};

/// Puts a column inside another type.
pub type Nest = fn(&FieldRef, &ArrayRef) -> (FieldRef, ArrayRef);

/// Every nest, by name.
pub const NESTS: [(&str, Nest); 5] = [
    ("plain", |field, array| (field.clone(), array.clone())),
    ("list", in_list),
    ("struct", in_struct),
    ("dictionary", in_dictionary),
    ("list of struct of list", |field, array| {
        let (field, array) = in_list(field, array);
        let (field, array) = in_struct(&field, &array);
        in_list(&field, &array)
    }),
];

/// Lists of 0, 1, 2, … 5, 0, … rows that use up the array; each fourth is null.
pub fn in_list(field: &FieldRef, array: &ArrayRef) -> (FieldRef, ArrayRef) {
    let mut lengths = Vec::new();
    let mut left = array.len();
    for size in (0..6).cycle() {
        lengths.push(left.min(size));
        left -= left.min(size);
        if left == 0 && lengths.len() > 1 {
            break;
        }
    }
    if array.is_empty() {
        lengths.clear();
    }
    let nulls = each_fourth(lengths.len());
    let list = ListArray::new(field.clone(), OffsetBuffer::from_lengths(lengths), array.clone(), nulls);
    (Arc::new(Field::new("list", list.data_type().clone(), true)), Arc::new(list))
}

/// A struct of the column and of another one; each fourth row is null.
pub fn in_struct(field: &FieldRef, array: &ArrayRef) -> (FieldRef, ArrayRef) {
    let other = Field::new("other", DataType::Int8, false);
    let fields = Fields::from(vec![field.clone(), Arc::new(other)]);
    let other = Int8Array::from_iter_values((0..array.len()).map(|row| row as i8));
    let columns = vec![array.clone(), Arc::new(other) as ArrayRef];
    let array = StructArray::new(fields, columns, each_fourth(array.len()));
    (Arc::new(Field::new("struct", array.data_type().clone(), true)), Arc::new(array))
}

/// Keys to each value, from the last to the first; the metadata moves to the outer field,
/// which is the only one. Each fourth key is null.
pub fn in_dictionary(field: &FieldRef, array: &ArrayRef) -> (FieldRef, ArrayRef) {
    let keys: UInt16Array = (0..array.len()).rev().map(|key| (key % 4 != 3).then_some(key as u16)).collect();
    let array = DictionaryArray::<UInt16Type>::new(keys, array.clone());
    let outer = Field::new("dictionary", array.data_type().clone(), true);
    (Arc::new(outer.with_metadata(field.metadata().clone())), Arc::new(array))
}

fn each_fourth(rows: usize) -> Option<NullBuffer> {
    Some(NullBuffer::from(BooleanBuffer::collect_bool(rows, |row| row % 4 != 3)))
}
