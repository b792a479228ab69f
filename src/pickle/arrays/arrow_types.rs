//! pyarrow's types, as calls of their constructors. Source: pyarrow, "Data types and schemas".

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

use super::super::allow::Name;
use super::super::graph::Id;
use super::super::view::{Value, View};
use super::arguments::Arguments;
use super::form::unit;
use super::zone;
use crate::error::Result;

/// The type that a call makes.
pub(in crate::pickle) fn data_type(call: Arguments<'_>) -> Result<DataType> {
    let plain = |data_type| call.exactly(0).map(|_| data_type);
    match call.name {
        Name::PaBool => plain(DataType::Boolean),
        Name::PaInt8 => plain(DataType::Int8),
        Name::PaInt16 => plain(DataType::Int16),
        Name::PaInt32 => plain(DataType::Int32),
        Name::PaInt64 => plain(DataType::Int64),
        Name::PaUInt8 => plain(DataType::UInt8),
        Name::PaUInt16 => plain(DataType::UInt16),
        Name::PaUInt32 => plain(DataType::UInt32),
        Name::PaUInt64 => plain(DataType::UInt64),
        Name::PaFloat16 => plain(DataType::Float16),
        Name::PaFloat32 => plain(DataType::Float32),
        Name::PaFloat64 => plain(DataType::Float64),
        Name::PaDate32 => plain(DataType::Date32),
        Name::PaDate64 => plain(DataType::Date64),
        Name::PaString => plain(DataType::Utf8),
        Name::PaLargeString => plain(DataType::LargeUtf8),
        Name::PaStringView => plain(DataType::Utf8View),
        Name::PaLargeBinary => plain(DataType::LargeBinary),
        Name::PaBinaryView => plain(DataType::BinaryView),
        Name::PaBinary if call.count == 0 => plain(DataType::Binary),
        Name::PaBinary => match i32::try_from(call.exactly(1)?.int(0)?) {
            Ok(width) if width > 0 => Ok(DataType::FixedSizeBinary(width)),
            _ => call.wrong(0),
        },
        Name::PaTime32 => match unit(call.exactly(1)?, 0)? {
            unit @ (TimeUnit::Second | TimeUnit::Millisecond) => Ok(DataType::Time32(unit)),
            _ => call.wrong(0),
        },
        Name::PaTime64 => match unit(call.exactly(1)?, 0)? {
            unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond) => Ok(DataType::Time64(unit)),
            _ => call.wrong(0),
        },
        Name::PaDuration => Ok(DataType::Duration(unit(call.exactly(1)?, 0)?)),
        Name::PaTimestamp => {
            call.exactly(call.count.clamp(1, 2))?;
            let zone = if call.count == 2 { timestamp_zone(call)? } else { None };
            Ok(DataType::Timestamp(unit(call, 0)?, zone.map(Into::into)))
        }
        Name::PaDecimal128 => decimal(call, 38).map(|(p, s)| DataType::Decimal128(p, s)),
        Name::PaDecimal256 => decimal(call, 76).map(|(p, s)| DataType::Decimal256(p, s)),
        Name::PaAlias => match alias(call.exactly(1)?.text(0)?) {
            Some(data_type) => Ok(data_type),
            None => call.wrong(0),
        },
        Name::PaList => Ok(DataType::List(field(call.exactly(1)?, 0)?)),
        Name::PaLargeList => Ok(DataType::LargeList(field(call.exactly(1)?, 0)?)),
        Name::PaStruct => {
            let fields = call.exactly(1)?.list(0)?.map(|id| match Arguments::of(call.view, id) {
                Some(field) => of_field(field),
                None => call.wrong(0),
            });
            Ok(DataType::Struct(fields.collect::<Result<Fields>>()?))
        }
        Name::PaDictionary => {
            call.exactly(3)?;
            call.bool(2)?;
            let (key, value) = (inner(call, 0)?, inner(call, 1)?);
            if !key.is_dictionary_key_type() {
                return call.wrong(0);
            }
            Ok(DataType::Dictionary(Box::new(key), Box::new(value)))
        }
        _ => call.refuse(0, "no type"),
    }
}

