//! Slices cost what they show: one row costs a row, many slices of a block cost the block, and
//! nothing costs more than twice what it references.

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::cast::AsArray;
use arrow::array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, ListArray, ListViewArray, RunArray,
    StringArray, StringViewArray, StructArray, UnionArray, make_view,
};
use arrow::datatypes::*;
use arrow_buffer::{Buffer, OffsetBuffer};
#[cfg(any(feature = "lz4", feature = "zstd"))]
use arrow_frames::{Compression, Layout, Part};
use arrow_frames::{DataFrame, Encoder, Frames, Target, from_buffers};

use common::*;

/// Beside its rows, what a column may cost: its part of the header, and crumbs.
const COLUMN: usize = 4 << 10;

/// Promise 2, one row: of 20,000, of every layout, from the start, the middle and the end.
#[test]
fn one_row_costs_a_row() {
    const ROWS: usize = 20_000;
    let mut count = 0;
    for case in layouts() {
        for nulls in [Nulls::None, Nulls::Some] {
            let (field, array) = make(&case.field, ROWS, nulls);
            for row in [0, 1, ROWS / 2, ROWS - 2, ROWS - 1] {
                let name = || format!("{}, nulls: {nulls:?}, row {row}", case.name);
                let df = one_column(&field, &array.slice(row, 1));
                let sent = check(&df, trimming(), &name);
                let shown = referenced(&df, trimmed(&field));
                assert!(sent < (2 << 10) + shown, "{}: {sent} bytes for a row of {shown}", name());

                // Without trimming whole dictionaries come along, as with no rows at all.
                let sent = check(&df, Encoder::new(Target::Arrow), &name);
                let none = one_column(&field, &array.slice(row, 0));
                let dictionaries = check(&none, Encoder::new(Target::Arrow), &name);
                let shown = referenced(&df, Dictionary::Whole) - referenced(&none, Dictionary::Whole);
                let cost = sent - dictionaries;
                assert!(cost < (2 << 10) + shown, "{}: {cost} bytes for a row of {shown}", name());
                count += 1;
            }
        }
    }
    assert_eq!(count, layouts().len() * 2 * 5);
    println!("{count} rows of {} layouts", layouts().len());
}

/// Promise 2 in general: any slice of any layout costs at most twice what it references.
#[test]
fn a_slice_costs_at_most_twice_what_it_references() {
    const ROWS: usize = 2_000;
    let mut rng = Rng(1);
    let mut worst = (0.0, String::new());
    for case in layouts() {
        for nulls in [Nulls::None, Nulls::Some] {
            let (field, array) = make(&case.field, ROWS, nulls);
            for _ in 0..20 {
                let from = rng.below(ROWS);
                let rows = [1, 10, 100, ROWS][rng.below(4)].min(rng.below(ROWS - from) + 1);
                let name = || format!("{}, nulls: {nulls:?}, {rows} rows from {from}", case.name);
                let df = one_column(&field, &array.slice(from, rows));
                for (trim, dictionary) in [(false, Dictionary::Whole), (true, trimmed(&field))] {
                    let encoder = Encoder::new(Target::Arrow).with_trimmed_dictionaries(trim);
                    let ratio = check_cost(&df, encoder, dictionary, &name);
                    if ratio > worst.0 {
                        worst = (ratio, name());
                    }
                }
            }
        }
    }
    println!("the worst sent {:.2} of what it references: {}", worst.0, worst.1);
}

/// 1,000 slices of one block cost about the block.
#[test]
fn many_slices_cost_the_block() {
    const SLICES: usize = 1_000;
    const ROWS: usize = 20_000;
    for case in layouts() {
        let (field, array) = make(&case.field, ROWS, Nulls::Some);
        let mut encoder = Encoder::new(Target::Arrow);
        let schema: SchemaRef = Schema::new(vec![field.clone()]).into();
        let batch = |array: ArrayRef| one_column(&field, &array).into_record_batch().unwrap();
        encoder.start(&schema).unwrap();
        let block = frames_bytes(&encoder.encode_batch(&batch(array.clone())).unwrap());
        let (mut frames, mut headers) = (0, 0);
        for slice in 0..SLICES {
            let rows = ROWS / SLICES;
            // The stream knows the dictionary already.
            let encoded = encoder.encode_batch(&batch(array.slice(slice * rows, rows))).unwrap();
            frames += frames_bytes(&encoded);
            headers += encoded.header().len();
        }
        // A slice repeats at most an end of its offsets and a byte of each bitmap, at each level.
        let crumbs = SLICES * 64;
        // Lists that refer to one run from several slices each bring it along.
        let block = if case.name == "list-view of runs" { 2 * block } else { block };
        assert!(frames <= block * 5 / 4 + crumbs, "{}: {frames} bytes of a block of {block}", case.name);
        assert!(headers < SLICES * 2_048, "{}: {headers} bytes of headers", case.name);
    }
}

