//! Numbers and booleans, as they are and pickled.

use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray};
use arrow::datatypes::ArrowNativeTypeOp;
use arrow_frames::Carriage;

use super::super::case::{always, each};
use super::super::kind::{ALL, FROM_2, Kind};

const SECTION: &str = "Numbers";

pub fn all() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (name, sample) in samples() {
        let nullable = if name == "bool" { "boolean".to_owned() } else { capitalized(name) };
        let is_packed = name == "bool";
        let part = |kind: Kind, name| if is_packed { kind } else { kind.shared_without_nulls(ALL, name) };

        let required = Kind::new(SECTION, format!("{name}, not nullable"), sample.clone(), always(name));
        kinds.push(part(required.required().read_only(), "values"));
        if name == "float16" {
            // pandas has no nullable one of its own, and in numpy's a null would be NaN.
            let dtype = each(["object", "halffloat[pyarrow]", "halffloat[pyarrow]"]);
            let kind = Kind::new(SECTION, "float16, nullable", sample.clone(), dtype).read_only();
            kinds.push(kind.shared(FROM_2, "data"));
        } else {
            let row = format!("{name}, nullable");
            let kind = Kind::new(SECTION, row, sample.clone(), always(nullable.clone())).read_only();
            kinds.push(if is_packed { kind } else { kind.shared(ALL, "values") });
            let row = format!("{name}, nullable, pickled");
            let kind = Kind::new(SECTION, row, sample.clone(), always(nullable)).carried(Carriage::Opaque);
            kinds.push(kind.shared(ALL, "values").shared(ALL, "mask"));
        }
        let row = format!("{name}, not nullable, pickled");
        let kind = Kind::new(SECTION, row, sample.clone(), always(name)).required();
        kinds.push(kind.carried(Carriage::Opaque).shared(ALL, "values"));
    }
    kinds
}

/// Each type's extremes, and in floats both zeros, NaN and the infinities.
fn samples() -> Vec<(&'static str, ArrayRef)> {
    let booleans = [true, false, false, true, true, true, false, true, false, false];
    vec![
        ("int8", integers::<Int8Type>(&[0, 1, -1, 7, 100, -128])),
        ("int16", integers::<Int16Type>(&[0, 1, -1, 7, 300, -300])),
        ("int32", integers::<Int32Type>(&[0, 1, -1, 7, 70_000, -70_000])),
        // The last two are beyond the integers that a double has.
        ("int64", integers::<Int64Type>(&[0, 1, -1, 7, (1 << 53) + 1, -(1 << 53) - 1])),
        ("uint8", integers::<UInt8Type>(&[0, 1, 2, 7, 100, 200])),
        ("uint16", integers::<UInt16Type>(&[0, 1, 2, 7, 300, 60_000])),
        ("uint32", integers::<UInt32Type>(&[0, 1, 2, 7, 70_000, 1 << 31])),
        ("uint64", integers::<UInt64Type>(&[0, 1, 2, 7, (1 << 53) + 1, 1 << 63])),
        ("float16", floats::<Float16Type>()),
        ("float32", floats::<Float32Type>()),
        ("float64", floats::<Float64Type>()),
        ("bool", Arc::new(BooleanArray::from(booleans.to_vec()))),
    ]
}

fn integers<T: ArrowPrimitiveType>(values: &[T::Native]) -> ArrayRef {
    let extremes = [T::Native::MIN_TOTAL_ORDER, T::Native::MAX_TOTAL_ORDER];
    let values = values.iter().chain(&extremes).chain(&extremes).copied();
    Arc::new(PrimitiveArray::<T>::from_iter_values(values))
}

fn floats<T: ArrowPrimitiveType>() -> ArrayRef {
    let zero = T::Native::ZERO;
    let one = T::Native::ONE;
    let infinity = one.div_wrapping(zero);
    let minus = |value: T::Native| value.mul_wrapping(zero.sub_wrapping(one));
    let nan = infinity.sub_wrapping(infinity);
    let third = one.div_wrapping(one.add_wrapping(one).add_wrapping(one));
    let values =
        [zero, minus(zero), one, nan, third, infinity, minus(infinity), minus(third), nan, minus(zero)];
    Arc::new(PrimitiveArray::<T>::from_iter_values(values))
}

fn capitalized(name: &str) -> String {
    let name = name.replacen("uint", "UInt", 1);
    match name.split_at(1) {
        ("U", _) => name,
        (first, rest) => first.to_uppercase() + rest,
    }
}
