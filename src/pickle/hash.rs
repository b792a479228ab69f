//! How many steps the hash tables of pandas take for some values.
//!
//! pandas' tables hash with fixed functions of 32 bits, so that anybody can make values that
//! collide: n of them take n² / 2 steps. Categories are put into such a table when a categorical is
//! made, and an index when its labels must be unique.
//!
//! Source: `khash_python.h` of pandas (1.5 to 3.1), and `pyhash.c` of CPython for the hashes of
//! numbers. Python hashes text, bytes, dates and times with a secret of the process: nobody can make
//! those collide. (Before version 3 pandas hashes some text itself, without a secret; who has text that
//! pandas will hash so counts its collisions by [`colliding_pairs`].)

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
    /// Pairs of floats one behind the other, which are complex numbers.
    Complex,
    /// Python objects.
    Objects,
}

/// Steps that a hash table of pandas takes for these values, beyond one for each value: the pairs of
/// different values whose hashes are equal.
///
/// Values that nobody can make collide take none.
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
/// assert_eq!(hash_steps(&colliding, Hashed::Numbers), 1000 * 999 / 2);
/// ```
pub fn hash_steps(values: &dyn Array, hashed: Hashed) -> u64 {
    if let Some(intervals) = values.as_struct_opt() {
        // Intervals: pandas hashes their ends.
        let steps = intervals.columns().iter().map(|end| hash_steps(end, hashed));
        return steps.fold(0, u64::saturating_add);
    }
    // Most values are in buckets of few, and are not looked at again.
    let buckets = values.len().next_power_of_two().min(1 << 20);
    let mut counts = vec![0u16; buckets];
    each(values, hashed, &mut |hash, _| {
        if let Some(count) = counts.get_mut(bucket(hash, buckets)) {
            *count = count.saturating_add(1);
        }
    });
    let ordinary = ORDINARY.saturating_mul(u16::try_from(values.len() >> 20).unwrap_or(u16::MAX).max(1));
    if counts.iter().all(|count| *count <= ordinary) {
        return 0;
    }
    let mut crowded = Vec::new();
    each(values, hashed, &mut |hash, value| {
        if counts.get(bucket(hash, buckets)).is_some_and(|count| *count > ordinary) {
            crowded.push((hash, value));
        }
    });
    colliding_pairs(crowded)
}

/// Pairs of different values with the same hash. Each value comes with its hash, any number of times.
///
/// ```
/// use arrow_frames::pickle::colliding_pairs;
///
/// assert_eq!(colliding_pairs(vec![(7, "a"), (7, "b"), (7, "a"), (8, "c")]), 1);
/// ```
pub fn colliding_pairs<V: Ord>(mut hashed: Vec<(u32, V)>) -> u64 {
    hashed.sort_unstable();
    hashed.dedup();
    let runs = hashed.chunk_by(|(a, _), (b, _)| a == b).map(|run| run.len() as u64);
    runs.fold(0, |pairs, run| pairs.saturating_add(run.saturating_mul(run.saturating_sub(1)) / 2))
}

/// Values in a bucket of hashes, of as many buckets as values, that are no sign of anything.
const ORDINARY: u16 = 64;

/// The bucket of a hash, of a power of 2.
fn bucket(hash: u32, buckets: usize) -> usize {
    // Of all bits, since numbers often differ in some only.
    let mixed = (hash ^ (hash >> 16)).wrapping_mul(0x9E37_79B1);
    (mixed >> 7) as usize & buckets.saturating_sub(1)
}

/// The steps that values of that number may take before categories of them are refused: 32 for each,
/// and a million.
pub fn most_hash_steps(values: usize) -> u64 {
    (values as u64).saturating_mul(32).saturating_add(1_000_000)
}

/// Visits the hash and the value of all that is not null; nothing of types that nobody can make collide.
fn each(values: &dyn Array, hashed: Hashed, visit: &mut dyn FnMut(u32, u128)) {
    use DataType::*;
    match hashed {
        Hashed::Numbers => {}
        Hashed::Complex => return complex(values, visit),
        Hashed::Objects => return objects(values, visit),
    }
    match values.data_type() {
        Int64 => integers::<Int64Type>(values, visit),
        UInt64 => of::<UInt64Type>(values, visit, |n| (int64(n.cast_signed(), n >> 33), n.into())),
        Timestamp(TimeUnit::Second, _) => integers::<TimestampSecondType>(values, visit),
        Timestamp(TimeUnit::Millisecond, _) => integers::<TimestampMillisecondType>(values, visit),
        Timestamp(TimeUnit::Microsecond, _) => integers::<TimestampMicrosecondType>(values, visit),
        Timestamp(TimeUnit::Nanosecond, _) => integers::<TimestampNanosecondType>(values, visit),
        Duration(TimeUnit::Second) => integers::<DurationSecondType>(values, visit),
        Duration(TimeUnit::Millisecond) => integers::<DurationMillisecondType>(values, visit),
        Duration(TimeUnit::Microsecond) => integers::<DurationMicrosecondType>(values, visit),
        Duration(TimeUnit::Nanosecond) => integers::<DurationNanosecondType>(values, visit),
        Date64 => integers::<Date64Type>(values, visit),
        Time64(TimeUnit::Microsecond) => integers::<Time64MicrosecondType>(values, visit),
        Time64(_) => integers::<Time64NanosecondType>(values, visit),
        Float64 => of::<Float64Type>(values, visit, |n| (float64(n), n.to_bits().into())),
        // Narrower numbers have a hash each; text and bytes a secret one.
        _ => objects(values, visit),
    }
}