/// Rows that nobody references are counted by their bytes, not by their number.
#[test]
fn a_gap_is_as_large_as_what_lies_in_it() {
    let texts: ArrayRef =
        Arc::new(StringArray::from(vec!["a".to_owned(), "x".repeat(1 << 20), "b".to_owned()]));
    let child = item(DataType::Utf8);
    let views = ListViewArray::new(child, vec![0, 2].into(), vec![1, 1].into(), texts.clone(), None);
    check_array(Arc::new(views), "list-view");

    let fields: UnionFields = [(0, Arc::new(field("s", DataType::Utf8)))].into_iter().collect();
    let union = UnionArray::try_new(fields, vec![0, 0].into(), Some(vec![0, 2].into()), vec![texts.clone()]);
    check_array(Arc::new(union.unwrap()), "dense union");

    let keys = vec![0i8, 0, 2].into();
    let dictionary: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys, texts));
    check_array(dictionary, "dictionary");
}

/// Gaps at each of several levels share one allowance: every other row at each of three.
#[test]
fn gaps_at_several_levels_do_not_multiply() {
    let leaf: ArrayRef = Arc::new(Int64Array::from_iter_values(0..40_000));
    let every_other = |child: ArrayRef| -> ArrayRef {
        let rows = child.len() / 2;
        let offsets: Vec<i32> = (0..rows as i32).map(|row| 2 * row).collect();
        let field = item(child.data_type().clone());
        Arc::new(ListViewArray::new(field, offsets.into(), vec![1; rows].into(), child, None))
    };
    let one = every_other(leaf);
    check_array(one.clone(), "one level");
    let two = every_other(one);
    check_array(two.clone(), "two levels");
    check_array(every_other(two), "three levels");

    let texts = (0..10_000).map(|n| format!("{n} is longer than an inline view"));
    let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
    check_array(every_other(every_other(texts)), "two levels of string views");
}

