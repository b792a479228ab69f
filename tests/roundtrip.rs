//! Any valid dataframe comes back equal: values, nulls, types, names, metadata, ordered flags,
//! by every form that frames can take.

mod common;

use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, DictionaryArray, Int32Array, MapArray, RecordBatch, RecordBatchOptions,
    RunArray, StringArray, StructArray,
};
use arrow::datatypes::{DataType, Field, FieldRef, Int8Type, Int32Type, Schema};
use arrow_buffer::OffsetBuffer;
use arrow_frames::{
    Batch, Column, Compression, DataFrame, Decoder, Encoder, ErrorKind, Frames, Target, from_buffers,
};

use common::*;

/// One test per form: every sample is encoded, takes that form, and comes back equal.
macro_rules! every_sample {
    ($($(#[$attribute:meta])* $test:ident: $encoder:expr, $through:expr;)*) => {$(
        $(#[$attribute])*
        #[test]
        fn $test() {
            let mut encoder: Encoder = $encoder;
            let through: fn(&DataFrame, Frames) -> DataFrame = $through;
            check_every_sample(stringify!($test), |sample| {
                let df = one_column(&sample.field, &sample.array);
                let encoded = encoder.encode(&df).map_err(|error| error.into_kind());
                if sample.is_dictionary_of_dictionary() {
                    return match encoded {
                        Err(ErrorKind::DictionaryOfDictionary { column }) if column == "dictionary" => Ok(()),
                        other => Err(format!("a dictionary of a dictionary: {other:?}")),
                    };
                }
                let decoded = through(&df, encoded.map_err(|error| error.to_string())?);
                assert_valid(&decoded, &|| sample.name());
                same(&df, &decoded)
            });
        }
    )*};
}

every_sample! {
    every_type_through_frames: plain(), |_, frames| from_buffers(frames).unwrap();
    every_type_through_a_stream: plain(), |_, frames| through_stream(&frames);
    every_type_through_a_file: plain(), |_, frames| through_file(&frames);
    every_type_batch_by_batch: plain(), |df, _| through_pieces(df);
    every_type_with_trimmed_dictionaries:
        plain().with_trimmed_dictionaries(true), |_, frames| from_buffers(frames).unwrap();
    #[cfg(feature = "lz4")]
    every_type_with_lz4:
        plain().with_compression(Compression::Lz4), |_, frames| from_buffers(frames).unwrap();
    #[cfg(feature = "zstd")]
    every_type_with_zstd:
        plain().with_compression(Compression::Zstd(1)), |_, frames| through_stream(&frames);
    every_type_detached: plain(), |df, _| df.detach().unwrap();
    every_type_on_trust: plain(), |_, frames| on_trust().decode(frames).unwrap();
}

/// A column of the matrix: a type, nulls, a shape, a nest, and perhaps a slice of the nest.
struct Sample {
    case: String,
    nulls: Nulls,
    shape: Shape,
    nest: &'static str,
    is_sliced_outside: bool,
    field: FieldRef,
    array: ArrayRef,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    /// An array made with that many rows.
    Rows(usize),
    /// Some rows (from, how many) of an array of 150.
    Slice(usize, usize),
}

const SHAPES: [Shape; 10] = [
    Shape::Rows(150),
    Shape::Rows(0),
    Shape::Rows(1),
    Shape::Slice(0, 75),
    Shape::Slice(1, 75),
    Shape::Slice(7, 70),
    Shape::Slice(8, 64),
    Shape::Slice(64, 80),
    Shape::Slice(140, 10),
    Shape::Slice(150, 0),
];

/// How many types there are; a case that is lost changes it.
const TYPES: usize = 106;

/// Each nest but the plain one also sliced.
const SAMPLES: usize = TYPES * Nulls::ALL.len() * SHAPES.len() * (2 * NESTS.len() - 1);

impl Sample {
    fn name(&self) -> String {
        let Sample { case, nulls, shape, nest, is_sliced_outside, .. } = self;
        let outside = if *is_sliced_outside { ", sliced outside" } else { "" };
        format!("{case}, nulls: {nulls:?}, {shape:?}, {nest}{outside}")
    }

    fn is_dictionary_of_dictionary(&self) -> bool {
        let DataType::Dictionary(_, values) = self.array.data_type() else { return false };
        matches!(**values, DataType::Dictionary(..))
    }
}

fn check_every_sample(test: &str, mut check: impl FnMut(&Sample) -> Result<(), String>) {
    let mut count = 0;
    let mut failures = Vec::new();
    let mut visit = |sample: &Sample| {
        count += 1;
        if let Err(failure) = check(sample) {
            failures.push(format!("{}: {failure}", sample.name()));
        }
    };
    for case in cases() {
        for nulls in Nulls::ALL {
            let whole = make(&case.field, 150, nulls);
            for shape in SHAPES {
                let (field, array) = match shape {
                    Shape::Rows(rows) => make(&case.field, rows, nulls),
                    Shape::Slice(from, rows) => (whole.0.clone(), whole.1.slice(from, rows)),
                };
                for (nest, put_in) in NESTS {
                    let case = case.name.clone();
                    let (field, array) = put_in(&field, &array);
                    let mut sample =
                        Sample { case, nulls, shape, nest, is_sliced_outside: false, field, array };
                    visit(&sample);
                    if nest != "plain" {
                        let rows = sample.array.len();
                        sample.array = sample.array.slice(rows.min(1), rows.saturating_sub(2));
                        sample.is_sliced_outside = true;
                        visit(&sample);
                    }
                }
            }
        }
    }
    println!("{test}: {count} samples");
    for failure in failures.iter().take(10) {
        println!("{failure}");
    }
    assert_eq!(failures.len(), 0, "samples that did not come back equal");
    assert_eq!(count, SAMPLES, "samples have vanished");
}

/// The matrix has every type that `DataType` has: a variant that is not named here fails.
#[test]
fn the_matrix_has_every_type() {
    use DataType::*;
    assert_eq!(cases().len(), TYPES);
    let mut missing = vec![
        "Null",
        "Boolean",
        "Int8",
        "Int16",
        "Int32",
        "Int64",
        "UInt8",
        "UInt16",
        "UInt32",
        "UInt64",
        "Float16",
        "Float32",
        "Float64",
        "Timestamp",
        "Date32",
        "Date64",
        "Time32",
        "Time64",
        "Duration",
        "Interval",
        "Binary",
        "FixedSizeBinary",
        "LargeBinary",
        "BinaryView",
        "Utf8",
        "LargeUtf8",
        "Utf8View",
        "List",
        "ListView",
        "FixedSizeList",
        "LargeList",
        "LargeListView",
        "Struct",
        "Union",
        "Dictionary",
        "Decimal32",
        "Decimal64",
        "Decimal128",
        "Decimal256",
        "Map",
        "RunEndEncoded",
    ];
    for case in cases() {
        let variant = match case.field.data_type() {
            Null => "Null",
            Boolean => "Boolean",
            Int8 => "Int8",
            Int16 => "Int16",
            Int32 => "Int32",
            Int64 => "Int64",
            UInt8 => "UInt8",
            UInt16 => "UInt16",
            UInt32 => "UInt32",
            UInt64 => "UInt64",
            Float16 => "Float16",
            Float32 => "Float32",
            Float64 => "Float64",
            Timestamp(..) => "Timestamp",
            Date32 => "Date32",
            Date64 => "Date64",
            Time32(_) => "Time32",
            Time64(_) => "Time64",
            Duration(_) => "Duration",
            Interval(_) => "Interval",
            Binary => "Binary",
            FixedSizeBinary(_) => "FixedSizeBinary",
            LargeBinary => "LargeBinary",
            BinaryView => "BinaryView",
            Utf8 => "Utf8",
            LargeUtf8 => "LargeUtf8",
            Utf8View => "Utf8View",
            List(_) => "List",
            ListView(_) => "ListView",
            FixedSizeList(..) => "FixedSizeList",
            LargeList(_) => "LargeList",
            LargeListView(_) => "LargeListView",
            Struct(_) => "Struct",
            Union(..) => "Union",
            Dictionary(..) => "Dictionary",
            Decimal32(..) => "Decimal32",
            Decimal64(..) => "Decimal64",
            Decimal128(..) => "Decimal128",
            Decimal256(..) => "Decimal256",
            Map(..) => "Map",
            RunEndEncoded(..) => "RunEndEncoded",
        };
        missing.retain(|name| *name != variant);
    }
    assert_eq!(missing, [""; 0]);
}

/// The comparison that the matrix rests on sees each of these differences.
#[test]
fn the_comparison_sees_every_difference() {
    let base = || {
        let plain = dictionary(DataType::Int8, DataType::Utf8);
        let fields = [
            field("f", DataType::Float64),
            field("l", DataType::List(item(plain.clone()))),
            field("d", plain).with_metadata([("k", "v")]),
        ];
        let columns: Vec<ArrayRef> = fields.iter().map(|field| make(field, 20, Nulls::Some).1).collect();
        (fields.to_vec(), columns)
    };
    let frame = |fields: Vec<Field>, columns: Vec<ArrayRef>| {
        DataFrame::from(RecordBatch::try_new(Schema::new(fields).into(), columns).unwrap())
    };
    let differs = |other: DataFrame| {
        let (fields, columns) = base();
        let df = frame(fields, columns);
        same(&df, &other).is_err()
    };
    let (fields, columns) = base();
    assert!(!differs(frame(fields.clone(), columns.clone())));

    let with_field = |index: usize, field: Field| {
        let mut fields = fields.clone();
        fields[index] = field;
        frame(fields, columns.clone())
    };
    let with_floats = |change: fn(&mut Vec<Option<f64>>)| {
        let mut values: Vec<_> =
            columns[0].as_any().downcast_ref::<arrow::array::Float64Array>().unwrap().iter().collect();
        change(&mut values);
        let mut columns = columns.clone();
        columns[0] = Arc::new(arrow::array::Float64Array::from(values));
        frame(fields.clone(), columns)
    };
    assert!(differs(with_field(2, fields[2].clone().with_dict_is_ordered(true))), "ordered flag");
    assert!(differs(with_field(2, fields[2].clone().with_metadata([("k", "w")]))), "field metadata");
    assert!(differs(with_field(0, fields[0].clone().with_name("g"))), "name");
    assert!(!differs(with_floats(|_| {})));
    assert!(
        differs(with_floats(|values| values[0] = Some(f64::from_bits(0x7ff0_dead_beef_0002)))),
        "NaN payload"
    );
    assert!(differs(with_floats(|values| values[0] = None)), "null");
    let with_metadata = frame(fields.clone(), columns.clone()).with_message_metadata([("k", "v")]);
    assert!(differs(with_metadata), "message metadata");
    let of_ordered =
        Field::new_list_field(dictionary(DataType::Int8, DataType::Utf8), true).with_dict_is_ordered(true);
    let ordered_inside = {
        let mut columns = columns.clone();
        columns[1] = retyped(&columns[1], DataType::List(of_ordered.into()));
        let mut fields = fields.clone();
        fields[1] = field("l", columns[1].data_type().clone());
        frame(fields, columns)
    };
    assert!(differs(ordered_inside), "ordered flag inside a list");
}

/// The same data under another type of the same layout.
fn retyped(array: &ArrayRef, data_type: DataType) -> ArrayRef {
    arrow::array::make_array(array.to_data().into_builder().data_type(data_type).build().unwrap())
}

/// All types as columns of one dataframe, in several batches of which one is empty, with
/// metadata of schema, fields, schema message and each batch's message.
#[test]
fn all_types_in_one_dataframe_of_several_batches() {
    let sizes = [20, 0, 33, 1];
    let columns_of =
        |rows| cases().iter().map(move |case| make(&case.field, rows, Nulls::Some)).collect::<Vec<_>>();
    let fields: Vec<FieldRef> = columns_of(1).into_iter().map(|(field, _)| field).collect();
    let schema =
        Schema::new_with_metadata(fields, [("pandas", "{\"columns\": []}"), ("größe", "ß"), ("", "")]);
    let batch = |(index, rows): (usize, usize)| {
        let columns = columns_of(rows).into_iter().map(|(_, array)| Column::Native(array)).collect();
        Batch::try_new(columns, rows)
            .unwrap()
            .with_metadata([("batch", index.to_string()), ("note", "é".into())])
    };
    let batches = sizes.into_iter().enumerate().map(batch).collect();
    let df =
        DataFrame::try_new(schema.into(), batches).unwrap().with_message_metadata([("sender", "a test")]);

    let frames = plain().encode(&df).unwrap();
    let name = || "all types".to_owned();
    assert_same(&df, &through_stream(&frames), &name);
    assert_same(&df, &from_buffers(frames).unwrap(), &name);
    let pieces = through_pieces(&df);
    assert_same_schema(df.schema(), pieces.schema(), &name);
    for (left, right) in df.batches().iter().zip(pieces.batches()) {
        let columns = left.columns().iter().zip(right.columns());
        columns.for_each(|(l, r)| assert_same_array(l.as_native().unwrap(), r.as_native().unwrap(), &name));
    }
    assert_eq!(pieces.batches().iter().map(Batch::num_rows).collect::<Vec<_>>(), sizes);
}

/// Metadata of both messages also survives the file form, whose footer has none of a batch.
#[test]
fn metadata_of_messages_survives_every_form() {
    let a: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let schema = Schema::new_with_metadata(vec![required("a", DataType::Int32)], [("schema", "metadata")]);
    let batch = |n| Batch::try_new(vec![a.clone().into()], 2).unwrap().with_metadata([("n", n)]);
    let df = DataFrame::try_new(schema.into(), vec![batch("1"), batch("2")]).unwrap();
    let df = df.with_message_metadata([("message", "metadata")]);
    let frames = plain().encode(&df).unwrap();
    assert_same(&df, &through_stream(&frames), &|| "stream".into());
    assert_same(&df, &through_file(&frames), &|| "file".into());
    assert_same(&df, &df.detach().unwrap(), &|| "detached".into());
    assert_same(&df, &from_buffers(frames).unwrap(), &|| "frames".into());
}

/// Columns are told apart by their position, not their name.
#[test]
fn columns_may_have_the_same_name() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let fields =
        vec![required("a", DataType::Int32), required("a", DataType::Utf8), required("", DataType::Int32)];
    let columns = vec![numbers.clone(), texts, numbers];
    check_all_forms(&RecordBatch::try_new(Schema::new(fields).into(), columns).unwrap().into());
}

/// Rows are counted even if no column has them.
#[test]
fn rows_without_columns() {
    for rows in [0, 5] {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Schema::empty().into(), vec![], &options).unwrap();
        let df = DataFrame::from(batch);
        check_all_forms(&df);
        let decoded = from_buffers(plain().encode(&df).unwrap()).unwrap();
        assert_eq!((decoded.num_rows(), decoded.num_columns()), (rows, 0));
    }
}

