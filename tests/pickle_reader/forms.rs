//! Every form that this crate reads comes back as its Arrow array; those of the names that it
//! writes may be given to Python.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::Buffer;
use arrow::datatypes::*;
use arrow_frames::pickle::PickleFault;

use crate::assemble::*;

/// Days of 2020-01-01 and 2020-07-01 since 1970.
const NEW_YEAR: i32 = 18_262;
const JULY: i32 = 18_444;

/// Forms that have an Arrow array, with that array.
pub fn with_arrays() -> Vec<(&'static str, Value, ArrayRef)> {
    let mut forms: Vec<(&'static str, Value, ArrayRef)> = Vec::new();
    let mut add = |name, form: Value, array: ArrayRef| forms.push((name, form, array));

    let keys = Int8Array::from(vec![Some(0), Some(2), None, Some(1)]);
    let names: ArrayRef = Arc::new(StringArray::from(vec!["lo", "mid", "hi"]));
    let categorical = |values: ArrayRef| Arc::new(DictionaryArray::new(keys.clone(), values)) as ArrayRef;
    let codes = || numbers(&[0i8, 2, -1, 1], "|i1");
    let words = || texts(["lo", "mid", "hi"]);
    add("categorical", from_codes(codes(), words(), true), categorical(names.clone()));
    let index = call("pandas", "Index", [words(), text("O")]);
    add("categories as objects", from_codes(codes(), index, false), categorical(names.clone()));
    let arrow = call("pandas.arrays", "ArrowStringArray", [strings(&[0, 2, 5, 7], b"lomidhi")]);
    add("categories of Arrow", from_codes(codes(), arrow, false), categorical(names));
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![10, 20, 30]));
    add(
        "categories of ints",
        from_codes(codes(), numbers(&[10i64, 20, 30], "<i8"), false),
        categorical(ints),
    );
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 1.5, -0.0]));
    add(
        "categories of floats",
        from_codes(codes(), numbers(&[0.5f64, 1.5, -0.0], "<f8"), false),
        categorical(floats),
    );
    let days: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1, 2, 3]));
    add(
        "categories of times",
        from_codes(codes(), numbers(&[1i64, 2, 3], "<M8[ns]"), false),
        categorical(days),
    );
    let none: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
    let empty = DictionaryArray::new(Int8Array::from(vec![None, None]), none);
    add("no categories", from_codes(numbers(&[-1i8, -1], "|i1"), list([]), false), Arc::new(empty));

    let objects_of_text = || objects(vec![text("a"), self::none(), text("é€😀")]);
    let strings_array: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("é€😀")]));
    add("object strings", objects_of_text(), strings_array.clone());
    let series =
        call("pandas", "Series", [objects_of_text(), self::none(), text("O"), text("s"), bool(false)]);
    add("a column of object strings", series, strings_array.clone());
    let taken = call("numpy", "take", [objects_of_text(), numbers(&[2i32, 0, 0, 1], "<i4")]);
    let taken_array = StringArray::from(vec![Some("é€😀"), Some("a"), Some("a"), None]);
    add("object strings from a dictionary", taken, Arc::new(taken_array));
    let split = call("builtins", "str.split", [text("a\0bb\0\0c"), text("\0")]);
    let split = call("numpy", "array", [split, text("O")]);
    add("object strings from one", split, Arc::new(StringArray::from(vec!["a", "bb", "", "c"])));
    let missing = list([text("a"), self::none(), text("é€😀")]);
    let dtype = || call("pandas", "StringDtype", [text("python")]);
    let python = call("pandas", "array", [missing.clone(), dtype(), bool(false)]);
    add("string[python]", python, strings_array.clone());
    let nan_dtype = || call("pandas", "StringDtype", [text("pyarrow"), float(f64::NAN)]);
    add("str", call("pandas", "array", [missing, nan_dtype(), bool(false)]), strings_array);
    let arrow_strings = || strings(&[0, 1, 1, 4], b"abcd");
    let arrow_array: ArrayRef = Arc::new(StringArray::from(vec!["a", "", "bcd"]));
    add("string[pyarrow]", call("pandas.arrays", "ArrowStringArray", [arrow_strings()]), arrow_array.clone());
    let from_arrow = call("pandas", "StringDtype.__from_arrow__", [nan_dtype(), arrow_strings()]);
    add("str from Arrow", from_arrow, arrow_array.clone());
    add("the default for text", call("pyarrow", "Array.to_pandas", [arrow_strings()]), arrow_array);

    let instants = || numbers(&[0i64, i64::MIN, 7], "<i8");
    let paris = TimestampMicrosecondArray::from(vec![Some(0), None, Some(7)]);
    add(
        "a time zone",
        zoned(instants(), "us", text("Europe/Paris")),
        Arc::new(paris.clone().with_timezone("Europe/Paris")),
    );
    add("UTC", zoned(instants(), "us", text("UTC")), Arc::new(paris.clone().with_timezone("UTC")));
    let offset =
        |seconds| call("datetime", "timezone", [call("datetime", "timedelta", [int(0), int(seconds)])]);
    add(
        "an offset",
        zoned(instants(), "us", offset(-12_600)),
        Arc::new(paris.clone().with_timezone("-03:30")),
    );
    let zone_info = call("zoneinfo", "ZoneInfo", [text("Europe/Paris")]);
    add(
        "a zone object",
        zoned(instants(), "us", zone_info),
        Arc::new(paris.clone().with_timezone("Europe/Paris")),
    );
    let guarded = join([
        global("pandas.arrays", "NumpyExtensionArray"),
        raw(b"0"),
        zoned(instants(), "us", text("UTC")),
    ]);
    add("a zone, guarded", guarded, Arc::new(paris.clone().with_timezone("UTC")));
    let utc = zoned(numbers(&[0i64, i64::MIN, 7], "<M8[us]"), "us", text("UTC"));
    let converted = call("pandas.arrays", "DatetimeArray.tz_convert", [utc, text("Asia/Tokyo")]);
    add("a zone for pandas 1.5", converted, Arc::new(paris.clone().with_timezone("Asia/Tokyo")));
    let index =
        call("pandas", "Index", [zoned(instants(), "us", text("UTC")), self::none(), bool(false), text("i")]);
    add("an index", index, Arc::new(paris.clone().with_timezone("UTC")));
    add("datetimes", numbers(&[0i64, i64::MIN, 7], "<M8[us]"), Arc::new(paris));
    let durations = DurationSecondArray::from(vec![Some(0), None, Some(7)]);
    add("durations", numbers(&[0i64, i64::MIN, 7], "<m8[s]"), Arc::new(durations));

    add("int8", numbers(&[1i8, -1], "|i1"), Arc::new(Int8Array::from(vec![1, -1])));
    add("uint16", numbers(&[1u16, 7], "<u2"), Arc::new(UInt16Array::from(vec![1, 7])));
    add("uint64", numbers(&[1u64, u64::MAX], "<u8"), Arc::new(UInt64Array::from(vec![1, u64::MAX])));
    type Half = <Float16Type as ArrowPrimitiveType>::Native;
    let halves = vec![Half::from_f32(1.5), Half::NAN];
    add("float16", numbers(&halves, "<f2"), Arc::new(Float16Array::from(halves)));
    add("float32", numbers(&[1.5f32, -0.0], "<f4"), Arc::new(Float32Array::from(vec![1.5, -0.0])));
    add("no floats", numbers::<f64>(&[], "<f8"), Arc::new(Float64Array::from(Vec::<f64>::new())));
    add("bool", numbers(&[1u8, 0, 2], "?"), Arc::new(BooleanArray::from(vec![true, false, true])));
    let mask = || numbers(&[0u8, 1, 0], "?");
    let nullable = call("pandas.arrays", "IntegerArray", [numbers(&[1i64, 0, 3], "<i8"), mask()]);
    add("Int64", nullable, Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])));
    let nullable =
        call("pandas.arrays", "FloatingArray", [numbers(&[1.5f64, 0.0, f64::INFINITY], "<f8"), mask()]);
    add("Float64", nullable, Arc::new(Float64Array::from(vec![Some(1.5), None, Some(f64::INFINITY)])));
    let nullable = call("pandas.arrays", "BooleanArray", [numbers(&[1u8, 0, 0], "?"), mask()]);
    add("boolean", nullable, Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])));

    let ordinals = || numbers(&[600i64, i64::MIN], "<i8");
    let period =
        call("pandas.arrays", "PeriodArray", [ordinals(), call("pandas", "PeriodDtype", [text("Q-DEC")])]);
    add("periods", period, Arc::new(Int64Array::from(vec![Some(600), None])));
    let bounds = [numbers(&[0i64, 1], "<i8"), numbers(&[1i64, 2], "<i8"), text("left"), bool(false)];
    let field = |name: &str| Arc::new(Field::new(name, DataType::Int64, true));
    let interval = StructArray::from(vec![
        (field("left"), Arc::new(Int64Array::from(vec![0, 1])) as ArrayRef),
        (field("right"), Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
    ]);
    add("intervals", call("pandas.arrays", "IntervalArray.from_arrays", bounds), Arc::new(interval));

    let arrow = |array| call("pandas.arrays", "ArrowExtensionArray", [array]);
    let bits = || Some(out_of_band(vec![0b101u8]));
    let ints = || Some(out_of_band(Buffer::from_slice_ref([1i64, 0, 3])));
    let nullable = from_buffers(pa_type("int64"), 3, vec![bits(), ints()]);
    add("Arrow ints", arrow(nullable), Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])));
    let stamp = call("pyarrow", "timestamp", [text("us"), text("+05:30")]);
    let stamps = TimestampMicrosecondArray::from(vec![1, 0, 3]).with_timezone("+05:30");
    add("Arrow timestamps", arrow(from_buffers(stamp, 3, vec![None, ints()])), Arc::new(stamps));
    let bools = from_buffers(pa_type("bool_"), 3, vec![None, bits()]);
    add("Arrow bools", arrow(bools), Arc::new(BooleanArray::from(vec![true, false, true])));
    let decimals = Buffer::from_slice_ref([150i128, -1]);
    let decimal = call("pyarrow", "decimal128", [int(10), int(2)]);
    let decimal = from_buffers(decimal, 2, vec![None, Some(out_of_band(decimals))]);
    let expected = Decimal128Array::from(vec![150, -1]).with_precision_and_scale(10, 2).unwrap();
    add("Arrow decimals", arrow(decimal), Arc::new(expected));
    let views = StringViewArray::from(vec!["short", "longer than twelve bytes"]);
    let view_buffer = Some(out_of_band(views.views().inner().clone()));
    let view_data = Some(out_of_band(views.data_buffers()[0].clone()));
    let view = from_buffers(pa_type("string_view"), 2, vec![None, view_buffer, view_data]);
    add("Arrow views", arrow(view), Arc::new(views));
    let fixed =
        from_buffers(call("pyarrow", "binary", [int(2)]), 2, vec![None, Some(out_of_band(b"abcd".to_vec()))]);
    let expected = FixedSizeBinaryArray::try_from_iter([b"ab", b"cd"].into_iter()).unwrap();
    add("Arrow bytes", arrow(fixed), Arc::new(expected));
    let keys = from_buffers(pa_type("int8"), 2, vec![None, Some(out_of_band(vec![1u8, 0]))]);
    let dictionary = call("pyarrow", "DictionaryArray.from_arrays", [keys, strings(&[0, 1, 2], b"xy")]);
    let values: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    add(
        "an Arrow dictionary",
        dictionary,
        Arc::new(DictionaryArray::new(Int8Array::from(vec![1, 0]), values)),
    );

    add(
        "objects: bool",
        objects(vec![bool(true), self::none()]),
        Arc::new(BooleanArray::from(vec![Some(true), None])),
    );
    let missing = global("pandas", "NA");
    let all = vec![int(-5), int(1 << 40), missing];
    add("objects: int", objects(all), Arc::new(Int64Array::from(vec![Some(-5), Some(1 << 40), None])));
    let big = raw(b"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00");
    add("objects: large int", objects(vec![big, int(1)]), Arc::new(UInt64Array::from(vec![u64::MAX, 1])));
    let all = vec![float(1.5), self::none(), float(2.0)];
    add("objects: float", objects(all), Arc::new(Float64Array::from(vec![Some(1.5), None, Some(2.0)])));
    let all = vec![bytes(b"ab"), self::none()];
    add("objects: bytes", objects(all), Arc::new(BinaryArray::from(vec![Some(b"ab".as_slice()), None])));
    let decimal = |digits: &str| call("decimal", "Decimal", [text(digits)]);
    let all = vec![decimal("1.50"), decimal("-20"), self::none()];
    let expected =
        Decimal128Array::from(vec![Some(150), Some(-2_000), None]).with_precision_and_scale(4, 2).unwrap();
    add("objects: Decimal", objects(all), Arc::new(expected));
    let date = |month| call("datetime", "date", [int(2020), int(month), int(1)]);
    let all = vec![date(1), date(7), global("pandas", "NaT")];
    add("objects: date", objects(all), Arc::new(Date32Array::from(vec![Some(NEW_YEAR), Some(JULY), None])));
    let noon = [2020, 1, 1, 12, 0, 0, 5].map(int);
    let micros = (i64::from(NEW_YEAR) * 86_400 + 43_200) * 1_000_000 + 5;
    let datetime = call("datetime", "datetime", noon.clone());
    add(
        "objects: datetime",
        objects(vec![datetime]),
        Arc::new(TimestampMicrosecondArray::from(vec![micros])),
    );
    let aware = call("datetime", "datetime", noon.into_iter().chain([offset(3_600)]));
    let expected = TimestampMicrosecondArray::from(vec![micros - 3_600_000_000]).with_timezone("+01:00");
    add("objects: datetime with an offset", objects(vec![aware]), Arc::new(expected));
    let time = call("datetime", "time", [int(1), int(2), int(3), int(4)]);
    let expected = Time64MicrosecondArray::from(vec![3_723_000_004]);
    add("objects: time", objects(vec![time]), Arc::new(expected));
    let duration = call("datetime", "timedelta", [int(-1), int(2), int(3)]);
    let expected = DurationMicrosecondArray::from(vec![-86_398_000_000 + 3]);
    add("objects: timedelta", objects(vec![duration]), Arc::new(expected));
    let uuid = call("uuid", "UUID", [text("00000000-0000-0000-0000-00000000000f")]);
    let expected = FixedSizeBinaryArray::try_from_iter([15u128.to_be_bytes()].into_iter()).unwrap();
    add("objects: UUID", objects(vec![uuid]), Arc::new(expected));
    add("objects: none", objects(vec![self::none(), self::none()]), Arc::new(NullArray::new(2)));
    forms
}

