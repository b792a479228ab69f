//! Columns that travel as pickles: for pandas, or because the caller says so. What was
//! pickled comes back identical, what cannot be pickled exactly is refused, and buffers
//! that suit the receiver are shared.

mod common;

use std::collections::BTreeSet;
use std::num::NonZeroI64;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, Float64Array, Int8Array, Int32Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, StructArray, TimestampMicrosecondArray,
    UInt64Array, make_array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, Int8Type, Int32Type, Int64Type, Schema};
use arrow::util::display::array_value_to_string;
use arrow_frames::pickle::{
    Forms, Inexact, Pickle, TextForm, Writer, ZonedForm, allowed_names, disassemble, index, multi_index,
    range_index,
};
use arrow_frames::{
    Carriage, Column, CopyReason, DataFrame, Decoder, Encoder, Error, ErrorKind, Fault, Frames, Limits,
    Target, from_buffers, to_buffers,
};

use common::*;

const TEXT_FORMS: [TextForm; 5] =
    [TextForm::Default, TextForm::Object, TextForm::StringPython, TextForm::StringPyarrow, TextForm::Str];

/// Every type, shape and null mode, as a sample of rows that a slice may have cut out.
fn for_each_sample(mut check: impl FnMut(&str, &DataFrame)) {
    for case in cases() {
        for nulls in Nulls::ALL {
            for (offset, rows) in [(0, 0), (0, 1), (0, 100), (3, 41), (8, 64)] {
                let (field, array) = make(&case.field, offset + rows, nulls);
                let array = within_reach(with_distinct_values(array));
                let name = format!("{}, nulls: {nulls:?}, {rows} rows from {offset}", case.name);
                check(&name, &one_column(&field, &array.slice(offset, rows)));
            }
        }
    }
}

/// The array with dictionary values that can be categories: each once, and none null.
fn with_distinct_values(array: ArrayRef) -> ArrayRef {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return array };
    let values = dictionary.values();
    if values.is_empty() || values.data_type().is_nested() {
        return array;
    }
    let mut seen = std::collections::HashSet::new();
    let is_new =
        |row: &usize| values.is_valid(*row) && seen.insert(array_value_to_string(values, *row).unwrap());
    let rows: UInt64Array = (0..values.len()).filter(is_new).map(|row| Some(row as u64)).collect();
    let distinct = take(values, &rows, None).unwrap();
    let keys = cast(dictionary.keys(), &DataType::Int64).unwrap();
    assert!(!distinct.is_empty() || keys.null_count() == keys.len());
    let count = distinct.len().max(1) as i64;
    let keys: Int64Array = keys.as_primitive::<Int64Type>().unary(|key| key.rem_euclid(count));
    let DataType::Dictionary(key, _) = array.data_type() else { unreachable!("it is a dictionary") };
    let keys = cast(&keys, key).unwrap();
    let data = array.to_data().into_builder().child_data(vec![distinct.to_data()]);
    let data = data.offset(0).buffers(keys.to_data().buffers().to_vec()).nulls(keys.nulls().cloned());
    make_array(data.build().unwrap())
}

/// The array with zoned instants of the years that Python has, and without pandas' NaT.
fn within_reach(array: ArrayRef) -> ArrayRef {
    let (DataType::Timestamp(..) | DataType::Duration(_)) = array.data_type() else { return array };
    // In seconds, the year 8307.
    const LIMIT: i64 = 200_000_000_000;
    let data = array.to_data();
    let values = data.buffers()[0].typed_data::<i64>().iter().map(|value| value.rem_euclid(LIMIT));
    let values = arrow_buffer::Buffer::from_vec(values.collect::<Vec<_>>());
    make_array(data.into_builder().buffers(vec![values]).build().unwrap())
}

/// Encodes, decodes, and says how many columns travelled as pickles.
fn round_trip(encoder: &mut Encoder, df: &DataFrame) -> Result<(DataFrame, usize), Error> {
    let mut decoder = Decoder::new();
    let wire = decoder.decode(encoder.encode(df)?)?;
    let opaque = |column: &&Column| matches!(column, Column::Opaque(_));
    let pickled = wire.batches().first().map_or(0, |batch| batch.columns().iter().filter(opaque).count());
    let resolved = decoder.resolve(wire.clone())?;
    if resolved.batches().iter().any(|batch| batch.columns().iter().filter(opaque).count() > 0) {
        // This says why.
        wire.into_record_batches()?;
    }
    Ok((resolved, pickled))
}

/// Whether a dataframe for pandas gets the batch that carries its dtypes.
fn same_but_for_an_empty_batch(left: &DataFrame, right: &DataFrame) -> Result<(), String> {
    if left.batches().is_empty() && right.num_rows() == 0 {
        return Ok(());
    }
    same(left, right)
}

