//! Arrays of any type, filled with what is hard to keep: NaNs with payloads, −0.0, extremes,
//! text in several scripts, values behind nulls, lists out of order.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, make_array, make_view};
use arrow::datatypes::{DataType, Field, FieldRef, IntervalUnit, TimeUnit, UnionMode};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

use super::rng::Rng;

/// How many rows of an array, and of the arrays inside it, are null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nulls {
    /// None; the field says so too.
    None,
    /// About a third, at every level.
    Some,
    /// Every row (of a type without a validity bitmap: of its children). What lies behind a
    /// null is there nevertheless.
    All,
}

impl Nulls {
    pub const ALL: [Nulls; 3] = [Nulls::None, Nulls::Some, Nulls::All];
}

/// An array of a field's type, and the field, which is nullable unless there are no nulls.
///
/// The values depend on the field's name, the number of rows and the nulls.
pub fn make(field: &Field, rows: usize, nulls: Nulls) -> (FieldRef, ArrayRef) {
    let mut hasher = DefaultHasher::new();
    (field.name(), rows, nulls).hash(&mut hasher);
    let array = make_array_of(field.data_type(), rows, nulls, &mut Rng(hasher.finish()));
    // A column of type null has nothing else, and a union may have a child of that type.
    let nullable = nulls != Nulls::None || matches!(field.data_type(), DataType::Null | DataType::Union(..));
    (Arc::new(field.clone().with_nullable(nullable)), array)
}

/// An array of a type, with values from `rng`.
///
/// The arrays inside it hold just what it references, so that nothing has to be cut off.
pub fn make_array_of(data_type: &DataType, rows: usize, nulls: Nulls, rng: &mut Rng) -> ArrayRef {
    make_array(data(data_type, rows, nulls, rng))
}

fn data(data_type: &DataType, rows: usize, nulls: Nulls, rng: &mut Rng) -> ArrayData {
    use DataType::*;
    let mut builder = ArrayData::builder(data_type.clone()).len(rows);
    if !matches!(data_type, Null | Union(..) | RunEndEncoded(..)) {
        builder = builder.nulls(validity(rows, nulls, rng));
    }
    match data_type {
        Null => {}
        Boolean => builder = builder.add_buffer(random_bytes(rows.div_ceil(8), rng)),
        FixedSizeBinary(width) => builder = builder.add_buffer(random_bytes(rows * *width as usize, rng)),
        Utf8 | Binary => {
            let (offsets, bytes) = texts(data_type, rows, rng);
            let offsets: Vec<i32> = offsets.iter().map(|&offset| offset as i32).collect();
            builder = builder.add_buffer(Buffer::from_vec(offsets)).add_buffer(bytes);
        }
        LargeUtf8 | LargeBinary => {
            let (offsets, bytes) = texts(data_type, rows, rng);
            let offsets: Vec<i64> = offsets.iter().map(|&offset| offset as i64).collect();
            builder = builder.add_buffer(Buffer::from_vec(offsets)).add_buffer(bytes);
        }
        Utf8View | BinaryView => builder = builder.add_buffers(views(data_type, rows, rng)),
        List(child) | Map(child, _) => {
            let (offsets, length) = offsets(rows, rng);
            let offsets: Vec<i32> = offsets.iter().map(|&offset| offset as i32).collect();
            let child = child_data(child, length, nulls, rng);
            builder = builder.add_buffer(Buffer::from_vec(offsets));
            builder = builder.add_child_data(if is_sorted(data_type) { sort_keys(child) } else { child });
        }
        LargeList(child) => {
            let (offsets, length) = offsets(rows, rng);
            let offsets: Vec<i64> = offsets.iter().map(|&offset| offset as i64).collect();
            builder = builder.add_buffer(Buffer::from_vec(offsets));
            builder = builder.add_child_data(child_data(child, length, nulls, rng));
        }
        ListView(child) => {
            let (views, length) = list_views(rows, rng);
            let (offsets, sizes): (Vec<i32>, Vec<i32>) =
                views.iter().map(|v| (v.0 as i32, v.1 as i32)).unzip();
            builder = builder.add_buffer(Buffer::from_vec(offsets)).add_buffer(Buffer::from_vec(sizes));
            builder = builder.add_child_data(child_data(child, length, nulls, rng));
        }
        LargeListView(child) => {
            let (views, length) = list_views(rows, rng);
            let (offsets, sizes): (Vec<i64>, Vec<i64>) =
                views.iter().map(|v| (v.0 as i64, v.1 as i64)).unzip();
            builder = builder.add_buffer(Buffer::from_vec(offsets)).add_buffer(Buffer::from_vec(sizes));
            builder = builder.add_child_data(child_data(child, length, nulls, rng));
        }
        FixedSizeList(child, size) => {
            builder = builder.add_child_data(child_data(child, rows * *size as usize, nulls, rng));
        }
        Struct(fields) => {
            for child in fields {
                builder = builder.add_child_data(child_data(child, rows, nulls, rng));
            }
        }
        Union(fields, mode) => {
            let ids: Vec<i8> = fields.iter().map(|(id, _)| id).collect();
            let type_ids: Vec<i8> = (0..rows).map(|_| ids[rng.below(ids.len())]).collect();
            let mut counts = [0; 128];
            let offsets: Vec<i32> = type_ids.iter().map(|&id| slot(&mut counts[id as usize], rng)).collect();
            builder = builder.add_buffer(Buffer::from_vec(type_ids));
            if *mode == UnionMode::Dense {
                builder = builder.add_buffer(Buffer::from_vec(offsets));
            }
            for (id, child) in fields.iter() {
                let length = if *mode == UnionMode::Dense { counts[id as usize] as usize } else { rows };
                // A union has no nulls but those of its children.
                builder = builder.add_child_data(child_data(child, length, nulls, rng));
            }
        }
        Dictionary(key, value) => {
            let width = key.primitive_width().unwrap();
            let most = if width == 1 { 100 } else { 1000 };
            let count = (rows / 2 + 1).min(most);
            let keys: Vec<u8> =
                (0..rows).flat_map(|_| (rng.below(count) as u64).to_le_bytes()[..width].to_vec()).collect();
            builder = builder.add_buffer(Buffer::from_slice_ref(&keys));
            builder = builder.add_child_data(data(value, count, inner(nulls), rng));
        }
        RunEndEncoded(ends, values) => {
            let run_ends = run_ends(rows, rng);
            let width = ends.data_type().primitive_width().unwrap();
            let bytes: Vec<u8> =
                run_ends.iter().flat_map(|&end| (end as u64).to_le_bytes()[..width].to_vec()).collect();
            let run_ends = ArrayData::builder(ends.data_type().clone())
                .len(run_ends.len())
                .add_buffer(Buffer::from_slice_ref(&bytes))
                .build()
                .unwrap();
            let values = child_data(values, run_ends.len(), nulls, rng);
            builder = builder.add_child_data(run_ends).add_child_data(values);
        }
        // Every other type is of fixed width.
        _ => {
            let width = data_type.primitive_width().unwrap();
            let bytes: Vec<u8> = (0..rows).flat_map(|_| number(data_type, rng)[..width].to_vec()).collect();
            builder = builder.add_buffer(Buffer::from_slice_ref(&bytes));
        }
    }
    builder.build().unwrap_or_else(|error| panic!("made an invalid {data_type}: {error}"))
}

