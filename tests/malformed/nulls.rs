//! Nulls in fields that say they have none: what is encoded and what is decoded keep one rule,
//! and name the same field.
#![allow(unsafe_code)] // Arrays that say what is not true cannot be built otherwise.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use arrow_frames::{
    Column, DataFrame, Decoder, Encoder, Error, ErrorKind, Frames, Target, from_buffers, to_buffers,
};

use crate::common::{item, required, structure};
use crate::raw;

/// The same array, whose type says something else of nulls.
fn retyped(array: &dyn Array, data_type: &DataType) -> ArrayRef {
    fn data(from: ArrayData, data_type: &DataType) -> ArrayData {
        use DataType::*;
        let types: Vec<DataType> = match data_type {
            List(field) | LargeList(field) | ListView(field) | LargeListView(field) => {
                vec![field.data_type().clone()]
            }
            FixedSizeList(field, _) | Map(field, _) => vec![field.data_type().clone()],
            Struct(fields) => fields.iter().map(|field| field.data_type().clone()).collect(),
            Union(fields, _) => fields.iter().map(|(_, field)| field.data_type().clone()).collect(),
            Dictionary(_, value) => vec![value.as_ref().clone()],
            RunEndEncoded(ends, values) => vec![ends.data_type().clone(), values.data_type().clone()],
            _ => vec![],
        };
        let children = from.child_data().iter().cloned().zip(&types).map(|(child, of)| data(child, of));
        let children = children.collect();
        let builder = from.into_builder().data_type(data_type.clone()).child_data(children);
        // SAFETY: buffers and children are those of a valid array of the same layout. Nothing in
        // these tests relies on what the type says of nulls, but for what is tested.
        unsafe { builder.build_unchecked() }
    }
    make_array(data(array.to_data(), data_type))
}

/// The type in which every field may have nulls.
fn permissive(data_type: &DataType) -> DataType {
    use DataType::*;
    let field = |field: &FieldRef| {
        Arc::new(
            Field::new(field.name(), permissive(field.data_type()), true)
                .with_metadata(field.metadata().clone()),
        )
    };
    match data_type {
        List(child) => List(field(child)),
        LargeList(child) => LargeList(field(child)),
        ListView(child) => ListView(field(child)),
        LargeListView(child) => LargeListView(field(child)),
        FixedSizeList(child, size) => FixedSizeList(field(child), *size),
        Struct(fields) => Struct(fields.iter().map(field).collect()),
        Map(entries, sorted) => Map(field(entries), *sorted),
        Union(fields, mode) => {
            let fields = fields.iter().map(|(id, child)| (id, field(child)));
            Union(fields.collect(), *mode)
        }
        Dictionary(key, value) => Dictionary(key.clone(), permissive(value).into()),
        RunEndEncoded(ends, values) => RunEndEncoded(ends.clone(), field(values)),
        other => other.clone(),
    }
}

/// A dataframe of one column `c`. Nothing of it is checked.
fn dataframe(field: Field, array: ArrayRef) -> DataFrame {
    let rows = array.len();
    let batch = arrow_frames::Batch::try_new(vec![Column::Native(array)], rows).unwrap();
    DataFrame::try_new(Schema::new(vec![field]).into(), vec![batch]).unwrap()
}

/// What comes of a column of a type when it is encoded, and when somebody else has encoded it.
fn both(nullable: bool, data_type: &DataType, array: &dyn Array) -> [Result<(), ErrorKind>; 2] {
    let strict = Field::new("c", data_type.clone(), nullable);
    let df = dataframe(strict.clone(), retyped(array, data_type));
    let encoded = to_buffers(&df, Target::Arrow);
    if let Ok(frames) = &encoded {
        from_buffers(frames.clone()).expect("what was encoded can be decoded");
    }
    let other = permissive(data_type);
    let df = dataframe(Field::new("c", other.clone(), true), retyped(array, &other));
    let (header, buffers) = to_buffers(&df, Target::Arrow).unwrap().into_parts();
    let schema =
        to_buffers(&DataFrame::try_new(df.schema().clone(), vec![]).unwrap(), Target::Arrow).unwrap();
    let messages = &header[schema.header().len() - raw::END.len()..];
    let header = [raw::schema(vec![strict]).as_slice(), messages].concat();
    let decoded = from_buffers(Frames::new(header, buffers));
    let result = |result: Result<(), Error>| result.map_err(Error::into_kind);
    [result(encoded.map(drop)), result(decoded.map(drop))]
}