/// A dataframe need not have batches.
#[test]
fn columns_without_batches() {
    let fields: Vec<_> = cases().into_iter().map(|case| case.field).collect();
    check_all_forms(&DataFrame::try_new(Schema::new(fields).into(), vec![]).unwrap());
}

/// Any columns, in any order, some twice.
#[test]
fn any_columns_can_be_picked() {
    let columns: Vec<_> = cases().iter().map(|case| make(&case.field, 20, Nulls::Some)).collect();
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let df = DataFrame::from(RecordBatch::try_new(Schema::new(fields).into(), arrays).unwrap());
    let frames = plain().encode(&df).unwrap();
    let last = TYPES - 1;
    let singles = (0..TYPES).map(|column| vec![column]);
    for picked in singles.chain([vec![], vec![last, 0], vec![7, 7], (0..TYPES).rev().collect()]) {
        let mut decoder = Decoder::new().with_projection(picked.clone()).with_max_copied_bytes(0);
        let decoded = decoder.decode(frames.clone()).unwrap();
        assert_same(&df.project(&picked).unwrap(), &decoded, &|| format!("columns {picked:?}"));
    }
    let error = Decoder::new().with_projection([TYPES]).decode(frames).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ColumnMissing { .. }), "{error}");
}

/// Types may be nested as deeply as the limit says, and no deeper.
#[test]
fn deeply_nested_types() {
    let nested = |levels: usize| {
        let leaf: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
        let (mut field, mut array) = (Arc::new(field("leaf", DataType::Int32)), leaf);
        for level in 1..levels {
            (field, array) = if level % 2 == 0 { in_list(&field, &array) } else { in_struct(&field, &array) };
        }
        one_column(&field, &array)
    };
    for levels in [1, 2, 64, 128] {
        check_all_forms(&nested(levels));
    }
    let error = from_buffers(plain().encode(&nested(129)).unwrap()).unwrap_err();
    let is_limit =
        matches!(error.kind(), ErrorKind::Limit { limit: "max_depth", requested: 129, allowed: 128 });
    assert!(is_limit, "{error}");
}