/// The array of a child field, which has no nulls if the field says so.
fn child_data(field: &Field, rows: usize, nulls: Nulls, rng: &mut Rng) -> ArrayData {
    let nulls = if field.is_nullable() { nulls } else { Nulls::None };
    data(field.data_type(), rows, nulls, rng)
}

/// Values of a dictionary of which every key is null need not be null themselves.
fn inner(nulls: Nulls) -> Nulls {
    if nulls == Nulls::None { Nulls::None } else { Nulls::Some }
}

fn validity(rows: usize, nulls: Nulls, rng: &mut Rng) -> Option<NullBuffer> {
    match nulls {
        Nulls::None => None,
        Nulls::All => Some(NullBuffer::new_null(rows)),
        Nulls::Some => {
            let one = rng.below(rows);
            Some(NullBuffer::from(BooleanBuffer::collect_bool(rows, |row| row != one && rng.below(3) > 0)))
        }
    }
}

fn random_bytes(length: usize, rng: &mut Rng) -> Buffer {
    let bytes: Vec<u8> = (0..length).map(|_| rng.next() as u8).collect();
    Buffer::from_slice_ref(&bytes)
}

/// A value's bytes; those beyond its width say its sign.
fn number(data_type: &DataType, rng: &mut Rng) -> [u8; 32] {
    use DataType::*;
    const DAY: i128 = 86_400;
    let wide = (i128::from(rng.next()) << 64) | i128::from(rng.next());
    let up_to = |limit: i128| wide.rem_euclid(limit);
    let within = |limit: i128| wide % limit;
    let per_second = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    // Until the year 2262 both ways, where nanoseconds end.
    const SECONDS: i128 = 9_223_372_036;
    let number = match data_type {
        Float16 => special(&[0x0000, 0x8000, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 0x7d01, 0xfeaa, 0x0001], rng),
        Float32 => special(
            &[0, 0x8000_0000, 0x3f80_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffc1_2345, 1],
            rng,
        ),
        Float64 => special(
            &[0, 1 << 63, 0x3ff0 << 48, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff8 << 48, 0x7ff0_dead_beef_0001, 1],
            rng,
        ),
        Decimal32(precision, _) | Decimal64(precision, _) | Decimal128(precision, _) => {
            within(10i128.pow((*precision).into()))
        }
        Date32 => within(50_000),
        Date64 => within(50_000) * DAY * 1_000,
        Time32(unit) | Time64(unit) => up_to(DAY * per_second(unit)),
        Timestamp(unit, _) | Duration(unit) => within(SECONDS * per_second(unit)),
        Interval(IntervalUnit::YearMonth) => within(1_000),
        // Days and milliseconds, or months, days and nanoseconds: each random.
        Interval(_) => wide,
        // Integers: their extremes, and anything.
        _ => match rng.below(8) {
            0 => 0,
            1 => -1,
            2 => i128::MAX >> (128 - 8 * data_type.primitive_width().unwrap().min(16)),
            3 => i128::MIN >> (128 - 8 * data_type.primitive_width().unwrap().min(16)),
            _ => wide,
        },
    };
    let mut bytes = [if number < 0 { 0xff } else { 0 }; 32];
    bytes[..16].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// One of these bit patterns of a float, or any.
fn special(patterns: &[u64], rng: &mut Rng) -> i128 {
    match rng.below(2 * patterns.len()) {
        one if one < patterns.len() => patterns[one].into(),
        _ => rng.next().into(),
    }
}

/// A text or bytes: empty, shorter than a view's limit of 12 bytes, at it, longer, not ASCII.
fn text(data_type: &DataType, rng: &mut Rng) -> Vec<u8> {
    const TEXTS: [&str; 9] =
        ["", "a", "Zürich", "exactly12byt", "just13byteslo", "日本語のテキスト", "\u{0}", "😀", "ǎ̈"];
    let text = match rng.below(12) {
        one if one < TEXTS.len() => TEXTS[one].to_owned(),
        _ => format!("row of some {} bytes, ñandú {}", rng.below(1_000_000), "x".repeat(rng.below(40))),
    };
    let mut bytes = text.into_bytes();
    if matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) {
        bytes.iter_mut().step_by(3).for_each(|byte| *byte ^= 0x9c);
    }
    bytes
}