#[track_caller]
fn assert_refused(nullable: bool, data_type: &DataType, array: &dyn Array, path: &str, count: usize) {
    for (side, result) in ["encoded", "decoded"].into_iter().zip(both(nullable, data_type, array)) {
        match result {
            Err(ErrorKind::Nulls { column, nulls }) => assert_eq!((column.as_str(), nulls), (path, count)),
            Err(kind) => panic!("{side} {data_type}: {kind}"),
            Ok(()) => panic!("{side} {data_type}: accepted"),
        }
    }
}

#[track_caller]
fn assert_accepted(nullable: bool, data_type: &DataType, array: &dyn Array) {
    for (side, result) in ["encoded", "decoded"].into_iter().zip(both(nullable, data_type, array)) {
        result.unwrap_or_else(|kind| panic!("{side} {data_type}: {kind}"));
    }
}

/// Six numbers. The second and the last one are null.
fn numbers() -> Int32Array {
    Int32Array::from(vec![Some(1), None, Some(3), Some(4), Some(5), None])
}

fn none(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(required(name, data_type))
}

/// Bits, by which the rows are null that have a 0.
fn nulls(valid: &[u8]) -> Option<NullBuffer> {
    Some(NullBuffer::from_iter(valid.iter().map(|bit| *bit > 0)))
}

#[test]
fn in_columns() {
    assert_refused(false, &DataType::Int32, &numbers(), "c", 2);
    assert_accepted(true, &DataType::Int32, &numbers());
    assert_refused(false, &DataType::Utf8, &StringArray::from(vec![None, Some("a")]), "c", 1);
    let keys = DictionaryArray::<Int8Type>::from_iter([Some("a"), None, Some("a")]);
    assert_refused(false, keys.data_type(), &keys, "c", 1);
    // A dictionary's value that is null, and rows of no type, are what a record batch allows.
    let values = StringArray::from(vec![Some("a"), None]);
    let keys = DictionaryArray::new(Int8Array::from(vec![0, 1]), Arc::new(values));
    assert_accepted(false, keys.data_type(), &keys);
    assert_accepted(false, &DataType::Null, &NullArray::new(3));
    let error =
        to_buffers(&dataframe(Field::new("c", DataType::Int32, false), Arc::new(numbers())), Target::Arrow);
    assert_eq!(error.unwrap_err().to_string(), "2 rows of \"c\" are null, and its field says that none is");
}

#[test]
fn in_columns_that_are_pickled() {
    let words: ArrayRef = Arc::new(StringArray::from(vec![None, Some("a")]));
    let df = dataframe(Field::new("c", DataType::Utf8, false), words);
    let error = to_buffers(&df, Target::Pandas).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Nulls { column, nulls: 1 } if column == "c"), "{error}");
    // Record batches have the same rule, and check it themselves.
    assert!(matches!(df.into_record_batch().unwrap_err().kind(), ErrorKind::Arrow { .. }));
}

#[test]
fn in_structs() {
    let a = || vec![Arc::new(numbers()) as ArrayRef];
    let nullable = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
    let strict = structure([required("a", DataType::Int32)]);
    let array = |nulls| StructArray::new(nullable.clone(), a(), nulls);
    assert_refused(true, &strict, &array(None), "c.a", 2);
    assert_refused(true, &strict, &array(nulls(&[1, 0, 1, 1, 1, 1])), "c.a", 2);
    // Behind a null of the struct a child may be anything.
    assert_accepted(true, &strict, &array(nulls(&[1, 0, 1, 1, 1, 0])));
    assert_accepted(true, &strict, &array(nulls(&[0; 6])));
    // But not the struct itself.
    assert_refused(false, &strict, &array(nulls(&[1, 0, 1, 1, 1, 0])), "c", 2);
    // A level deeper, the outer struct's nulls are not those of the inner one.
    let inner = Field::new("b", array(None).data_type().clone(), true);
    let outer =
        |nulls| StructArray::new(vec![inner.clone()].into(), vec![Arc::new(array(None)) as ArrayRef], nulls);
    let strict = structure([Field::new("b", strict, true)]);
    assert_refused(true, &strict, &outer(None), "c.b.a", 2);
    assert_refused(true, &strict, &outer(nulls(&[1, 0, 1, 1, 1, 0])), "c.b.a", 2);
    // In structs a dictionary's value counts.
    let values = StringArray::from(vec![Some("a"), None]);
    let keys = DictionaryArray::new(Int8Array::from(vec![0, 1, 1]), Arc::new(values));
    let field = Field::new("a", keys.data_type().clone(), true);
    let array = StructArray::new(vec![field.clone()].into(), vec![Arc::new(keys)], None);
    assert_refused(true, &structure([field.with_nullable(false)]), &array, "c.a", 2);
}