/// Many columns, and many batches.
#[test]
fn many_columns_and_many_batches() {
    let number: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let fields: Vec<_> = (0..20_000).map(|n| required(&format!("column {n}"), DataType::Int32)).collect();
    let batch = RecordBatch::try_new(Schema::new(fields).into(), vec![number.clone(); 20_000]).unwrap();
    check_all_forms(&batch.into());

    let schema = Arc::new(Schema::new(vec![required("n", DataType::Int32)]));
    let batches = (0..5_000).map(|_| Batch::try_new(vec![number.clone().into()], 1).unwrap()).collect();
    check_all_forms(&DataFrame::try_new(schema, batches).unwrap());
}

/// An encoder can be used again, also after an error, and for a whole dataframe in the middle
/// of a stream, which then goes on.
#[test]
fn an_encoder_and_a_decoder_can_be_used_again() {
    let (mut encoder, mut decoder) = (plain(), Decoder::new());
    for case in cases() {
        let name = || case.name.clone();
        let (field, array) = make(&case.field, 10, Nulls::Some);
        let df = one_column(&field, &array);
        let batch = df.clone().into_record_batch().unwrap();
        let error = encoder.encode_batch(&batch).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unstarted), "{error}");

        let start = encoder.start(df.schema()).unwrap();
        let error = encoder.encode_batch(&other_batch()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::SchemaMismatch { .. }), "{error}");
        let whole = encoder.encode(&df).unwrap();
        let piece = encoder.encode_batch(&batch).unwrap();

        assert_same(&df, &decoder.decode(whole).unwrap(), &name);
        decoder.decode(start).unwrap();
        assert_same(&df, &decoder.decode(piece).unwrap(), &name);
        assert!(decoder.decode(encoder.finish().unwrap()).unwrap().batches().is_empty());
    }
}

