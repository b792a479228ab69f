//! What parses, and whose arguments, buffers or values are wrong; what is shared; and arrays
//! of types that pandas does not have.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::Buffer;
use arrow::datatypes::*;
use arrow_frames::pickle::PickleFault;

use crate::assemble::*;

/// The fault of a value's array, which must be that of the check as well if the names in it are
/// of those that the crate writes: others are refused for that alone.
fn fault(value: Value) -> PickleFault {
    let pickle = value.parse().unwrap();
    let (position, fault) = refused(pickle.to_array().unwrap_err());
    let checked = refused(pickle.check().unwrap_err());
    if is_written(&value) {
        assert_eq!(checked, (position, fault.clone()));
    } else {
        assert!(matches!(checked.1, PickleFault::Unchecked { .. }), "{:?}", checked.1);
    }
    fault
}

/// The fault of the check only.
fn check(value: Value) -> PickleFault {
    refused(value.parse().unwrap().check().unwrap_err()).1
}

fn array_of(value: &Value, data_type: &DataType) -> ArrayRef {
    let array = value.parse().unwrap().to_array_of(data_type).unwrap();
    assert_eq!(array.data_type(), data_type);
    array.to_data().validate_full().unwrap();
    array
}

#[test]
fn a_code_without_a_category() {
    let categorical = |codes: &[i8]| from_codes(numbers(codes, "|i1"), texts(["a", "b", "c"]), false);
    let code = |row, code| PickleFault::Code { row, code, categories: 3 };
    assert_eq!(fault(categorical(&[0, 1, 2, -1, 0, 7])), code(5, 7));
    assert_eq!(fault(categorical(&[3])), code(0, 3));
    assert_eq!(fault(categorical(&[0, -2])), code(1, -2));
    assert_eq!(fault(categorical(&[i8::MIN])), code(0, -128));
    let wide = from_codes(numbers(&[u64::MAX], "<u8"), texts(["a", "b", "c"]), false);
    assert_eq!(fault(wide), code(0, i64::MAX));
    let message = categorical(&[7]).parse().unwrap().to_array().unwrap_err().to_string();
    assert!(message.ends_with("row 0 has the code 7, there are 3 categories"), "{message}");
}

#[test]
fn categories_that_are_null_or_the_same() {
    let categorical = |categories| from_codes(numbers(&[0i8], "|i1"), categories, false);
    let same = |index, other| PickleFault::Category { index, same_as: Some(other) };
    let null = |index| PickleFault::Category { index, same_as: None };
    assert_eq!(fault(categorical(texts(["a", "b", "a"]))), same(2, 0));
    assert_eq!(fault(categorical(list([text("a"), none()]))), null(1));
    assert_eq!(fault(categorical(list([none()]))), null(0));
    assert_eq!(fault(categorical(numbers(&[1i64, 2, 2], "<i8"))), same(2, 1));
    assert_eq!(fault(categorical(numbers(&[0.0f64, -0.0], "<f8"))), same(1, 0));
    assert_eq!(fault(categorical(numbers(&[0.0f64, f64::NAN], "<f8"))), null(1));
    assert_eq!(fault(categorical(numbers(&[0i64, i64::MIN], "<M8[ns]"))), null(1));
}

#[test]
fn codes_that_are_no_integers() {
    let categorical = from_codes(numbers(&[0f64], "<f8"), texts(["a"]), false);
    assert!(matches!(fault(categorical), PickleFault::Dtype { .. }));
}

#[test]
fn a_buffer_that_is_too_short() {
    let short = from_buffer(out_of_band(vec![0u8; 15]), "<i8", 2);
    assert_eq!(fault(short), PickleFault::BufferLength { needed: 16, found: 15 });
    let huge = from_buffer(out_of_band(vec![0u8; 15]), "<i8", i64::MAX);
    assert!(matches!(fault(huge), PickleFault::BufferLength { .. }));
    let negative = from_buffer(out_of_band(vec![0u8; 16]), "<i8", -1);
    assert!(matches!(fault(negative), PickleFault::Argument { argument: 2, .. }));
}