/// Gathering takes a time in proportion to what is gathered, also from runs.
#[test]
fn gathering_from_runs_is_not_quadratic() {
    let rows = 200_000;
    let ends = Int32Array::from_iter_values((1..=rows).map(|run| run * 2));
    let texts = StringArray::from_iter_values((0..rows).map(|n| format!("a run of {n}")));
    let child: ArrayRef = Arc::new(RunArray::<Int32Type>::try_new(&ends, &texts).unwrap());
    let offsets: Vec<i32> = (0..rows / 4).map(|row| 8 * row).collect();
    let sizes = vec![1; offsets.len()];
    let views =
        ListViewArray::new(item(child.data_type().clone()), offsets.into(), sizes.into(), child, None);
    let start = std::time::Instant::now();
    check_array(Arc::new(views), "list-view of runs");
    // A scan of all runs for each of them takes minutes.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

/// Arrays in arrays in arrays, of which each references any part of the next one: none
/// costs more than twice what it references, and each comes back equal.
#[test]
fn gaps_anywhere_at_any_depth() {
    let mut rng = Rng(7);
    let mut worst = (0.0, String::new());
    for round in 0..4_000 {
        let (mut name, mut array) = skewed_leaf(&mut rng);
        for _ in 0..rng.below(5) {
            let (wrapper, wrapped) = with_gaps(array, &mut rng);
            name = format!("{wrapper} of {name}");
            array = wrapped;
        }
        let from = rng.below(array.len() + 1);
        let array =
            if rng.below(3) == 0 { array } else { array.slice(from, rng.below(array.len() - from + 1)) };
        let df = one_column(&field("column", array.data_type().clone()).into(), &array);
        let context = || format!("round {round}: {} rows of {name}", array.len());
        let ratio = check_cost(&df, trimming(), Dictionary::Trimmed, &context);
        check_cost(&df, Encoder::new(Target::Arrow), Dictionary::Whole, &context);
        if ratio > worst.0 {
            worst = (ratio, context());
        }
    }
    println!("the worst sent {:.2} of what it references: {}", worst.0, worst.1);
    assert!(worst.0 > 1.5, "gaps so small prove nothing");
}

/// Views that overlap reference far more than there is; what they reference is not counted
/// row by row. At one level that would be 400 million string views, at two levels 27 billion.
#[test]
fn overlapping_list_views_are_not_counted_row_by_row() {
    let start = Instant::now();
    let one = showing_all(long_texts(20_000), 20_000);
    check_lying(&one);
    check_lying(&one.slice(5_000, 10_000));
    check_lying(&showing_all(showing_all(long_texts(3_000), 3_000), 3_000));
    let lists = ListArray::new(
        item(DataType::Utf8View),
        OffsetBuffer::from_lengths([1; 3_000]),
        long_texts(3_000),
        None,
    );
    check_lying(&showing_all(showing_all(Arc::new(lists), 3_000), 3_000));
    let runs = Int32Array::from_iter_values(1..=3_000);
    let runs = RunArray::<Int32Type>::try_new(&runs, &long_texts(3_000)).unwrap();
    check_lying(&showing_all(showing_all(Arc::new(runs), 3_000), 3_000));
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

/// The same below a dense union all of whose rows are one row, and in its own lists.
#[test]
fn overlapping_unions_are_not_counted_row_by_row() {
    let start = Instant::now();
    let union = |child: ArrayRef, rows: usize| -> ArrayRef {
        let fields = UnionFields::from_iter([(0, item(child.data_type().clone()))]);
        let offsets = vec![0; rows].into();
        Arc::new(UnionArray::try_new(fields, vec![0; rows].into(), Some(offsets), vec![child]).unwrap())
    };
    check_lying(&union(showing_all(long_texts(20_000), 20_000), 20_000));
    check_lying(&showing_all(union(showing_all(long_texts(3_000), 3_000), 3_000), 3_000));
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

/// The same in the values of a dictionary that may be trimmed.
#[test]
fn overlapping_dictionary_values_are_not_counted_row_by_row() {
    let start = Instant::now();
    for values in
        [showing_all(long_texts(20_000), 20_000), showing_all(showing_all(long_texts(3_000), 3_000), 3_000)]
    {
        let keys = (0..values.len() as i32).filter(|key| *key != 7).collect::<Vec<_>>();
        let array: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys.into(), values.clone()));
        let decoded = lying(&array);
        assert_eq!(decoded.as_any_dictionary().keys().len(), array.len());
        assert_eq!(&innermost(decoded.as_any_dictionary().values()), &innermost(&values));
    }
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

/// A gap in a child with keys is closed, by gathering each row once: here 2,500 million rows
/// are shown, more than an offset can count.
#[test]
fn closing_a_gap_does_not_repeat_rows() {
    const ROWS: usize = 50_000;
    let start = Instant::now();
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", &"b".repeat(1 << 20), "c"]));
    // The gap is the only row with the large text.
    let mut keys: Vec<i8> = (0..ROWS).map(|row| 2 * (row % 2) as i8).collect();
    keys.extend([1, 0]);
    let child: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys.into(), texts));
    let mut views = vec![(0, ROWS as i32); ROWS];
    views.extend([(ROWS as i32 + 1, 1), (ROWS as i32 + 2, 0)]);
    let array = list_views(&views, child.clone());
    let decoded = lying(&array);
    let (shown, decoded) = (array.as_list_view::<i32>(), decoded.as_list_view::<i32>());
    assert_eq!(decoded.sizes(), shown.sizes());
    assert_eq!(decoded.values().len(), ROWS + 1);
    assert_eq!(decoded.values().as_any_dictionary().values().len(), 2);
    let text = |array: &ArrayRef| arrow::compute::cast(array, &DataType::Utf8).unwrap();
    for row in [0, ROWS / 2, ROWS - 1, ROWS, ROWS + 1] {
        assert_eq!(&text(&decoded.value(row)), &text(&shown.value(row)), "row {row}");
    }

    let fields = UnionFields::from_iter([(0, item(child.data_type().clone()))]);
    let offsets: Vec<i32> = (0..20 * ROWS).map(|row| if row % 2 == 0 { 3 } else { 50_001 }).collect();
    let ids = vec![0; offsets.len()].into();
    let union: ArrayRef =
        Arc::new(UnionArray::try_new(fields, ids, Some(offsets.into()), vec![child]).unwrap());
    let decoded = lying(&union);
    assert_eq!(decoded.as_union().child(0).len(), 2);
    let of = |array: &ArrayRef, row| text(&array.as_union().value(row));
    for row in [0, 1, 2, 20 * ROWS - 1] {
        assert_eq!(&of(&decoded, row), &of(&union, row), "row {row}");
    }
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

/// A gap in front of lists that overlap themselves: gathering must not unfold those.
#[test]
fn closing_a_gap_does_not_unfold_overlaps_inside() {
    const ROWS: usize = 20_000;
    let start = Instant::now();
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let keys: Vec<i8> = (0..ROWS).map(|row| (row % 2) as i8).collect();
    let inner = showing_all(Arc::new(DictionaryArray::<Int8Type>::new(keys.into(), texts)), ROWS);
    let views: Vec<(i32, i32)> = (0..ROWS as i32).filter(|row| *row != 9).map(|row| (row, 1)).collect();
    check_lying(&list_views(&views, inner.clone()));
    // Lists are gathered with all they show: these lie there instead.
    let field = item(inner.data_type().clone());
    let lists = ListArray::new(field, OffsetBuffer::from_lengths([1; ROWS]), inner, None);
    check_lying(&list_views(&views, Arc::new(lists)));
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

/// Encodes and decodes, in at most the bytes that lie there, an array that shows too much
/// to be compared or counted row by row.
#[track_caller]
fn lying(array: &ArrayRef) -> ArrayRef {
    let df = one_column(&field("column", array.data_type().clone()).into(), array);
    let decode = |mut encoder: Encoder| {
        let frames = encoder.encode(&df).unwrap();
        let most = array.get_buffer_memory_size() + COLUMN;
        assert!(frames.num_bytes() <= most, "{} bytes where {most} lie", frames.num_bytes());
        from_buffers(frames).unwrap().batches()[0].column(0).unwrap().as_native().unwrap().clone()
    };
    decode(Encoder::new(Target::Arrow));
    decode(trimming())
}

/// Also checks that the first and the last row lead to the same values inside.
#[track_caller]
fn check_lying(array: &ArrayRef) {
    let decoded = lying(array);
    assert_eq!(decoded.len(), array.len());
    for row in [0, array.len() - 1] {
        let (shown, decoded) = (array.slice(row, 1), decoded.slice(row, 1));
        assert_eq!(&first_values(&decoded), &first_values(&shown), "row {row}");
    }
}

/// Of the first row what it shows, and of that the first row, down to values without lists.
fn first_values(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::ListView(_) => first_values(&array.as_list_view::<i32>().value(0)),
        DataType::List(_) => first_values(&array.as_list::<i32>().value(0)),
        DataType::Union(..) => first_values(&array.as_union().value(0)),
        DataType::RunEndEncoded(..) => arrow::compute::cast(array, &DataType::Utf8View).unwrap(),
        DataType::Dictionary(..) => arrow::compute::cast(array, &DataType::Utf8).unwrap(),
        _ => array.clone(),
    }
}

/// The values that lie below all list-views.
fn innermost(array: &ArrayRef) -> ArrayRef {
    array.as_list_view_opt::<i32>().map_or_else(|| array.clone(), |views| innermost(views.values()))
}

fn long_texts(rows: usize) -> ArrayRef {
    let texts = (0..rows).map(|n| format!("{n} is longer than an inline view"));
    Arc::new(StringViewArray::from_iter_values(texts))
}

/// List-views, each of which shows all of the child.
fn showing_all(child: ArrayRef, rows: usize) -> ArrayRef {
    list_views(&vec![(0, child.len() as i32); rows], child)
}

fn list_views(views: &[(i32, i32)], child: ArrayRef) -> ArrayRef {
    let (offsets, sizes): (Vec<i32>, Vec<i32>) = views.iter().copied().unzip();
    let field = item(child.data_type().clone());
    Arc::new(ListViewArray::new(field, offsets.into(), sizes.into(), child, None))
}

/// Some hundred rows of which few are large.
fn skewed_leaf(rng: &mut Rng) -> (String, ArrayRef) {
    let rows = 100 + rng.below(1_000);
    let texts: Vec<Option<String>> = (0..rows)
        .map(|_| match rng.below(40) {
            0 => Some("x".repeat(rng.below(20_000))),
            1..10 => None,
            _ => Some("y".repeat(rng.below(30))),
        })
        .collect();
    let array: ArrayRef = match rng.below(4) {
        0 => return ("numbers".into(), Arc::new(Int64Array::from_iter_values(0..rows as i64))),
        1 => Arc::new(StringArray::from(texts)),
        2 => Arc::new(StringViewArray::from_iter(texts)),
        _ => Arc::new(StringViewArray::from(&StringArray::from(texts))),
    };
    (array.data_type().to_string(), array)
}

/// An array that references a random part of another one.
fn with_gaps(child: ArrayRef, rng: &mut Rng) -> (&'static str, ArrayRef) {
    let length = child.len();
    let field_inside = item(child.data_type().clone());
    // From all rows to very few.
    let (kind, density) = (rng.below(5), rng.below(5));
    let step = 1 + rng.below([1, 2, 3, 10, 50][density]);
    let rows = 1 + length / step;
    let mut some_rows = |most: usize| -> Vec<(usize, usize)> {
        let is_in_order = rng.below(2) == 0;
        let start_of = |row: usize, rng: &mut Rng| if is_in_order { row * step } else { rng.below(length) };
        let mut places: Vec<_> =
            (0..rows).map(|row| start_of(row, rng).min(length.saturating_sub(1))).collect();
        if rng.below(4) == 0 {
            places.retain(|place| place * 2 > length);
        }
        places.into_iter().map(|place| (place, rng.below(most + 1).min(length - place))).collect()
    };
    match kind {
        0 => {
            let views = some_rows(3);
            let offsets: Vec<i32> = views.iter().map(|(offset, _)| *offset as i32).collect();
            let sizes: Vec<i32> = views.iter().map(|(_, size)| *size as i32).collect();
            let array = ListViewArray::new(field_inside, offsets.into(), sizes.into(), child, None);
            ("list-view", Arc::new(array))
        }
        1 if length > 0 => {
            let offsets: Vec<i32> = some_rows(1).iter().map(|(offset, _)| *offset as i32).collect();
            let fields = UnionFields::from_iter([(3, field_inside)]);
            let union =
                UnionArray::try_new(fields, vec![3; offsets.len()].into(), Some(offsets.into()), vec![child]);
            ("dense union", Arc::new(union.unwrap()))
        }
        2 if length > 0 && !matches!(child.data_type(), DataType::Dictionary(..)) => {
            let keys = some_rows(1).into_iter().map(|(key, is_valid)| (is_valid > 0).then_some(key as i32));
            ("dictionary", Arc::new(DictionaryArray::<Int32Type>::new(keys.collect(), child)))
        }
        3 => {
            let fields = vec![field("a", child.data_type().clone()), field("b", child.data_type().clone())];
            ("struct", Arc::new(StructArray::new(fields.into(), vec![child.clone(), child], None)))
        }
        _ => {
            let mut ends: Vec<i32> = some_rows(1).iter().map(|(offset, _)| *offset as i32).collect();
            ends.push(0);
            ends.sort_unstable();
            // What lies in front of the first list and behind the last one is not referenced.
            let ends = if ends.len() > 2 { ends.split_off(1) } else { ends };
            ("list", Arc::new(ListArray::new(field_inside, OffsetBuffer::new(ends.into()), child, None)))
        }
    }
}

/// An array of views may have very many data buffers, of which a slice uses few.
#[test]
fn unused_data_buffers_cost_nothing() {
    let texts: Vec<String> = (0..20_000).map(|n| format!("{n} is longer than an inline view")).collect();
    let buffers: Vec<Buffer> = texts.iter().map(Buffer::from_slice_ref).collect();
    let views: Vec<u128> =
        (0..).zip(&texts).map(|(number, text)| make_view(text.as_bytes(), number, 0)).collect();
    let array: ArrayRef = Arc::new(StringViewArray::new(views.into(), buffers, None));
    for (from, rows) in [(0, 1), (10_000, 1), (19_999, 1), (3, 2), (5_000, 100)] {
        check_array(array.slice(from, rows), &format!("{rows} rows from {from}"));
    }
    let lists =
        ListArray::new(item(DataType::Utf8View), OffsetBuffer::from_lengths([2; 10_000]), array, None);
    check_array(Arc::new(lists.slice(7_000, 1)), "one list");
}

/// A slice of views may use few of their data buffers: the first, the last, or some between
/// them. What is left of the others is an empty buffer, which polars cannot read where the
/// message is compressed.
#[cfg(any(feature = "lz4", feature = "zstd"))]
#[test]
fn compressed_views_have_no_empty_data_buffer() {
    #[cfg(feature = "lz4")]
    let codec = Compression::Lz4;
    #[cfg(not(feature = "lz4"))]
    let codec = Compression::Zstd(1);
    let texts = (0..40).map(|n| format!("{n} is longer than an inline view")).collect::<Vec<_>>();
    let buffers: Vec<Buffer> = texts.iter().map(Buffer::from_slice_ref).collect();
    let view = |number: usize| match number % 4 {
        0 => make_view(b"inline", 0, 0),
        _ => make_view(texts[number].as_bytes(), number as u32, 0),
    };
    let all: ArrayRef =
        Arc::new(StringViewArray::new((0..40).map(view).collect::<Vec<_>>().into(), buffers.clone(), None));
    let empty = [Buffer::default(), buffers[1].clone(), Buffer::default()];
    let second = make_view(texts[1].as_bytes(), 1, 0);
    let around: ArrayRef = Arc::new(StringViewArray::new(vec![second; 9].into(), empty, None));
    let inline: ArrayRef =
        Arc::new(StringViewArray::new(vec![view(0); 9].into(), vec![Buffer::default()], None));

    let slices = [(0, 40), (0, 6), (30, 10), (10, 20), (16, 1), (17, 1), (39, 1)];
    let slices = slices.map(|(from, rows)| all.slice(from, rows));
    for array in slices.into_iter().chain([around, inline]) {
        for nested in [array.clone(), in_list(&item(DataType::Utf8View), &array).1] {
            let field = Arc::new(Field::new("views", nested.data_type().clone(), true));
            let df = one_column(&field, &nested);
            let frames = Encoder::new(Target::Arrow).with_compression(codec).encode(&df).unwrap();
            let layout = Layout::of_frames(&frames);
            let declared = layout.messages.iter().flat_map(|message| &message.buffers);
            let data = declared.filter(|buffer| buffer.part == Part::Values);
            assert!(
                data.clone().all(|buffer| buffer.length > 0),
                "{data:?}",
                data = data.collect::<Vec<_>>()
            );
            assert_same(&df, &from_buffers(frames).unwrap(), &|| format!("{nested:?}"));
        }
    }
}

/// A slice of a slice of a slice is a slice.
#[test]
fn slices_of_slices() {
    for case in layouts() {
        let (field, array) = make(&case.field, 5_000, Nulls::Some);
        let mut slice = array;
        while slice.len() > 4 {
            slice = slice.slice(slice.len() / 4 + 1, slice.len() / 2);
            let df = one_column(&field, &slice);
            let name = || format!("{}, {} rows", case.name, slice.len());
            check_cost(&df, Encoder::new(Target::Arrow), Dictionary::Whole, &name);
        }
    }
}

/// Rows of nothing cost nothing: also where the slice lies behind the last row.
#[test]
fn no_rows_cost_no_rows() {
    for case in layouts() {
        let (field, array) = make(&case.field, 5_000, Nulls::Some);
        for from in [0, 2_500, 5_000] {
            let df = one_column(&field, &array.slice(from, 0));
            let name = || format!("{}, no rows from {from}", case.name);
            let sent = check(&df, trimming(), &name);
            let shown = referenced(&df, trimmed(&field));
            assert!(sent < (2 << 10) + shown, "{}: {sent} bytes", name());
            let is_whole = trimmed(&field) == Dictionary::Whole;
            assert_eq!(shown > 0, is_whole, "{}: no rows reference {shown} bytes", name());
        }
    }
}

/// Unused values of a dictionary are data where somebody may look at them: in the order of an
/// ordered dictionary, and in a later batch.
#[test]
fn dictionaries_are_not_trimmed_where_that_loses_data() {
    let values: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..1_000).map(|n| format!("category {n}"))));
    let array: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(vec![7, 700].into(), values.clone()));
    let plain = field("d", array.data_type().clone());
    let ordered = plain.clone().with_dict_is_ordered(true);
    let nested = |field: Field| -> (FieldRef, ArrayRef) { in_list(&Arc::new(field), &array) };
    let kept = |df: &DataFrame| {
        let decoded = from_buffers(trimming().encode(df).unwrap()).unwrap();
        assert_same(df, &decoded, &|| "trimmed or not".into());
        let column = decoded.batches()[0].column(0).unwrap().as_native().unwrap().clone();
        let column = column.as_list_opt::<i32>().map_or(column.clone(), |list| list.values().clone());
        column.as_any_dictionary().values().len()
    };
    assert_eq!(kept(&one_column(&Arc::new(plain.clone()), &array)), 2);
    assert_eq!(kept(&one_column(&Arc::new(ordered.clone()), &array)), 1_000);
    let (field, list) = nested(plain.clone());
    assert_eq!(kept(&one_column(&field, &list)), 2);
    let (field, list) = nested(ordered);
    assert_eq!(kept(&one_column(&field, &list)), 1_000);

    let one = one_column(&Arc::new(plain), &array);
    let batches = [one.batches(), one.batches()].concat();
    let two = DataFrame::try_new(one.schema().clone(), batches).unwrap();
    assert_eq!(kept(&two), 1_000);
    // Batch by batch nobody knows what comes.
    let mut encoder = trimming();
    encoder.start(one.schema()).unwrap();
    let sent = encoder.encode_batch(&one.into_record_batch().unwrap()).unwrap();
    assert!(frames_bytes(&sent) > values.get_buffer_memory_size() / 2);
}

