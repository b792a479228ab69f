//! Python's decimals as Arrow's: digits that all share one scale.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::DataType;

use super::super::graph::Id;
use super::Reading;
use super::scalars::Scalar;
use crate::error::Result;

/// Digits that Arrow's largest decimal has.
const MAX_DIGITS: usize = 76;

/// The digits of a decimal, and how many of them are behind the point.
struct Digits {
    is_negative: bool,
    digits: String,
    scale: i64,
}

impl<'p> Reading<'p, '_> {
    /// The decimals of a list: of the precision and scale asked for, or else of as many digits
    /// as they need.
    pub(super) fn decimals(
        &mut self,
        list: Id,
        kind: &'static str,
        target: Option<&DataType>,
    ) -> Result<ArrayRef> {
        let wanted = match target {
            Some(
                target @ (DataType::Decimal32(..)
                | DataType::Decimal64(..)
                | DataType::Decimal128(..)
                | DataType::Decimal256(..)),
            ) => Some(target.clone()),
            _ => None,
        };
        let widest = wanted.clone().unwrap_or(DataType::Decimal256(76, 0));
        let values = self.scalars_of(list, kind, &widest, |scalar| match scalar {
            Scalar::Decimal(text) => Some(Digits::of(text)),
            _ => None,
        })?;
        let data_type = match wanted.or_else(|| fitting(&values)) {
            Some(data_type) => data_type,
            None => return self.unfit(list, 0, list, &widest),
        };
        macro_rules! decimals {
            ($t:ty, $parse:expr, $precision:expr, $scale:expr) => {{
                let mut array = Vec::with_capacity(values.len());
                for (row, value) in values.iter().enumerate() {
                    let Some(value) = value else {
                        array.push(None);
                        continue;
                    };
                    let text = value.at(usize::from(*$precision), i64::from(*$scale));
                    match text.and_then(|text| $parse(&text)) {
                        Some(number) => array.push(Some(number)),
                        None => return self.unfit(list, row, list, &data_type),
                    }
                }
                Ok(Arc::new(PrimitiveArray::<$t>::from(array).with_data_type(data_type)))
            }};
        }
        match &data_type {
            DataType::Decimal32(p, s) => decimals!(Decimal32Type, |t: &String| t.parse().ok(), p, s),
            DataType::Decimal64(p, s) => decimals!(Decimal64Type, |t: &String| t.parse().ok(), p, s),
            DataType::Decimal128(p, s) => decimals!(Decimal128Type, |t: &String| t.parse().ok(), p, s),
            DataType::Decimal256(p, s) => decimals!(Decimal256Type, |t: &String| i256::from_string(t), p, s),
            _ => self.unfit(list, 0, list, &data_type),
        }
    }
}

/// The smallest type that all of these fit.
fn fitting(values: &[Option<Digits>]) -> Option<DataType> {
    let values = || values.iter().flatten();
    let scale = values().map(|value| value.scale).max()?.max(0);
    let digits = |value: &Digits| {
        let zeros = usize::try_from(scale.saturating_sub(value.scale)).unwrap_or(usize::MAX);
        value.digits.len().saturating_add(zeros)
    };
    let precision = values().map(digits).max()?.max(usize::try_from(scale).ok()?).max(1);
    let (precision, scale) = (u8::try_from(precision).ok()?, i8::try_from(scale).ok()?);
    match precision {
        1..=38 => Some(DataType::Decimal128(precision, scale)),
        39..=76 => Some(DataType::Decimal256(precision, scale)),
        _ => None,
    }
}

impl Digits {
    /// The digits of the text of a number: `-12.50`, `1E+3`. Source: Python, `decimal`, "the
    /// numeric string syntax".
    fn of(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = || whole.bytes().chain(fraction.bytes());
        if digits().count() == 0 || !digits().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits: String = digits().map(char::from).skip_while(|digit| *digit == '0').collect();
        let scale = i64::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        Some(Digits { is_negative, digits, scale })
    }

    /// The number as an integer of this scale, if it is exact and has at most so many digits.
    fn at(&self, precision: usize, scale: i64) -> Option<String> {
        let zeros = scale.checked_sub(self.scale)?;
        let digits = match usize::try_from(zeros) {
            Ok(zeros) if self.digits.is_empty() => "0".repeat(zeros.min(1)),
            Ok(zeros) if zeros <= MAX_DIGITS => format!("{}{}", self.digits, "0".repeat(zeros)),
            Ok(_) => return None,
            Err(_) => {
                // Digits behind the last place must be zeros.
                let surplus = usize::try_from(zeros.checked_neg()?).ok()?;
                let kept = self.digits.len().saturating_sub(surplus);
                let (kept, lost) = self.digits.split_at_checked(kept)?;
                if lost.bytes().any(|digit| digit != b'0') {
                    return None;
                }
                kept.to_owned()
            }
        };
        let sign = if self.is_negative { "-" } else { "" };
        match digits.len() {
            0 => Some("0".to_owned()),
            count if count <= precision => Some(format!("{sign}{digits}")),
            _ => None,
        }
    }
}