#[test]
fn dtypes_that_are_not_known() {
    for dtype in [
        "",
        "i3",
        "<i",
        "i8,i8",
        "V8",
        "V0",
        "U0",
        "S0",
        "M8[xs]",
        "M8[ns",
        "M8ns]",
        "|O|",
        "\u{e9}\u{e9}",
        "f16",
    ] {
        let expected = PickleFault::Dtype { dtype: dtype.to_owned() };
        assert_eq!(fault(from_buffer(out_of_band(vec![0u8; 64]), dtype, 1)), expected, "{dtype:?}");
    }
    // Bytes would be taken for pointers to objects.
    for dtype in ["O", "|O8"] {
        let over_bytes = from_buffer(out_of_band(vec![0u8; 64]), dtype, 1);
        assert!(matches!(fault(over_bytes), PickleFault::Dtype { .. }));
        let array = call("numpy", "ndarray", [tuple([int(1)]), text(dtype), bytes(&[0; 64])]);
        assert!(matches!(fault(array), PickleFault::Dtype { .. }));
    }
}

#[test]
fn a_dtype_with_another_state() {
    let dtype = |text_: &str, state: Vec<Value>| {
        let dtype = call("numpy", "dtype", [text(text_), bool(false), bool(true)]);
        join([dtype, tuple(state), raw(b"b")])
    };
    let state = |width: i64, flags: i64| {
        vec![int(3), text("<"), none(), none(), none(), int(width), int(width), int(flags)]
    };
    assert!(dtype("i8", state(-1, 0)).parse().unwrap().check().is_ok());
    for wrong in [
        dtype("i8", state(0, 0)),
        dtype("i8", state(-1, 63)),
        dtype("U2", state(4, 8)),
        dtype("O8", state(-1, 0)),
    ] {
        assert!(matches!(check(wrong), PickleFault::Dtype { .. }));
    }
}

#[test]
fn shapes_that_are_impossible() {
    let array = |shape: Vec<Value>| call("numpy", "ndarray", [tuple(shape), text("<i8"), bytes(&[0; 64])]);
    let shape = |number| PickleFault::Shape { number };
    assert_eq!(fault(array(vec![int(-1)])), shape(-1));
    assert_eq!(fault(array(vec![int(1 << 32), int(1 << 32)])), shape(1 << 32));
    assert_eq!(fault(array(vec![int(0), int(1 << 62)])), shape(1 << 62));
    assert_eq!(fault(array(vec![int(1); 65])), shape(65));
    assert_eq!(fault(array(vec![int(1000)])), PickleFault::BufferLength { needed: 8000, found: 64 });
    assert!(matches!(fault(array(vec![none()])), PickleFault::Argument { .. }));
}

#[test]
fn an_object_array_that_is_shorter_than_it_says() {
    let state = |count, items: Value| {
        let shape = join([int(count), raw(b"\x85")]);
        let state = tuple([int(1), shape, call("numpy", "dtype", [text("O")]), bool(false), items]);
        join([call("numpy", "empty", [int(0), text("O")]), state, raw(b"b")])
    };
    assert!(state(1, list([none()])).parse().unwrap().check().is_ok());
    let expected = PickleFault::Length { expected: 1_000_000_000, found: 1 };
    assert_eq!(fault(state(1_000_000_000, list([none()]))), expected);
    assert!(matches!(fault(state(1, bytes(&[0; 8]))), PickleFault::Dtype { .. }));
    assert!(matches!(fault(state(1, none())), PickleFault::Argument { .. }));
}

#[test]
fn indices_without_an_object() {
    let take = |indices: &[i32]| call("numpy", "take", [objects(vec![text("a")]), numbers(indices, "<i4")]);
    assert!(matches!(fault(take(&[0, 1])), PickleFault::Code { row: 1, code: 1, categories: 1 }));
    // To numpy, −1 is the last one.
    let negative = take(&[0, -1]).parse().unwrap();
    assert!(matches!(refused(negative.to_array().unwrap_err()).1, PickleFault::Code { code: -1, .. }));
}