/// A dictionary that columns share comes along once.
#[test]
fn a_shared_dictionary_is_sent_once() {
    let values: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..1_000).map(|n| format!("category {n}"))));
    let column = |keys: Vec<i32>| DictionaryArray::<Int32Type>::new(keys.into(), values.clone());
    let (a, b) = (column((0..1_000).collect()).slice(500, 1), column(vec![3; 10]).slice(9, 1));
    let schema = Schema::new(["a", "b"].map(|name| field(name, a.data_type().clone())).to_vec());
    let batch = arrow::array::RecordBatch::try_new(schema.into(), vec![Arc::new(a), Arc::new(b)]).unwrap();
    let sent = check(&batch.into(), Encoder::new(Target::Arrow), &|| "two columns".into());
    let whole = values.to_data().get_slice_memory_size().unwrap();
    assert!((whole..whole + 2_048).contains(&sent), "{sent} bytes for a dictionary of {whole}");
}

/// Every case, and nests that have been expensive for others.
fn layouts() -> Vec<Case> {
    let views = DataType::ListView(item(DataType::Utf8));
    let union = union_of(UnionMode::Dense, [field("s", DataType::Utf8), field("v", DataType::Utf8View)]);
    let texts = dictionary(DataType::Int32, DataType::Utf8);
    let more = [
        ("list of list", DataType::List(item(DataType::List(item(DataType::Int32))))),
        ("list of list of string view", DataType::List(item(DataType::List(item(DataType::Utf8View))))),
        ("list of list-view", DataType::List(item(views.clone()))),
        ("list of dense union", DataType::List(item(union.clone()))),
        ("list of runs", DataType::List(item(runs(DataType::Int32, DataType::Utf8)))),
        ("list of map", DataType::List(item(map(DataType::Utf8, DataType::Utf8View, false)))),
        ("list-view of string view", DataType::ListView(item(DataType::Utf8View))),
        ("large list-view of list", DataType::LargeListView(item(DataType::List(item(DataType::Int64))))),
        ("list-view of dense union", DataType::ListView(item(union.clone()))),
        ("list-view of runs", DataType::ListView(item(runs(DataType::Int32, DataType::Utf8)))),
        ("struct of list-view", structure([field("l", views.clone()), field("n", DataType::Int8)])),
        ("struct of dense union", structure([field("u", union.clone())])),
        ("dense union of texts", union.clone()),
        ("dense union of list-view", union_of(UnionMode::Dense, [field("l", views.clone())])),
        (
            "dense union of dense union",
            union_of(UnionMode::Dense, [field("u", union.clone()), field("n", DataType::Null)]),
        ),
        (
            "sparse union of list-view",
            union_of(UnionMode::Sparse, [field("l", views.clone()), field("u", union)]),
        ),
        ("fixed-size list of string view", DataType::FixedSizeList(item(DataType::Utf8View), 3)),
        ("runs of list of text", runs(DataType::Int32, DataType::List(item(DataType::Utf8)))),
        ("dictionary of list of text", dictionary(DataType::Int16, DataType::List(item(DataType::Utf8)))),
        ("dictionary of list-view", dictionary(DataType::Int32, views)),
        (
            "struct of dictionaries",
            structure([field("a", texts.clone()), field("b", DataType::List(item(texts)))]),
        ),
    ];
    let more = more.map(|(name, data_type)| Case { name: name.into(), field: field(name, data_type).into() });
    cases().into_iter().chain(more).collect()
}

