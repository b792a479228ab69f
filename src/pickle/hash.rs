//! How many steps the hash tables of pandas take for some values.
//!
//! pandas' tables hash with fixed functions of 32 bits, so that anybody can make values that
//! collide: n of them take n² / 2 steps. Categories are put into such a table when a categorical is
//! made, and an index when its labels must be unique.
//!
//! Source: `khash_python.h` of pandas (1.5 to 3.1), and `pyhash.c` of CPython for the hashes of
//! numbers. Text, bytes, dates and times are hashed with a secret of the process there: nobody can
//! make those collide.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};

/// What the values are in pandas, which decides how they are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hashed {
    /// An array of numpy, or one of pandas that holds numbers.
    Numbers,
    /// Python objects.
    Objects,
    /// The hashes of Python objects, as 64-bit integers.
    PythonHashes,
}

/// Steps beyond one for each value that a hash table of pandas takes for these values: half of the
/// pairs of values whose hashes are equal, twice.
///
/// Values that nobody can make collide take none. Null values count as one value.
///
/// ```
/// use arrow::array::Int64Array;
/// use arrow_frames::pickle::{Hashed, hash_steps};
///
/// assert_eq!(hash_steps(&Int64Array::from_iter_values(0..1000), Hashed::Numbers), 0);
/// // Numbers with the same 32 bits where pandas looks.
/// let colliding = Int64Array::from_iter_values((0..1000).map(|low: i64| {
///     let high = (low ^ (low << 11)) & 0x7fff_ffff;
///     high << 33 | low
/// }));
/// assert!(hash_steps(&colliding, Hashed::Numbers) > 100_000);
/// ```
pub fn hash_steps(values: &dyn Array, hashed: Hashed) -> u64 {
    let Some(mut hashes) = hashes(values, hashed) else { return 0 };
    if !may_collide(&hashes) {
        return 0;
    }
    hashes.sort_unstable();
    let runs = hashes.chunk_by(|a, b| a == b).map(|run| run.len() as u64);
    runs.fold(0, |steps, run| steps.saturating_add(run.saturating_mul(run.saturating_sub(1)) / 2))
}

/// The steps that values of that number may take before categories of them are refused: 32 for each,
/// and a million.
pub fn most_hash_steps(values: usize) -> u64 {
    (values as u64).saturating_mul(32).saturating_add(1_000_000)
}

/// Counts hashes by their low bits, which is quick, and tells whether some are so many that the hashes
/// themselves have to be compared.
fn may_collide(hashes: &[u32]) -> bool {
    const ORDINARY: u16 = 64;
    let buckets = hashes.len().next_power_of_two().min(1 << 20);
    let mut counts = vec![0u16; buckets];
    let mask = u32::try_from(buckets.saturating_sub(1)).unwrap_or(u32::MAX);
    let ordinary = ORDINARY.saturating_mul(u16::try_from(hashes.len() >> 20).unwrap_or(u16::MAX).max(1));
    let mut most = 0;
    for hash in hashes {
        // Of the folded bits, since numbers often differ in the upper ones only.
        let bucket = (hash ^ (hash >> 16)).wrapping_mul(0x9E37_79B1) >> 7 & mask;
        if let Some(count) = counts.get_mut(bucket as usize) {
            *count = count.saturating_add(1);
            most = most.max(*count);
        }
    }
    most > ordinary
}

/// The hashes of all values that are not null; none for types that nobody can make collide.
fn hashes(values: &dyn Array, hashed: Hashed) -> Option<Vec<u32>> {
    use DataType::*;
    match hashed {
        Hashed::Numbers => {}
        Hashed::Objects => return objects(values),
        Hashed::PythonHashes => return Some(of::<Int64Type>(values, object)),
    }
    Some(match values.data_type() {
        Int64 => integers::<Int64Type>(values),
        UInt64 => of::<UInt64Type>(values, |number| int64(number.cast_signed(), number >> 33)),
        Timestamp(TimeUnit::Second, _) => integers::<TimestampSecondType>(values),
        Timestamp(TimeUnit::Millisecond, _) => integers::<TimestampMillisecondType>(values),
        Timestamp(TimeUnit::Microsecond, _) => integers::<TimestampMicrosecondType>(values),
        Timestamp(TimeUnit::Nanosecond, _) => integers::<TimestampNanosecondType>(values),
        Duration(TimeUnit::Second) => integers::<DurationSecondType>(values),
        Duration(TimeUnit::Millisecond) => integers::<DurationMillisecondType>(values),
        Duration(TimeUnit::Microsecond) => integers::<DurationMicrosecondType>(values),
        Duration(TimeUnit::Nanosecond) => integers::<DurationNanosecondType>(values),
        Date64 => integers::<Date64Type>(values),
        Time64(TimeUnit::Microsecond) => integers::<Time64MicrosecondType>(values),
        Time64(_) => integers::<Time64NanosecondType>(values),
        Float64 => of::<Float64Type>(values, |number| float64(number.to_bits())),
        // Narrower numbers have a hash each; text and bytes a secret one.
        _ => return objects(values),
    })
}