#[test]
fn a_mask_of_another_length() {
    let masked = call("pandas.arrays", "IntegerArray", [numbers(&[1i64, 2], "<i8"), numbers(&[0u8; 3], "?")]);
    assert_eq!(fault(masked), PickleFault::Length { expected: 2, found: 3 });
    let of_floats = call("pandas.arrays", "IntegerArray", [numbers(&[1f64], "<f8"), numbers(&[0u8], "?")]);
    assert!(matches!(fault(of_floats), PickleFault::Argument { argument: 0, .. }));
    let of_ints = call("pandas.arrays", "IntegerArray", [numbers(&[1i64], "<i8"), numbers(&[0i8], "|i1")]);
    assert!(matches!(fault(of_ints), PickleFault::Argument { argument: 1, .. }));
}

#[test]
fn arrow_arrays_that_pyarrow_would_not_check() {
    let offsets = |offsets: &[i32]| strings(offsets, b"abc");
    let wrong = |row, start, end| PickleFault::Offsets { row, start, end, limit: 3 };
    assert_eq!(fault(offsets(&[0, 3, 1])), wrong(1, 3, 1));
    assert_eq!(fault(offsets(&[-4, 3])), wrong(0, -4, 3));
    assert_eq!(fault(offsets(&[0, 100])), wrong(0, 0, 100));
    assert_eq!(fault(strings(&[0, 2], b"\xff\xfe")), PickleFault::Text { row: 0 });
    // A character that is cut.
    assert_eq!(fault(strings(&[0, 1, 2], "é".as_bytes())), PickleFault::Text { row: 0 });
    let ints = |length, buffers| from_buffers(pa_type("int64"), length, buffers);
    let eight = || Some(out_of_band(vec![0u8; 8]));
    assert!(matches!(fault(ints(-5, vec![None, eight()])), PickleFault::Argument { argument: 1, .. }));
    assert!(matches!(
        fault(ints(2, vec![None, eight()])),
        PickleFault::BufferLength { needed: 16, found: 8 }
    ));
    assert!(matches!(fault(ints(1, vec![None])), PickleFault::Arrow { .. }));
    assert!(matches!(fault(ints(1, vec![])), PickleFault::Arrow { .. }));
    assert!(matches!(fault(ints(1, vec![None, eight(), eight()])), PickleFault::Arrow { .. }));
    assert!(matches!(fault(ints(1, vec![None, None])), PickleFault::BufferLength { .. }));
    let short_mask = ints(1, vec![Some(out_of_band(Vec::<u8>::new())), eight()]);
    assert!(matches!(fault(short_mask), PickleFault::BufferLength { needed: 1, found: 0 }));
    let keys = from_buffers(pa_type("int8"), 1, vec![None, Some(out_of_band(vec![5u8]))]);
    let dictionary = call("pyarrow", "DictionaryArray.from_arrays", [keys, strings(&[0, 3], b"abc")]);
    assert!(matches!(fault(dictionary), PickleFault::Code { row: 0, code: 5, categories: 1 }));
}

#[test]
fn time_zones_that_are_none() {
    let ints = || numbers(&[0i64], "<i8");
    for name in [
        "../../../../etc/passwd",
        "/etc/passwd",
        "dateutil/Europe/Paris",
        "",
        "a/",
        "Europe/Paris\0",
        "tzlocal()",
        "localtime",
    ] {
        let expected = PickleFault::TimeZone { name: name.to_owned() };
        assert_eq!(fault(zoned(ints(), "ns", text(name))), expected, "{name:?}");
    }
    let offset =
        |seconds| call("datetime", "timezone", [call("datetime", "timedelta", [int(0), int(seconds)])]);
    assert!(matches!(fault(zoned(ints(), "ns", offset(86_400))), PickleFault::TimeZone { .. }));
    assert!(matches!(fault(zoned(ints(), "ns", offset(61))), PickleFault::TimeZone { .. }));
    let unit = fault(zoned(ints(), "fortnight", text("UTC")));
    assert!(matches!(unit, PickleFault::Argument { argument: 0, .. }));
    // Datetimes of another unit than the dtype's.
    let other = zoned(numbers(&[0i64], "<M8[ms]"), "ns", text("UTC"));
    assert!(matches!(fault(other), PickleFault::Dtype { .. }));
}