/// What Arrow's own constructors refuse, and what the format cannot say, is refused and not
/// changed to fit.
#[test]
fn what_cannot_be_said_is_refused() {
    // A dictionary of a dictionary, at any depth.
    let inner: DictionaryArray<Int8Type> = ["a", "b", "a"].into_iter().collect();
    let outer: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(vec![2, 0].into(), Arc::new(inner)));
    let outer_field: FieldRef = field("outer", outer.data_type().clone()).into();
    for (name, (field, array)) in [
        ("outer", (outer_field.clone(), outer.clone())),
        ("list", in_list(&outer_field, &outer)),
        ("struct", in_struct(&outer_field, &outer)),
    ] {
        let df = one_column(&field, &array);
        let refused = |error: arrow_frames::Error| match error.into_kind() {
            ErrorKind::DictionaryOfDictionary { column } => column,
            other => panic!("{other}"),
        };
        assert_eq!(refused(plain().encode(&df).unwrap_err()), name);
        assert_eq!(refused(plain().start(df.schema()).unwrap_err()), name);
        assert_eq!(refused(df.detach().unwrap_err()), name);
    }

    // A null key of a map, a null run end, a null where the field allows none: no such array.
    let keys: ArrayRef = Arc::new(StringArray::from(vec![Some("k"), None]));
    let entries =
        StructArray::try_new(vec![required("keys", DataType::Utf8)].into(), vec![keys.clone()], None);
    assert!(entries.is_err());
    let nullable = StructArray::new(
        vec![field("keys", DataType::Utf8), field("values", DataType::Utf8)].into(),
        vec![keys.clone(), keys.clone()],
        None,
    );
    let entries = required("entries", nullable.data_type().clone());
    let map = MapArray::try_new(entries.into(), OffsetBuffer::from_lengths([2]), nullable, None, false);
    assert!(map.is_err(), "Arrow accepts a map with a null key now: add it to the matrix");
    assert!(RunArray::<Int32Type>::try_new(&Int32Array::from(vec![Some(1), None]), &keys).is_err());
    assert!(
        RecordBatch::try_new(Schema::new(vec![required("k", DataType::Utf8)]).into(), vec![keys]).is_err()
    );
    assert!(
        ArrayData::builder(DataType::RunEndEncoded(
            field("run_ends", DataType::UInt32).into(),
            field("values", DataType::Int8).into()
        ))
        .build()
        .is_err()
    );
}

