//! The data sets: made by arithmetic, the same in every run.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StringViewArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields, Int32Type};

/// Rows of the columns that have many.
const MANY: usize = 1_000_000;

/// Record batches of one schema, mostly one.
pub struct DataSet {
    /// What they are.
    pub name: &'static str,
    /// Makes them.
    pub make: fn() -> Vec<RecordBatch>,
}

/// All data sets.
pub const DATA: [DataSet; 9] = [
    DataSet { name: "10 × 1M f64", make: || vec![floats(10, MANY, 0)] },
    DataSet { name: "100 × 10,000 f64", make: || vec![floats(100, 10_000, 0)] },
    DataSet { name: "10,000 × 100 f64", make: || vec![floats(10_000, 100, 0)] },
    DataSet { name: "1,000 batches of 10 × 1,000 f64", make: stream },
    DataSet { name: "5 × 1M utf8, ASCII", make: || vec![columns(5, |column| strings(&ASCII, column))] },
    DataSet {
        name: "5 × 1M utf8, a third not ASCII",
        make: || vec![columns(5, |column| strings(&MIXED, column))],
    },
    DataSet { name: "5 × 1M utf8 views, half inline", make: || vec![columns(5, views)] },
    DataSet { name: "5 × 1M dictionary of 1,000 utf8", make: || vec![columns(5, dictionary)] },
    DataSet { name: "4 × 200,000 nested lists", make: || vec![columns(4, nested)] },
];

/// Texts of up to 12 bytes, which a view holds, and longer ones in turn.
const ASCII: [&str; 6] = [
    "Oslo",
    "Lima, Callao District",
    "Kathmandu",
    "Johannesburg-Braamfontein",
    "Hamburg",
    "San Francisco, California",
];
const MIXED: [&str; 6] = [
    "Oslo",
    "Lima, Callao District",
    "Zürich",
    "Johannesburg-Braamfontein",
    "東京",
    "San Francisco, California",
];

fn columns(count: usize, make: fn(usize) -> ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter((0..count).map(|column| (format!("column_{column}"), make(column))))
        .expect("columns of one length")
}

fn floats(columns: usize, rows: usize, seed: usize) -> RecordBatch {
    RecordBatch::try_from_iter((0..columns).map(|column| {
        let values = (0..rows).map(|row| (row * 31 + column + seed) as f64).collect::<Vec<_>>();
        (format!("column_{column}"), Arc::new(Float64Array::from(values)) as ArrayRef)
    }))
    .expect("columns of one length")
}

/// Batches that share their schema, as those of a stream do.
fn stream() -> Vec<RecordBatch> {
    let first = floats(10, 1_000, 0);
    let again = |seed| RecordBatch::try_new(first.schema(), floats(10, 1_000, seed).columns().to_vec());
    (0..1_000).map(|seed| again(seed).expect("the same columns")).collect()
}

fn strings(texts: &[&str], column: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..MANY).map(|row| texts[scattered(row, column) % texts.len()])))
}

fn views(column: usize) -> ArrayRef {
    let text = |row: usize| is_valid(row, column).then(|| MIXED[scattered(row, column) % 6]);
    Arc::new((0..MANY).map(text).collect::<StringViewArray>())
}

fn dictionary(column: usize) -> ArrayRef {
    let values = (0..1_000).map(|value| format!("{} {value}", MIXED[value % MIXED.len()]));
    let key = |row: usize| is_valid(row, column).then(|| (scattered(row, column) % 1_000) as i32);
    let values = Arc::new(StringArray::from_iter_values(values));
    Arc::new(DictionaryArray::<Int32Type>::new((0..MANY).map(key).collect::<Int32Array>(), values))
}

/// Lists of lists of numbers, and lists of structs, in turn.
fn nested(column: usize) -> ArrayRef {
    let outer = offsets(200_000, column);
    let items = outer.last() as usize;
    let nulls = Some((0..200_000).map(|row| is_valid(row, column)).collect::<NullBuffer>());
    if column.is_multiple_of(2) {
        let inner = offsets(items, column + 1);
        let numbers = Float64Array::from_iter_values((0..inner.last()).map(f64::from));
        let field = Arc::new(Field::new_list_field(DataType::Float64, true));
        let lists = ListArray::new(field, inner, Arc::new(numbers), None);
        let field = Arc::new(Field::new_list_field(lists.data_type().clone(), true));
        Arc::new(ListArray::new(field, outer, Arc::new(lists), nulls))
    } else {
        let fields = Fields::from(vec![
            Field::new("id", DataType::Int64, false),
            Field::new("name", DataType::Utf8, true),
        ]);
        let ids = Int64Array::from_iter_values(0..items as i64);
        let names = StringArray::from_iter_values((0..items).map(|item| MIXED[scattered(item, column) % 6]));
        let structs = StructArray::new(fields, vec![Arc::new(ids), Arc::new(names)], None);
        let field = Arc::new(Field::new_list_field(structs.data_type().clone(), true));
        Arc::new(ListArray::new(field, outer, Arc::new(structs), nulls))
    }
}

/// Offsets of lists with none to seven items.
fn offsets(lists: usize, seed: usize) -> OffsetBuffer<i32> {
    OffsetBuffer::from_lengths((0..lists).map(|list| scattered(list, seed) % 8))
}

/// Nine in ten rows are.
fn is_valid(row: usize, seed: usize) -> bool {
    !scattered(row, seed + 1_000).is_multiple_of(10)
}

/// A number that says nothing about its neighbours (the mixing step of SplitMix64).
fn scattered(row: usize, seed: usize) -> usize {
    let mixed = (row as u64 ^ (seed as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)) as usize >> 8
}