#[test]
fn calls_with_other_arguments() {
    let ints = || numbers(&[0i64], "<i8");
    for value in [
        call("numpy", "frombuffer", [out_of_band(vec![0u8]), text("|i1")]),
        call("numpy", "frombuffer", [out_of_band(vec![0u8]), text("|i1"), int(1), int(0)]),
        call("numpy", "frombuffer", [text("x"), text("|i1"), int(1)]),
        call("numpy", "empty", [int(5), text("O")]),
        call("pandas", "array", [ints(), text("str"), bool(false)]),
        call("pandas", "StringDtype", [text("other")]),
        call("pandas", "PeriodDtype", [text("M; import os")]),
        call("pandas.arrays", "IntervalArray.from_arrays", [ints(), ints(), text("up"), bool(false)]),
        call("pandas", "RangeIndex", [int(0), int(1), int(0), none(), bool(false), none()]),
    ] {
        let fault = check(value.clone());
        assert!(
            matches!(fault, PickleFault::Argument { .. } | PickleFault::Dtype { .. }),
            "{value:?}: {fault:?}"
        );
    }
    for value in [
        call("pandas", "Series", [ints()]),
        call("pandas", "Series", [ints(), none(), text("category"), none(), bool(false)]),
        call("numpy", "array", [call("builtins", "str.split", [text("a"), text("")]), text("O")]),
    ] {
        assert!(matches!(fault(value), PickleFault::Argument { .. }));
    }
}

/// What a function does with arguments is known of those that the crate writes only, and pandas'
/// older and newer names for them are others.
#[test]
fn names_that_the_crate_does_not_write() {
    let ints = || numbers(&[0i64], "<i8");
    let mask = || numbers(&[0u8], "?");
    for value in [
        call("pandas", "Series", [ints(), none(), none(), none(), bool(false)]),
        call("pandas", "DataFrame", [dict([(text("a"), ints())]), none(), none(), none(), bool(false)]),
        call("builtins", "bytearray", [int(1 << 40)]),
        call("pandas", "Timestamp", [text("2020-01-01")]),
        call("pandas.core.arrays.integer", "IntegerArray", [ints(), mask()]),
        objects(vec![call("builtins", "frozenset", [list([int(1)])])]),
        objects(vec![global("pandas._libs.missing", "NA")]),
        // Also where nothing is left of them.
        join([global("pandas", "Timestamp"), raw(b"0"), ints()]),
    ] {
        assert!(!is_written(&value));
        assert!(matches!(check(value), PickleFault::Unchecked { .. }));
    }
    assert!(call("pandas.arrays", "IntegerArray", [ints(), mask()]).parse().unwrap().check().is_ok());
}

#[test]
fn calls_that_nothing_refers_to_are_checked() {
    // Python would make the array, and then drop it.
    let evil = strings(&[0, 1 << 30], b"abc");
    let dropped = join([evil, raw(b"0"), numbers(&[1i64], "<i8")]);
    assert!(dropped.parse().unwrap().to_array().is_ok());
    assert!(matches!(check(dropped), PickleFault::Offsets { .. }));
}

#[test]
fn levels_and_codes_of_another_length() {
    let multi = |codes: &[i8]| {
        let (levels, codes) = (list([texts(["a"])]), list([numbers(codes, "|i1")]));
        call("pandas", "MultiIndex", [levels, codes, none(), list([none()])])
    };
    assert!(multi(&[0, -1]).parse().unwrap().check().is_ok());
    assert!(matches!(check(multi(&[1])), PickleFault::Code { row: 0, code: 1, categories: 1 }));
    let (levels, codes) = (list([texts(["a"]), texts(["b"])]), list([numbers(&[0i8], "|i1")]));
    let uneven = call("pandas", "MultiIndex", [levels, codes, none(), list([none(), none()])]);
    assert!(matches!(check(uneven), PickleFault::Length { .. }));
}

