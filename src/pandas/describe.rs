//! Makes the metadata of a schema that has none.

use arrow_schema::{DataType, Field, TimeUnit};
use serde_json::{Value, json};

use super::CREATOR;

/// The metadata of such columns; the flag says whether a column is opaque.
///
/// Which of numpy's and pandas' nullable dtypes a column gets is decided by the field's
/// `nullable` flag and never by the values, so that every batch of a stream agrees.
pub(crate) fn describe<'f>(fields: impl Iterator<Item = (&'f Field, bool)>) -> String {
    let columns: Vec<Value> = fields.map(|(field, is_opaque)| entry(field, is_opaque)).collect();
    json!({
        "index_columns": [],
        "column_indexes": [],
        "columns": columns,
        "creator": {"library": CREATOR},
        "pandas_version": null,
    })
    .to_string()
}

/// The entry of a column.
pub(super) fn entry(field: &Field, is_opaque: bool) -> Value {
    let (pandas_type, numpy_type) = if is_opaque {
        ("empty", "object".to_owned())
    } else {
        types(field.data_type(), field.is_nullable())
    };
    json!({
        "name": field.name(),
        "field_name": field.name(),
        "pandas_type": pandas_type,
        "numpy_type": numpy_type,
        "metadata": null,
    })
}

/// pandas' name of the logical type, and the dtype that a reader builds.
fn types(data_type: &DataType, is_nullable: bool) -> (&'static str, String) {
    use DataType::*;
    let number =
        |name: &'static str, nullable: &str| (name, if is_nullable { nullable } else { name }.to_owned());
    match data_type {
        Boolean => number("bool", "boolean"),
        Int8 => number("int8", "Int8"),
        Int16 => number("int16", "Int16"),
        Int32 => number("int32", "Int32"),
        Int64 => number("int64", "Int64"),
        UInt8 => number("uint8", "UInt8"),
        UInt16 => number("uint16", "UInt16"),
        UInt32 => number("uint32", "UInt32"),
        UInt64 => number("uint64", "UInt64"),
        // pandas has no nullable one, and NaN is not null.
        Float16 => number("float16", "object"),
        Float32 => number("float32", "Float32"),
        Float64 => number("float64", "Float64"),
        Timestamp(unit, None) => ("datetime", format!("datetime64[{}]", unit_name(*unit))),
        Duration(unit) => ("timedelta", format!("timedelta64[{}]", unit_name(*unit))),
        Date32 | Date64 => ("date", "object".to_owned()),
        Time32(_) | Time64(_) => ("time", "object".to_owned()),
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => ("decimal", "object".to_owned()),
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => ("bytes", "object".to_owned()),
        Utf8 | LargeUtf8 | Utf8View => ("unicode", "object".to_owned()),
        Null => ("empty", "object".to_owned()),
        _ => ("object", "object".to_owned()),
    }
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}