/// Whether a form is known for columns of that type.
fn has_form(data_type: &DataType) -> bool {
    use DataType::*;
    match data_type {
        Dictionary(_, values) => !matches!(**values, Null | Union(..)) && has_form(values),
        Union(..) | Interval(_) | RunEndEncoded(..) => false,
        other => !other.is_nested(),
    }
}

#[test]
fn what_was_pickled_for_pandas_comes_back_identical() {
    for text in TEXT_FORMS {
        for zoned in [ZonedForm::Shared, ZonedForm::AnyPandas] {
            let forms = Forms { text, zoned };
            let encoder =
                Encoder::new(Target::Pandas).with_forms(forms).with_carriage(|_, field| match Target::Pandas
                    .carriage(field)
                {
                    Carriage::Opaque => Carriage::OpaqueOrNative,
                    carriage => carriage,
                });
            comes_back_identical(encoder, &format!("{forms:?}"), |field| {
                Target::Pandas.carriage(field) == Carriage::Opaque && has_form(field.data_type())
            });
        }
    }
}

#[test]
fn whatever_has_a_form_comes_back_identical() {
    let encoder = Encoder::new(Target::Arrow).with_carriage(|_, _| Carriage::OpaqueOrNative);
    comes_back_identical(encoder, "whatever has a form", |field| has_form(field.data_type()));
}

/// Sends every sample, and checks that just the columns of which it is expected were pickled:
/// all samples of them but those that hold what Python's types do not reach.
fn comes_back_identical(mut encoder: Encoder, context: &str, is_pickled: impl Fn(&Field) -> bool) {
    let (mut samples, mut pickled, mut stayed, mut failed) = (0, 0, BTreeSet::new(), Vec::new());
    for_each_sample(|name, df| {
        let (again, opaque) = match round_trip(&mut encoder, df) {
            Ok(again) => again,
            Err(error) => return failed.push(format!("{name}, {context}: {error}")),
        };
        assert_same(df, &again, &|| format!("{name}, {context}"));
        samples += 1;
        pickled += opaque;
        match (is_pickled(df.schema().field(0)), opaque) {
            (true, 0) => drop(stayed.insert(name.split(',').next().unwrap().to_owned())),
            (false, 1) => panic!("{name}, {context}: was pickled"),
            _ => {}
        }
    });
    assert!(failed.is_empty(), "{} samples were not read back:\n{}", failed.len(), failed.join("\n"));
    println!("{samples} samples, {pickled} of them pickled, {context}; exceptions among {stayed:?}");
    assert!(pickled > 200, "{pickled} samples are too few to prove anything");
    let may_stay = |name: &String| ["date", "time", "float16"].iter().any(|kind| name.starts_with(kind));
    assert!(stayed.iter().all(may_stay), "{context}: some of {stayed:?} stayed native");
}

#[test]
fn batches_come_back_identical_one_by_one() {
    let case = case("dictionary_int16");
    let batches: Vec<RecordBatch> = [(7, Nulls::None), (0, Nulls::None), (5, Nulls::None)]
        .into_iter()
        .map(|(rows, nulls)| {
            let (field, array) = make(&case.field, rows, nulls);
            one_column(&field, &with_distinct_values(array)).into_record_batch().unwrap()
        })
        .collect();
    let mut encoder = Encoder::new(Target::Pandas);
    let mut decoder = Decoder::new();
    let schema = batches[0].schema();
    decoder.decode(encoder.start(&schema).unwrap()).unwrap();
    for batch in &batches {
        let df = decoder.decode(encoder.encode_batch(batch).unwrap()).unwrap();
        assert!(matches!(df.batches()[0].column(0), Some(Column::Opaque(_))));
        assert_same(&DataFrame::from(batch.clone()), &decoder.resolve(df).unwrap(), &|| "a batch".into());
    }
    let end = decoder.decode(encoder.finish().unwrap()).unwrap();
    assert!(end.batches().is_empty() && decoder.is_finished());
}

/// Where a buffer lies.
fn places(buffers: &[arrow_buffer::Buffer]) -> Vec<(*const u8, usize)> {
    buffers.iter().filter(|b| !b.is_empty()).map(|b| (b.as_ptr(), b.len())).collect()
}

fn opaque_places(df: &DataFrame, target: Target) -> Vec<(*const u8, usize)> {
    let frames = Encoder::new(target).with_max_copied_bytes(0).encode(df).unwrap();
    places(&frames.buffers()[1..])
}