#[test]
fn what_is_no_column_is_not_for_python() {
    for value in [list([int(1)]), tuple([int(1)]), text("x"), none(), global("pandas", "NA")] {
        assert!(matches!(check(value), PickleFault::NoColumn { .. }));
    }
    let own = made("pandas", "StringDtype", dict([(text("storage"), text("python"))]));
    assert_eq!(check(own), PickleFault::Unchecked { call: "pandas.StringDtype" });
}

#[test]
fn objects_of_several_kinds() {
    let mixed = objects(vec![none(), text("a"), int(1)]).parse().unwrap();
    let expected = PickleFault::Mixed { row: 2, expected: "str", found: "int" };
    assert_eq!(refused(mixed.to_array().unwrap_err()).1, expected);
    let ints = objects(vec![int(1), float(1.5)]).parse().unwrap();
    let expected = PickleFault::Mixed { row: 1, expected: "int", found: "float" };
    assert_eq!(refused(ints.to_array().unwrap_err()).1, expected);
    let message = objects(vec![list([])]).parse().unwrap().to_array().unwrap_err().to_string();
    assert!(message.ends_with("an object array whose row 0 is list has no Arrow type"), "{message}");
}

#[test]
fn dates_that_do_not_exist() {
    for (year, month, day) in
        [(2021, 2, 29), (0, 1, 1), (10_000, 1, 1), (2020, 13, 1), (2020, 0, 1), (2020, 1, 0)]
    {
        let date = call("datetime", "date", [int(year), int(month), int(day)]);
        assert!(matches!(fault(objects(vec![date])), PickleFault::Argument { .. }), "{year}-{month}-{day}");
    }
}

#[test]
fn buffers_are_shared() {
    let codes = Buffer::from_slice_ref([0i8, 1, -1]);
    let form = from_codes(from_buffer(out_of_band(codes.clone()), "|i1", 3), texts(["a", "b"]), false);
    let array = form.parse().unwrap().to_array().unwrap();
    let keys = array.as_dictionary::<Int8Type>().keys();
    assert_eq!(keys.values().inner().as_ptr(), codes.as_ptr());

    let instants = Buffer::from_slice_ref([1i64, i64::MIN]);
    let form = zoned(from_buffer(out_of_band(instants.clone()), "<i8", 2), "us", text("UTC"));
    let array = form.parse().unwrap().to_array().unwrap();
    let values = array.as_primitive::<TimestampMicrosecondType>().values();
    assert_eq!(values.inner().as_ptr(), instants.as_ptr());

    let (offsets, data) = (Buffer::from_slice_ref([0i32, 1, 3]), Buffer::from_vec(b"abc".to_vec()));
    let buffers = vec![None, Some(out_of_band(offsets.clone())), Some(out_of_band(data.clone()))];
    let form = from_buffers(pa_type("string"), 2, buffers);
    for data_type in [DataType::Utf8, DataType::LargeUtf8] {
        let array = array_of(&form, &data_type).to_data();
        assert_eq!(array.buffers()[1].as_ptr(), data.as_ptr());
        assert_eq!(array.buffers()[0].as_ptr() == offsets.as_ptr(), data_type == DataType::Utf8);
    }

    let values = Buffer::from_slice_ref([1.5f64, 2.5]);
    let masked = [from_buffer(out_of_band(values.clone()), "<f8", 2), numbers(&[0u8, 1], "?")];
    let array = call("pandas.arrays", "FloatingArray", masked).parse().unwrap().to_array().unwrap();
    assert_eq!(array.as_primitive::<Float64Type>().values().inner().as_ptr(), values.as_ptr());
}

