//! What the golden files hold: one dataframe per family of layouts, as small as it can be
//! and still show each of its forms. The task that writes the files and the tests that
//! read them both take it from here.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::*;
use arrow_frames::{
    Batch, Column, Compression, DataFrame, Encoder, OpaqueColumn, Result, Target, from_buffers, to_buffers,
};

/// A golden file, or two.
pub struct Golden {
    /// Its name, without the ending.
    pub name: &'static str,
    /// The dataframe that it holds.
    pub df: DataFrame,
    /// How it is encoded, other than by default.
    how: How,
}

#[derive(PartialEq)]
enum How {
    Plain,
    Deltas,
    /// Its dictionaries change, which a file cannot hold.
    NoFile,
    Lz4,
    Zstd,
    /// Its frames are marked as writable.
    Writable,
}

impl Golden {
    /// The file's bytes as a stream.
    pub fn stream(&self) -> Result<Vec<u8>> {
        let frames = self.encoder().encode(&self.df)?;
        Ok(frames.segments()?.flatten().copied().collect())
    }

    /// The file's bytes as an IPC file, if one can hold it.
    pub fn file(&self) -> Result<Option<Vec<u8>>> {
        if self.how == How::NoFile {
            return Ok(None);
        }
        let frames = self.encoder().encode(&self.df)?;
        Ok(Some(frames.file_form()?.segments()?.flatten().copied().collect()))
    }

    /// The cargo feature that it needs, which a test may lack.
    #[allow(dead_code)]
    pub fn feature(&self) -> Option<&'static str> {
        match self.how {
            How::Lz4 => Some("lz4"),
            How::Zstd => Some("zstd"),
            _ => None,
        }
    }

    /// The encoder that writes it.
    pub fn encoder(&self) -> Encoder {
        let encoder = Encoder::new(Target::Arrow);
        match self.how {
            How::Plain | How::NoFile => encoder,
            How::Deltas => encoder.with_dictionary_deltas(true),
            How::Writable => encoder.with_writable(true),
            How::Lz4 => encoder.with_compression(Compression::Lz4),
            How::Zstd => encoder.with_compression(Compression::Zstd(1)),
        }
    }
}

/// Every golden file.
pub fn all() -> Vec<Golden> {
    let plain = |name, df| Golden { name, df, how: How::Plain };
    vec![
        plain("primitives", primitives()),
        plain("times", times()),
        plain("text", text()),
        plain("views", views()),
        plain("nested", nested()),
        plain("list_views", list_views()),
        plain("unions", unions()),
        plain("run_ends", run_ends()),
        plain("dictionaries", dictionaries()),
        Golden { name: "dictionary_delta", df: growing_dictionary(), how: How::Deltas },
        Golden { name: "dictionary_replaced", df: growing_dictionary(), how: How::NoFile },
        plain("batches", batches()),
        plain("no_rows", no_rows()),
        plain("no_batches", no_batches()),
        plain("zero_columns", zero_columns()),
        plain("metadata", metadata()),
        Golden { name: "lz4", df: compressible(), how: How::Lz4 },
        Golden { name: "zstd", df: compressible(), how: How::Zstd },
        Golden { name: "writable", df: dictionaries(), how: How::Writable },
        plain("opaque", opaque()),
        Golden { name: "opaque_zstd", df: opaque(), how: How::Zstd },
        plain("pandas", pickled(&all_forms())),
        plain("pandas_batches", pickled(&several_for_pandas())),
        Golden { name: "pandas_lz4", df: pickled(&some_forms()), how: How::Lz4 },
    ]
}