fn texts(data_type: &DataType, rows: usize, rng: &mut Rng) -> (Vec<usize>, Buffer) {
    let (mut offsets, mut bytes) = (vec![0], Vec::new());
    for _ in 0..rows {
        bytes.extend(text(data_type, rng));
        offsets.push(bytes.len());
    }
    (offsets, Buffer::from_vec(bytes))
}

/// Views and several data buffers.
fn views(data_type: &DataType, rows: usize, rng: &mut Rng) -> Vec<Buffer> {
    const BLOCK: usize = 1_000;
    let mut views = Vec::with_capacity(rows);
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    for _ in 0..rows {
        let text = text(data_type, rng);
        if text.len() <= 12 {
            views.push(make_view(&text, 0, 0));
            continue;
        }
        if blocks.last().is_none_or(|block| block.len() > BLOCK) {
            blocks.push(Vec::new());
        }
        let number = blocks.len() - 1;
        views.push(make_view(&text, number as u32, blocks[number].len() as u32));
        blocks[number].extend(text);
    }
    std::iter::once(Buffer::from_vec(views)).chain(blocks.into_iter().map(Buffer::from_vec)).collect()
}

/// Offsets of lists of 0 to 3 rows, and the length of their child.
fn offsets(rows: usize, rng: &mut Rng) -> (Vec<usize>, usize) {
    let mut offsets = vec![0];
    let mut length = 0;
    for _ in 0..rows {
        length += rng.below(4);
        offsets.push(length);
    }
    (offsets, length)
}

/// Offsets and sizes in any order, overlapping and with gaps; the last row of the child is
/// referenced, and of the others most are.
fn list_views(rows: usize, rng: &mut Rng) -> (Vec<(usize, usize)>, usize) {
    let length = rows * 3 / 2 + usize::from(rows > 0);
    let mut views: Vec<_> = (0..rows)
        .map(|_| {
            let size = rng.below(4).min(length);
            (rng.below(length - size + 1), size)
        })
        .collect();
    if let Some(view) = views.last_mut() {
        *view = (0, 1);
    }
    if let Some(view) = views.first_mut() {
        let size = length.min(2);
        *view = (length - size, size);
    }
    (views, length)
}

/// The next row of a dense union's child, or, now and then, the one before once more.
fn slot(count: &mut i32, rng: &mut Rng) -> i32 {
    if *count > 0 && rng.below(8) == 0 {
        return *count - 1;
    }
    *count += 1;
    *count - 1
}

/// The ends of runs of 1 to 5 rows.
fn run_ends(rows: usize, rng: &mut Rng) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut end = 0;
    while end < rows {
        end = (end + 1 + rng.below(5)).min(rows);
        ends.push(end);
    }
    ends
}

fn is_sorted(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Map(_, true))
}

/// The entries of a sorted map with ascending Int32 keys.
fn sort_keys(entries: ArrayData) -> ArrayData {
    let keys = &entries.child_data()[0];
    assert_eq!(keys.data_type(), &DataType::Int32, "only such keys are made in order");
    let ascending: Vec<i32> = (0..keys.len() as i32).collect();
    let sorted = keys.clone().into_builder().buffers(vec![Buffer::from_vec(ascending)]).build().unwrap();
    let values = entries.child_data()[1].clone();
    entries.into_builder().child_data(vec![sorted, values]).build().unwrap()
}
