//! Types without children, as every table that names a type says them.

use std::sync::Arc;

use arrow_ipc as ipc;
use arrow_schema::{
    ArrowError, DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION,
    DECIMAL256_MAX_PRECISION, DataType, IntervalUnit, TimeUnit,
};

/// A table with the union of types: of a field, of a tensor.
pub(super) trait TypeTable<'a> {
    fn kind(&self) -> ipc::Type;
    fn int(&self) -> Option<ipc::Int<'a>>;
    fn floating_point(&self) -> Option<ipc::FloatingPoint<'a>>;
    fn decimal(&self) -> Option<ipc::Decimal<'a>>;
    fn date(&self) -> Option<ipc::Date<'a>>;
    fn time(&self) -> Option<ipc::Time<'a>>;
    fn timestamp(&self) -> Option<ipc::Timestamp<'a>>;
    fn duration(&self) -> Option<ipc::Duration<'a>>;
    fn interval(&self) -> Option<ipc::Interval<'a>>;
    fn fixed_size_binary(&self) -> Option<ipc::FixedSizeBinary<'a>>;
}

macro_rules! type_table {
    ($($table:ident),*) => {$(
        impl<'a> TypeTable<'a> for ipc::$table<'a> {
            fn kind(&self) -> ipc::Type {
                self.type_type()
            }
            fn int(&self) -> Option<ipc::Int<'a>> {
                self.type_as_int()
            }
            fn floating_point(&self) -> Option<ipc::FloatingPoint<'a>> {
                self.type_as_floating_point()
            }
            fn decimal(&self) -> Option<ipc::Decimal<'a>> {
                self.type_as_decimal()
            }
            fn date(&self) -> Option<ipc::Date<'a>> {
                self.type_as_date()
            }
            fn time(&self) -> Option<ipc::Time<'a>> {
                self.type_as_time()
            }
            fn timestamp(&self) -> Option<ipc::Timestamp<'a>> {
                self.type_as_timestamp()
            }
            fn duration(&self) -> Option<ipc::Duration<'a>> {
                self.type_as_duration()
            }
            fn interval(&self) -> Option<ipc::Interval<'a>> {
                self.type_as_interval()
            }
            fn fixed_size_binary(&self) -> Option<ipc::FixedSizeBinary<'a>> {
                self.type_as_fixed_size_binary()
            }
        }
    )*};
}

type_table!(Field, Tensor, SparseTensor);

/// The type that a table names, every number in it checked; `None` if its values are not of a
/// fixed number of bytes.
pub(super) fn fixed_width<'a>(table: &impl TypeTable<'a>) -> Result<Option<DataType>, ArrowError> {
    let kind = table.kind();
    // The verifier lets a table pass whose type is of another kind than it says, or missing.
    macro_rules! parameters {
        ($accessor:ident) => {
            table.$accessor().ok_or_else(|| bad(format!("{kind:?} without its parameters")))?
        };
    }
    Ok(Some(match kind {
        ipc::Type::Int => int(parameters!(int))?,
        ipc::Type::FloatingPoint => match parameters!(floating_point).precision() {
            ipc::Precision::HALF => DataType::Float16,
            ipc::Precision::SINGLE => DataType::Float32,
            ipc::Precision::DOUBLE => DataType::Float64,
            other => return Err(bad(format!("floating point of precision {other:?}"))),
        },
        ipc::Type::Decimal => {
            let parameters = parameters!(decimal);
            decimal(parameters.precision(), parameters.scale(), parameters.bitWidth())?
        }
        ipc::Type::Date => match parameters!(date).unit() {
            ipc::DateUnit::DAY => DataType::Date32,
            ipc::DateUnit::MILLISECOND => DataType::Date64,
            other => return Err(bad(format!("date in {other:?}"))),
        },
        ipc::Type::Time => {
            let time = parameters!(time);
            match (time.bitWidth(), time_unit(time.unit())?) {
                (32, unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => DataType::Time32(unit),
                (64, unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => DataType::Time64(unit),
                (bits, unit) => return Err(bad(format!("time of {bits} bits in {unit:?}"))),
            }
        }
        ipc::Type::Timestamp => {
            let timestamp = parameters!(timestamp);
            DataType::Timestamp(time_unit(timestamp.unit())?, timestamp.timezone().map(Arc::from))
        }
        ipc::Type::Duration => DataType::Duration(time_unit(parameters!(duration).unit())?),
        ipc::Type::Interval => match parameters!(interval).unit() {
            ipc::IntervalUnit::YEAR_MONTH => DataType::Interval(IntervalUnit::YearMonth),
            ipc::IntervalUnit::DAY_TIME => DataType::Interval(IntervalUnit::DayTime),
            ipc::IntervalUnit::MONTH_DAY_NANO => DataType::Interval(IntervalUnit::MonthDayNano),
            other => return Err(bad(format!("interval in {other:?}"))),
        },
        ipc::Type::FixedSizeBinary => match parameters!(fixed_size_binary).byteWidth() {
            width @ ..0 => return Err(bad(format!("fixed-size binary of width {width}"))),
            width => DataType::FixedSizeBinary(width),
        },
        _ => return Ok(None),
    }))
}

/// The type of integers.
pub(super) fn int(int: ipc::Int<'_>) -> Result<DataType, ArrowError> {
    Ok(match (int.bitWidth(), int.is_signed()) {
        (8, true) => DataType::Int8,
        (16, true) => DataType::Int16,
        (32, true) => DataType::Int32,
        (64, true) => DataType::Int64,
        (8, false) => DataType::UInt8,
        (16, false) => DataType::UInt16,
        (32, false) => DataType::UInt32,
        (64, false) => DataType::UInt64,
        (bits, _) => return Err(bad(format!("integer of {bits} bits"))),
    })
}

/// The error that a type is none.
#[cold]
pub(super) fn bad(reason: String) -> ArrowError {
    ArrowError::SchemaError(reason)
}

fn decimal(precision: i32, scale: i32, bits: i32) -> Result<DataType, ArrowError> {
    type Make = fn(u8, i8) -> DataType;
    let (digits, make): (u8, Make) = match bits {
        32 => (DECIMAL32_MAX_PRECISION, DataType::Decimal32),
        64 => (DECIMAL64_MAX_PRECISION, DataType::Decimal64),
        128 => (DECIMAL128_MAX_PRECISION, DataType::Decimal128),
        256 => (DECIMAL256_MAX_PRECISION, DataType::Decimal256),
        _ => return Err(bad(format!("decimal of {bits} bits"))),
    };
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision), Ok(scale)) if (1..=digits).contains(&precision) => Ok(make(precision, scale)),
        _ => Err(bad(format!("decimal{bits} of precision {precision} and scale {scale}"))),
    }
}

fn time_unit(unit: ipc::TimeUnit) -> Result<TimeUnit, ArrowError> {
    match unit {
        ipc::TimeUnit::SECOND => Ok(TimeUnit::Second),
        ipc::TimeUnit::MILLISECOND => Ok(TimeUnit::Millisecond),
        ipc::TimeUnit::MICROSECOND => Ok(TimeUnit::Microsecond),
        ipc::TimeUnit::NANOSECOND => Ok(TimeUnit::Nanosecond),
        other => Err(bad(format!("time unit {}", other.0))),
    }
}