#[test]
fn categoricals_zoned_timestamps_and_text_are_shared_under_a_cap_of_0() {
    let keys = Int8Array::from(vec![0, 2, 1, 0]);
    let categories = StringArray::from(vec!["lo", "mid", "hi"]);
    let array: ArrayRef =
        Arc::new(DictionaryArray::<Int8Type>::new(keys.clone(), Arc::new(categories.clone())));
    let df = column("grade", array);
    let of = |array: &dyn Array| places(array.to_data().buffers());
    assert_eq!(opaque_places(&df, Target::Pandas), [of(&keys), of(&categories)].concat());

    let values = TimestampMicrosecondArray::from(vec![1, 2, 3]).with_timezone("Europe/Paris");
    let df = column("at", Arc::new(values.clone()));
    assert_eq!(opaque_places(&df, Target::Pandas), of(&values));

    for text in [
        Arc::new(StringArray::from(vec!["a", "größe", ""])) as ArrayRef,
        Arc::new(LargeStringArray::from(vec!["a", "größe", ""])),
    ] {
        let df = column("text", text.clone());
        assert_eq!(opaque_places(&df, Target::Pandas), of(&text));
    }
}

#[test]
fn what_comes_back_shares_the_frames() {
    let keys = Int32Array::from(vec![0, 2, 1, 0]);
    let categories: ArrayRef = Arc::new(StringArray::from(vec!["lo", "mid", "hi"]));
    let grade: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, categories));
    let at: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1, 2, 3, 4]).with_timezone("+05:30"));
    let name: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "", "d"]));
    let batch = RecordBatch::try_from_iter([("grade", grade), ("at", at), ("name", name)]).unwrap();

    let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Pandas).unwrap();
    let sent = places(frames.buffers());
    let mut decoder = Decoder::new().with_max_copied_bytes(0);
    let df = decoder.decode(frames).unwrap();
    let again = decoder.resolve(df).unwrap().into_record_batch().unwrap();
    assert_eq!(again, batch);
    assert_eq!(decoder.copies().total(), 0);
    let keys = again.column(0).as_dictionary::<Int32Type>();
    for array in [keys.keys() as &dyn Array, keys.values(), again.column(1), again.column(2)] {
        for place in places(array.to_data().buffers()) {
            assert!(sent.contains(&place), "a buffer of {} is no frame", array.data_type());
        }
    }
}

#[test]
fn what_nulls_and_objects_copy_is_counted_and_capped() {
    let keys = Int8Array::from(vec![Some(0), None, Some(0)]);
    let array = DictionaryArray::<Int8Type>::new(keys, Arc::new(StringArray::from(vec!["x"])));
    let df = column("grade", Arc::new(array));
    let mut encoder = Encoder::new(Target::Pandas);
    encoder.encode(&df).unwrap();
    assert_eq!(encoder.copies().of_reason(CopyReason::Pickled), 3);

    let mut encoder = Encoder::new(Target::Pandas).with_max_copied_bytes(2);
    let error = encoder.encode(&df).unwrap_err();
    let expected = (2, 3, CopyReason::Pickled);
    match error.into_kind() {
        ErrorKind::CopyLimit { column, reason, requested, allowed } => {
            assert_eq!((column.as_str(), (allowed, requested, reason)), ("grade", expected));
        }
        kind => panic!("{kind}"),
    }

    let text = column("text", Arc::new(StringArray::from(vec![Some("four"), None, Some("six six")])));
    let mut encoder =
        Encoder::new(Target::Pandas).with_forms(Forms { text: TextForm::Object, ..Forms::default() });
    encoder.encode(&text).unwrap();
    assert_eq!(encoder.copies().of_reason(CopyReason::Pickled), 11);
}