#[test]
fn categoricals_of_the_type_they_had() {
    let form = from_codes(numbers(&[0u8, 2, 1], "|u1"), texts(["a", "b", "c"]), false);
    let dictionary = |key, value| DataType::Dictionary(Box::new(key), Box::new(value));
    for key in [
        DataType::Int8,
        DataType::UInt8,
        DataType::Int16,
        DataType::UInt32,
        DataType::Int64,
        DataType::UInt64,
    ] {
        for value in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View] {
            let array = array_of(&form, &dictionary(key.clone(), value));
            let keys = array.as_any_dictionary().normalized_keys();
            assert_eq!(keys, [0, 2, 1]);
        }
    }
    // As many keys as the type has values.
    let names: Vec<String> = (0..256).map(|n| n.to_string()).collect();
    let wide = from_codes(numbers(&[255i16, -1], "<i2"), texts(names.iter().map(String::as_str)), false);
    let array = array_of(&wide, &dictionary(DataType::UInt8, DataType::Utf8));
    assert_eq!(array.as_dictionary::<UInt8Type>().key(0), Some(255));
    assert!(array.is_null(1));
    let narrow = wide.parse().unwrap().to_array_of(&dictionary(DataType::Int8, DataType::Utf8));
    assert!(matches!(refused(narrow.unwrap_err()).1, PickleFault::Type { .. }));
}

#[test]
fn strings_of_the_type_they_had() {
    let form = objects(vec![text("a"), none(), text("a text of more than twelve bytes")]);
    let expected = array_of(&form, &DataType::Utf8);
    for data_type in [DataType::LargeUtf8, DataType::Utf8View] {
        let array = array_of(&form, &data_type);
        assert_eq!(arrow::compute::cast(&array, &DataType::Utf8).unwrap().to_data(), expected.to_data());
    }
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
    let taken = call("numpy", "take", [objects(vec![text("a"), text("b")]), numbers(&[1i32, 0], "<i4")]);
    let array = array_of(&taken, &dictionary);
    assert_eq!(array.as_dictionary::<Int32Type>().keys().values(), &[1, 0]);
    // No string is lost or invented.
    let no_text = form.parse().unwrap().to_array_of(&DataType::Int64).unwrap_err();
    assert!(matches!(refused(no_text).1, PickleFault::Type { .. }));
}

#[test]
fn zones_by_the_name_they_had() {
    let offset = call("datetime", "timezone", [call("datetime", "timedelta", [int(0), int(3_600)])]);
    let of_zone = |zone: &str| DataType::Timestamp(TimeUnit::Microsecond, Some(zone.into()));
    let form = zoned(numbers(&[5i64], "<i8"), "us", offset);
    for name in ["+01:00", "+0100", "+01"] {
        array_of(&form, &of_zone(name));
    }
    let utc = zoned(numbers(&[5i64], "<i8"), "us", text("UTC"));
    for name in ["UTC", "Z", "+00:00", "Etc/UTC"] {
        array_of(&utc, &of_zone(name));
    }
    for name in ["+02:00", "Europe/Paris"] {
        let error = form.parse().unwrap().to_array_of(&of_zone(name)).unwrap_err();
        assert!(matches!(refused(error).1, PickleFault::Type { .. }));
    }
}

#[test]
fn objects_of_the_type_they_had() {
    let ints = objects(vec![int(1), none(), int(255)]);
    for data_type in [DataType::UInt8, DataType::Int16, DataType::UInt64, DataType::Int64] {
        assert_eq!(array_of(&ints, &data_type).null_count(), 1);
    }
    let too_small = ints.parse().unwrap().to_array_of(&DataType::Int8).unwrap_err();
    assert!(matches!(refused(too_small).1, PickleFault::Value { row: 2, .. }));

    let date = objects(vec![call("datetime", "date", [int(1970), int(1), int(2)])]);
    assert_eq!(array_of(&date, &DataType::Date64).as_primitive::<Date64Type>().value(0), 86_400_000);

    let time = objects(vec![call("datetime", "time", [int(0), int(0), int(1), int(5_000)])]);
    let millis = array_of(&time, &DataType::Time32(TimeUnit::Millisecond));
    assert_eq!(millis.as_primitive::<Time32MillisecondType>().value(0), 1_005);
    let nanos = array_of(&time, &DataType::Time64(TimeUnit::Nanosecond));
    assert_eq!(nanos.as_primitive::<Time64NanosecondType>().value(0), 1_005_000_000);
    let seconds = time.parse().unwrap().to_array_of(&DataType::Time32(TimeUnit::Second)).unwrap_err();
    assert!(matches!(refused(seconds).1, PickleFault::Value { .. }));

    let decimal = |digits: &str| call("decimal", "Decimal", [text(digits)]);
    let decimals = objects(vec![decimal("1.5"), decimal("1E+2"), decimal("-0.25")]);
    let wide = array_of(&decimals, &DataType::Decimal128(20, 4));
    assert_eq!(wide.as_primitive::<Decimal128Type>().values(), &[15_000, 1_000_000, -2_500]);
    array_of(&decimals, &DataType::Decimal256(20, 4));
    array_of(&decimals, &DataType::Decimal64(10, 3));
    let narrow = decimals.parse().unwrap().to_array_of(&DataType::Decimal128(20, 1)).unwrap_err();
    assert!(matches!(refused(narrow).1, PickleFault::Value { row: 2, .. }));
    let none_at_all = objects(vec![none()]);
    assert_eq!(array_of(&none_at_all, &DataType::Date32).null_count(), 1);
    let infinite = objects(vec![decimal("Infinity")]).parse().unwrap().to_array().unwrap_err();
    assert!(matches!(refused(infinite).1, PickleFault::Value { .. }));
}