/// Forms that have no Arrow array, with what they are called.
pub fn without_arrays() -> Vec<(&'static str, Value)> {
    let frame = [
        (text("a"), numbers(&[1i64], "<i8")),
        (text("b"), zoned(numbers(&[1i64], "<i8"), "ns", text("UTC"))),
    ];
    let frame = call("pandas", "DataFrame", [dict(frame), none(), none(), none(), bool(false)]);
    let levels = list([texts(["a", "b"]), numbers(&[1i64, 2], "<i8")]);
    let codes = list([numbers(&[0i8, 1], "|i1"), numbers(&[1i8, -1], "|i1")]);
    let multi = call("pandas", "MultiIndex", [levels, codes, none(), texts(["x", "y"])]);
    let sparse = call("pandas", "SparseDtype", [text("int64"), int(7)]);
    let sparse = call("pandas", "array", [numbers(&[7i64, 1], "<i8"), sparse, bool(false)]);
    let shape = tuple([int(2), int(1)]);
    let plane =
        call("numpy", "ndarray", [shape, text("<f8"), out_of_band(Buffer::from_slice_ref([1f64, 2.0]))]);
    let range = call("pandas", "RangeIndex", [int(0), int(10), int(2), none(), bool(false), text("r")]);
    let mixed = objects(vec![text("a"), int(1), dict([(text("k"), list([int(1)]))])]);
    let frozen = call("builtins", "frozenset", [list([int(1)])]);
    let bytearray = call("builtins", "bytearray", [bytes(b"x")]);
    let stamp = call("pandas", "Timestamp", [text("2020-01-01")]);
    vec![
        ("pandas.DataFrame", frame),
        ("pandas.MultiIndex", multi),
        ("pandas.array", sparse),
        ("numpy.ndarray", plane),
        ("pandas.RangeIndex", range),
        ("pandas.CategoricalDtype", call("pandas", "CategoricalDtype", [texts(["a"]), bool(true)])),
        ("an object array of 3 values: str, int, dict", mixed),
        ("an object array of 2 values: list", objects(vec![list([int(1)]), list([])])),
        (
            "an object array of 3 values: builtins.frozenset, builtins.bytearray, pandas.Timestamp",
            objects(vec![frozen, bytearray, stamp]),
        ),
        ("numpy.frombuffer of 1 values", numbers(&[1f64, 2.0], "<c16").with_count(1)),
    ]
}