#[test]
fn a_column_that_no_form_carries_exactly_is_an_error_with_its_name() {
    let dictionary = |values: ArrayRef| -> ArrayRef {
        Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(vec![0]), values))
    };
    let zoned =
        |zone: &str| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone(zone)) };
    let of_lists = make(&case("dictionary_of_list").field, 3, Nulls::None).1;
    let list = DataType::List(item(DataType::Int32));
    let cases: [(ArrayRef, Inexact); 7] = [
        (zoned("Mars/Olympus"), Inexact::Zone { zone: "Mars/Olympus".into() }),
        (zoned("europe/paris"), Inexact::Zone { zone: "europe/paris".into() }),
        (
            dictionary(Arc::new(StringArray::from(vec![Some("a"), None]))),
            Inexact::NullCategory { category: 1 },
        ),
        (
            dictionary(Arc::new(StringViewArray::from(vec!["a", "b", "a"]))),
            Inexact::DuplicateCategory { category: 2 },
        ),
        (
            dictionary(Arc::new(Float64Array::from(vec![0.0, f64::NAN]))),
            Inexact::NullCategory { category: 1 },
        ),
        (
            dictionary(Arc::new(Float64Array::from(vec![0.0, -0.0]))),
            Inexact::DuplicateCategory { category: 1 },
        ),
        (of_lists, Inexact::NoForm { data_type: list }),
    ];
    for (array, expected) in cases {
        let df = column("spoilt", array);
        match to_buffers(&df, Target::Pandas).unwrap_err().into_kind() {
            ErrorKind::Inexact { column, reason } => {
                assert_eq!((column.as_str(), &reason), ("spoilt", &expected));
            }
            kind => panic!("{expected}: {kind}"),
        }
        // It stays native if the caller says so, and is counted as if it had never been tried.
        let mut encoder = Encoder::new(Target::Pandas).with_carriage(|_, _| Carriage::OpaqueOrNative);
        let (again, pickled) = round_trip(&mut encoder, &df).unwrap();
        assert_eq!(pickled, 0, "{expected}");
        assert_eq!(encoder.copies().total(), 0, "{expected}");
        assert_same(&df, &again, &|| expected.to_string());
    }
}

#[test]
fn instants_beyond_nanoseconds_are_refused_where_pandas_counts_those() {
    let years = [i64::MAX / 1_000, i64::MIN / 1_000, i64::MAX / 1_000 + 1, i64::MIN / 1_000 - 1];
    for (value, fits) in years.into_iter().zip([true, true, false, false]) {
        let array = TimestampMicrosecondArray::from(vec![0, value]).with_timezone("UTC");
        let df = column("at", Arc::new(array));
        let forms = Forms { zoned: ZonedForm::AnyPandas, ..Forms::default() };
        let encoded = Encoder::new(Target::Pandas).with_forms(forms).encode(&df);
        assert_eq!(encoded.is_ok(), fits, "{value}");
        if let Err(error) = encoded {
            let expected = Inexact::OutOfRange { row: 1, value };
            assert!(matches!(error.kind(), ErrorKind::Inexact { reason, .. } if *reason == expected));
        }
        assert!(to_buffers(&df, Target::Pandas).is_ok(), "the shared form has every instant");
    }
}

/// pandas' NaT is the number `i64::MIN`: an instant of that number would be missing. Instants
/// outside the years of Python's datetimes crash a pandas that shows them.
#[test]
fn instants_that_pandas_cannot_hold_are_refused() {
    const YEAR_10000: i64 = 253_402_300_800_000_000;
    for (valid, row) in
        [(vec![Some(1), Some(i64::MIN)], 1), (vec![None, Some(i64::MIN)], 1), (vec![Some(YEAR_10000)], 0)]
    {
        let value = valid[row].unwrap();
        let zoned = TimestampMicrosecondArray::from(valid).with_timezone("UTC");
        let error = to_buffers(&column("at", Arc::new(zoned)), Target::Pandas).unwrap_err();
        let expected = Inexact::OutOfRange { row, value };
        assert!(matches!(error.kind(), ErrorKind::Inexact { reason, .. } if *reason == expected), "{error}");
    }
    // What lies under a null is nothing, and the last microsecond of 9999 is there.
    let values = arrow_buffer::ScalarBuffer::from(vec![i64::MIN, YEAR_10000 - 1]);
    let nulls = arrow_buffer::NullBuffer::from(vec![false, true]);
    let zoned = TimestampMicrosecondArray::new(values, Some(nulls)).with_timezone("UTC");
    let df = column("at", Arc::new(zoned));
    let (again, pickled) = round_trip(&mut Encoder::new(Target::Pandas), &df).unwrap();
    assert_eq!(pickled, 1);
    assert_same(&df, &again, &|| "the end of 9999".into());
}

#[test]
fn a_column_that_lost_its_mark_is_no_column_of_nulls() {
    let df = column("text", Arc::new(StringArray::from(vec!["a", "b"])));
    let frames = to_buffers(&df, Target::Pandas).unwrap();
    let (header, buffers) = frames.into_parts();
    let mut header = header.to_vec();
    let at = header.windows(12).position(|window| window == b"arrow_frames").unwrap();
    header[at] = b'A';
    let error = from_buffers(Frames::new(header, buffers)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::PayloadLost { column } if column == "text"), "{error}");
}