#[test]
fn lists_of_text_in_every_layout() {
    // Runs of text, with others between, in batches, and memoized: the rows stay in order.
    let long = "x".repeat(300);
    let memoized = |value: &str| join([text(value), raw(b"\x94")]);
    let batch = |values: Vec<Value>| join([raw(b"("), join(values), raw(b"e")]);
    let list = join([
        raw(b"]"),
        batch(vec![text("a"), none(), text(&long)]),
        batch(vec![memoized("b"), text("é")]),
        raw(b"(e"),
        batch(vec![text("c"), raw(b"h\x00")]),
        join([text("d"), raw(b"a")]),
        batch(vec![text(""), text("e")]),
        batch(vec![text("f")]),
    ]);
    let dtype = call("pandas", "StringDtype", [text("python")]);
    let pickle = call("pandas", "array", [list.clone(), dtype, bool(false)]).parse().unwrap();
    let rows = vec![
        Some("a"),
        None,
        Some(&long),
        Some("b"),
        Some("é"),
        Some("c"),
        Some("b"),
        Some("d"),
        Some(""),
        Some("e"),
        Some("f"),
    ];
    let expected: ArrayRef = Arc::new(StringArray::from(rows));
    assert_eq!(&pickle.to_array().unwrap(), &expected);
    assert_eq!(pickle.describe(), "11 strings");
    // With something else at its end.
    let mixed = join([list, batch(vec![text("g"), int(1)])]).parse().unwrap();
    assert_eq!(mixed.describe(), "a list of 13 values: str, None, int");
    let expected = PickleFault::Mixed { row: 12, expected: "str", found: "int" };
    assert_eq!(refused(mixed.to_array().unwrap_err()).1, expected);
}

#[test]
fn a_run_of_text_that_is_not_utf8() {
    let list = raw(b"](\x8c\x01a\x8c\x02\xff\xfee");
    assert_eq!(refused(list.parse().unwrap_err()), (7, PickleFault::Utf8));
}

#[test]
fn nan_stays_nan_among_floats_and_is_missing_among_strings() {
    let floats = objects(vec![float(f64::NAN), float(1.5), none()]).parse().unwrap().to_array().unwrap();
    assert_eq!(floats.null_count(), 1);
    let strings = objects(vec![float(f64::NAN), text("a")]).parse().unwrap().to_array().unwrap();
    let expected: ArrayRef = Arc::new(StringArray::from(vec![None, Some("a")]));
    assert_eq!(&strings, &expected);
}

#[test]
fn a_value_that_is_taken_too_often() {
    let long = text(&"x".repeat(1 << 20));
    let indices = numbers(&vec![0i32; 1 << 20], "<i4");
    let bomb = call("numpy", "take", [objects(vec![long]), indices]);
    let error = bomb.parse().unwrap().to_array().unwrap_err();
    assert_eq!(error.fault(), arrow_frames::Fault::Limit);
}