/// The same of Python objects.
fn objects(values: &dyn Array, visit: &mut dyn FnMut(u32, u128)) {
    use DataType::*;
    match values.data_type() {
        Int64 => of::<Int64Type>(values, visit, |n| (object(python_int(n.into())), bits(n.into()))),
        UInt64 => of::<UInt64Type>(values, visit, |n| (object(python_int(n.into())), n.into())),
        Float64 => of::<Float64Type>(values, visit, |n| (object(python_float(n)), n.to_bits().into())),
        Decimal128(_, scale) => {
            let scale = *scale;
            of::<Decimal128Type>(values, visit, |n| (object(python_decimal(n, scale)), bits(n)));
        }
        Decimal256(_, scale) => {
            let scale = *scale;
            let modulus = i256::from_i128(MODULUS.into());
            let reduced = |number: i256| number.checked_rem(modulus).unwrap_or_default().as_i128();
            // Two that differ above 128 bits only count as one.
            of::<Decimal256Type>(values, visit, |n| {
                (object(python_decimal(reduced(n), scale)), bits(n.as_i128()))
            });
        }
        Duration(unit) => {
            let per_day: i64 = match unit {
                TimeUnit::Second => 86_400,
                TimeUnit::Millisecond => 86_400_000,
                TimeUnit::Microsecond => 86_400_000_000,
                TimeUnit::Nanosecond => 86_400_000_000_000,
            };
            let duration = |n: i64| (object(python_timedelta(n, per_day)), bits(n.into()));
            match unit {
                TimeUnit::Second => of::<DurationSecondType>(values, visit, duration),
                TimeUnit::Millisecond => of::<DurationMillisecondType>(values, visit, duration),
                TimeUnit::Microsecond => of::<DurationMicrosecondType>(values, visit, duration),
                TimeUnit::Nanosecond => of::<DurationNanosecondType>(values, visit, duration),
            }
        }
        FixedSizeBinary(16) => {
            // UUIDs: Python hashes the number that the bytes are.
            let Some(values) = values.as_fixed_size_binary_opt() else { return };
            for bytes in values.iter().flatten().filter_map(|bytes| bytes.first_chunk::<16>()) {
                let number = u128::from_be_bytes(*bytes);
                visit(object(reduced(number).cast_signed()), number);
            }
        }
        _ => {}
    }
}

/// The same of complex numbers: `kh_complex128_hash_func` and `kh_complex64_hash_func`.
fn complex(values: &dyn Array, visit: &mut dyn FnMut(u32, u128)) {
    if let Some(floats) = values.as_primitive_opt::<Float64Type>() {
        for [re, im] in floats.values().as_chunks::<2>().0 {
            visit(float64(*re) ^ float64(*im), u128::from(re.to_bits()) << 64 | u128::from(im.to_bits()));
        }
    } else if let Some(floats) = values.as_primitive_opt::<Float32Type>() {
        for [re, im] in floats.values().as_chunks::<2>().0 {
            visit(float32(*re) ^ float32(*im), u128::from(re.to_bits()) << 64 | u128::from(im.to_bits()));
        }
    }
}

fn integers<T: ArrowPrimitiveType<Native = i64>>(values: &dyn Array, visit: &mut dyn FnMut(u32, u128)) {
    of::<T>(values, visit, |n| (int64(n, (n >> 33).cast_unsigned()), bits(n.into())));
}

fn of<T: ArrowPrimitiveType>(
    values: &dyn Array,
    visit: &mut dyn FnMut(u32, u128),
    hash: impl Fn(T::Native) -> (u32, u128),
) {
    for number in values.as_primitive_opt::<T>().into_iter().flatten().flatten() {
        let (hash, value) = hash(number);
        visit(hash, value);
    }
}

fn bits(number: i128) -> u128 {
    number.cast_unsigned()
}

/// `kh_int64_hash_func`; the shift is that of the number's own sign.
fn int64(number: i64, shifted: u64) -> u32 {
    let number = number.cast_unsigned();
    low(shifted ^ number ^ (number << 11))
}

const M: u32 = 0x5bd1_e995;
const SEED: u32 = 0xc70f_6907;

/// `murmur2_64to32`.
fn float64(number: f64) -> u32 {
    // The number 0 has one hash.
    let bits = if number == 0.0 { 0 } else { number.to_bits() };
    let hash = (SEED ^ 4).wrapping_mul(M) ^ mixed(low(bits));
    finished(hash.wrapping_mul(M) ^ mixed(low(bits >> 32)))
}

/// `murmur2_32to32`.
fn float32(number: f32) -> u32 {
    let bits = if number == 0.0 { 0 } else { number.to_bits() };
    finished((SEED ^ 4).wrapping_mul(M) ^ mixed(bits))
}

fn mixed(word: u32) -> u32 {
    let word = word.wrapping_mul(M);
    (word ^ (word >> 24)).wrapping_mul(M)
}

fn finished(hash: u32) -> u32 {
    let hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    hash ^ (hash >> 15)
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

/// The hash of `mantissa × 2^exponent`. A power of 2 rotates the 61 bits of the remainder.
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
            Int64Array::from_iter_values((0..50_000).map(|number| ((number % 200) << 32) | (number / 200)));
        assert!(hash_steps(&pairs, Hashed::Numbers) < most_hash_steps(50_000));
    }
}
