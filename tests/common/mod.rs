//! What the tests share: every Arrow type by name ([`cases`]), arrays of any type
//! ([`make`](make())), nests to put them in ([`nest`](mod@nest)), and strict comparisons ([`assert_same`]).
//!
//! Everything is deterministic: the same call makes the same bytes.
#![allow(dead_code, unused_imports)] // Each test binary uses its own part.

mod forms;
mod make;
mod nest;
mod process;
mod rng;
mod same;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};

pub use forms::{file_bytes, one_column, through_file, through_pieces, through_stream};
pub use make::{Nulls, make, make_array_of};
pub use nest::{NESTS, Nest, in_dictionary, in_list, in_struct};
pub use process::{alone, is_alone, passes_alone, resident, text};
pub use rng::Rng;
pub use same::{assert_same, assert_same_array, assert_same_schema, assert_valid, same, signature};

/// A type under a name that says which.
pub struct Case {
    /// Unique among the cases.
    pub name: String,
    /// A nullable field of that type, named like the case.
    pub field: FieldRef,
}

/// Every type of Arrow, with each parameter that changes its layout or its metadata, and
/// dictionaries in every place where a field can hold one.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, data_type: DataType| add_field(&mut cases, Field::new(name, data_type, true));

    add("null", DataType::Null);
    add("boolean", DataType::Boolean);
    add("int8", DataType::Int8);
    add("int16", DataType::Int16);
    add("int32", DataType::Int32);
    add("int64", DataType::Int64);
    add("uint8", DataType::UInt8);
    add("uint16", DataType::UInt16);
    add("uint32", DataType::UInt32);
    add("uint64", DataType::UInt64);
    add("float16", DataType::Float16);
    add("float32", DataType::Float32);
    add("float64", DataType::Float64);
    add("decimal32", DataType::Decimal32(9, 2));
    add("decimal64", DataType::Decimal64(18, -3));
    add("decimal128", DataType::Decimal128(38, 10));
    add("decimal256", DataType::Decimal256(76, 20));
    add("date32", DataType::Date32);
    add("date64", DataType::Date64);
    add("time32_s", DataType::Time32(TimeUnit::Second));
    add("time32_ms", DataType::Time32(TimeUnit::Millisecond));
    add("time64_us", DataType::Time64(TimeUnit::Microsecond));
    add("time64_ns", DataType::Time64(TimeUnit::Nanosecond));
    for (unit, of_unit) in UNITS {
        add(&format!("duration_{unit}"), DataType::Duration(of_unit));
        add(&format!("timestamp_{unit}"), DataType::Timestamp(of_unit, None));
        for zone in ["UTC", "Europe/Paris", "+05:30"] {
            add(&format!("timestamp_{unit}_{zone}"), DataType::Timestamp(of_unit, Some(zone.into())));
        }
    }
    add("interval_year_month", DataType::Interval(IntervalUnit::YearMonth));
    add("interval_day_time", DataType::Interval(IntervalUnit::DayTime));
    add("interval_month_day_nano", DataType::Interval(IntervalUnit::MonthDayNano));

    add("binary", DataType::Binary);
    add("large_binary", DataType::LargeBinary);
    add("binary_view", DataType::BinaryView);
    add("fixed_size_binary_3", DataType::FixedSizeBinary(3));
    add("fixed_size_binary_0", DataType::FixedSizeBinary(0));
    add("utf8", DataType::Utf8);
    add("large_utf8", DataType::LargeUtf8);
    add("utf8_view", DataType::Utf8View);

    add("list", DataType::List(item(DataType::Int32)));
    add("large_list", DataType::LargeList(item(DataType::Int64)));
    add("list_view", DataType::ListView(item(DataType::Int16)));
    add("large_list_view", DataType::LargeListView(item(DataType::Utf8)));
    add("fixed_size_list_2", DataType::FixedSizeList(item(DataType::Float32), 2));
    add("fixed_size_list_0", DataType::FixedSizeList(item(DataType::Float32), 0));
    add("list_of_required", DataType::List(Field::new("element", DataType::Utf8, false).into()));
    add("list_of_utf8_view", DataType::List(item(DataType::Utf8View)));
    add("list_view_of_list_view", DataType::ListView(item(DataType::ListView(item(DataType::Int64)))));
    add("list_with_child_metadata", DataType::List(described(DataType::Int8)));

    add("struct", structure([field("a", DataType::Int32), field("b", DataType::Utf8)]));
    add("struct_of_required", structure([required("a", DataType::Int64), required("b", DataType::Boolean)]));
    add("struct_empty", DataType::Struct(Fields::empty()));
    add("struct_of_same_names", structure([field("a", DataType::Int8), field("a", DataType::Int16)]));
    add("map", map(DataType::Utf8, DataType::Int64, false));
    add("map_sorted", map(DataType::Int32, DataType::Utf8, true));
    let entries = structure([required("key", DataType::Utf8), field("value", DataType::Date32)]);
    add("map_of_other_names", DataType::Map(required("key_value", entries).into(), false));
    add("sparse_union", union(UnionMode::Sparse));
    add("dense_union", union(UnionMode::Dense));

    for key in KEYS {
        add(&format!("dictionary_{}", key.to_string().to_lowercase()), dictionary(key, DataType::Utf8));
    }
    let plain = dictionary(DataType::Int8, DataType::Utf8);
    let of_struct = structure([field("a", DataType::Int32), field("d", plain.clone())]);
    add("dictionary_of_fixed_width", dictionary(DataType::UInt16, DataType::Decimal128(20, 2)));
    add("dictionary_of_list", dictionary(DataType::Int16, DataType::List(item(DataType::Int32))));
    add("dictionary_of_struct", dictionary(DataType::Int32, structure([field("a", DataType::Int32)])));
    add("dictionary_of_dictionary_in_struct", dictionary(DataType::Int32, of_struct));
    add("list_of_dictionary", DataType::List(item(plain.clone())));
    add("struct_of_dictionary", structure([field("a", plain.clone()), field("b", plain.clone())]));
    add("fixed_size_list_of_dictionary", DataType::FixedSizeList(item(plain.clone()), 2));
    add("list_view_of_dictionary", DataType::ListView(item(plain.clone())));
    add("map_of_dictionary", map(DataType::Utf8, plain.clone(), false));
    add("sparse_union_of_dictionary", union_of(UnionMode::Sparse, [field("d", plain.clone())]));
    add("dense_union_of_dictionary", union_of(UnionMode::Dense, [field("d", plain.clone())]));
    let ordered = Field::new_list_field(plain.clone(), true).with_dict_is_ordered(true);
    add("list_of_ordered_dictionary", DataType::List(ordered.clone().into()));
    let of_ordered = structure([ordered.clone().with_name("o"), field("d", plain.clone())]);
    add("dictionary_of_ordered_in_struct", dictionary(DataType::Int16, of_ordered));

    for ends in [DataType::Int16, DataType::Int32, DataType::Int64] {
        add(&format!("runs_{}", ends.to_string().to_lowercase()), runs(ends, DataType::Float64));
    }
    add("runs_of_utf8", runs(DataType::Int32, DataType::Utf8));
    add("runs_of_dictionary", runs(DataType::Int16, plain.clone()));
    add("runs_of_list", runs(DataType::Int64, DataType::List(item(DataType::Int8))));

    // What only a field can say.
    // Extension types are metadata of the field; the keys are the specification's.
    let extension = |field: Field, name: &str, parameters: &str| {
        field.with_metadata([("ARROW:extension:name", name), ("ARROW:extension:metadata", parameters)])
    };
    let uuid = extension(Field::new("uuid", DataType::FixedSizeBinary(16), true), "arrow.uuid", "");
    let json = extension(Field::new("json", DataType::Utf8, true), "arrow.json", "");
    let bool8 = extension(Field::new("bool8", DataType::Int8, true), "arrow.bool8", "");
    let cells = DataType::FixedSizeList(required("item", DataType::Float32).into(), 6);
    let tensor = Field::new("fixed_shape_tensor", cells, true);
    let tensor = extension(tensor, "arrow.fixed_shape_tensor", r#"{"shape":[2,3]}"#);
    let notes = [("unit", "mm"), ("", "empty key"), ("empty value", ""), ("schlüssel", "größe")];
    let described = Field::new("field_metadata", DataType::Int32, true).with_metadata(notes);
    let ordered = ordered.with_name("ordered_dictionary");
    for field in [uuid, json, bool8, tensor, described, ordered] {
        add_field(&mut cases, field);
    }
    cases
}