fn other_batch() -> RecordBatch {
    let array: ArrayRef = Arc::new(StringArray::from(vec!["other"]));
    RecordBatch::try_from_iter([("other", array)]).unwrap()
}

/// What is compressed by a codec whose feature is off is refused by its name, on both sides;
/// with the feature on it is read, whoever wrote it.
#[test]
fn a_codec_needs_its_feature() {
    use arrow::ipc::{CompressionType, writer::IpcWriteOptions, writer::StreamWriter};

    let array: ArrayRef = Arc::new(Int32Array::from(vec![7; 1_000]));
    let df = DataFrame::from(RecordBatch::try_from_iter([("a", array)]).unwrap());
    let batch = df.clone().into_record_batch().unwrap();
    let codecs = [
        ("lz4", cfg!(feature = "lz4"), Compression::Lz4, CompressionType::LZ4_FRAME),
        ("zstd", cfg!(feature = "zstd"), Compression::Zstd(1), CompressionType::ZSTD),
    ];
    for (name, is_enabled, compression, theirs) in codecs {
        let options = IpcWriteOptions::default().try_with_compression(Some(theirs)).unwrap();
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        let decoded = from_buffers(Frames::from_stream(writer.into_inner().unwrap()).unwrap());
        let encoded = plain().with_compression(compression).encode(&df);
        let started = plain().with_compression(compression).start(df.schema());
        if is_enabled {
            assert_same(&df, &decoded.unwrap(), &|| name.into());
            assert_same(&df, &from_buffers(encoded.unwrap()).unwrap(), &|| name.into());
            started.unwrap();
            continue;
        }
        for error in [decoded.err(), encoded.err(), started.err()] {
            let error = error.unwrap_or_else(|| panic!("{name} is not refused"));
            assert!(
                matches!(error.kind(), ErrorKind::CodecDisabled { feature } if *feature == name),
                "{error}"
            );
        }
    }
}

#[allow(unsafe_code)]
fn on_trust() -> Decoder {
    // SAFETY: it decodes what this process has encoded from valid arrays just before.
    unsafe { Decoder::new().with_trusted_data() }
}

fn plain() -> Encoder {
    Encoder::new(Target::Arrow)
}

fn check_all_forms(df: &DataFrame) {
    let frames = plain().encode(df).unwrap();
    assert_same(df, &through_stream(&frames), &|| "stream".into());
    assert_same(df, &through_file(&frames), &|| "file".into());
    assert_same(df, &through_pieces(df), &|| "pieces".into());
    assert_same(df, &df.detach().unwrap(), &|| "detached".into());
    assert_same(df, &from_buffers(frames).unwrap(), &|| "frames".into());
}