#[test]
fn pickled_nulls_where_the_field_has_none() {
    // The mark of a field that has no nulls, and the pickle of a column that has.
    let schema = |nullable| Schema::new(vec![Field::new("text", DataType::Utf8, nullable)]).into();
    let mut decoder = Decoder::new();
    decoder.decode(Encoder::new(Target::Pandas).start(&schema(false)).unwrap()).unwrap();
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let mut encoder = Encoder::new(Target::Pandas);
    encoder.start(&schema(true)).unwrap();
    let batch = RecordBatch::try_new(schema(true), vec![text]).unwrap();
    let df = decoder.decode(encoder.encode_batch(&batch).unwrap()).unwrap();
    let resolved = decoder.resolve(df.clone()).unwrap();
    assert!(matches!(resolved.batches()[0].column(0), Some(Column::Opaque(_))));
    let error = df.into_record_batch().unwrap_err();
    let ErrorKind::Opaque { column, reason, .. } = error.kind() else { panic!("{error}") };
    assert_eq!(column, "text");
    assert!(matches!(reason.kind(), ErrorKind::Nulls { column, nulls: 1 } if column == "text"), "{reason}");
}

#[test]
fn values_that_are_no_categories_are_refused_in_several_batches_too() {
    let batch = |values: Vec<Option<&str>>| {
        let array = DictionaryArray::<Int8Type>::new(
            Int8Array::from(vec![0, 1]),
            Arc::new(StringArray::from(values)),
        );
        let field = Field::new("grade", array.data_type().clone(), true);
        RecordBatch::try_new(Schema::new(vec![field]).into(), vec![Arc::new(array)]).unwrap()
    };
    for (second, expected) in [
        (vec![None, Some("b")], Inexact::NullCategory { category: 0 }),
        (vec![Some("b"), Some("b")], Inexact::DuplicateCategory { category: 1 }),
    ] {
        let batches = vec![batch(vec![Some(""), Some("a")]), batch(second)];
        let df = DataFrame::try_from_batches(batches[0].schema(), batches).unwrap();
        let error = to_buffers(&df, Target::Pandas).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Inexact { reason, .. } if *reason == expected), "{error}");
    }
}

#[test]
fn the_order_of_categories_is_not_made_up() {
    let batch = |values: Vec<&str>| {
        let array =
            DictionaryArray::<Int8Type>::new(Int8Array::from(vec![0]), Arc::new(StringArray::from(values)));
        let field = Field::new("grade", array.data_type().clone(), true).with_dict_is_ordered(true);
        RecordBatch::try_new(Schema::new(vec![field]).into(), vec![Arc::new(array)]).unwrap()
    };
    for (second, fits) in [
        (vec!["lo", "hi", "top"], true),
        (vec!["lo"], true),
        (vec!["lo", "mid"], false),
        (vec!["hi", "lo"], false),
    ] {
        let batches = vec![batch(vec!["lo", "hi"]), batch(second)];
        let df = DataFrame::try_from_batches(batches[0].schema(), batches).unwrap();
        let encoded = to_buffers(&df, Target::Pandas);
        assert_eq!(encoded.is_ok(), fits);
        if let Err(error) = encoded {
            let expected = Inexact::CategoryOrder { batch: 1 };
            assert!(
                matches!(error.kind(), ErrorKind::Inexact { reason, .. } if *reason == expected),
                "{error}"
            );
        }
    }
}

#[test]
fn batches_for_pandas_share_their_categories() {
    let batch = |keys: Vec<Option<i8>>, values: Vec<&str>| {
        let values = Arc::new(StringArray::from(values));
        let array: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(Int8Array::from(keys), values));
        let field = Field::new("grade", array.data_type().clone(), true);
        RecordBatch::try_new(Schema::new(vec![field]).into(), vec![array]).unwrap()
    };
    let batches = vec![
        batch(vec![Some(0), None, Some(1)], vec!["lo", "hi"]),
        batch(vec![Some(1), Some(0)], vec!["mid", "lo"]),
    ];
    let df = DataFrame::try_from_batches(batches[0].schema(), batches).unwrap();
    let frames = to_buffers(&df, Target::Pandas).unwrap();
    let again = from_buffers(frames).unwrap().into_record_batches().unwrap();
    for (batch, keys) in again.iter().zip([vec![Some(0), None, Some(1)], vec![Some(0), Some(2)]]) {
        let grade = batch.column(0).as_dictionary::<Int8Type>();
        assert_eq!(grade.values().as_string::<i32>(), &StringArray::from(vec!["lo", "hi", "mid"]));
        assert_eq!(grade.keys(), &Int8Array::from(keys));
    }
}

