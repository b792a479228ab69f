//! Several batches as one: what arrow's own kernel makes of them, for every type.

mod common;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow_frames::DataFrame;
use common::{NESTS, Nulls, assert_same, cases, make};

/// The rows of a dataframe whose batches are pieces of one, sliced or made apart.
fn assert_joined(batches: Vec<RecordBatch>, context: &dyn Fn() -> String) {
    let schema = batches[0].schema();
    let expected = concat_batches(&schema, &batches).unwrap();
    let df = DataFrame::try_from_batches(schema, batches).unwrap();
    let joined = df.into_record_batch().unwrap();
    for array in joined.columns() {
        array.to_data().validate_full().unwrap_or_else(|error| panic!("{}: {error}", context()));
    }
    assert_same(&expected.into(), &joined.into(), context);
}

#[test]
fn batches_of_every_type_in_every_nest() {
    for (case, (nest_name, nest)) in cases().iter().flat_map(|case| NESTS.map(|nest| (case, nest))) {
        for nulls in Nulls::ALL {
            let made = [5, 0, 1, 9].map(|rows| make(&case.field, rows, nulls));
            let nested = made.map(|(field, array)| nest(&field, &array));
            let schema: SchemaRef = Schema::new(vec![nested[0].0.clone()]).into();
            let batch = |(_, array): &(FieldRef, ArrayRef)| {
                RecordBatch::try_new(schema.clone(), vec![array.clone()]).unwrap()
            };
            let context = || format!("{} in {nest_name}, {nulls:?} nulls", case.name);
            assert_joined(nested.iter().map(batch).collect(), &context);
        }
    }
}

#[test]
fn slices_of_every_type_in_every_nest() {
    for (case, (nest_name, nest)) in cases().iter().flat_map(|case| NESTS.map(|nest| (case, nest))) {
        let (field, array) = make(&case.field, 60, Nulls::Some);
        let (field, array) = nest(&field, &array);
        let rows = array.len();
        let whole = RecordBatch::try_new(Schema::new(vec![field]).into(), vec![array]).unwrap();
        let places = [(1, rows / 2), (2, 0), (rows / 3, rows / 3), (0, 1), (rows - 1, 1)];
        let slices = places.map(|(offset, rows)| whole.slice(offset, rows));
        assert_joined(slices.into(), &|| format!("{} in {nest_name}", case.name));
    }
}