/// The golden files for pandas, and what they were pickled from.
#[allow(dead_code)]
pub fn for_pandas() -> [(&'static str, DataFrame); 3] {
    [("pandas", all_forms()), ("pandas_batches", several_for_pandas()), ("pandas_lz4", some_forms())]
}

/// Each form that is written for pandas unasked, without nulls or with them.
pub fn all_forms() -> DataFrame {
    let (large, view) = (vec!["é", "😀"], vec![Some("a view of more than 12 bytes"), None]);
    let instant = 1_600_000_000_000_000;
    let at = TimestampMicrosecondArray::from(vec![instant, instant + 1]).with_timezone("Europe/Paris");
    let offset = TimestampNanosecondArray::from(vec![Some(1), None]).with_timezone("-03:30");
    let years: ArrayRef = Arc::new(Int16Array::from(vec![1999, 2024]));
    one_batch(vec![
        ("n", Arc::new(Int64Array::from(vec![Some(1), None]))),
        ("grade", grades(vec![Some(2), None], vec!["lo", "mid", "hi"])),
        ("year", Arc::new(DictionaryArray::new(UInt16Array::from(vec![0, 1]), years))),
        ("text", Arc::new(StringArray::from(vec![Some("x"), None]))),
        ("large", Arc::new(LargeStringArray::from(large))),
        ("view", Arc::new(StringViewArray::from(view))),
        ("at", Arc::new(at)),
        ("offset", Arc::new(offset)),
    ])
}

/// Two of them, to be compressed.
fn some_forms() -> DataFrame {
    all_forms().project(&[1, 6]).expect("its columns")
}

/// Batches of a categorical, of which the second one has a category more, and of text.
fn several_for_pandas() -> DataFrame {
    let batch = |keys, categories, text: Vec<Option<&str>>| {
        let text = Arc::new(StringArray::from(text));
        one_batch(vec![("grade", grades(keys, categories)), ("text", text)])
    };
    let batches = [
        batch(vec![Some(0), None], vec!["lo", "hi"], vec![Some("größe"), None]),
        batch(vec![None, Some(0), Some(1)], vec!["mid", "lo"], vec![None, Some(""), Some("x")]),
    ];
    let schema = batches[0].schema().clone();
    let batches = batches.into_iter().flat_map(|df| df.batches().to_vec());
    DataFrame::try_new(schema, batches.collect()).expect("batches of one schema")
}

fn grades(keys: Vec<Option<i8>>, categories: Vec<&str>) -> ArrayRef {
    Arc::new(DictionaryArray::new(Int8Array::from(keys), Arc::new(StringArray::from(categories))))
}

/// The same with its columns pickled.
fn pickled(df: &DataFrame) -> DataFrame {
    let frames = to_buffers(df, Target::Pandas).expect("every column has a form");
    from_buffers(frames).expect("what was written is read")
}

/// A dataframe of one batch, whose columns are nullable if they have nulls.
fn one_batch(columns: Vec<(&str, ArrayRef)>) -> DataFrame {
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), array.is_nullable());
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    DataFrame::from(RecordBatch::try_new(schema.into(), arrays).expect("columns of one length"))
}

fn item(data_type: DataType) -> FieldRef {
    Field::new_list_field(data_type, true).into()
}

fn primitives() -> DataFrame {
    let decimal = Decimal128Array::from(vec![Some(-12_345), None, Some(10i128.pow(37))]);
    let wide = Decimal256Array::from_iter_values([-1, 0, 1].map(i256::from_i128));
    one_batch(vec![
        ("boolean", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("int8", Arc::new(Int8Array::from(vec![-1, 0, i8::MAX]))),
        ("uint16", Arc::new(UInt16Array::from(vec![Some(u16::MAX), None, Some(1)]))),
        ("int32", Arc::new(Int32Array::from(vec![i32::MIN, 0, i32::MAX]))),
        ("int64", Arc::new(Int64Array::from(vec![None, Some(i64::MIN), Some((1 << 53) + 1)]))),
        ("float16", Arc::new(Float16Array::from_iter_values([1.5f32, -0.0, f32::INFINITY].map(half)))),
        ("float32", Arc::new(Float32Array::from(vec![Some(0.5), Some(f32::NAN), None]))),
        ("float64", Arc::new(Float64Array::from(vec![f64::NAN, -0.0, f64::MIN_POSITIVE]))),
        ("decimal128", Arc::new(decimal.with_precision_and_scale(38, 2).expect("in range"))),
        ("decimal256", Arc::new(wide.with_precision_and_scale(76, -3).expect("in range"))),
        ("null", Arc::new(NullArray::new(3))),
    ])
}

fn half(value: f32) -> <Float16Type as ArrowPrimitiveType>::Native {
    <Float16Type as ArrowPrimitiveType>::Native::from_f32(value)
}

fn times() -> DataFrame {
    let instants = TimestampMicrosecondArray::from(vec![Some(1_700_000_000_000_000), None]);
    let interval = IntervalMonthDayNanoType::make_value(14, -3, 1_000_000_007);
    one_batch(vec![
        ("date32", Arc::new(Date32Array::from(vec![0, 19_675]))),
        ("time64", Arc::new(Time64NanosecondArray::from(vec![Some(1), None]))),
        ("timestamp", Arc::new(TimestampSecondArray::from(vec![-1, 1_700_000_000]))),
        ("timestamp_zone", Arc::new(instants.with_timezone("Europe/Paris"))),
        ("duration", Arc::new(DurationMillisecondArray::from(vec![i64::MAX, -5]))),
        ("interval", Arc::new(IntervalMonthDayNanoArray::from(vec![Some(interval), None]))),
    ])
}

fn text() -> DataFrame {
    let fixed = [Some(*b"abc"), None, Some(*b"xyz")];
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed.into_iter(), 3);
    one_batch(vec![
        ("utf8", Arc::new(StringArray::from(vec![Some("Zürich"), None, Some("")]))),
        ("large_utf8", Arc::new(LargeStringArray::from(vec!["a", "日本", "c"]))),
        ("binary", Arc::new(BinaryArray::from(vec![Some(b"\xff\x00".as_slice()), Some(b""), None]))),
        ("large_binary", Arc::new(LargeBinaryArray::from(vec![b"\x01".as_slice(), b"\x02\x03", b""]))),
        ("fixed_size_binary", Arc::new(fixed.expect("values of 3 bytes"))),
    ])
}