#[test]
fn categories_that_keys_cannot_number_together_stay_apart() {
    let batch = |first: usize| {
        let values: StringArray = (first..first + 100).map(|n| Some(n.to_string())).collect();
        let keys = Int8Array::from_iter_values(0..100);
        let array: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys, Arc::new(values)));
        RecordBatch::try_from_iter([("number", array)]).unwrap()
    };
    let df = DataFrame::try_from_batches(batch(0).schema(), vec![batch(0), batch(100)]).unwrap();
    let (again, pickled) = round_trip(&mut Encoder::new(Target::Pandas), &df).unwrap();
    assert_eq!(pickled, 1);
    assert_same(&df, &again, &|| "two dictionaries".into());
}

#[test]
fn a_dataframe_without_batches_gets_one_that_has_the_dtypes() {
    let field = Field::new("grade", dictionary(DataType::Int8, DataType::Utf8), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let df = DataFrame::try_from_batches(schema.clone(), vec![]).unwrap();
    let decoded = from_buffers(to_buffers(&df, Target::Pandas).unwrap()).unwrap();
    assert_eq!((decoded.batches().len(), decoded.num_rows()), (1, 0));
    assert!(matches!(decoded.batches()[0].column(0), Some(Column::Opaque(_))));
    same_but_for_an_empty_batch(&df, &Decoder::new().resolve(decoded).unwrap()).unwrap();

    let mut encoder = Encoder::new(Target::Pandas);
    let mut decoder = Decoder::new();
    decoder.decode(encoder.start(&schema).unwrap()).unwrap();
    let end = decoder.decode(encoder.finish().unwrap()).unwrap();
    assert_eq!((end.batches().len(), end.num_rows()), (1, 0));

    let arrow = from_buffers(to_buffers(&df, Target::Arrow).unwrap()).unwrap();
    assert!(arrow.batches().is_empty(), "for Arrow nothing is added");
}

#[test]
fn categories_are_never_trimmed_for_pandas() {
    let values = StringArray::from((0..1_000).map(|n| n.to_string()).collect::<Vec<_>>());
    let array = DictionaryArray::<Int32Type>::new(Int32Array::from(vec![999]), Arc::new(values));
    let df = column("number", Arc::new(array));
    let mut encoder = Encoder::new(Target::Pandas).with_trimmed_dictionaries(true);
    let again = from_buffers(encoder.encode(&df).unwrap()).unwrap().into_record_batch().unwrap();
    assert_eq!(again.column(0).as_dictionary::<Int32Type>().values().len(), 1_000);
}

#[test]
fn pandas_metadata_is_made_once_and_put_back_to_the_byte() {
    let batch = RecordBatch::try_from_iter([
        ("n", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
        ("t", Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef),
    ])
    .unwrap();
    let decoded = from_buffers(to_buffers(&batch.clone().into(), Target::Pandas).unwrap()).unwrap();
    let text = decoded.schema().metadata().get("pandas").expect("pandas metadata").clone();
    assert!(text.contains("\"numpy_type\":\"int64\""), "{text}");
    assert!(decoded.into_record_batch().unwrap().schema_ref().metadata().is_empty());

    // What another writer said of a column survives, spaces included.
    let entry = |name: &str, kind: &str| {
        format!(
            r#"{{"name": "{name}", "field_name": "{name}",  "pandas_type": "{kind}", "numpy_type": "{kind}", "metadata": null}}"#
        )
    };
    let text = format!(
        r#"{{"index_columns": ["t"], "columns": [{}, {}], "creator": {{"library": "pyarrow"}}}}"#,
        entry("n", "int64"),
        entry("t", "unicode"),
    );
    let schema = batch.schema().as_ref().clone().with_metadata([("pandas", text.clone()), ("x", "y".into())]);
    let batch = RecordBatch::try_new(schema.into(), batch.columns().to_vec()).unwrap();
    let decoded = from_buffers(to_buffers(&batch.clone().into(), Target::Pandas).unwrap()).unwrap();
    let hidden = decoded.schema().metadata().get("pandas").unwrap();
    assert!(hidden.contains(&entry("n", "int64")), "{hidden}");
    assert!(!hidden.contains("unicode"), "readers would look for text among nulls: {hidden}");
    assert_eq!(decoded.into_record_batch().unwrap(), batch);
}

#[test]
fn columns_that_the_pandas_metadata_does_not_know_are_described() {
    let batch = RecordBatch::try_from_iter([
        ("old", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
        ("new", Arc::new(Int64Array::from(vec![Some(1), None]))),
        ("text", Arc::new(StringArray::from(vec!["a", "b"]))),
    ])
    .unwrap();
    let known = r#"{"name": "old", "field_name": "old", "pandas_type": "int64", "numpy_type": "int64", "metadata": null}"#;
    let text =
        format!(r#"{{"index_columns": [], "columns": [{known}], "creator": {{"library": "pyarrow"}}}}"#);
    let schema = batch.schema().as_ref().clone().with_metadata([("pandas", text)]);
    let batch = RecordBatch::try_new(schema.into(), batch.columns().to_vec()).unwrap();
    let decoded = from_buffers(to_buffers(&batch.clone().into(), Target::Pandas).unwrap()).unwrap();
    let text = decoded.schema().metadata().get("pandas").unwrap();
    assert!(text.contains(known), "{text}");
    for (name, dtype) in [("new", "Int64"), ("text", "object")] {
        let entry = text.split('{').find(|entry| entry.contains(&format!(r#""field_name":"{name}""#)));
        let dtype = format!(r#""numpy_type":"{dtype}""#);
        assert!(entry.is_some_and(|entry| entry.contains(&dtype)), "{name} in {text}");
    }
    // Sent on as it is, or as it was.
    let again = from_buffers(to_buffers(&decoded, Target::Pandas).unwrap()).unwrap();
    assert_eq!(again.schema(), decoded.schema());
    assert_eq!(again.into_record_batch().unwrap(), batch);
    // To others it is not described.
    let arrow = from_buffers(to_buffers(&batch.clone().into(), Target::Arrow).unwrap()).unwrap();
    assert_eq!(arrow.schema(), &batch.schema());
}

#[test]
fn single_columns_and_types_are_picked_under_either_target() {
    let batch = RecordBatch::try_from_iter([
        ("day", make(&case("date32").field, 4, Nulls::Some).1),
        ("text", Arc::new(StringArray::from(vec!["a", "b", "c", "d"])) as ArrayRef),
    ])
    .unwrap();
    let df = DataFrame::from(batch);
    for target in [Target::Arrow, Target::Pandas] {
        let mut encoder = Encoder::new(target).with_carriage(|index, field| {
            let is_picked = index == 0 && field.data_type() == &DataType::Date32;
            if is_picked { Carriage::OpaqueOrNative } else { Carriage::Native }
        });
        let (again, pickled) = round_trip(&mut encoder, &df).unwrap();
        assert!(pickled <= 1);
        assert_same(&df, &again, &|| format!("{target:?}"));
    }
}

/// The names that a pickle without a memo refers to.
fn names(pickle: &[u8]) -> Vec<(String, String)> {
    let (mut names, mut texts) = (Vec::new(), [String::new(), String::new()]);
    for instruction in disassemble(pickle) {
        let instruction = instruction.unwrap();
        match instruction.name {
            "STACK_GLOBAL" => names.push((texts[0].clone(), texts[1].clone())),
            name if name.ends_with("BINUNICODE") => {
                texts.swap(0, 1);
                texts[1] = String::from_utf8(instruction.argument.to_vec()).unwrap();
            }
            _ => {}
        }
    }
    names
}

/// Every form, and every index.
fn every_pickle() -> Vec<(String, Vec<arrow_buffer::Buffer>)> {
    let mut pickles = Vec::new();
    let extension = |field: Field, name: &str, metadata: &str| {
        let name = ("ARROW:extension:name".to_owned(), name.to_owned());
        field.with_metadata([name, ("ARROW:extension:metadata".to_owned(), metadata.to_owned())])
    };
    let mut columns: Vec<(String, Field, ArrayRef)> = Vec::new();
    for case in cases().iter().filter(|case| has_form(case.field.data_type())) {
        for nullable in [true, false] {
            let nulls = if nullable { Nulls::Some } else { Nulls::None };
            let (_, array) = make(&case.field, 44, nulls);
            // Years that Python has.
            let array = match array.data_type() {
                zone @ DataType::Timestamp(_, Some(_)) => {
                    cast(&Int64Array::from_iter_values(0..44), zone).unwrap()
                }
                _ => with_distinct_values(array),
            };
            let field = case.field.as_ref().clone().with_nullable(nullable);
            columns.push((case.name.clone(), field, array));
        }
    }
    let ordinals: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let period = extension(Field::new("x", DataType::Int64, true), "pandas.period", r#"{"freq": "D"}"#);
    columns.push(("period".to_owned(), period, ordinals));
    let ends = ["left", "right"].map(|name| Field::new(name, DataType::Float64, true));
    let end = || Arc::new(Float64Array::from(vec![1.0, 2.0])) as ArrayRef;
    let intervals: ArrayRef = Arc::new(StructArray::new(ends.to_vec().into(), vec![end(), end()], None));
    let closed = r#"{"subtype": "float64", "closed": "left"}"#;
    let interval = extension(Field::new("x", intervals.data_type().clone(), true), "pandas.interval", closed);
    columns.push(("interval".to_owned(), interval, intervals));
    for text in TEXT_FORMS {
        for zoned in [ZonedForm::Shared, ZonedForm::AnyPandas] {
            let forms = Forms { text, zoned };
            let mut encoder =
                Encoder::new(Target::Arrow).with_forms(forms).with_carriage(|_, _| Carriage::OpaqueOrNative);
            for (name, field, array) in &columns {
                let df = one_column(&field.clone().into(), array);
                let wire = Decoder::new().decode(encoder.encode(&df).unwrap()).unwrap();
                if let Some(Column::Opaque(column)) = wire.batches()[0].column(0) {
                    pickles.push((format!("{name}, {forms:?}"), column.buffers().to_vec()));
                }
            }
        }
    }
    let field = Field::new("x", DataType::Int64, false);
    let values = Int64Array::from(vec![1, 2]);
    let codes = Int8Array::from(vec![0, 1]);
    let forms = Forms::default();
    pickles.push(("range".to_owned(), range_index(0, 2, NonZeroI64::new(1).unwrap(), None)));
    pickles.push(("index".to_owned(), index(&values, &field, forms, Some("i")).unwrap()));
    let level = DictionaryArray::<Int8Type>::new(codes, Arc::new(values));
    let field = Field::new("x", level.data_type().clone(), false);
    let levels: [(&dyn Array, &Field); 1] = [(&level, &field)];
    pickles.push(("levels".to_owned(), multi_index(&levels, forms, &[None]).unwrap()));
    pickles.push(("objects of Python".to_owned(), python_objects()));
    pickles.push(("sparse numbers".to_owned(), sparse_numbers()));
    pickles
}

/// What Arrow has no values of, and the Python package writes.
fn python_objects() -> Vec<arrow_buffer::Buffer> {
    let mut w = Writer::new();
    w.start_objects(6);
    w.start_list();
    w.global("pandas", "NA");
    w.global("pandas", "NaT");
    w.call("uuid", "UUID", 1, |w| w.text("00000000-0000-0000-0000-000000000001"));
    w.call("datetime", "datetime", 7, |w| [2020, 1, 2, 3, 4, 5, 6].into_iter().for_each(|part| w.int(part)));
    w.large_int(&[1; 40]);
    w.start_dict();
    w.text("key");
    w.none();
    w.end_dict();
    w.end_list();
    w.end_objects();
    w.finish()
}

fn sparse_numbers() -> Vec<arrow_buffer::Buffer> {
    let mut w = Writer::new();
    w.call("pandas", "array", 3, |w| {
        w.call("numpy", "frombuffer", 3, |w| {
            w.buffer(arrow_buffer::Buffer::from_vec(vec![0i64, 3]));
            w.text("<i8");
            w.int(2);
        });
        w.call("pandas", "SparseDtype", 2, |w| {
            w.text("int64");
            w.int(0);
        });
        w.boolean(false);
    });
    w.finish()
}

#[test]
fn every_pickle_that_is_written_may_be_given_to_python() {
    for (name, buffers) in every_pickle() {
        Pickle::parse(&buffers).unwrap().check().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn the_names_that_are_written_are_those_that_the_list_says() {
    let found: BTreeSet<_> = every_pickle().iter().flat_map(|(_, buffers)| names(&buffers[0])).collect();
    let said = allowed_names().into_iter().filter(|name| name.is_written);
    let said: BTreeSet<_> = said.map(|name| (name.module.to_owned(), name.name.to_owned())).collect();
    assert_eq!(found, said);
}

/// A few bytes of pickle become no more than the limits say.
#[test]
fn what_pickles_become_is_limited() {
    let df = column("text", Arc::new(StringArray::from(vec!["x".repeat(100); 100])));
    let forms = Forms { text: TextForm::Object, ..Forms::default() };
    let frames = || Encoder::new(Target::Pandas).with_forms(forms).encode(&df).unwrap();
    for (max_expanded_bytes, fits) in [(20_000, true), (10_000, false)] {
        let mut decoder =
            Decoder::new().with_limits(Limits { max_expanded_bytes, max_expansion: 0, ..Limits::default() });
        let wire = decoder.decode(frames()).unwrap();
        match decoder.resolve(wire) {
            Ok(again) => {
                assert!(fits);
                assert_same(&df, &again, &|| "limits".into());
            }
            Err(error) => {
                assert!(!fits, "{error}");
                assert_eq!(error.fault(), Fault::Limit);
            }
        }
    }
}

fn column(name: &str, array: ArrayRef) -> DataFrame {
    RecordBatch::try_from_iter([(name, array)]).unwrap().into()
}
