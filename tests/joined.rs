//! Several batches as one: what arrow's own kernel makes of them, for every type.

mod common;

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::Schema;
use arrow_frames::DataFrame;
use common::{NESTS, Nulls, assert_same, cases, in_struct, make};

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
fn batches_of_every_type() {
    for case in cases() {
        for nulls in Nulls::ALL {
            let made: Vec<(_, ArrayRef)> = [5, 0, 1, 9].map(|rows| make(&case.field, rows, nulls)).into();
            let schema = std::sync::Arc::new(Schema::new(vec![made[0].0.clone()]));
            let batch = |(_, array): &(_, ArrayRef)| RecordBatch::try_new(schema.clone(), vec![array.clone()]).unwrap();
            assert_joined(made.iter().map(batch).collect(), &|| format!("{} {nulls:?}", case.name));
        }
    }
}

#[test]
fn slices_of_every_type() {
    for case in cases() {
        let (field, array) = make(&case.field, 23, Nulls::Some);
        let schema = std::sync::Arc::new(Schema::new(vec![field]));
        let whole = RecordBatch::try_new(schema, vec![array]).unwrap();
        let slices = [(3, 7), (10, 0), (9, 8), (0, 1), (22, 1)].map(|(offset, rows)| whole.slice(offset, rows));
        assert_joined(slices.into(), &|| case.name.clone());
    }
}
