//! Pickles that would harm Python, or take any time or memory in it or here, with names that
//! are all allowed.

use std::time::{Duration, Instant};

use arrow::array::*;
use arrow::buffer::Buffer;
use arrow::datatypes::*;
use arrow_frames::Fault;
use arrow_frames::pickle::{PickleBudget, PickleFault};

use crate::assemble::*;

/// The fault of a value that does not parse.
fn unparsed(value: &Value) -> PickleFault {
    refused(value.parse().unwrap_err()).1
}

/// The fault of the check.
fn check(value: &Value) -> PickleFault {
    refused(value.parse().unwrap().check().unwrap_err()).1
}

fn is_expansion(fault: &PickleFault) -> bool {
    matches!(fault, PickleFault::Budget { budget: PickleBudget::Expansion, .. })
}

/// A value that is memoized under the number of those before, and not left on the stack.
fn memoized(value: Value) -> Value {
    join([value, raw(b"\x940")])
}

fn range(start: i64, stop: i64, step: i64) -> Value {
    let numbers = [start, stop, step].map(|n| raw(&[b"\x8a\x08".as_slice(), &n.to_le_bytes()].concat()));
    let rest = [none(), bool(false), none()];
    call("pandas", "RangeIndex", numbers.into_iter().chain(rest))
}

/// What is no call is not read as one because the place of its first value in the pickle is
/// the place of `numpy.dtype` in the table of names.
#[test]
fn containers_that_look_like_calls() {
    let dtype = || {
        let arguments = join([text("i8"), bool(false), bool(true), raw(b"\x87")]);
        let minus_1 = || int(-1);
        let state = [int(3), text("<"), none(), none(), none(), minus_1(), minus_1(), int(0)];
        [raw(b"h\x00"), arguments, tuple(state)]
    };
    let [callee, arguments, state] = dtype();
    let as_dict = dict([(callee, arguments), (state, none()), (int(-1), list([text("f")]))]);
    let array = |name, arguments: Vec<Value>| {
        let place = join([raw(b"N0"), text("a"), raw(b"\x940")]);
        join([place, call("numpy", name, arguments)])
    };
    // The text is at byte 4, and then at all even ones, up to beyond the number of names.
    for before in 0..200 {
        let padding = join((0..before).map(|_| raw(b"N0")));
        for container in [as_dict.clone(), list(dtype()), tuple(dtype())] {
            let one = || join([int(1), raw(b"\x85")]);
            let pointers = || out_of_band(vec![0x41u8; 8]);
            for forged in [
                array("ndarray", vec![one(), container.clone(), pointers()]),
                array("frombuffer", vec![pointers(), container.clone(), int(1)]),
            ] {
                let forged = join([padding.clone(), forged]);
                let pickle = forged.parse().unwrap();
                let (_, fault) = refused(pickle.to_array().unwrap_err());
                assert!(matches!(fault, PickleFault::Dtype { .. }), "{fault:?}");
                let (_, fault) = refused(pickle.check().unwrap_err());
                let is_refused = matches!(fault, PickleFault::Dtype { .. } | PickleFault::Unchecked { .. });
                assert!(is_refused, "{fault:?}");
                assert!(!pickle.describe().contains("values"), "{}", pickle.describe());
            }
        }
    }
}

#[test]
fn nulls_of_types_that_were_never_pickled() {
    let nulls = |rows| objects(vec![none(); rows]).parse().unwrap();
    let many = nulls(40_000);
    let field = |data_type| Field::new("item", data_type, true);
    let list_of = |data_type, size| DataType::FixedSizeList(field(data_type).into(), size);
    let run_ends = Field::new("run_ends", DataType::Int16, false);
    for asked in [
        DataType::RunEndEncoded(run_ends.into(), field(DataType::Int8).into()),
        list_of(list_of(list_of(DataType::Int64, i32::MAX), i32::MAX), i32::MAX),
        DataType::Struct(vec![field(DataType::Int8)].into()),
        DataType::List(field(DataType::Int8).into()),
        DataType::Union(UnionFields::empty(), UnionMode::Dense),
        DataType::Interval(IntervalUnit::DayTime),
        DataType::Dictionary(Box::new(DataType::Utf8), Box::new(DataType::Utf8)),
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(list_of(DataType::Int8, 1))),
        DataType::FixedSizeBinary(-1),
        DataType::Time64(TimeUnit::Second),
    ] {
        let (_, fault) = refused(many.to_array_of(&asked).unwrap_err());
        assert!(matches!(fault, PickleFault::Type { .. }), "{asked}: {fault:?}");
    }
    let wide = many.to_array_of(&DataType::FixedSizeBinary(i32::MAX)).unwrap_err();
    assert_eq!(wide.fault(), Fault::Limit);
    for asked in [
        DataType::FixedSizeBinary(0),
        DataType::FixedSizeBinary(16),
        DataType::Utf8View,
        DataType::LargeBinary,
        DataType::Decimal256(76, 3),
        DataType::Time64(TimeUnit::Nanosecond),
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Date64)),
    ] {
        let array = nulls(3).to_array_of(&asked).unwrap();
        assert_eq!((array.data_type(), array.logical_null_count()), (&asked, 3));
        array.to_data().validate_full().unwrap();
    }
    // Values, too, are of no type that Arrow does not have.
    let time = objects(vec![call("datetime", "time", [int(0), int(0), int(1), int(0)])]).parse().unwrap();
    for asked in [DataType::Time64(TimeUnit::Second), DataType::Time32(TimeUnit::Nanosecond)] {
        let (_, fault) = refused(time.to_array_of(&asked).unwrap_err());
        assert!(matches!(fault, PickleFault::Type { .. }), "{asked}: {fault:?}");
    }
}