#[test]
fn in_lists() {
    let offsets = || OffsetBuffer::new(vec![0, 2, 2, 6].into());
    let list = ListArray::new(item(DataType::Int32), offsets(), Arc::new(numbers()), None);
    assert_refused(true, &DataType::List(none("item", DataType::Int32)), &list, "c.item", 2);
    let large = LargeListArray::new(
        item(DataType::Int32),
        OffsetBuffer::new(vec![0i64, 2, 2, 6].into()),
        Arc::new(numbers()),
        nulls(&[0, 1, 1]),
    );
    // A list that is null hides none: kernels look at all values.
    assert_refused(true, &DataType::LargeList(none("item", DataType::Int32)), &large, "c.item", 2);
    let views = ListViewArray::new(
        item(DataType::Int32),
        vec![0, 2].into(),
        vec![1, 3].into(),
        Arc::new(numbers()),
        None,
    );
    let strict = DataType::ListView(none("item", DataType::Int32));
    let [encoded, _] = both(true, &strict, &views);
    // What no view shows may be left out; what is sent is checked.
    if let Err(kind) = encoded {
        assert!(matches!(kind, ErrorKind::Nulls { .. }), "{kind}");
    }
    let views = ListViewArray::new(
        item(DataType::Int32),
        vec![0, 3].into(),
        vec![3, 3].into(),
        Arc::new(numbers()),
        None,
    );
    assert_refused(true, &strict, &views, "c.item", 2);
    let views = LargeListViewArray::new(
        item(DataType::Int32),
        vec![0i64, 3].into(),
        vec![3i64, 3].into(),
        Arc::new(numbers()),
        None,
    );
    assert_refused(true, &DataType::LargeListView(none("item", DataType::Int32)), &views, "c.item", 2);
    // In a list of lists, and of structs.
    let outer = ListArray::new(
        item(list.data_type().clone()),
        OffsetBuffer::new(vec![0, 3].into()),
        Arc::new(list.clone()),
        None,
    );
    let strict = DataType::List(item(DataType::List(none("item", DataType::Int32))));
    assert_refused(true, &strict, &outer, "c.item.item", 2);
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
    let structs = StructArray::new(fields, vec![Arc::new(numbers())], None);
    let outer = ListArray::new(item(structs.data_type().clone()), offsets(), Arc::new(structs), None);
    let strict = DataType::List(item(structure([required("a", DataType::Int32)])));
    assert_refused(true, &strict, &outer, "c.item.a", 2);
}

#[test]
fn in_lists_of_a_fixed_size() {
    let array = |nulls| FixedSizeListArray::new(item(DataType::Int32), 2, Arc::new(numbers()), nulls);
    let strict = DataType::FixedSizeList(none("item", DataType::Int32), 2);
    assert_refused(true, &strict, &array(None), "c.item", 2);
    assert_refused(true, &strict, &array(nulls(&[0, 1, 1])), "c.item", 2);
    assert_accepted(true, &strict, &array(nulls(&[0, 1, 0])));
}

#[test]
fn in_maps() {
    let entries = |keys: Int32Array, values: Int32Array, valid| {
        let fields =
            vec![Field::new("keys", DataType::Int32, true), Field::new("values", DataType::Int32, true)];
        StructArray::new(fields.into(), vec![Arc::new(keys), Arc::new(values)], valid)
    };
    let array = |entries: StructArray| -> ArrayRef {
        // The safe constructor takes no map whose keys may be null.
        let field = Field::new("entries", entries.data_type().clone(), true);
        let builder = ArrayData::builder(DataType::Map(field.into(), false)).len(1);
        let builder = builder.add_buffer(ScalarBuffer::from(vec![0i32, 6]).into_inner());
        // SAFETY: two offsets of one row that lie inside the entries.
        make_array(unsafe { builder.add_child_data(entries.to_data()).build_unchecked() })
    };
    let whole = Int32Array::from(vec![1, 2, 3, 4, 5, 6]);
    let entry = structure([required("keys", DataType::Int32), required("values", DataType::Int32)]);
    let strict = DataType::Map(none("entries", entry), false);
    assert_refused(true, &strict, &array(entries(whole.clone(), numbers(), None)), "c.entries.values", 2);
    assert_refused(true, &strict, &array(entries(numbers(), whole.clone(), None)), "c.entries.keys", 2);
    let hidden = entries(whole.clone(), whole.clone(), nulls(&[1, 0, 1, 1, 1, 1]));
    assert_refused(true, &strict, &array(hidden), "c.entries", 1);
    assert_accepted(true, &strict, &array(entries(whole.clone(), whole, None)));
}

#[test]
fn in_run_ends() {
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from_iter_values(1..7), &numbers()).unwrap();
    let DataType::RunEndEncoded(ends, values) = runs.data_type() else { unreachable!() };
    let strict = DataType::RunEndEncoded(ends.clone(), none(values.name(), DataType::Int32));
    assert_refused(true, &strict, &runs, "c.values", 2);
    assert_accepted(true, runs.data_type(), &runs);
}