fn views() -> DataFrame {
    let long = "longer than the twelve bytes that fit";
    let binary = [Some(b"\xfe\xff".as_slice()), None, Some(long.as_bytes())];
    // Two data buffers, one of which two views share.
    let buffers = vec![Buffer::from(long.as_bytes()), Buffer::from("äöü in another buffer".as_bytes())];
    let shown = [(long, 0, 0), ("than the twelve bytes", 0, 7), ("äöü in another buffer", 1, 0)];
    let shown = shown.map(|(text, buffer, offset)| make_view(text.as_bytes(), buffer, offset));
    let shared = StringViewArray::try_new(shown.to_vec().into(), buffers, None);
    one_batch(vec![
        ("utf8_view", Arc::new(StringViewArray::from(vec![Some("short"), None, Some(long)]))),
        ("binary_view", Arc::new(BinaryViewArray::from_iter(binary))),
        ("shared", Arc::new(shared.expect("views inside their buffers"))),
    ])
}

fn nested() -> DataFrame {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
        Some(vec![Some(4)]),
    ]);
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let large =
        LargeListArray::new(item(DataType::Utf8), OffsetBuffer::from_lengths([1, 0, 2, 0]), text, None);
    let pairs: ArrayRef = Arc::new(Int16Array::from_iter((0..8).map(|n| (n != 3).then_some(n))));
    let pairs =
        FixedSizeListArray::new(item(DataType::Int16), 2, pairs, Some(vec![true, true, false, true].into()));
    let fields = Fields::from(vec![
        Field::new("x", DataType::Float32, false),
        Field::new("y", DataType::List(item(DataType::Int32)), true),
    ]);
    let x: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0, 4.0]));
    let structure =
        StructArray::new(fields, vec![x, Arc::new(list.clone())], Some(vec![true, false, true, true].into()));
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for entries in [vec![("k", Some(1)), ("l", None)], vec![], vec![("m", Some(3))], vec![]] {
        for (key, value) in entries {
            map.keys().append_value(key);
            map.values().append_option(value);
        }
        map.append(true).expect("as many keys as values");
    }
    one_batch(vec![
        ("list", Arc::new(list)),
        ("large_list", Arc::new(large)),
        ("fixed_size_list", Arc::new(pairs)),
        ("struct", Arc::new(structure)),
        ("map", Arc::new(map.finish())),
    ])
}