/// The hashes of Python objects.
fn objects(values: &dyn Array) -> Option<Vec<u32>> {
    use DataType::*;
    Some(match values.data_type() {
        Int64 => of::<Int64Type>(values, |number| object(python_int(number.into()))),
        UInt64 => of::<UInt64Type>(values, |number| object(python_int(number.into()))),
        Float64 => of::<Float64Type>(values, |number| object(python_float(number))),
        Decimal128(_, scale) => {
            let scale = *scale;
            of::<Decimal128Type>(values, |number| object(python_decimal(number, scale)))
        }
        Decimal256(_, scale) => {
            let scale = *scale;
            let modulus = i256::from_i128(MODULUS.into());
            let reduced = |number: i256| number.checked_rem(modulus).unwrap_or_default().as_i128();
            of::<Decimal256Type>(values, |number| object(python_decimal(reduced(number), scale)))
        }
        Duration(unit) => {
            let per_day: i64 = match unit {
                TimeUnit::Second => 86_400,
                TimeUnit::Millisecond => 86_400_000,
                TimeUnit::Microsecond => 86_400_000_000,
                TimeUnit::Nanosecond => 86_400_000_000_000,
            };
            let duration = |number: i64| object(python_timedelta(number, per_day));
            match unit {
                TimeUnit::Second => of::<DurationSecondType>(values, duration),
                TimeUnit::Millisecond => of::<DurationMillisecondType>(values, duration),
                TimeUnit::Microsecond => of::<DurationMicrosecondType>(values, duration),
                TimeUnit::Nanosecond => of::<DurationNanosecondType>(values, duration),
            }
        }
        FixedSizeBinary(16) => {
            // UUIDs: Python hashes the number that the bytes are.
            let values = values.as_fixed_size_binary_opt()?;
            let bytes = values.iter().flatten().filter_map(|bytes| bytes.first_chunk::<16>());
            bytes.map(|bytes| object(reduced(u128::from_be_bytes(*bytes)).cast_signed())).collect()
        }
        _ => return None,
    })
}

fn integers<T: ArrowPrimitiveType<Native = i64>>(values: &dyn Array) -> Vec<u32> {
    of::<T>(values, |number| int64(number, (number >> 33).cast_unsigned()))
}

fn of<T: ArrowPrimitiveType>(values: &dyn Array, hash: impl Fn(T::Native) -> u32) -> Vec<u32> {
    match values.as_primitive_opt::<T>() {
        Some(values) => values.iter().flatten().map(hash).collect(),
        None => Vec::new(),
    }
}

/// `kh_int64_hash_func`; the shift is that of the number's own sign.
fn int64(number: i64, shifted: u64) -> u32 {
    let number = number.cast_unsigned();
    low(shifted ^ number ^ (number << 11))
}

/// `murmur2_64to32`, without the last steps, which keep equal what is equal.
fn float64(bits: u64) -> u32 {
    const M: u32 = 0x5bd1_e995;
    const SEED: u32 = 0xc70f_6907;
    // The number 0 has one hash.
    let bits = if bits == 1 << 63 { 0 } else { bits };
    let mix = |word: u32| {
        let word = word.wrapping_mul(M);
        (word ^ (word >> 24)).wrapping_mul(M)
    };
    let hash = (SEED ^ 4).wrapping_mul(M) ^ mix(low(bits));
    hash.wrapping_mul(M) ^ mix(low(bits >> 32))
}

/// `kh_python_hash_func`: both halves of Python's hash.
fn object(hash: i64) -> u32 {
    let hash = hash.cast_unsigned();
    low(hash ^ (hash >> 32))
}

#[allow(clippy::cast_possible_truncation)] // The low half is what is asked for.
fn low(number: u64) -> u32 {
    number as u32
}

/// Python's hashes of numbers are remainders of this.
const MODULUS: u64 = (1 << 61) - 1;

fn reduced(number: u128) -> u64 {
    u64::try_from(number.checked_rem(MODULUS.into()).unwrap_or_default()).unwrap_or_default()
}

fn python_int(number: i128) -> i64 {
    signed(reduced(number.unsigned_abs()), number < 0)
}

fn signed(hash: u64, is_negative: bool) -> i64 {
    let hash = hash.cast_signed();
    let hash = if is_negative { hash.saturating_neg() } else { hash };
    if hash == -1 { -2 } else { hash }
}