/// The case of that name.
pub fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("there is no case {name}"))
}

/// The four units of time, by their short names.
pub const UNITS: [(&str, TimeUnit); 4] = [
    ("s", TimeUnit::Second),
    ("ms", TimeUnit::Millisecond),
    ("us", TimeUnit::Microsecond),
    ("ns", TimeUnit::Nanosecond),
];

/// The types a dictionary's keys may have.
pub const KEYS: [DataType; 8] = [
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
];

/// A nullable field.
pub fn field(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

/// A field without nulls.
pub fn required(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, false)
}

/// A list's nullable child field.
pub fn item(data_type: DataType) -> FieldRef {
    Field::new_list_field(data_type, true).into()
}

/// A child field with metadata of its own.
fn described(data_type: DataType) -> FieldRef {
    Field::new("described", data_type, true).with_metadata([("child", "yes")]).into()
}

pub fn structure<const N: usize>(fields: [Field; N]) -> DataType {
    DataType::Struct(Fields::from(fields.to_vec()))
}

pub fn dictionary(key: DataType, value: DataType) -> DataType {
    DataType::Dictionary(key.into(), value.into())
}

pub fn map(key: DataType, value: DataType, sorted: bool) -> DataType {
    let entries = structure([required("keys", key), field("values", value)]);
    DataType::Map(required("entries", entries).into(), sorted)
}

pub fn runs(ends: DataType, values: DataType) -> DataType {
    DataType::RunEndEncoded(required("run_ends", ends).into(), field("values", values).into())
}

/// A union of four types whose ids are neither in order nor without gaps.
pub fn union(mode: UnionMode) -> DataType {
    let fields = [
        field("int", DataType::Int32),
        field("text", DataType::Utf8),
        field("nothing", DataType::Null),
        field("unused", DataType::Float64),
    ];
    let fields =
        [(5, fields[0].clone()), (0, fields[1].clone()), (127, fields[2].clone()), (9, fields[3].clone())];
    DataType::Union(fields.into_iter().map(|(id, field)| (id, Arc::new(field))).collect(), mode)
}

/// A union of these fields, numbered from 0.
pub fn union_of<const N: usize>(mode: UnionMode, fields: [Field; N]) -> DataType {
    let fields: UnionFields = (0..).zip(fields.map(Arc::new)).collect();
    DataType::Union(fields, mode)
}

fn add_field(cases: &mut Vec<Case>, field: Field) {
    assert!(cases.iter().all(|case| case.name != *field.name()), "two cases are named {}", field.name());
    cases.push(Case { name: field.name().clone(), field: field.into() });
}