fn list_views() -> DataFrame {
    let child: ArrayRef = Arc::new(Int8Array::from(vec![Some(1), Some(2), None, Some(4)]));
    let nulls = Some(NullBuffer::new(BooleanBuffer::from(vec![true, true, false])));
    // Rows that overlap and descend.
    let view =
        ListViewArray::new(item(DataType::Int8), vec![2, 0, 0].into(), vec![2, 3, 0].into(), child, nulls);
    let child: ArrayRef = Arc::new(LargeStringArray::from(vec!["p", "q"]));
    let (offsets, sizes) = (ScalarBuffer::from(vec![0i64, 0, 2]), ScalarBuffer::from(vec![2i64, 1, 0]));
    let large = LargeListViewArray::new(item(DataType::LargeUtf8), offsets, sizes, child, None);
    one_batch(vec![("list_view", Arc::new(view)), ("large_list_view", Arc::new(large))])
}

fn unions() -> DataFrame {
    // Type ids that are neither in order nor without gaps.
    let fields = UnionFields::try_new(
        [5, 0],
        [Field::new("int", DataType::Int32, true), Field::new("text", DataType::Utf8, true)],
    );
    let fields = fields.expect("ids in range");
    let ids = ScalarBuffer::from(vec![5i8, 0, 5]);
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let sparse = UnionArray::try_new(fields.clone(), ids.clone(), None, vec![ints.clone(), text.clone()]);
    let (ints, text) = (ints.slice(1, 2), text.slice(1, 1));
    let dense = UnionArray::try_new(fields, ids, Some(vec![0, 0, 1].into()), vec![ints, text]);
    one_batch(vec![
        ("sparse", Arc::new(sparse.expect("children of its length"))),
        ("dense", Arc::new(dense.expect("offsets inside the children"))),
    ])
}

fn run_ends() -> DataFrame {
    let text = StringArray::from(vec![Some("a"), None, Some("b")]);
    let short = RunArray::try_new(&Int16Array::from(vec![2, 3, 5]), &text).expect("ascending run ends");
    let numbers = Float64Array::from(vec![0.5, 1.5]);
    let long = RunArray::try_new(&Int64Array::from(vec![1, 5]), &numbers).expect("ascending run ends");
    one_batch(vec![("int16", Arc::new(short)), ("int64", Arc::new(long))])
}

fn dictionaries() -> DataFrame {
    let colours: ArrayRef = Arc::new(StringArray::from(vec!["red", "green", "blue"]));
    let keys = |keys: Vec<Option<i8>>| Int8Array::from(keys);
    let first = DictionaryArray::new(keys(vec![Some(2), None, Some(0)]), colours.clone());
    // Shares the values with the first.
    let second = DictionaryArray::new(keys(vec![Some(1), Some(1), Some(1)]), colours.clone());
    let sizes: ArrayRef = Arc::new(Int32Array::from(vec![10, 20]));
    let ordered = DictionaryArray::new(UInt32Array::from(vec![1, 0, 1]), sizes);
    // Dictionaries inside the values of a dictionary.
    let inner =
        DictionaryArray::new(keys(vec![Some(0), Some(1)]), Arc::new(StringArray::from(vec!["in", "out"])));
    let fields = Fields::from(vec![Field::new("inner", inner.data_type().clone(), true)]);
    let values: ArrayRef = Arc::new(StructArray::new(fields, vec![Arc::new(inner)], None));
    let nested = DictionaryArray::new(Int16Array::from(vec![1, 0, 1]), values);
    let fields = vec![
        Field::new("colour", first.data_type().clone(), true),
        Field::new("other_colour", second.data_type().clone(), true),
        Field::new("ordered", ordered.data_type().clone(), false).with_dict_is_ordered(true),
        Field::new("nested", nested.data_type().clone(), true),
    ];
    let columns: Vec<ArrayRef> = vec![Arc::new(first), Arc::new(second), Arc::new(ordered), Arc::new(nested)];
    DataFrame::from(RecordBatch::try_new(Schema::new(fields).into(), columns).expect("columns of one length"))
}

fn growing_dictionary() -> DataFrame {
    let batch = |keys: Vec<i8>, values: Vec<&str>| {
        let array = DictionaryArray::new(Int8Array::from(keys), Arc::new(StringArray::from(values)));
        RecordBatch::try_from_iter([("word", Arc::new(array) as ArrayRef)]).expect("one column")
    };
    let batches = vec![batch(vec![0, 1], vec!["a", "b"]), batch(vec![2, 0], vec!["a", "b", "c"])];
    DataFrame::try_from_batches(batches[0].schema(), batches).expect("batches of one schema")
}