impl Value {
    /// `numpy.frombuffer` of another count, which is its last argument.
    fn with_count(mut self, count: u8) -> Self {
        let place = self.ops.len() - 3;
        self.ops[place] = count;
        self
    }
}

/// All of them.
pub fn all() -> Vec<(&'static str, Value)> {
    let with_arrays = with_arrays().into_iter().map(|(name, form, _)| (name, form));
    with_arrays.chain(without_arrays()).collect()
}

#[test]
fn every_form_is_its_array() {
    for (name, form, expected) in with_arrays() {
        let pickle = form.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        let array = pickle.to_array().unwrap_or_else(|error| panic!("{name}: {error}"));
        array.to_data().validate_full().unwrap();
        assert_eq!(array.to_data(), expected.to_data(), "{name}");
    }
}

#[test]
fn forms_of_written_names_may_be_given_to_python_and_no_others() {
    let (mut passed, mut unchecked) = (0, 0);
    for (name, form) in all() {
        match (form.parse().unwrap().check(), is_written(&form)) {
            (Ok(()), true) => passed += 1,
            (Err(error), false) => {
                let (_, fault) = refused(error);
                assert!(matches!(fault, PickleFault::Unchecked { .. }), "{name}: {fault:?}");
                unchecked += 1;
            }
            (outcome, is_written) => panic!("{name}, written: {is_written}: {outcome:?}"),
        }
    }
    assert!(passed > 30 && unchecked > 10, "{passed} passed, {unchecked} did not");
}