/// The bytes of header and frames, once the dataframe is known to come back equal.
#[track_caller]
fn check(df: &DataFrame, mut encoder: Encoder, name: &dyn Fn() -> String) -> usize {
    let frames = encoder.encode(df).unwrap_or_else(|error| panic!("{}: {error}", name()));
    let decoded = from_buffers(frames.clone()).unwrap_or_else(|error| panic!("{}: {error}", name()));
    assert_same(df, &decoded, name);
    frames.num_bytes()
}

/// Also checks promise 2; returns how many times what is referenced was sent. Of less than a
/// column's share of the header, nothing worth a number.
#[track_caller]
fn check_cost(df: &DataFrame, encoder: Encoder, dictionary: Dictionary, name: &dyn Fn() -> String) -> f64 {
    let sent = check(df, encoder, name);
    let shown = referenced(df, dictionary);
    assert!(sent <= 2 * shown + COLUMN, "{}: {sent} bytes where {shown} are referenced", name());
    sent as f64 / shown.max(COLUMN) as f64
}

/// Checks the cost of one array, with dictionaries trimmed.
#[track_caller]
fn check_array(array: ArrayRef, name: &str) {
    let df = one_column(&field("column", array.data_type().clone()).into(), &array);
    let ratio = check_cost(&df, trimming(), Dictionary::Trimmed, &|| name.to_owned());
    println!("{name}: sent {ratio:.2} of what is referenced");
}