fn batches() -> DataFrame {
    let schema: SchemaRef =
        Schema::new(vec![Field::new("n", DataType::Int64, false), Field::new("s", DataType::Utf8, true)])
            .into();
    let batch = |n: Vec<i64>, s: Vec<Option<&str>>| {
        let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(n)), Arc::new(StringArray::from(s))];
        RecordBatch::try_new(schema.clone(), columns).expect("columns of the schema")
    };
    let batches = vec![
        batch(vec![1, 2, 3], vec![Some("a"), None, Some("c")]),
        batch(vec![], vec![]),
        batch(vec![4, 5], vec![None, Some("e")]),
    ];
    DataFrame::try_from_batches(schema.clone(), batches).expect("batches of one schema")
}

fn no_rows() -> DataFrame {
    let values = StringArray::from(vec!["unused"]);
    let dictionary = DictionaryArray::new(Int8Array::from(Vec::<i8>::new()), Arc::new(values));
    one_batch(vec![
        ("int64", Arc::new(Int64Array::from(Vec::<i64>::new()))),
        ("utf8", new_empty_array(&DataType::Utf8)),
        ("utf8_view", new_empty_array(&DataType::Utf8View)),
        ("list", new_empty_array(&DataType::List(item(DataType::Int8)))),
        ("dictionary", Arc::new(dictionary)),
    ])
}

fn no_batches() -> DataFrame {
    let fields = vec![
        Field::new("a", DataType::Decimal32(9, 2), true),
        Field::new("b", DataType::Timestamp(TimeUnit::Nanosecond, Some("+05:30".into())), false),
        Field::new("b", DataType::Time32(TimeUnit::Second), true),
    ];
    DataFrame::try_new(Schema::new(fields).into(), vec![]).expect("no batches")
}

fn zero_columns() -> DataFrame {
    let batch = Batch::try_new(vec![], 5).expect("no columns");
    DataFrame::try_new(Schema::empty().into(), vec![batch]).expect("no columns")
}

fn metadata() -> DataFrame {
    let field = Field::new("a", DataType::UInt8, false).with_metadata([("unit", "mm"), ("", "ä")]);
    let schema = Schema::new_with_metadata(vec![field], [("source", "golden"), ("empty", "")]);
    let column: ArrayRef = Arc::new(UInt8Array::from(vec![1, 2]));
    let batch = Batch::try_new(vec![Column::Native(column)], 2).expect("2 rows");
    let batch = batch.with_metadata([("number", "1"), ("sender", "golden")]);
    let df = DataFrame::try_new(schema.into(), vec![batch]).expect("a column of the schema");
    df.with_message_metadata([("of", "the schema message")])
}

fn compressible() -> DataFrame {
    let text: Vec<_> = (0..40).map(|n| (n % 7 != 0).then_some("the same words")).collect();
    one_batch(vec![
        ("n", Arc::new(Int32Array::from_iter_values((0..40).map(|n| n / 8)))),
        ("text", Arc::new(StringArray::from(text))),
        ("list", Arc::new(ListArray::new_null(item(DataType::Int8), 40))),
    ])
}

fn opaque() -> DataFrame {
    let mark = r#"{"type_name":"object","vendor_name":"python"}"#;
    let fields = vec![
        Field::new("id", DataType::Int32, false),
        Field::new("object", DataType::Null, true).with_metadata([("arrow_frames", mark)]),
        Field::new("name", DataType::Utf8, true),
        Field::new("last", DataType::Null, true).with_metadata([("arrow_frames", mark)]),
    ];
    let id: ArrayRef = Arc::new(Int32Array::from(vec![7, 8]));
    let name: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None]));
    // A pickle of protocol 5 and two out-of-band buffers, one of them empty.
    let buffers = [b"\x80\x05\x97\x97\x86.".as_slice(), b"", b"out of band"].map(Buffer::from);
    let object = OpaqueColumn::new("object", 2, buffers.to_vec());
    let last = OpaqueColumn::new("object", 2, vec![Buffer::from(b"\x80\x05]q.".as_slice())]);
    let columns =
        vec![Column::Native(id), Column::Opaque(object), Column::Native(name), Column::Opaque(last)];
    let batch = Batch::try_new(columns, 2).expect("2 rows");
    DataFrame::try_new(Schema::new(fields).into(), vec![batch]).expect("columns of the schema")
}