/// The type that an argument is.
pub(in crate::pickle) fn inner(call: Arguments<'_>, index: usize) -> Result<DataType> {
    match Arguments::of(call.view, call.get(index)?) {
        Some(inner) => data_type(inner),
        None => call.wrong(index),
    }
}

/// The type that a value is.
pub(in crate::pickle) fn of(view: View<'_>, id: Id) -> Option<Result<DataType>> {
    Arguments::of(view, id).map(data_type)
}

fn timestamp_zone(call: Arguments<'_>) -> Result<Option<&str>> {
    match call.value(1)? {
        Value::None => Ok(None),
        Value::Text(text) if zone::fixed_offset(text).is_some() || zone::is_name(text) => Ok(Some(text)),
        _ => call.wrong(1),
    }
}

fn decimal(call: Arguments<'_>, digits: u8) -> Result<(u8, i8)> {
    call.exactly(2)?;
    match (u8::try_from(call.int(0)?), i8::try_from(call.int(1)?)) {
        (Ok(precision), Ok(scale)) if (1..=digits).contains(&precision) => Ok((precision, scale)),
        _ => call.wrong(0),
    }
}

fn field(call: Arguments<'_>, index: usize) -> Result<FieldRef> {
    call.call(index, Name::PaField).and_then(of_field)
}

/// `field(name, type, nullable, metadata)`.
fn of_field(call: Arguments<'_>) -> Result<FieldRef> {
    if call.name != Name::PaField {
        return call.refuse(0, "no field");
    }
    call.exactly(4)?;
    call.none(3)?;
    Ok(Arc::new(Field::new(call.text(0)?, inner(call, 1)?, call.bool(2)?)))
}

/// The type that pyarrow prints as this. Source: Arrow C++, `DataType::ToString`.
fn alias(name: &str) -> Option<DataType> {
    ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, data_type)| data_type.clone())
}

/// How pyarrow prints a type that has no parameters but a unit.
pub(in crate::pickle) fn name(data_type: &DataType) -> Option<&'static str> {
    ALIASES.iter().find(|(_, alias)| alias == data_type).map(|(name, _)| *name)
}

const ALIASES: [(&str, DataType); 32] = [
    ("bool", DataType::Boolean),
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("halffloat", DataType::Float16),
    ("float", DataType::Float32),
    ("double", DataType::Float64),
    ("string", DataType::Utf8),
    ("large_string", DataType::LargeUtf8),
    ("string_view", DataType::Utf8View),
    ("binary", DataType::Binary),
    ("large_binary", DataType::LargeBinary),
    ("binary_view", DataType::BinaryView),
    ("date32[day]", DataType::Date32),
    ("date64[ms]", DataType::Date64),
    ("time32[s]", DataType::Time32(TimeUnit::Second)),
    ("time32[ms]", DataType::Time32(TimeUnit::Millisecond)),
    ("time64[us]", DataType::Time64(TimeUnit::Microsecond)),
    ("time64[ns]", DataType::Time64(TimeUnit::Nanosecond)),
    ("timestamp[s]", DataType::Timestamp(TimeUnit::Second, None)),
    ("timestamp[ms]", DataType::Timestamp(TimeUnit::Millisecond, None)),
    ("timestamp[us]", DataType::Timestamp(TimeUnit::Microsecond, None)),
    ("timestamp[ns]", DataType::Timestamp(TimeUnit::Nanosecond, None)),
    ("duration[s]", DataType::Duration(TimeUnit::Second)),
    ("duration[ms]", DataType::Duration(TimeUnit::Millisecond)),
    ("duration[us]", DataType::Duration(TimeUnit::Microsecond)),
    ("duration[ns]", DataType::Duration(TimeUnit::Nanosecond)),
];