#[test]
fn in_unions() {
    // A union's own fields say nothing of nulls: arrow-rs builds them so. Those inside do.
    let fields = |nullable| {
        let inner = Field::new("a", DataType::Int32, nullable);
        UnionFields::try_new(
            [0, 1],
            [Field::new("s", structure([inner]), false), Field::new("n", DataType::Int32, false)],
        )
        .unwrap()
    };
    let structs = |valid| {
        let fields = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
        StructArray::new(fields, vec![Arc::new(numbers())], valid)
    };
    let union = |offsets: Option<ScalarBuffer<i32>>, valid| {
        let children: Vec<ArrayRef> = vec![Arc::new(structs(valid)), Arc::new(numbers())];
        let ids = ScalarBuffer::from(vec![0i8, 1, 0, 1, 0, 1]);
        UnionArray::try_new(fields(true), ids, offsets, children).unwrap()
    };
    for offsets in [None, Some(ScalarBuffer::from(vec![0, 1, 2, 3, 4, 5]))] {
        let mode = if offsets.is_none() { UnionMode::Sparse } else { UnionMode::Dense };
        let hidden = union(offsets.clone(), nulls(&[1, 0, 1, 1, 1, 0]));
        assert_accepted(true, &DataType::Union(fields(false), mode), &hidden);
        // The last row of the dense child is not sent: nothing shows it.
        let count = if mode == UnionMode::Sparse { 2 } else { 1 };
        assert_refused(true, &DataType::Union(fields(false), mode), &union(offsets, None), "c.s.a", count);
    }
}

#[test]
fn in_dictionary_values() {
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
    let structs = StructArray::new(fields, vec![Arc::new(numbers())], None);
    let keys = DictionaryArray::new(Int8Array::from(vec![0, 2, 2]), Arc::new(structs));
    let strict =
        DataType::Dictionary(DataType::Int8.into(), structure([required("a", DataType::Int32)]).into());
    // Also those that no key names: they are sent.
    assert_refused(true, &strict, &keys, "c.a", 2);
}

#[test]
fn in_slices_only_what_is_sent_counts() {
    let lists = ListArray::new(
        item(DataType::Int32),
        OffsetBuffer::new(vec![0, 2, 5, 6].into()),
        Arc::new(numbers()),
        None,
    );
    let strict = DataType::List(none("item", DataType::Int32));
    let lists = retyped(&lists, &strict);
    for (start, count) in [(0, 3), (0, 1), (1, 1), (2, 1), (1, 2), (1, 0)] {
        let slice = lists.slice(start, count);
        let df = dataframe(Field::new("c", strict.clone(), true), slice);
        // Rows in front may be sent where that costs nothing: then they are looked at too.
        match to_buffers(&df, Target::Arrow) {
            Ok(frames) => drop(from_buffers(frames).expect("what was encoded can be decoded")),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Nulls { .. }), "{error}"),
        }
    }
    let columns = StructArray::new(
        vec![Field::new("a", DataType::Int32, true)].into(),
        vec![Arc::new(numbers())],
        None,
    );
    let strict = structure([required("a", DataType::Int32)]);
    let sliced = retyped(&columns, &strict).slice(2, 3);
    let frames = to_buffers(&dataframe(Field::new("c", strict, true), sliced), Target::Arrow).unwrap();
    assert_eq!(from_buffers(frames).unwrap().num_rows(), 3);
}

#[test]
fn batch_by_batch() {
    let schema: SchemaRef =
        Schema::new(vec![required("a", DataType::List(none("item", DataType::Int32)))]).into();
    let good = ListArray::new(
        none("item", DataType::Int32),
        OffsetBuffer::new(vec![0, 1].into()),
        Arc::new(Int32Array::from(vec![1])),
        None,
    );
    let bad = ListArray::new(
        item(DataType::Int32),
        OffsetBuffer::new(vec![0, 6].into()),
        Arc::new(numbers()),
        None,
    );
    let bad = retyped(&bad, good.data_type());
    let good = RecordBatch::try_new(schema.clone(), vec![Arc::new(good)]).unwrap();
    let bad = RecordBatch::try_new(schema.clone(), vec![bad]).unwrap();
    let mut encoder = Encoder::new(Target::Arrow);
    let mut decoder = Decoder::new();
    decoder.decode(encoder.start(&schema).unwrap()).unwrap();
    let error = encoder.encode_batch(&bad).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Nulls { column, nulls: 2 } if column == "a.item"), "{error}");
    // The stream goes on as if the call had not been.
    assert_eq!(decoder.decode(encoder.encode_batch(&good).unwrap()).unwrap().num_rows(), 1);
}