#[test]
fn a_form_without_an_array_says_what_it_is() {
    for (description, form) in without_arrays() {
        let pickle = form.parse().unwrap();
        assert_eq!(pickle.describe(), description);
        let (_, fault) = refused(pickle.to_array().unwrap_err());
        assert!(matches!(fault, PickleFault::NoArrowType { .. } | PickleFault::Mixed { .. }), "{fault:?}");
    }
}

#[test]
fn buffers_in_the_pickle_are_read_as_well() {
    for (name, form, expected) in with_arrays() {
        let mut buffers = form.buffers.iter();
        let mut inside = Value::default();
        // No other byte of these forms is 0x97.
        for byte in form.ops {
            match byte {
                0x97 => inside.ops.extend(bytes(buffers.next().unwrap()).ops),
                _ => inside.ops.push(byte),
            }
        }
        let array = inside.parse().unwrap().to_array().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(array.to_data(), expected.to_data(), "{name}");
    }
}

#[test]
fn what_arrays_do_not_say_is_in_the_field() {
    let ordered = from_codes(numbers(&[0i8], "|i1"), texts(["a"]), true).parse().unwrap();
    let data_type = ordered.to_array().unwrap().data_type().clone();
    assert_eq!(ordered.to_field("c", &data_type).unwrap().dict_is_ordered(), Some(true));
    let dtype = call("pandas", "PeriodDtype", [text("M")]);
    let period = call("pandas.arrays", "PeriodArray", [numbers(&[1i64], "<i8"), dtype]).parse().unwrap();
    let field = period.to_field("p", &DataType::Int64).unwrap();
    assert_eq!(field.extension_type_name(), Some("pandas.period"));
    assert_eq!(field.extension_type_metadata(), Some(r#"{"freq":"M"}"#));
}