#[test]
fn text_that_is_referred_to_many_times() {
    let started = Instant::now();
    let long = || memoized(text(&"x".repeat(1_000_000)));
    let references = |ops: &[u8]| raw(&ops.repeat(20_000));
    let set = join([long(), raw(b"\x8f("), references(b"h\x00"), raw(b"\x90")]);
    let keys = join([long(), raw(b"("), references(b"h\x00"), raw(b"\x91")]);
    let strings = join([long(), raw(b"]("), references(b"h\x00"), raw(b"e")]);
    let bytes = memoized(raw(&[b"B".as_slice(), &1_000_000u32.to_le_bytes(), &[0; 1_000_000]].concat()));
    let binaries = join([bytes, raw(b"]("), references(b"h\x00"), raw(b"e")]);
    let in_tuples = join([long(), raw(b"]("), references(b"h\x00\x85"), raw(b"e")]);
    for bomb in [set, keys, strings, binaries, in_tuples] {
        let fault = unparsed(&bomb);
        assert!(is_expansion(&fault), "{fault:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    // Names and labels that repeat are no bomb.
    let labels = join([memoized(text(&"x".repeat(200))), raw(b"]("), references(b"h\x00"), raw(b"e")]);
    assert_eq!(labels.parse().unwrap().to_array().unwrap().len(), 20_000);
}

#[test]
fn text_that_is_split_many_times() {
    let parts = join([memoized(text(&",a".repeat(50_000))), memoized(text(","))]);
    let function = memoized(global("builtins", "str.split"));
    let calls = raw(&b"h\x02h\x00h\x01\x86R".repeat(2_000));
    let bomb = join([parts, function, raw(b"]("), calls, raw(b"e")]);
    let fault = unparsed(&bomb);
    assert!(is_expansion(&fault), "{fault:?}");
}

/// numpy would make an array of another shape of them, with a copy of each.
#[test]
fn arrays_of_what_numpy_takes_apart() {
    let array = |values: Vec<Value>| call("numpy", "array", [list(values), text("O")]);
    let bytearray = || call("builtins", "bytearray", [bytes(b"ab")]);
    for value in [
        numbers(&[1i8, 2], "|i1"),
        out_of_band(vec![1u8, 2]),
        bytearray(),
        raw(b"\x96\x02\0\0\0\0\0\0\0ab"),
        list([int(1)]),
        tuple([int(1)]),
        dict([]),
        call("pandas", "Index", [texts(["a"]), text("O")]),
    ] {
        let (_, fault) = refused(array(vec![value]).parse().unwrap().to_array().unwrap_err());
        assert!(matches!(fault, PickleFault::Argument { argument: 0, .. }), "{fault:?}");
    }
    assert!(array(vec![text("a"), none()]).parse().unwrap().to_array().is_ok());
    // And not so often in any list.
    let shared = memoized(from_buffer(out_of_band(vec![1u8; 60_000]), "|i1", 60_000));
    let bomb = join([shared, raw(b"]("), raw(&b"h\x00".repeat(3_000)), raw(b"e")]);
    let fault = unparsed(&bomb);
    assert!(is_expansion(&fault), "{fault:?}");
}

#[test]
fn a_buffer_that_two_values_have() {
    let of_memo = call("numpy", "frombuffer", [raw(b"h\x00"), text("|i1"), int(1)]);
    let writable = Value { ops: b"\x97\x940".to_vec(), buffers: vec![Buffer::from_vec(vec![1u8])] };
    let once = join([writable.clone(), of_memo.clone()]);
    assert!(once.parse().unwrap().check().is_ok());
    let shared = PickleFault::BufferShared { buffer: 0 };
    let twice = join([writable.clone(), tuple([of_memo.clone(), of_memo.clone()])]);
    assert_eq!(unparsed(&twice), shared);
    // Also as a read-only one.
    let read_only = call("numpy", "frombuffer", [raw(b"h\x00\x98"), text("|i1"), int(1)]);
    assert_eq!(unparsed(&join([writable, tuple([of_memo, read_only])])), shared);
}

/// The array of a call, in contrast, may be shared, and is charged for each use.
#[test]
fn an_array_that_several_calls_are_given() {
    let categories = || memoized(call("pandas.arrays", "ArrowStringArray", [strings(&[0, 1, 2], b"ab")]));
    let column = || from_codes(numbers(&[0i8, 1], "|i1"), raw(b"h\x00"), false);
    let dropped = || join([column(), raw(b"0")]);
    let several = join([categories(), dropped(), dropped(), column()]).parse().unwrap();
    several.check().unwrap();
    assert_eq!(several.to_array().unwrap().len(), 2);
    // 10,000 uses of 2 MB that are checked each time would take minutes.
    let started = Instant::now();
    let long = "é".repeat(1_000_000);
    let buffer = |bytes: Vec<u8>| memoized(call("pyarrow", "py_buffer", [out_of_band(bytes)]));
    let offsets = Buffer::from_slice_ref([0i32, 2_000_000]).to_vec();
    let parts = [buffer(offsets), buffer(long.into_bytes()), memoized(pa_type("string"))];
    let function = memoized(global("pyarrow", "Array.from_buffers"));
    let calls = raw(&b"h\x03h\x02K\x01](Nh\x00h\x01e\x87R0".repeat(10_000));
    let bomb = join(parts.into_iter().chain([function, calls, numbers(&[1i8], "|i1")]));
    let fault = unparsed(&bomb);
    assert!(is_expansion(&fault), "{fault:?}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

/// What one of them writes would change what was checked of the other.
#[test]
fn an_array_of_numbers_that_two_values_are_on() {
    let array = || memoized(numbers(&[0i64, 1], "<i8"));
    let both = join([array(), from_codes(raw(b"h\x00"), raw(b"h\x00"), false)]);
    assert_eq!(check(&both), PickleFault::ArrayShared);
    let once = join([array(), from_codes(raw(b"h\x00"), numbers(&[0i64, 1], "<i8"), false)]);
    assert!(once.parse().unwrap().check().is_ok());
    // Two arrays on one bytearray, which Python may write to.
    let bytes =
        || memoized(raw(&[b"\x96\x10\0\0\0\0\0\0\0".as_slice(), &[0; 8], &1i64.to_le_bytes()].concat()));
    let on_it = || from_buffer(raw(b"h\x00"), "<i8", 2);
    let both = join([bytes(), from_codes(on_it(), on_it(), false)]);
    assert_eq!(check(&both), PickleFault::ArrayShared);
}

/// The arguments of one call, memoized, would make a second array on the same buffer.
#[test]
fn arguments_that_two_calls_are_given() {
    let arguments = memoized(tuple([out_of_band(Buffer::from_slice_ref([0i8, 0])), text("|i1"), int(2)]));
    let again = || join([global("numpy", "frombuffer"), raw(b"h\x00R")]);
    let codes = from_codes(again(), texts(["a"]), false);
    assert!(join([arguments.clone(), codes.clone()]).parse().unwrap().check().is_ok());
    let both = from_codes(again(), again(), false);
    assert_eq!(check(&join([arguments.clone(), both])), PickleFault::ArrayShared);
    let masked = call("pandas.arrays", "IntegerArray", [again(), again()]);
    assert_eq!(check(&join([arguments, masked])), PickleFault::ArrayShared);
    // A list that is in two places.
    let list = memoized(texts(["a"]));
    let twice = objects(vec![raw(b"h\x00"), raw(b"h\x00")]);
    assert_eq!(check(&join([list, twice])), PickleFault::ArrayShared);
}

/// numpy would write to bytes that are the state of an array, and other arrays may be on them.
#[test]
fn bytes_as_the_state_of_an_array() {
    let state = |dtype: &str, count: i64| {
        let shape = join([int(count), raw(b"\x85")]);
        let dtype = call("numpy", "dtype", [text(dtype), bool(false), bool(true)]);
        tuple([int(1), shape, dtype, bool(false), bytes(&[0; 1008])])
    };
    let array = |dtype: &str, count| {
        join([call("numpy", "empty", [int(0), text("O")]), state(dtype, count), raw(b"b")])
    };
    let column = from_codes(array("i1", 1008), texts(["a"]), false);
    assert!(column.parse().unwrap().check().is_err());
    let text = from_buffer(out_of_band(vec![0u8; 8]), "<U1", 2);
    assert!(from_codes(numbers(&[0i8], "|i1"), text, false).parse().unwrap().check().is_err());
}

/// Objects of an array are scalars, and what is made of them.
#[test]
fn arrays_among_objects() {
    let numbers = || numbers(&[0i8], "|i1");
    let column = || from_codes(numbers(), texts(["a"]), false);
    let index = call("pandas", "Index", [texts(["a"]), text("O")]);
    for inner in [numbers(), column(), objects(vec![int(1)]), index] {
        let outers =
            [tuple([inner.clone()]), list([tuple([inner.clone()])]), dict([(int(1), inner.clone())])];
        for outer in outers.into_iter().chain([inner]) {
            let fault = check(&objects(vec![int(1), outer]));
            assert!(matches!(fault, PickleFault::Unchecked { .. }), "{fault:?}");
        }
    }
    let scalars =
        vec![int(1), text("a"), none(), tuple([int(1), texts(["a"])]), dict([(text("a"), float(0.5))])];
    assert!(objects(scalars).parse().unwrap().check().is_ok());
}

/// pandas takes n² / 2 steps for them.
#[test]
fn categories_whose_hashes_collide() {
    let budget =
        |fault: PickleFault| matches!(fault, PickleFault::Budget { budget: PickleBudget::HashSteps, .. });
    let number = |low: i64| ((low ^ (low << 11)) & 0x7fff_ffff) << 33 | low;
    let categories: Vec<i64> = (1..5_000).map(number).collect();
    let column = |categories: &[i64]| from_codes(numbers(&[0i8], "|i1"), numbers(categories, "<i8"), false);
    assert!(budget(check(&column(&categories))));
    assert!(column(&categories[..1_000]).parse().unwrap().check().is_ok());
    // Python hashes decimals by their remainder.
    let modulus = (1i128 << 61) - 1;
    let decimals = |step: i128, count: i128| {
        let decimal = |factor: i128| call("decimal", "Decimal", [text(&(factor * step).to_string())]);
        let index = call("pandas", "Index", [list((1..count).map(decimal)), text("O")]);
        from_codes(numbers(&[0i8], "|i1"), index, false)
    };
    assert!(budget(check(&decimals(modulus, 5_000))));
    assert!(decimals(modulus + 2, 5_000).parse().unwrap().check().is_ok());
}

#[test]
fn ranges_whose_values_would_be_made() {
    let bomb = || range(0, 300_000_000, 1);
    assert!(bomb().parse().unwrap().check().is_ok());
    let series = call("pandas", "Series", [bomb(), none(), none(), none(), bool(false)]);
    assert!(matches!(check(&series), PickleFault::Unchecked { .. }));
    let index = call("pandas", "Index", [bomb(), none(), bool(false), none()]);
    assert!(matches!(check(&index), PickleFault::NoColumn { .. }));
    let index = call("pandas", "Index", [index, none(), bool(false), none()]);
    assert!(matches!(check(&index), PickleFault::NoColumn { .. }));
    let categorical = from_codes(numbers(&[0i8], "|i1"), bomb(), false);
    assert!(matches!(check(&categorical), PickleFault::NoArrowType { .. }));
    let codes = list([numbers(&[0i8], "|i1")]);
    let multi = call("pandas", "MultiIndex", [list([bomb()]), codes, none(), list([none()])]);
    assert!(matches!(check(&multi), PickleFault::NoArrowType { .. }));
}

#[test]
fn ranges_that_python_cannot_count() {
    for (start, stop, step) in [(i64::MIN, i64::MAX, 1), (i64::MAX, i64::MIN, -1), (-1, i64::MAX, 1)] {
        let fault = check(&range(start, stop, step));
        assert!(matches!(fault, PickleFault::Argument { argument: 1, .. }), "{fault:?}");
    }
    for (start, stop, step) in [(0, i64::MAX, 1), (i64::MIN, i64::MAX, 3), (i64::MAX, i64::MIN, i64::MIN)] {
        range(start, stop, step).parse().unwrap().check().unwrap();
    }
}

#[test]
fn lists_of_strings_with_something_else_in_them() {
    let dtype = || call("pandas", "StringDtype", [text("python")]);
    let array = |values: Vec<Value>| call("pandas", "array", [list(values), dtype(), bool(false)]);
    assert!(array(vec![text("a"), none()]).parse().unwrap().check().is_ok());
    for value in [int(1), float(f64::NAN), list([]), dict([]), numbers(&[1i8], "|i1"), out_of_band(vec![1u8])]
    {
        let fault = check(&array(vec![text("a"), value]));
        assert!(matches!(fault, PickleFault::Mixed { row: 1, .. }), "{fault:?}");
    }
    // The values of an index are hashed, and lists among them levels of several.
    for value in [list([int(1)]), tuple([int(1)]), numbers(&[1i8], "|i1")] {
        let index = call("pandas", "Index", [list([text("a"), value]), text("O")]);
        let fault = check(&index);
        assert!(matches!(fault, PickleFault::Mixed { row: 1, .. }), "{fault:?}");
    }
}

/// pandas 2.2 ends in a segmentation fault when it shows them.
#[test]
fn instants_of_a_zone_in_no_year_that_python_has() {
    let seconds = [-62_135_596_800i64, 253_402_300_799];
    for (unit, per_second) in [("s", 1i64), ("ms", 1_000), ("us", 1_000_000)] {
        let [first, last] = [seconds[0] * per_second, (seconds[1] + 1) * per_second - 1];
        let column = |values: &[i64]| zoned(numbers(values, "<i8"), unit, text("Europe/Paris"));
        column(&[first, 0, i64::MIN, last]).parse().unwrap().check().unwrap();
        for value in [first - 1, last + 1, i64::MAX, -i64::MAX] {
            let zoned = column(&[0, value]);
            assert_eq!(check(&zoned), PickleFault::Year { row: 1, value });
            // Arrow has such instants.
            assert_eq!(zoned.parse().unwrap().to_array().unwrap().null_count(), 0);
            let of_dtype = self::zoned(numbers(&[value], &format!("<M8[{unit}]")), unit, text("UTC"));
            let converted = call("pandas.arrays", "DatetimeArray.tz_convert", [of_dtype, text("Asia/Tokyo")]);
            assert_eq!(check(&converted), PickleFault::Year { row: 0, value });
        }
    }
    let nanoseconds = zoned(numbers(&[i64::MAX, -i64::MAX], "<i8"), "ns", text("UTC"));
    nanoseconds.parse().unwrap().check().unwrap();
}

#[test]
fn intervals_of_fields_that_are_said_otherwise() {
    let interval = |left: &[f64]| {
        let bounds = [numbers(left, "<f8"), numbers(&[1.0f64, 2.0], "<f8"), text("left"), bool(false)];
        call("pandas.arrays", "IntervalArray.from_arrays", bounds).parse().unwrap()
    };
    let field = |name: &str, nullable| {
        Field::new(name, DataType::Float64, nullable).with_metadata([("k".to_owned(), "v".to_owned())])
    };
    for nullable in [false, true] {
        let asked = DataType::Struct(vec![field("left", nullable), field("right", nullable)].into());
        let array = interval(&[0.0, 1.0]).to_array_of(&asked).unwrap();
        assert_eq!((array.data_type(), array.len()), (&asked, 2));
        array.to_data().validate_full().unwrap();
    }
    for fields in [vec![field("left", true)], vec![field("left", true), field("upper", true)]] {
        let asked = DataType::Struct(fields.into());
        let (_, fault) = refused(interval(&[0.0, 1.0]).to_array_of(&asked).unwrap_err());
        assert!(matches!(fault, PickleFault::Type { .. }), "{fault:?}");
    }
    let times = |left: &[i64]| {
        let bounds = [numbers(left, "<M8[us]"), numbers(left, "<M8[us]"), text("left"), bool(false)];
        call("pandas.arrays", "IntervalArray.from_arrays", bounds).parse().unwrap()
    };
    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
    let field = |name: &str| Field::new(name, time.clone(), false);
    let asked = DataType::Struct(vec![field("left"), field("right")].into());
    assert_eq!(times(&[0, 1]).to_array_of(&asked).unwrap().data_type(), &asked);
    // A missing interval has bounds that are missing in it only.
    let array = times(&[0, i64::MIN]).to_array_of(&asked).unwrap();
    assert_eq!(array.null_count(), 1);
    array.to_data().validate_full().unwrap();
}