fn trimming() -> Encoder {
    Encoder::new(Target::Arrow).with_trimmed_dictionaries(true)
}

fn frames_bytes(frames: &Frames) -> usize {
    frames.buffers().iter().map(Buffer::len).sum()
}

/// Which values of a dictionary count as referenced.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Dictionary {
    Whole,
    Trimmed,
}

/// What counts if dictionaries may be trimmed: ordered ones never are.
fn trimmed(field: &FieldRef) -> Dictionary {
    let schema = Schema::new(vec![field.clone()]);
    let is_ordered = signature(&schema).iter().any(|field| field.ordered == Some(true));
    if is_ordered { Dictionary::Whole } else { Dictionary::Trimmed }
}

/// What the rows of a dataframe reference, by brute force: the bytes that each value takes,
/// taken row by row and child by child from Arrow's accessors.
fn referenced(df: &DataFrame, dictionary: Dictionary) -> usize {
    let columns = df.batches().iter().flat_map(|batch| batch.columns());
    let bits = columns.map(|column| {
        let array = column.as_native().unwrap();
        bits(array, &(0..array.len()).collect::<Vec<_>>(), dictionary)
    });
    bits.sum::<usize>().div_ceil(8)
}

/// The bits of these rows. A row that is named twice counts twice, but for the runs of a
/// run-end encoded array and the values of a dictionary.
fn bits(array: &ArrayRef, rows: &[usize], dictionary: Dictionary) -> usize {
    use DataType::*;
    let count = rows.len();
    let inside = |array: &ArrayRef, rows: &[usize]| bits(array, rows, dictionary);
    let text = |length_of: &dyn Fn(usize) -> usize| 8 * rows.iter().map(|&row| length_of(row)).sum::<usize>();
    let long = |length: u32| if length > 12 { length as usize } else { 0 };
    let spread = |range_of: &dyn Fn(usize) -> (usize, usize)| -> Vec<usize> {
        rows.iter().flat_map(|&row| range_of(row).0..range_of(row).0 + range_of(row).1).collect()
    };
    macro_rules! list {
        ($list:expr, $width:literal) => {{
            let list = $list;
            let range = |row: usize| {
                let ends = list.value_offsets();
                (ends[row] as usize, (ends[row + 1] - ends[row]) as usize)
            };
            $width * count + inside(list.values(), &spread(&range))
        }};
    }
    macro_rules! list_view {
        ($list:expr, $width:literal) => {{
            let list = $list;
            let range = |row: usize| (list.value_offset(row) as usize, list.value_size(row) as usize);
            2 * $width * count + inside(list.values(), &spread(&range))
        }};
    }
    macro_rules! runs {
        ($t:ty) => {{
            let array = array.as_any().downcast_ref::<RunArray<$t>>().unwrap();
            let mut runs: Vec<usize> = rows.iter().map(|&row| array.get_physical_index(row)).collect();
            runs.dedup();
            runs.len() * 8 * size_of::<<$t as ArrowPrimitiveType>::Native>() + inside(array.values(), &runs)
        }};
    }
    let validity = if array.null_count() > 0 { count } else { 0 };
    let values = match array.data_type() {
        Null => return 0,
        Boolean => count,
        FixedSizeBinary(width) => 8 * count * *width as usize,
        Utf8 => 32 * count + text(&|row| array.as_string::<i32>().value_length(row) as usize),
        LargeUtf8 => 64 * count + text(&|row| array.as_string::<i64>().value_length(row) as usize),
        Binary => 32 * count + text(&|row| array.as_binary::<i32>().value_length(row) as usize),
        LargeBinary => 64 * count + text(&|row| array.as_binary::<i64>().value_length(row) as usize),
        Utf8View => 128 * count + text(&|row| long(array.as_string_view().views()[row] as u32)),
        BinaryView => 128 * count + text(&|row| long(array.as_binary_view().views()[row] as u32)),
        List(_) => list!(array.as_list::<i32>(), 32),
        LargeList(_) => list!(array.as_list::<i64>(), 64),
        ListView(_) => list_view!(array.as_list_view::<i32>(), 32),
        LargeListView(_) => list_view!(array.as_list_view::<i64>(), 64),
        FixedSizeList(_, size) => {
            let size = *size as usize;
            inside(array.as_fixed_size_list().values(), &spread(&|row| (row * size, size)))
        }
        Struct(_) => array.as_struct().columns().iter().map(|column| inside(column, rows)).sum(),
        Map(..) => {
            let map = array.as_map();
            let range = |row: usize| (map.value_offsets()[row] as usize, map.value_length(row) as usize);
            let entries: ArrayRef = Arc::new(map.entries().clone());
            32 * count + inside(&entries, &spread(&range))
        }
        Union(fields, UnionMode::Sparse) => {
            let union = array.as_union();
            8 * count + fields.iter().map(|(id, _)| inside(union.child(id), rows)).sum::<usize>()
        }
        Union(fields, UnionMode::Dense) => {
            let union = array.as_union();
            let of_child = |id: i8| -> Vec<usize> {
                rows.iter()
                    .filter(|&&row| union.type_id(row) == id)
                    .map(|&row| union.value_offset(row))
                    .collect()
            };
            40 * count + fields.iter().map(|(id, _)| inside(union.child(id), &of_child(id))).sum::<usize>()
        }
        Dictionary(key, _) => {
            let array = array.as_any_dictionary();
            let values: Vec<usize> = match dictionary {
                self::Dictionary::Whole => (0..array.values().len()).collect(),
                self::Dictionary::Trimmed => {
                    let keys = array.normalized_keys();
                    let used = rows.iter().filter(|&&row| array.keys().is_valid(row)).map(|&row| keys[row]);
                    used.collect::<BTreeSet<_>>().into_iter().collect()
                }
            };
            8 * count * key.primitive_width().unwrap() + inside(array.values(), &values)
        }
        RunEndEncoded(ends, _) => match ends.data_type() {
            Int16 => runs!(Int16Type),
            Int32 => runs!(Int32Type),
            _ => runs!(Int64Type),
        },
        fixed_width => 8 * count * fixed_width.primitive_width().unwrap(),
    };
    validity + values
}