/// `mantissa × 2^exponent`, of which a power of 2 only turns the 61 bits.
fn python_float(number: f64) -> i64 {
    let bits = number.to_bits();
    let (exponent, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
    if exponent == 0x7ff {
        return i64::from(fraction == 0);
    }
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    // The exponent of the mantissa's lowest bit is 1,075 less; 1,098 is a multiple of 61.
    let turn =
        u32::try_from(exponent.max(1).saturating_add(1098 - 1075).wrapping_rem(61)).unwrap_or_default();
    let hash = reduced(u128::from(mantissa) << turn);
    signed(hash, bits >> 63 == 1)
}

/// `number × 10^−scale`.
fn python_decimal(number: i128, scale: i8) -> i64 {
    /// The inverse of 10 among the remainders.
    const INVERSE: u64 = 2_075_258_708_292_324_556;
    let base = if scale < 0 { 10 } else { INVERSE };
    let power = (0..scale.unsigned_abs()).fold(1u64, |power, _| times(power, base));
    signed(times(reduced(number.unsigned_abs()), power), number < 0)
}

fn times(a: u64, b: u64) -> u64 {
    reduced(u128::from(a).saturating_mul(u128::from(b)))
}

/// The hash of the tuple of days, seconds and microseconds.
fn python_timedelta(number: i64, per_day: i64) -> i64 {
    const P1: u64 = 11_400_714_785_074_694_791;
    const P2: u64 = 14_029_467_366_897_019_727;
    const P5: u64 = 2_870_177_450_012_600_261;
    let (days, rest) = (number.div_euclid(per_day), number.rem_euclid(per_day));
    let per_second = (per_day / 86_400).max(1);
    let microseconds = rest.rem_euclid(per_second).saturating_mul(1_000_000).div_euclid(per_second);
    let parts = [days, rest.div_euclid(per_second), microseconds];
    let lane = |hash: u64, part: i64| {
        let part = python_int(part.into()).cast_unsigned();
        hash.wrapping_add(part.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
    };
    let hash = parts.into_iter().fold(P5, lane);
    hash.wrapping_add(3 ^ (P5 ^ 3_527_539)).cast_signed()
}

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal128Array, Int64Array};

    use super::*;

    /// What CPython 3.11 says of `hash(number)`.
    #[test]
    fn numbers_hash_as_in_python() {
        assert_eq!(python_int(5), 5);
        assert_eq!(python_int(-1), -2);
        assert_eq!(python_int(i128::from(i64::MAX)), 3);
        assert_eq!(python_int(i128::from(i64::MIN)), -4);
        assert_eq!(python_float(0.0), 0);
        assert_eq!(python_float(1.5), 1_152_921_504_606_846_977);
        assert_eq!(python_float(-2.25e300), -450_396_331_449_893_256);
        assert_eq!(python_float(5e-324), 16_777_216);
        assert_eq!(python_float(1e308), 156_575_653_125_701);
        assert_eq!(python_decimal(11, 1), 2_075_258_708_292_324_557);
        assert_eq!(python_decimal(-1_234_567, 3), -1_344_306_474_371_584_808);
        assert_eq!(python_timedelta(86_400_000_000 + 2_000_003, 86_400_000_000), 529_344_067_295_497_451);
    }

    #[test]
    fn what_is_equal_modulo_the_prime_collides() {
        let modulus = i128::from(MODULUS);
        let colliding = Decimal128Array::from_iter_values((1..2000).map(|factor| factor * modulus));
        assert_eq!(hash_steps(&colliding, Hashed::Objects), 1999 * 1998 / 2);
        let other = Decimal128Array::from_iter_values((1..2000).map(|factor| factor * (modulus + 2)));
        assert_eq!(hash_steps(&other, Hashed::Objects), 0);
    }

    #[test]
    fn ordinary_numbers_take_few_steps() {
        let mut state = 7i64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state
        };
        let numbers = Int64Array::from_iter_values((0..200_000).map(|_| random()));
        assert!(hash_steps(&numbers, Hashed::Numbers) < most_hash_steps(200_000));
        // Days in nanoseconds, multiples of a power of 2, and pairs of small numbers.
        for multiple in [86_400_000_000_000, 1 << 20, 1 << 32, 4096] {
            let numbers = Int64Array::from_iter_values((0..50_000).map(|number| number * multiple));
            let steps = hash_steps(&numbers, Hashed::Numbers);
            assert!(steps < most_hash_steps(50_000), "{multiple}: {steps}");
        }
        let pairs =
            Int64Array::from_iter_values((0..50_000).map(|number| (number % 200) << 32 | number / 200));
        assert!(hash_steps(&pairs, Hashed::Numbers) < most_hash_steps(50_000));
    }
}
