//! What readers of Arrow IPC fell into, one test each, every input built by hand.

use std::time::{Duration, Instant};

use arrow::array::*;
use arrow::buffer::Buffer;
use arrow::datatypes::*;
use arrow::error::ArrowError;
use arrow::ipc::{self, Block, Endianness, MessageHeader, MetadataVersion};
use arrow_frames::{
    BufferLayout, CopyReason, DataFrame, Decoder, Error, ErrorKind, Frames, Layout, Limits, Part,
    StreamSource, Target, from_buffers, to_buffers,
};
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset};

use crate::common::{assert_same, item, map, required, structure};
use crate::memory::peak;
use crate::raw::{self, Raw, rows};
use crate::touch::{ALLOWANCE, Form, decode, decode_frames, touch};

/// A stream of one column `c` and these messages behind its schema.
fn stream(data_type: DataType, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut all = vec![raw::column(data_type)];
    all.extend_from_slice(messages);
    raw::stream(&all)
}

/// Decodes a stream of one column and one batch.
#[track_caller]
fn one(data_type: DataType, batch: Raw) -> Result<DataFrame, Error> {
    decode(&stream(data_type, &[batch.batch()]), Form::Stream)
}

#[track_caller]
fn refused(data_type: DataType, batch: Raw) -> ErrorKind {
    match one(data_type, batch) {
        Ok(df) => panic!("decoded: {df:?}"),
        Err(error) => error.into_kind(),
    }
}

#[track_caller]
fn first_column(df: DataFrame) -> ArrayRef {
    df.into_record_batch().unwrap().column(0).clone()
}

/// Asserts a pattern and shows what is there instead.
macro_rules! assert_kind {
    ($kind:expr, $pattern:pat $(if $guard:expr)?) => {{
        let kind = &$kind;
        assert!(matches!(kind, $pattern $(if $guard)?), "{kind:?}");
    }};
}

// ---- buffers and counts

#[test]
fn buffer_outside_its_body() {
    let good = || rows(2).array(2);
    for (offset, length) in
        [(0, 64), (64, 8), (-8, 8), (8, -8), (i64::MAX, 8), (i64::MAX, i64::MAX), (0, i64::MIN)]
    {
        let mut batch = good().buffer(offset, length);
        batch.body = vec![0; 16];
        let expected = (offset, length);
        assert_kind!(refused(DataType::Int32, batch.clone()), ErrorKind::BufferOutside { buffer: 1, offset, length, body: 16, .. }
            if (*offset, *length) == expected);
        // Where the schema is known, so is the column.
        let message = batch.batch();
        let header =
            [raw::column(DataType::Int32), message[..message.len() - 16].to_vec(), raw::END.to_vec()]
                .concat();
        let error = decode_frames(&Frames::new(header, vec![Buffer::from(&[0; 8])])).unwrap_err();
        assert_kind!(error.into_kind(), ErrorKind::BufferOutside { column, buffer: 1, .. } if column == "c");
    }
}

#[test]
fn buffers_that_overlap() {
    // The values of each column are the same bytes: they would be validated once per column.
    let (columns, bytes) = (20_000, 1 << 20);
    let fields = (0..columns).map(|n| Field::new(n.to_string(), DataType::Utf8, true)).collect();
    let mut batch = rows(1).array(1).numbers(&[0i32, bytes]).bytes(&vec![b'x'; bytes as usize - 2]);
    let [.., offsets, text] = batch.buffers[..] else { unreachable!() };
    for _ in 1..columns {
        batch = batch.array(1).buffer(offsets.0, offsets.1).buffer(text.0, text.1);
    }
    let bytes = raw::stream(&[raw::schema(fields), batch.batch()]);
    let started = Instant::now();
    let error = decode(&bytes, Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::BufferOverlap { buffer: 4, other: 1, .. });
    assert!(started.elapsed() < Duration::from_secs(5));
    // Nor do they if they come apart.
    let mut batch = rows(2).array(2).numbers(&[1i32, 2]).array(2);
    let same = batch.buffers[1];
    batch = batch.buffer(same.0, same.1);
    let message = batch.batch();
    let header = message[..message.len() - batch.body.len()].to_vec();
    let schema =
        raw::schema(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Int32, true)]);
    let header = [schema, header, raw::END.to_vec()].concat();
    let error = decode_frames(&Frames::new(header, vec![Buffer::from(&[0; 8]); 2])).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::BufferOverlap { column, buffer: 3, other: 1, .. } if column == "b");
}

#[test]
fn empty_buffer_anywhere() {
    for offset in [-1, 1 << 60, i64::MIN] {
        let mut batch = rows(0).node(0, 0).buffer(offset, 0).buffer(offset, 0);
        batch.body = vec![];
        assert_eq!(one(DataType::Int32, batch).unwrap().num_rows(), 0);
    }
}

#[test]
fn validity_a_byte_too_short() {
    let batch = rows(2565).node(2565, 1).bytes(&[0xff; 320]).numbers(&[0i32; 2565]);
    assert_kind!(
        refused(DataType::Int32, batch),
        ErrorKind::BufferLength { part: Part::Validity, needed: 321, found: 320, .. }
    );
}

#[test]
fn empty_validity_means_all_valid() {
    let df = one(DataType::Int32, rows(2).array(2).numbers(&[1i32, 2])).unwrap();
    assert_eq!(first_column(df).null_count(), 0);
    let kind = refused(DataType::Int32, rows(2).node(2, 1).absent().numbers(&[1i32, 2]));
    assert_kind!(kind, ErrorKind::NullCount { declared: 1, found: 0, .. });
}

#[test]
fn null_count_that_lies() {
    let batch = |nulls| rows(3).node(3, nulls).bytes(&[0b101]).numbers(&[1i32, 2, 3]);
    assert_eq!(first_column(one(DataType::Int32, batch(1)).unwrap()).null_count(), 1);
    for nulls in [0, 2, 3] {
        assert_kind!(refused(DataType::Int32, batch(nulls)), ErrorKind::NullCount { found: 1, .. });
    }
    for nulls in [-1, 4, i64::MAX, i64::MIN] {
        assert_kind!(refused(DataType::Int32, batch(nulls)), ErrorKind::BadNumber { part: Part::Nodes, number, .. } if *number == nulls);
    }
}

#[test]
fn rows_that_lie() {
    let batch = |rows_of_batch, length| rows(rows_of_batch).array(length).numbers(&[1i32, 2]);
    assert_kind!(
        refused(DataType::Int32, batch(-1, 2)),
        ErrorKind::BadNumber { part: Part::Rows, number: -1, .. }
    );
    assert_kind!(
        refused(DataType::Int32, batch(2, -1)),
        ErrorKind::BadNumber { part: Part::Nodes, number: -1, .. }
    );
    assert_kind!(refused(DataType::Int32, batch(1, 2)), ErrorKind::Count { part: Part::Rows, found: 2, .. });
    for length in [3, i64::MAX, i64::MAX / 4 + 1, 1 << 62] {
        assert_kind!(
            refused(DataType::Int32, batch(length, length)),
            ErrorKind::BufferLength { part: Part::Values, .. }
        );
        // Bits: a count that overflows when it is rounded up.
        let bits = rows(length).array(length).bytes(&[0]);
        assert_eq!(one(DataType::Boolean, bits).is_ok(), length == 3);
    }
}

#[test]
fn too_few_and_too_many_parts() {
    let int = DataType::Int32;
    assert_kind!(refused(int.clone(), rows(1)), ErrorKind::Count { part: Part::Nodes, found: 0, .. });
    assert_kind!(
        refused(int.clone(), rows(1).node(1, 0)),
        ErrorKind::Count { part: Part::Buffers, found: 0, .. }
    );
    let more = rows(1).array(1).numbers(&[1i32]).node(1, 0);
    assert_kind!(refused(int.clone(), more), ErrorKind::Count { part: Part::Nodes, found: 2, .. });
    let more = rows(1).array(1).numbers(&[1i32]).absent();
    assert_kind!(refused(int.clone(), more), ErrorKind::Count { part: Part::Buffers, found: 3, .. });
    let more = rows(1).array(1).numbers(&[1i32]).variadic(0);
    assert_kind!(refused(int, more), ErrorKind::Count { part: Part::VariadicCounts, found: 1, .. });
}

#[test]
fn body_length_that_lies() {
    let batch = || rows(2).array(2).numbers(&[1i32, 2]);
    for (length, is_limit) in [(1 << 50, true), (i64::MAX, true), (1 << 39, false), (80, false)] {
        let mut batch = batch();
        batch.body_length = Some(length);
        let kind = refused(DataType::Int32, batch);
        match is_limit {
            true => assert_kind!(kind, ErrorKind::Limit { limit: "max_body_bytes", .. }),
            false => assert_kind!(kind, ErrorKind::Truncated { part: Part::Body, .. }),
        };
    }
    for length in [-8, -1, i64::MIN] {
        let mut batch = batch();
        batch.body_length = Some(length);
        assert_kind!(refused(DataType::Int32, batch), ErrorKind::BadNumber { part: Part::Body, number, .. } if *number == length);
    }
}

#[test]
fn metadata_length_that_lies() {
    let good = stream(DataType::Int32, &[]);
    for (length, is_limit) in [(i32::MAX, true), (1 << 27, false), (-1, false), (i32::MIN, false)] {
        let mut bytes = good.clone();
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
        let error = decode(&bytes, Form::Stream).unwrap_err();
        match (length < 0, is_limit) {
            (true, _) => assert_kind!(error.into_kind(), ErrorKind::BadNumber { part: Part::Prefix, .. }),
            (_, true) => {
                assert_kind!(error.into_kind(), ErrorKind::Limit { limit: "max_metadata_bytes", .. })
            }
            _ => assert_kind!(error.into_kind(), ErrorKind::Truncated { part: Part::Metadata, .. }),
        };
    }
}

#[test]
fn metadata_length_that_is_wrong_by_a_bit() {
    let good = stream(DataType::Int32, &[rows(1).array(1).numbers(&[7i32]).batch()]);
    assert_eq!(decode(&good, Form::Stream).unwrap().num_rows(), 1);
    let second = 8 + i32::from_le_bytes(good[4..8].try_into().unwrap()) as usize;
    for prefix in [0, second] {
        for bit in 0..3 {
            let mut bytes = good.clone();
            bytes[prefix + 4] ^= 1 << bit;
            let error = decode(&bytes, Form::Stream).unwrap_err();
            assert_kind!(error.into_kind(), ErrorKind::BadNumber { part: Part::Prefix, .. });
        }
    }
}

// ---- offsets

#[test]
fn offsets_not_a_whole_number_of_elements() {
    let batch = |bytes| rows(1).array(1).bytes(&[0; 9][..bytes]).absent();
    assert_kind!(
        refused(DataType::Utf8, batch(7)),
        ErrorKind::BufferLength { part: Part::Offsets, needed: 8, found: 7, .. }
    );
    // What is longer than needed may end anywhere.
    assert_eq!(first_column(one(DataType::Utf8, batch(9)).unwrap()).as_string::<i32>().value(0), "");
}

#[test]
fn offsets_that_lie() {
    let bad: [&[i32]; 6] =
        [&[0, 3, 2], &[-1, 0, 1], &[0, 1, 9], &[0, i32::MAX, 2], &[2, 1, 0], &[0, 1, i32::MIN]];
    for offsets in bad {
        let text = rows(2).array(2).numbers(offsets).bytes(b"abcd");
        assert_kind!(refused(DataType::Utf8, text.clone()), ErrorKind::Offsets { column, limit: 4, .. } if column == "c");
        assert_kind!(refused(DataType::Binary, text), ErrorKind::Offsets { .. });
        let list = rows(2).array(2).numbers(offsets).array(4).bytes(b"abcd");
        assert_kind!(refused(DataType::List(item(DataType::Int8)), list), ErrorKind::Offsets { .. });
        let entries =
            rows(2).array(2).numbers(offsets).array(4).array(4).bytes(b"abcd").array(4).bytes(b"abcd");
        assert_kind!(refused(map(DataType::Int8, DataType::Int8, false), entries), ErrorKind::Offsets { .. });
        let wide: Vec<i64> = offsets.iter().map(|offset| i64::from(*offset) << 14).collect();
        let text = rows(2).array(2).numbers(&wide).bytes(b"abcd");
        assert_kind!(refused(DataType::LargeUtf8, text), ErrorKind::Offsets { .. });
    }
    let wide = rows(2).array(2).numbers(&[0i64, 1 << 45, 2]).bytes(b"ab");
    let kind = refused(DataType::LargeBinary, wide);
    assert_kind!(kind, ErrorKind::Offsets { row: 1, start: 35_184_372_088_832, end: 2, limit: 2, .. });
}

#[test]
fn offsets_behind_nulls_must_be_sound() {
    let batch = rows(2).node(2, 2).bytes(&[0]).numbers(&[0i32, 1 << 30, 1]).bytes(b"a");
    assert_kind!(refused(DataType::Utf8, batch), ErrorKind::Offsets { .. });
}

#[test]
fn offsets_may_start_anywhere() {
    let batch = rows(1).array(1).numbers(&[2i32, 4]).bytes(b"\xff\xffab\xff");
    assert_eq!(first_column(one(DataType::Utf8, batch).unwrap()).as_string::<i32>().value(0), "ab");
}

#[test]
fn no_rows_with_and_without_an_offset() {
    for data_type in [DataType::Utf8, DataType::Binary, DataType::LargeUtf8] {
        let zero = if data_type == DataType::LargeUtf8 { 8 } else { 4 };
        for bytes in [0, zero] {
            let batch = rows(0).array(0).bytes(&[0; 8][..bytes]).absent();
            assert_eq!(first_column(one(data_type.clone(), batch).unwrap()).len(), 0);
        }
    }
    for bytes in [0, 4] {
        let batch = rows(0).array(0).bytes(&[0; 8][..bytes]).array(0).absent();
        assert_eq!(first_column(one(DataType::List(item(DataType::Int8)), batch).unwrap()).len(), 0);
    }
}

#[test]
fn text_that_is_none() {
    let cut = "é".as_bytes();
    for (offsets, bytes, row) in [
        ([0i32, 1, 2], b"\xffa".as_slice(), 0),
        // Text as a whole, and cut inside a character.
        ([0, 1, 2], cut, 0),
        ([0, 2, 3], b"ab\x80", 1),
    ] {
        let batch = rows(2).array(2).numbers(&offsets).bytes(bytes);
        assert_kind!(refused(DataType::Utf8, batch), ErrorKind::Utf8 { row: found, .. } if *found == row);
    }
}

#[test]
fn trusted_data_is_not_looked_at() {
    let bytes = stream(DataType::Utf8, &[rows(1).array(1).numbers(&[0i32, 1]).bytes(b"\xff").batch()]);
    let frames = Frames::from_stream(bytes).unwrap();
    assert_kind!(from_buffers(frames.clone()).unwrap_err().into_kind(), ErrorKind::Utf8 { .. });
    #[allow(unsafe_code)]
    // SAFETY: none of it is used as text.
    let mut decoder = unsafe { Decoder::new().with_trusted_data() };
    let df = decoder.decode(frames).unwrap();
    assert_eq!(df.num_rows(), 1);
    // What lies outside is refused all the same.
    let bytes = stream(DataType::Utf8, &[rows(1).array(1).numbers(&[0i32, 9]).bytes(b"a").batch()]);
    let error = decoder.decode(Frames::from_stream(bytes).unwrap()).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::Offsets { .. });
}

#[test]
fn list_views_that_lie() {
    let list = DataType::ListView(item(DataType::Int8));
    let batch =
        |offset: i32, size: i32| rows(1).array(1).numbers(&[offset]).numbers(&[size]).array(3).bytes(b"abc");
    for (offset, size) in [(0, 3), (3, 0), (1, 2)] {
        one(list.clone(), batch(offset, size)).unwrap();
    }
    for (offset, size) in [(0, 4), (-1, 1), (1, -1), (i32::MAX, i32::MAX), (4, 0), (i32::MIN, 0)] {
        assert_kind!(refused(list.clone(), batch(offset, size)), ErrorKind::Offsets { row: 0, limit: 3, .. });
    }
    let large = DataType::LargeListView(item(DataType::Int8));
    for (offset, size) in [(i64::MAX, i64::MAX), (i64::MAX, 1), (0, i64::MIN)] {
        let batch = rows(1).array(1).numbers(&[offset]).numbers(&[size]).array(3).bytes(b"abc");
        assert_kind!(refused(large.clone(), batch), ErrorKind::Offsets { .. });
    }
}

// ---- views

#[test]
fn views_that_lie() {
    let text = b"twelve bytes and more";
    let view = |length: u32, prefix: &[u8; 4], buffer: u32, offset: u32| {
        let parts = [length, u32::from_le_bytes(*prefix), buffer, offset];
        parts.iter().flat_map(|part| part.to_le_bytes()).collect::<Vec<u8>>()
    };
    let batch = |view: &[u8]| rows(1).array(1).bytes(view).bytes(text).variadic(1);
    one(DataType::Utf8View, batch(&view(21, b"twel", 0, 0))).unwrap();
    for bad in [
        view(22, b"twel", 0, 0),
        view(21, b"Twel", 0, 0),
        view(21, b"twel", 1, 0),
        view(21, b"twel", u32::MAX, 0),
        view(13, b"twel", 0, u32::MAX),
        view(u32::MAX, b"twel", 0, 0),
        view(0x8000_0015, b"twel", 0, 0),
        // Inline, and not filled up with zeros.
        view(1, b"ab\0\0", 0, 0),
        view(0, b"\0\0\0\0", 0, 1),
        // Inline, and no text.
        view(1, b"\xff\0\0\0", 0, 0),
    ] {
        let kind = refused(DataType::Utf8View, batch(&bad));
        assert_kind!(kind, ErrorKind::View { column, row: 0 } if column == "c");
    }
    let cut = "twelve bytes and é".as_bytes();
    let batch = rows(1).array(1).bytes(&view(cut.len() as u32 - 1, b"twel", 0, 0)).bytes(cut).variadic(1);
    assert_kind!(refused(DataType::Utf8View, batch.clone()), ErrorKind::View { .. });
    one(DataType::BinaryView, batch).unwrap();
}

#[test]
fn inline_views_are_text_one_by_one() {
    // Texts that fill their view, that leave one byte, and that are cut after one byte of two.
    let cut = &"twelve byt\u{e9}".as_bytes()[..11];
    let texts: [&[u8]; 4] = [b"", "twelve byt\u{e9}".as_bytes(), "z\u{fc}rich".as_bytes(), b"\xa9 goes on"];
    let batch = |bad: &[(usize, &[u8])]| {
        let mut views = Vec::new();
        for row in 0..600 {
            let text = bad.iter().find(|(at, _)| *at == row).map_or(texts[row % 3], |(_, text)| text);
            views.extend_from_slice(&make_view(text, 0, 0).to_le_bytes());
        }
        rows(600).array(600).bytes(&views).variadic(0)
    };
    one(DataType::Utf8View, batch(&[])).unwrap();
    for bad in [0, 1, 255, 256, 511, 512, 599] {
        assert_kind!(refused(DataType::Utf8View, batch(&[(bad, cut)])), ErrorKind::View { row, .. } if *row == bad);
        // What the next one starts with does not complete it.
        let both = [(bad, cut), (bad + 1, texts[3])];
        assert_kind!(refused(DataType::Utf8View, batch(&both)), ErrorKind::View { row, .. } if *row == bad);
        let next = [(bad, texts[3])];
        assert_kind!(refused(DataType::Utf8View, batch(&next)), ErrorKind::View { row, .. } if *row == bad);
        one(DataType::BinaryView, batch(&both)).unwrap();
    }
}

#[test]
fn views_that_all_show_the_same() {
    // Each shows nearly all of a buffer that is not text as a whole.
    let (count, size) = (50_000, 4 << 20);
    for character in ["x", "é"] {
        let mut text = character.repeat(size / character.len()).into_bytes();
        text.push(0xff);
        let mut views = Vec::new();
        let start = |row: usize| (row % 64) * 2;
        for row in 0..count {
            let shown = &text[start(row)..size];
            views.extend_from_slice(&make_view(shown, 0, start(row) as u32).to_le_bytes());
        }
        let batch =
            |views: &[u8]| rows(count as i64).array(count as i64).bytes(views).bytes(&text).variadic(1);
        let started = Instant::now();
        let frames = Frames::from_stream(stream(DataType::Utf8View, &[batch(&views).batch()])).unwrap();
        from_buffers(frames).unwrap();
        // One that ends at the byte that is no text, and one that is cut inside a character.
        for (bad, start, end) in [(777, 2, size + 1), (4_321, 3, size)] {
            if end == size && character == "x" {
                continue;
            }
            let mut views = views.clone();
            let shown = &text[start..end];
            views[bad * 16..][..16].copy_from_slice(&make_view(shown, 0, start as u32).to_le_bytes());
            assert_kind!(refused(DataType::Utf8View, batch(&views)), ErrorKind::View { row, .. } if *row == bad);
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    }
}

#[test]
fn variadic_counts_that_lie() {
    for count in [-1, 2, i64::MAX, i64::MIN] {
        let batch = rows(0).array(0).absent().absent().variadic(count);
        let kind = refused(DataType::BinaryView, batch);
        assert_kind!(kind, ErrorKind::BadNumber { part: Part::VariadicCounts, number, .. } if *number == count);
    }
    let batch = rows(0).array(0).absent();
    assert_kind!(
        refused(DataType::BinaryView, batch),
        ErrorKind::Count { part: Part::VariadicCounts, found: 0, .. }
    );
}

// ---- alignment

#[test]
fn misaligned_buffers_are_copied_and_counted() {
    let mut shifted = rows(3);
    shifted.alignment = (64, 1);
    let dense = DataType::Union(
        UnionFields::try_new([0, 1], [required("a", DataType::Int64), required("b", DataType::Int8)])
            .unwrap(),
        UnionMode::Dense,
    );
    let views: Vec<u8> =
        ["a", "b", "c"].iter().flat_map(|t| make_view(t.as_bytes(), 0, 0).to_le_bytes()).collect();
    let cases = [
        (DataType::Int64, shifted.clone().array(3).numbers(&[1i64, 2, 3]), 24),
        (DataType::Decimal128(5, 1), shifted.clone().array(3).numbers(&[1i128, 2, 3]), 48),
        (DataType::Utf8, shifted.clone().array(3).numbers(&[0i32, 1, 2, 3]).bytes(b"abc"), 16),
        (DataType::Utf8View, shifted.clone().array(3).bytes(&views).variadic(0), 48),
        (
            dense,
            shifted
                .clone()
                .node(3, 0)
                .numbers(&[0i8, 1, 0])
                .numbers(&[0i32, 0, 1])
                .array(2)
                .numbers(&[7i64, 8])
                .array(1)
                .numbers(&[9i8]),
            12 + 16,
        ),
    ];
    for (data_type, batch, bytes) in cases {
        let aligned = stream(data_type.clone(), &[batch.batch()]);
        decode(&aligned, Form::Stream).unwrap();
        let mut decoder = Decoder::new();
        decoder.decode(Frames::from_stream(aligned.clone()).unwrap()).unwrap();
        assert_eq!(decoder.copies().of_reason(CopyReason::Misaligned), bytes, "{data_type}");
        let mut strict = Decoder::new().with_max_copied_bytes(bytes - 1);
        let error = strict.decode(Frames::from_stream(aligned).unwrap()).unwrap_err();
        assert_kind!(error.into_kind(), ErrorKind::CopyLimit { reason: CopyReason::Misaligned, .. });
    }
}

#[test]
fn sixteen_byte_types_at_eight() {
    // Buffers at multiples of 8, as pyarrow puts them: half of them are not at 16.
    let mut batch = rows(2);
    batch.alignment = (16, 8);
    let bytes = stream(DataType::Decimal128(5, 1), &[batch.array(2).numbers(&[1i128, -1]).batch()]);
    let array = first_column(decode(&bytes, Form::Stream).unwrap());
    assert_eq!(array.as_primitive::<Decimal128Type>().values(), &[1, -1]);
}

// ---- types and schemas

#[test]
fn fixed_size_binary_of_negative_width() {
    for width in [-1, i32::MIN] {
        let schema = raw::fields_with(|fbb| {
            let table = ipc::FixedSizeBinary::create(fbb, &ipc::FixedSizeBinaryArgs { byteWidth: width });
            vec![raw::field(fbb, ipc::Type::FixedSizeBinary, table.as_union_value(), true, &[])]
        });
        let error = decode(&raw::stream(&[schema]), Form::Stream).unwrap_err();
        assert_kind!(error.into_kind(), ErrorKind::BadType { column, .. } if column == "c");
    }
}

#[test]
fn fixed_size_list_of_negative_size() {
    let schema = raw::fields_with(|fbb| {
        let child = ipc::Null::create(fbb, &ipc::NullArgs {});
        let child = raw::field(fbb, ipc::Type::Null, child.as_union_value(), true, &[]);
        let table = ipc::FixedSizeList::create(fbb, &ipc::FixedSizeListArgs { listSize: -2 });
        vec![raw::field(fbb, ipc::Type::FixedSizeList, table.as_union_value(), true, &[child])]
    });
    let error = decode(&raw::stream(&[schema]), Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::BadType { column, .. } if column == "c");
}

#[test]
fn fixed_sizes_that_overflow() {
    let wide = |size| DataType::FixedSizeList(item(DataType::FixedSizeBinary(i32::MAX)), size);
    let length = i64::from(i32::MAX);
    // Each step of rows × size × width overflows somewhere.
    for (rows_of_list, size, length) in
        [(1 << 33, i32::MAX, 1 << 33), (i64::MAX, 2, 2), (length, i32::MAX, i64::MAX)]
    {
        let batch = rows(rows_of_list).array(rows_of_list).array(length).absent();
        assert!(one(wide(size), batch).is_err());
    }
    let batch = rows(1 << 33).array(1 << 33).bytes(&[0; 8]);
    assert_kind!(refused(DataType::FixedSizeBinary(i32::MAX), batch), ErrorKind::BufferLength { .. });
}

#[test]
fn decimals_of_impossible_precision() {
    for (precision, width) in
        [(0, 128), (39, 128), (77, 256), (10, 32), (19, 64), (-1, 128), (300, 256), (5, 7)]
    {
        let schema = raw::fields_with(|fbb| {
            let table = ipc::Decimal::create(fbb, &ipc::DecimalArgs { precision, scale: 0, bitWidth: width });
            vec![raw::field(fbb, ipc::Type::Decimal, table.as_union_value(), true, &[])]
        });
        let error = decode(&raw::stream(&[schema]), Form::Stream).unwrap_err();
        assert_kind!(error.into_kind(), ErrorKind::BadType { .. });
    }
}

#[test]
fn unions_of_many_fields_and_odd_ids() {
    let schema = |count: usize, ids: Option<Vec<i32>>| {
        let schema = raw::fields_with(|fbb| {
            let children: Vec<_> = (0..count)
                .map(|_| {
                    let table = ipc::Null::create(fbb, &ipc::NullArgs {});
                    raw::field(fbb, ipc::Type::Null, table.as_union_value(), true, &[])
                })
                .collect();
            let ids = ids.map(|ids| fbb.create_vector(&ids));
            let args = ipc::UnionArgs { mode: ipc::UnionMode::Sparse, typeIds: ids };
            let table = ipc::Union::create(fbb, &args);
            vec![raw::field(fbb, ipc::Type::Union, table.as_union_value(), true, &children)]
        });
        decode(&raw::stream(&[schema]), Form::Stream)
    };
    schema(127, None).unwrap();
    schema(128, None).unwrap();
    schema(2, Some(vec![127, 0])).unwrap();
    for (count, ids) in [
        (129, None),
        (2, Some(vec![0])),
        (2, Some(vec![0, 0])),
        (2, Some(vec![0, 128])),
        (2, Some(vec![0, -1])),
        (2, Some(vec![0, 256])),
        (1, Some(vec![0, 1])),
    ] {
        assert_kind!(schema(count, ids).unwrap_err().into_kind(), ErrorKind::BadType { .. });
    }
}

#[test]
fn types_without_their_table_or_children() {
    for kind in (0..=ipc::Type::ENUM_MAX).chain([100, 255]).map(ipc::Type) {
        for children in 0..3 {
            // Whatever the type says it is, its table is that of a boolean.
            let schema = raw::fields_with(|fbb| {
                let table = ipc::Bool::create(fbb, &ipc::BoolArgs {}).as_union_value();
                let child = raw::field(fbb, ipc::Type::Bool, table, true, &[]);
                vec![raw::field(fbb, kind, table, true, &vec![child; children])]
            });
            let _ = decode(&raw::stream(&[schema]), Form::Stream);
        }
    }
}

#[test]
fn maps_with_nullable_entries_or_keys() {
    let entries = |entries_nullable, key_nullable| {
        let pair = structure([
            Field::new("key", DataType::Int8, key_nullable),
            Field::new("value", DataType::Int8, true),
        ]);
        DataType::Map(Field::new("entries", pair, entries_nullable).into(), false)
    };
    let batch = || rows(1).array(1).numbers(&[0i32, 1]).array(1).array(1).bytes(&[1]).array(1).bytes(&[2]);
    one(entries(false, false), batch()).unwrap();
    for (entries_nullable, key_nullable) in [(true, false), (false, true), (true, true)] {
        let error = one(entries(entries_nullable, key_nullable), batch()).unwrap_err();
        assert!(error.to_string().contains("\"c\""), "names the column: {error}");
        // Whether or not there are rows.
        let error = decode(&stream(entries(entries_nullable, key_nullable), &[]), Form::Stream).unwrap_err();
        assert_kind!(error.into_kind(), ErrorKind::BadType { column, .. } if column == "c");
    }
}

#[test]
fn run_ends_that_may_be_null() {
    let ends = Field::new("run_ends", DataType::Int16, true);
    let data_type = DataType::RunEndEncoded(ends.into(), item(DataType::Int8));
    let error = decode(&stream(data_type, &[]), Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::BadType { column, .. } if column == "c");
}

#[test]
fn big_endian() {
    let schema = raw::schema_with(MetadataVersion::V5, |fbb| {
        let table = ipc::Bool::create(fbb, &ipc::BoolArgs {}).as_union_value();
        let field = raw::field(fbb, ipc::Type::Bool, table, true, &[]);
        let fields = fbb.create_vector(&[field]);
        let mut schema = ipc::SchemaBuilder::new(fbb);
        schema.add_endianness(Endianness::Big);
        schema.add_fields(fields);
        schema.finish()
    });
    assert_kind!(
        decode(&raw::stream(&[schema]), Form::Stream).unwrap_err().into_kind(),
        ErrorKind::BigEndian
    );
}

#[test]
fn unknown_metadata_versions() {
    let fields = || Schema::new(vec![Field::new("c", DataType::Int8, true)]);
    for version in [0, 1, 2, 5, -1, i16::MAX] {
        let schema = raw::schema_with(MetadataVersion(version), |fbb| {
            ipc::convert::IpcSchemaEncoder::new().schema_to_fb_offset(fbb, &fields())
        });
        let error = decode(&raw::stream(&[schema]), Form::Stream).unwrap_err();
        assert_kind!(error.into_kind(), ErrorKind::MetadataVersion { position: 0, version: found } if *found == version);
        let mut batch = rows(1).array(1).bytes(&[1]);
        batch.version = MetadataVersion(version);
        assert_kind!(refused(DataType::Int8, batch), ErrorKind::MetadataVersion { .. });
    }
}

#[test]
fn legacy_compression() {
    let mut batch = rows(1).array(1).bytes(&[1]);
    batch.metadata = vec![("ARROW:experimental_compression", "lz4".into())];
    assert_kind!(refused(DataType::Int8, batch), ErrorKind::LegacyCompression { .. });
}

#[test]
fn messages_out_of_place() {
    let schema = raw::column(DataType::Int8);
    let batch = rows(1).array(1).bytes(&[1]);
    let error = decode(&raw::stream(&[batch.batch()]), Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::SchemaMissing { position: 0 });
    let error = decode(&raw::stream(&[batch.dictionary(0, false)]), Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::SchemaMissing { position: 0 });
    let error = decode(&raw::stream(&[schema.clone(), schema.clone()]), Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::SchemaRepeated { position } if *position == schema.len() as u64);
    assert_kind!(decode(&raw::END, Form::Stream).unwrap_err().into_kind(), ErrorKind::SchemaMissing { .. });
    assert_kind!(decode(&[], Form::Stream).unwrap_err().into_kind(), ErrorKind::SchemaMissing { .. });
    // A tensor, and what no version knows.
    for kind in [4, 5, 6, 255] {
        let mut fbb = FlatBufferBuilder::new();
        let table = ipc::Bool::create(&mut fbb, &ipc::BoolArgs {}).as_union_value();
        let other = raw::message(fbb, MetadataVersion::V5, MessageHeader(kind), table, 0, &[]);
        let error = decode(&raw::stream(&[schema.clone(), other]), Form::Stream).unwrap_err();
        let is_refused = matches!(error.kind(), ErrorKind::UnexpectedMessage { header, .. } if *header == kind)
            || matches!(error.kind(), ErrorKind::Flatbuffer { .. });
        assert!(is_refused, "{error}");
    }
}

#[test]
fn schemas_with_a_body() {
    let mut fbb = FlatBufferBuilder::new();
    let fields = fbb.create_vector::<ForwardsUOffset<ipc::Field>>(&[]);
    let schema =
        ipc::Schema::create(&mut fbb, &ipc::SchemaArgs { fields: Some(fields), ..Default::default() });
    let schema =
        raw::message(fbb, MetadataVersion::V5, MessageHeader::Schema, schema.as_union_value(), 2, &[]);
    let bytes = raw::stream(&[schema, vec![0; 2]]);
    let error = decode(&bytes, Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::BadNumber { part: Part::Body, position: 0, number: 2 });
    // As a header, whose bodies nobody looks at, it would become a file whose blocks are wrong.
    decode_frames(&Frames::new(bytes, vec![])).unwrap_err();
}

#[test]
fn what_follows_the_end_marker_is_ignored() {
    let mut bytes = stream(DataType::Int8, &[rows(1).array(1).bytes(&[1]).batch()]);
    bytes.extend_from_slice(b"anything");
    assert_eq!(decode(&bytes, Form::Stream).unwrap().num_rows(), 1);
}

// ---- old streams

#[test]
fn streams_before_the_continuation_marker() {
    let mut old = Vec::new();
    for message in [raw::column(DataType::Int8), rows(1).array(1).bytes(&[7]).batch()] {
        old.extend_from_slice(&message[4..]);
    }
    // Its end is 4 bytes.
    old.extend_from_slice(&[0; 4]);
    let array = first_column(decode(&old, Form::Stream).unwrap());
    assert_eq!(array.as_primitive::<Int8Type>().values(), &[7]);
    let error = decode(&old[..old.len() - 4], Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::Truncated { part: Part::End, .. });
}

#[test]
fn v4_unions_have_a_validity_bitmap() {
    let fields = UnionFields::try_new([0], [required("a", DataType::Int8)]).unwrap();
    let batch = |nulls, bitmap: &[u8]| {
        let mut batch = rows(2).node(2, nulls).bytes(bitmap).numbers(&[0i8, 0]).array(2).numbers(&[1i8, 2]);
        batch.version = MetadataVersion::V4;
        batch
    };
    let data_type = DataType::Union(fields, UnionMode::Sparse);
    one(data_type.clone(), batch(0, &[])).unwrap();
    one(data_type.clone(), batch(0, &[0b11])).unwrap();
    // A null that only the union has cannot be kept.
    assert_kind!(refused(data_type.clone(), batch(1, &[0b01])), ErrorKind::NullCount { declared: 1, .. });
    // In V5 there is none.
    let mut batch = batch(0, &[0b11]);
    batch.version = MetadataVersion::V5;
    assert!(one(data_type, batch).is_err());
}

#[test]
fn v4_run_ends_have_a_validity_bitmap() {
    let ends = required("run_ends", DataType::Int32);
    let data_type = || DataType::RunEndEncoded(ends.clone().into(), item(DataType::Int8));
    let batch = |nulls, bitmap: &[u8]| {
        let mut batch = rows(2).node(2, nulls).bytes(bitmap).array(1).numbers(&[2i32]).array(1).bytes(&[7]);
        batch.version = MetadataVersion::V4;
        batch
    };
    one(data_type(), batch(0, &[])).unwrap();
    one(data_type(), batch(0, &[0b11])).unwrap();
    assert_kind!(refused(data_type(), batch(1, &[0b01])), ErrorKind::NullCount { declared: 1, .. });
    // The column behind it is found when this one is passed over.
    let schema =
        raw::schema(vec![Field::new("runs", data_type(), true), Field::new("c", DataType::Int8, true)]);
    let bytes = raw::stream(&[schema, batch(0, &[]).array(2).bytes(&[8, 9]).batch()]);
    let df = Decoder::new().with_projection([1]).decode(Frames::from_stream(bytes).unwrap()).unwrap();
    assert_eq!(first_column(df).as_primitive::<Int8Type>().values(), &[8, 9]);
}

// ---- unions and run ends

#[test]
fn unions_that_lie() {
    let fields = || {
        UnionFields::try_new([5, 2], [required("a", DataType::Int8), required("b", DataType::Int8)]).unwrap()
    };
    let children = |raw: Raw| raw.array(2).numbers(&[1i8, 2]).array(1).numbers(&[3i8]);
    let dense = |ids: [i8; 2], offsets: [i32; 2]| {
        let batch = children(rows(2).node(2, 0).numbers(&ids).numbers(&offsets));
        one(DataType::Union(fields(), UnionMode::Dense), batch)
    };
    dense([5, 2], [1, 0]).unwrap();
    for (ids, offsets) in [
        ([5, 0], [0, 0]),
        ([5, -1], [0, 0]),
        ([5, i8::MIN], [0, 0]),
        ([5, 127], [0, 0]),
        ([5, 2], [2, 0]),
        ([5, 2], [0, 1]),
        ([5, 2], [-1, 0]),
        ([5, 2], [i32::MIN, 0]),
        ([5, 2], [i32::MAX, 0]),
    ] {
        assert_kind!(dense(ids, offsets).unwrap_err().into_kind(), ErrorKind::Union { column, .. } if column == "c");
    }
    // Children of a sparse union have its length.
    let batch = children(rows(2).node(2, 0).numbers(&[5i8, 5]));
    let kind = refused(DataType::Union(fields(), UnionMode::Sparse), batch);
    assert_kind!(kind, ErrorKind::Count { part: Part::Rows, found: 1, .. });
}

#[test]
fn run_ends_that_lie() {
    let data_type =
        || DataType::RunEndEncoded(required("run_ends", DataType::Int32).into(), item(DataType::Int8));
    let batch = |length, ends: &[i32]| {
        let runs = ends.len() as i64;
        rows(length).node(length, 0).array(runs).numbers(ends).array(runs).bytes(&vec![0; ends.len()])
    };
    one(data_type(), batch(5, &[2, 5])).unwrap();
    // Runs behind the last row are not shown.
    one(data_type(), batch(5, &[2, 9, 12])).unwrap();
    one(data_type(), batch(0, &[])).unwrap();
    for (length, ends) in [
        (5, vec![2, 4]),
        (5, vec![5, 5]),
        (5, vec![0, 5]),
        (5, vec![-1, 5]),
        (5, vec![3, 2, 5]),
        (5, vec![]),
        (5, vec![i32::MIN, 5]),
    ] {
        assert_kind!(refused(data_type(), batch(length, &ends)), ErrorKind::RunEnds { column, .. } if column == "c");
    }
    let nulls = rows(2).node(2, 0).node(2, 1).bytes(&[1]).numbers(&[1i32, 2]).array(2).bytes(&[1, 2]);
    assert_kind!(refused(data_type(), nulls), ErrorKind::NullCount { .. });
    let unequal = rows(2).node(2, 0).array(1).numbers(&[2i32]).array(2).bytes(&[1, 2]);
    assert_kind!(refused(data_type(), unequal), ErrorKind::Count { part: Part::Rows, .. });
}

// ---- rows that take no bytes

#[test]
fn rows_without_bytes_are_limited() {
    let empty = || DataType::Struct(Fields::empty());
    let huge = 1 << 60;
    let runs = || DataType::RunEndEncoded(required("run_ends", DataType::Int64).into(), item(DataType::Int8));
    let cases = [
        (DataType::Null, rows(huge).node(huge, 0)),
        (DataType::FixedSizeBinary(0), rows(huge).array(huge).absent()),
        (DataType::FixedSizeList(item(DataType::Int8), 0), rows(huge).array(huge).array(0).absent()),
        (empty(), rows(huge).array(huge)),
        (structure([Field::new("n", DataType::Null, true)]), rows(huge).array(huge).node(huge, 0)),
        (DataType::FixedSizeList(item(DataType::Null), 1), rows(huge).array(huge).node(huge, 0)),
        (runs(), rows(huge).node(huge, 0).array(1).numbers(&[i64::MAX]).array(1).bytes(&[1])),
    ];
    for (data_type, batch) in cases {
        let started = Instant::now();
        let kind = refused(data_type.clone(), batch);
        assert_kind!(kind, ErrorKind::Limit { limit: "max_rows_without_bytes", requested, .. } if *requested == 1 << 60);
        assert!(started.elapsed() < Duration::from_secs(1), "{data_type}");
    }
    let schema = raw::schema(vec![]);
    let error = decode(&raw::stream(&[schema, rows(huge).batch()]), Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::Limit { limit: "max_rows_without_bytes", .. });
    // Rows of a list are bounded by their offsets, its items by this.
    let list = rows(1).array(1).numbers(&[0i64, huge]).node(huge, 0);
    assert_kind!(refused(DataType::LargeList(item(DataType::Null)), list), ErrorKind::Limit { .. });
}

#[test]
fn two_billion_nulls_do_not_hang() {
    let most = i64::from(i32::MAX);
    let bytes = stream(DataType::Null, &[rows(most).node(most, 0).batch()]);
    let started = Instant::now();
    let df = decode(&bytes, Form::Stream).unwrap();
    assert_eq!(df.num_rows(), i32::MAX as usize);
    assert!(started.elapsed() < Duration::from_secs(1));
}

// ---- empty

#[test]
fn batches_of_three_zero_and_two_rows() {
    let batch =
        |numbers: &[i32]| rows(numbers.len() as i64).array(numbers.len() as i64).numbers(numbers).batch();
    let bytes = stream(DataType::Int32, &[batch(&[1, 2, 3]), batch(&[]), batch(&[4, 5])]);
    let df = decode(&bytes, Form::Stream).unwrap();
    assert_eq!(df.batches().iter().map(|batch| batch.num_rows()).collect::<Vec<_>>(), [3, 0, 2]);
}

#[test]
fn rows_of_no_columns() {
    let df = decode(&raw::stream(&[raw::schema(vec![]), rows(5).batch()]), Form::Stream).unwrap();
    assert_eq!((df.num_rows(), df.num_columns()), (5, 0));
    assert_eq!(df.into_record_batch().unwrap().num_rows(), 5);
}

// ---- dictionaries

fn keyed(value: DataType) -> DataType {
    DataType::Dictionary(DataType::Int8.into(), value.into())
}

/// A batch of keys.
fn keys(keys: &[i8]) -> Vec<u8> {
    let count = keys.len() as i64;
    rows(count).array(count).numbers(keys).batch()
}

fn words(words: &[&str]) -> Raw {
    let mut offsets = vec![0i32];
    words.iter().for_each(|word| offsets.push(offsets[offsets.len() - 1] + word.len() as i32));
    let count = words.len() as i64;
    rows(count).array(count).numbers(&offsets).bytes(words.concat().as_bytes())
}

#[track_caller]
fn text_of(df: DataFrame) -> Vec<String> {
    let array = first_column(df);
    let array = arrow::compute::cast(&array, &DataType::Utf8).unwrap();
    array.as_string::<i32>().iter().map(|text| text.unwrap_or("-").to_owned()).collect()
}

#[test]
fn dictionary_keys_without_values() {
    for bad in [2, 127, -1, i8::MIN] {
        let bytes =
            stream(keyed(DataType::Utf8), &[words(&["a", "b"]).dictionary(0, false), keys(&[0, bad])]);
        let error = decode(&bytes, Form::Stream).unwrap_err();
        assert_kind!(error.into_kind(), ErrorKind::DictionaryKey { column, row: 1, key, values: 2 }
            if column == "c" && *key == i128::from(bad));
    }
    // What lies behind a null is no key.
    let nulls = rows(2).node(2, 1).bytes(&[1]).numbers(&[1i8, -7]).batch();
    let bytes = stream(keyed(DataType::Utf8), &[words(&["a", "b"]).dictionary(0, false), nulls]);
    assert_eq!(text_of(decode(&bytes, Form::Stream).unwrap()), ["b", "-"]);
}

#[test]
fn dictionaries_that_are_missing_late_or_repeated() {
    let type_of = || keyed(DataType::Utf8);
    let error = decode(&stream(type_of(), &[keys(&[0])]), Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::DictionaryMissing { column, id: 0 } if column == "c");
    // All null: none is needed.
    let nulls = rows(2).node(2, 2).bytes(&[0]).numbers(&[3i8, -7]).batch();
    decode(&stream(type_of(), std::slice::from_ref(&nulls)), Form::Stream).unwrap();
    // Late: behind a batch that has no need of it.
    let late = [nulls, words(&["x"]).dictionary(0, false), keys(&[0])];
    assert_eq!(text_of(decode(&stream(type_of(), &late), Form::Stream).unwrap()), ["-", "-", "x"]);
    // Replaced: every batch keeps the one at its place.
    let replaced =
        [words(&["x"]).dictionary(0, false), keys(&[0]), words(&["y"]).dictionary(0, false), keys(&[0])];
    assert_eq!(text_of(decode(&stream(type_of(), &replaced), Form::Stream).unwrap()), ["x", "y"]);
    // Deltas, the first of which continues nothing.
    let deltas = [
        words(&["x"]).dictionary(0, true),
        keys(&[0]),
        words(&["y"]).dictionary(0, true),
        words(&["z"]).dictionary(0, true),
        keys(&[2, 0, 1]),
    ];
    assert_eq!(text_of(decode(&stream(type_of(), &deltas), Form::Stream).unwrap()), ["x", "z", "x", "y"]);
    let unknown = [words(&["x"]).dictionary(7, false)];
    let error = decode(&stream(type_of(), &unknown), Form::Stream).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::DictionaryId { id: 7 });
}

/// Sends two parts of a dictionary of int8 keys, the second as a delta, and a batch that
/// uses its first value.
fn join(value: DataType, first: Raw, second: Raw) -> Result<DataFrame, Error> {
    let messages = [first.dictionary(0, false), second.dictionary(0, true), keys(&[0])];
    decode(&stream(keyed(value), &messages), Form::Stream)
}

#[track_caller]
fn assert_overflow(result: Result<DataFrame, Error>) {
    let error = result.expect_err("too long together");
    let is_overflow = |source: &ArrowError| {
        use ArrowError::*;
        matches!(source, OffsetOverflowError(_) | RunEndIndexOverflowError | DictionaryKeyOverflowError)
    };
    assert_kind!(error.into_kind(), ErrorKind::Arrow { column, source } if column == "c" && is_overflow(source));
}

#[test]
fn joined_lists_that_overflow_their_offsets() {
    let most = i32::MAX;
    let list = || rows(1).array(1).numbers(&[0i32, most]).node(most.into(), 0);
    assert_overflow(join(DataType::List(item(DataType::Null)), list(), list()));
    let pair =
        structure([required("key", DataType::FixedSizeBinary(0)), Field::new("value", DataType::Null, true)]);
    let map = DataType::Map(required("entries", pair).into(), false);
    let entries = || {
        let most = i64::from(most);
        rows(1).array(1).numbers(&[0i32, most as i32]).array(most).array(most).absent().node(most, 0)
    };
    assert_overflow(join(map, entries(), entries()));
    // Deeper inside.
    let inside = structure([Field::new("l", DataType::List(item(DataType::Null)), true)]);
    let list = || rows(1).array(1).array(1).numbers(&[0i32, most]).node(most.into(), 0);
    assert_overflow(join(inside, list(), list()));
}

#[test]
fn joined_list_views_that_overflow_their_offsets() {
    let most = i32::MAX;
    let view =
        |offset: i32, size: i32| rows(1).array(1).numbers(&[offset]).numbers(&[size]).node(most.into(), 0);
    let type_of = || DataType::ListView(item(DataType::Null));
    assert_overflow(join(
        type_of(),
        view(0, most),
        rows(2).array(2).numbers(&[0i32, 1]).numbers(&[1i32, most - 1]).node(most.into(), 0),
    ));
    // The row starts where the first part ends: as far as an offset goes.
    let rows_of = join(type_of(), view(0, most), view(most - 1, 1));
    assert_kind!(rows_of.unwrap_err().into_kind(), ErrorKind::Limit { limit: "max_rows_without_bytes", .. });
    // What no row shows is not joined.
    join(type_of(), view(most - 1, 1), view(most - 1, 1)).unwrap();
}

#[test]
fn joined_rows_without_bytes_are_limited() {
    let most = i64::from(i32::MAX);
    let runs = DataType::RunEndEncoded(required("run_ends", DataType::Int64).into(), item(DataType::Int8));
    let run = rows(most).node(most, 0).array(1).numbers(&[i64::MAX]).array(1).bytes(&[1]);
    let cases = [
        (DataType::Null, rows(most).node(most, 0)),
        (DataType::FixedSizeBinary(0), rows(most).array(most).absent()),
        (DataType::Struct(Fields::empty()), rows(most).array(most)),
        (DataType::FixedSizeList(item(DataType::Null), 0), rows(most).array(most).node(0, 0)),
        (runs, run),
    ];
    for (data_type, part) in cases {
        let error = join(data_type.clone(), part.clone(), part).unwrap_err();
        assert_kind!(error.into_kind(), ErrorKind::Limit { limit: "max_rows_without_bytes", .. });
    }
}

#[test]
fn joined_runs_that_overflow_their_ends() {
    let data_type =
        || DataType::RunEndEncoded(required("run_ends", DataType::Int16).into(), item(DataType::Int8));
    let run = |length: i64| rows(length).node(length, 0).array(1).numbers(&[i16::MAX]).array(1).bytes(&[7]);
    assert_overflow(join(data_type(), run(20_000), run(20_000)));
    join(data_type(), run(20_000), run(12_767)).unwrap();
}

#[test]
fn joined_unions_show_the_same_rows() {
    let fields = || {
        UnionFields::try_new([0, 3], [required("a", DataType::Int8), required("b", DataType::Null)]).unwrap()
    };
    let part = |number: i8, nulls: i64| {
        rows(2)
            .node(2, 0)
            .numbers(&[0i8, 3])
            .numbers(&[1i32, nulls as i32 - 1])
            .array(2)
            .numbers(&[0, number])
            .node(nulls, 0)
    };
    // The second child is as long as an offset can tell, twice.
    let most = i64::from(i32::MAX);
    let messages = [part(1, most).dictionary(0, false), part(2, most).dictionary(0, true), keys(&[0, 2, 3])];
    let df =
        decode(&stream(keyed(DataType::Union(fields(), UnionMode::Dense)), &messages), Form::Stream).unwrap();
    let array = first_column(df);
    let values = array.as_any_dictionary().values().as_union().clone();
    let number = |row: usize| values.value(row).as_primitive::<Int8Type>().value(0);
    assert_eq!((values.len(), number(0), number(2)), (4, 1, 2));
    assert_eq!(values.type_ids(), &[0, 3, 0, 3]);

    let part = |number: i8| rows(1).node(1, 0).numbers(&[0i8]).array(1).numbers(&[number]).node(1, 0);
    let messages = [part(1).dictionary(0, false), part(2).dictionary(0, true), keys(&[1])];
    let df = decode(&stream(keyed(DataType::Union(fields(), UnionMode::Sparse)), &messages), Form::Stream)
        .unwrap();
    assert_eq!(first_column(df).as_any_dictionary().values().len(), 2);
}

/// The ids that arrow gives a dictionary inside the values of another, and the other.
const INNER: i64 = 0;
const OUTER: i64 = 1;

/// A dictionary of structs of a dictionary.
fn nested_type(value: DataType) -> DataType {
    DataType::Dictionary(DataType::Int16.into(), structure([Field::new("d", keyed(value), true)]).into())
}

fn outer_keys(keys: &[i16]) -> Vec<u8> {
    let count = keys.len() as i64;
    rows(count).array(count).numbers(keys).batch()
}

#[test]
fn joined_dictionaries_inside_dictionaries() {
    let outer = |inner: &[i8]| {
        let count = inner.len() as i64;
        rows(count).array(count).array(count).numbers(inner)
    };
    let many: Vec<String> = (0..100).map(|n| format!("w{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let others: Vec<String> = (0..100).map(|n| format!("v{n}")).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    // 100 values and 100 others are too many for int8 keys together, those in use are not.
    let messages = [
        words(&many).dictionary(INNER, false),
        outer(&[99]).dictionary(OUTER, false),
        words(&others).dictionary(INNER, false),
        outer(&[99]).dictionary(OUTER, true),
        outer_keys(&[0, 1]),
    ];
    let df = decode(&stream(nested_type(DataType::Utf8), &messages), Form::Stream).unwrap();
    let array = first_column(df);
    let inner = array.as_any_dictionary().values().as_struct().column(0).clone();
    let inner = arrow::compute::cast(&inner, &DataType::Utf8).unwrap();
    assert_eq!(inner.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["w99", "v99"]);

    // Values that cannot be compared are all kept.
    let list = |n: i64| rows(n).array(n).numbers(&vec![0i32; n as usize + 1]).array(0).absent();
    let messages = [
        list(100).dictionary(INNER, false),
        outer(&[99]).dictionary(OUTER, false),
        list(100).dictionary(INNER, false),
        outer(&[99]).dictionary(OUTER, true),
        outer_keys(&[0, 1]),
    ];
    let data_type = nested_type(DataType::List(item(DataType::Int8)));
    assert_overflow(decode(&stream(data_type, &messages), Form::Stream));
}

#[test]
fn joined_keys_behind_nulls_may_be_anything() {
    let outer = |keys: &[i8], bitmap: u8| {
        let count = keys.len() as i64;
        rows(count).array(count).node(count, 1).bytes(&[bitmap]).numbers(keys)
    };
    for value in [i8::MAX, i8::MIN, -1] {
        let messages = [
            words(&["a", "b"]).dictionary(INNER, false),
            outer(&[1, value, 0, 0], 0b1101).dictionary(OUTER, false),
            words(&["c"]).dictionary(INNER, false),
            outer(&[value, 0, 0, 0], 0b1110).dictionary(OUTER, true),
            outer_keys(&[0, 1, 4, 5]),
        ];
        let df = decode(&stream(nested_type(DataType::Utf8), &messages), Form::Stream).unwrap();
        let array = first_column(df);
        let inner = array.as_any_dictionary().values().as_struct().column(0).clone();
        let inner = arrow::compute::cast(&inner, &DataType::Utf8).unwrap();
        let inner: Vec<_> =
            inner.as_string::<i32>().iter().map(|text| text.unwrap_or("-").to_owned()).collect();
        assert_eq!(inner, ["b", "-", "a", "a", "-", "c", "c", "c"]);
    }
}

#[test]
fn many_deltas_are_joined_once() {
    let bytes = 1 << 20;
    let mut messages = vec![rows(bytes).array(bytes).bytes(&[1; 1 << 20]).dictionary(0, false)];
    let delta = rows(1).array(1).bytes(&[2]).dictionary(0, true);
    messages.extend(std::iter::repeat_n(delta, 2_000));
    let count = 1i64;
    messages.push(rows(count).array(count).numbers(&[bytes as i32 + 1_999]).batch());
    let data_type = DataType::Dictionary(DataType::Int32.into(), DataType::Int8.into());
    let frames = Frames::from_stream(stream(data_type, &messages)).unwrap();
    let mut decoder = Decoder::new();
    decoder.decode(frames).unwrap();
    assert_eq!(decoder.copies().of_reason(CopyReason::Dictionary), bytes as u64 + 2_000);
}

#[test]
fn states_of_a_growing_dictionary_are_limited() {
    // A batch between every two deltas keeps a dictionary of its own.
    let count = 1i64 << 20;
    let mut messages = vec![rows(count).array(count).bytes(&[1; 1 << 20]).dictionary(0, false)];
    for _ in 0..100 {
        messages.push(rows(1).array(1).bytes(&[2]).dictionary(0, true));
        messages.push(rows(1).array(1).numbers(&[0i32]).batch());
    }
    let data_type = DataType::Dictionary(DataType::Int32.into(), DataType::Int8.into());
    let frames = Frames::from_stream(stream(data_type, &messages)).unwrap();
    let limits = Limits { max_expanded_bytes: 10 << 20, max_expansion: 0, ..Limits::default() };
    let error = Decoder::new().with_limits(limits).decode(frames).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::Limit { limit: "max_expanded_bytes", .. });
}

#[test]
fn batches_that_do_not_fit_together() {
    // Each is valid by itself; as one array their offsets overflow.
    let most = i32::MAX;
    let list = rows(1).array(1).numbers(&[0i32, most]).node(most.into(), 0).batch();
    let df =
        decode(&stream(DataType::List(item(DataType::Null)), &[list.clone(), list]), Form::Stream).unwrap();
    let error = df.into_record_batch().unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::Arrow { column, source: ArrowError::OffsetOverflowError(_) } if column == "c");
}

#[test]
fn list_views_that_overlap_a_lot() {
    // A thousand rows that each show all of a long child: to gather them would take 2⁴¹ rows.
    let (count, most) = (1_000, i64::from(i32::MAX));
    let (offsets, sizes) = (vec![0i32; count], vec![i32::MAX; count]);
    let batch = rows(count as i64).array(count as i64).numbers(&offsets).numbers(&sizes).node(most, 0);
    let started = Instant::now();
    one(DataType::ListView(item(DataType::Null)), batch).unwrap();
    assert!(started.elapsed() < Duration::from_secs(5));
}

// ---- compression

#[cfg(feature = "lz4")]
mod lz4 {
    use std::sync::Arc;

    use arrow::ipc::CompressionType;
    use arrow_frames::Encoder;

    use super::*;

    /// An int8 column whose values buffer is compressed.
    fn compressed(data: &[u8]) -> Vec<u8> {
        let array: ArrayRef =
            Arc::new(Int8Array::from(data.iter().map(|byte| *byte as i8).collect::<Vec<_>>()));
        let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
        let mut encoder = Encoder::new(Target::Arrow).with_compression(arrow_frames::Compression::Lz4);
        encoder.encode(&DataFrame::from(batch)).unwrap().buffers()[0].to_vec()
    }

    fn batch(count: i64, buffer: &[u8]) -> Raw {
        let mut batch = rows(count).array(count).bytes(buffer);
        batch.codec = Some(CompressionType::LZ4_FRAME);
        batch
    }

    #[test]
    fn lengths_that_lie() {
        let data: Vec<u8> = (0..200).collect();
        let good = compressed(&data);
        one(DataType::Int8, batch(200, &good)).unwrap();
        for declared in [199, 201, 200 + (1 << 20), 1 << 32, 1 << 60, i64::MAX, -2, i64::MIN, 0] {
            let mut lie = good.clone();
            lie[..8].copy_from_slice(&declared.to_le_bytes());
            let started = Instant::now();
            let kind = refused(DataType::Int8, batch(200, &lie));
            match declared {
                0 => assert_kind!(kind, ErrorKind::BufferLength { .. }),
                _ if declared >= 1 << 32 => {
                    assert_kind!(kind, ErrorKind::Limit { limit: "max_expanded_bytes", .. })
                }
                _ => {
                    assert_kind!(kind, ErrorKind::Compressed { column, buffer: 1, declared: found } if column == "c" && *found == declared)
                }
            };
            assert!(started.elapsed() < Duration::from_secs(1));
        }
    }

    #[test]
    fn buffers_shorter_than_their_prefix() {
        for length in 1..8 {
            let kind = refused(DataType::Int8, batch(1, &[0; 8][..length]));
            assert_kind!(kind, ErrorKind::Compressed { .. });
        }
        // Nothing behind the prefix.
        assert_kind!(refused(DataType::Int8, batch(1, &1i64.to_le_bytes())), ErrorKind::Compressed { .. });
    }

    #[test]
    fn stored_buffers_are_read() {
        let mut stored = (-1i64).to_le_bytes().to_vec();
        stored.extend_from_slice(&[7, 8]);
        let array = first_column(one(DataType::Int8, batch(2, &stored)).unwrap());
        assert_eq!(array.as_primitive::<Int8Type>().values(), &[7, 8]);
    }

    #[test]
    fn unknown_codecs() {
        for codec in [2, 127, -1] {
            let mut batch = batch(1, &compressed(&[1]));
            batch.codec = Some(CompressionType(codec));
            assert_kind!(refused(DataType::Int8, batch), ErrorKind::UnknownCodec { codec: found, .. } if *found == codec);
        }
    }
}

#[cfg(feature = "zstd")]
mod zstandard {
    use arrow::ipc::CompressionType;

    use super::*;

    fn batch(count: i64, declared: i64, frame: &[u8]) -> Raw {
        let mut buffer = declared.to_le_bytes().to_vec();
        buffer.extend_from_slice(frame);
        let mut batch = rows(count).array(count).bytes(&buffer);
        batch.codec = Some(CompressionType::ZSTD);
        batch
    }

    /// A frame of zeros, which does not say how long they are if `length` is none.
    fn zeros(count: usize, is_length_known: bool) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        if is_length_known {
            encoder.set_pledged_src_size(Some(count as u64)).unwrap();
        }
        encoder.include_contentsize(is_length_known).unwrap();
        let chunk = vec![0; 1 << 20];
        for start in (0..count).step_by(chunk.len()) {
            encoder.write_all(&chunk[..chunk.len().min(count - start)]).unwrap();
        }
        encoder.finish().unwrap()
    }

    #[test]
    fn lengths_that_lie() {
        for is_length_known in [true, false] {
            let frame = zeros(300, is_length_known);
            one(DataType::Int8, batch(300, 300, &frame)).unwrap();
            let kind = refused(DataType::Int8, batch(300, 1 << 32, &frame));
            assert_kind!(
                kind,
                ErrorKind::Limit { limit: "max_expanded_bytes", requested: 4_294_967_296, .. }
            );
            for declared in [299, 301, 1 << 20, -2, i64::MIN] {
                let kind = refused(DataType::Int8, batch(300, declared, &frame));
                assert_kind!(kind, ErrorKind::Compressed { declared: found, .. } if *found == declared);
            }
        }
    }

    #[test]
    fn a_bomb_is_held_to_the_limit() {
        let count = 256 << 20;
        for is_length_known in [true, false] {
            let frame = zeros(count, is_length_known);
            assert!(frame.len() < 64 << 10);
            let bytes = stream(DataType::Int8, &[batch(count as i64, count as i64, &frame).batch()]);
            let limits = Limits { max_expanded_bytes: 1 << 20, max_expansion: 0, ..Limits::default() };
            let (result, memory) = peak(|| {
                let frames = Frames::from_stream(bytes.clone())?;
                Decoder::new().with_limits(limits).decode(frames)
            });
            let error = result.unwrap_err();
            assert_kind!(
                error.into_kind(),
                ErrorKind::Limit { limit: "max_expanded_bytes", allowed: 1_048_576, .. }
            );
            assert!(memory < ALLOWANCE);
            // A bomb that says less than it is.
            let small = batch(1000, 1000, &frame);
            assert_kind!(refused(DataType::Int8, small), ErrorKind::Compressed { declared: 1000, .. });
        }
    }
}

// ---- depth, width and shared tables

/// A schema of lists inside lists, an int8 at the depth.
fn nest(depth: usize) -> Vec<u8> {
    raw::fields_with(|fbb| {
        let int = ipc::Int::create(fbb, &ipc::IntArgs { bitWidth: 8, is_signed: true });
        let mut field = raw::field(fbb, ipc::Type::Int, int.as_union_value(), true, &[]);
        for _ in 1..depth {
            let list = ipc::List::create(fbb, &ipc::ListArgs {});
            field = raw::field(fbb, ipc::Type::List, list.as_union_value(), true, &[field]);
        }
        vec![field]
    })
}

#[test]
fn nested_deeply() {
    for depth in [1, 70, 128] {
        let mut batch = rows(1);
        for _ in 1..depth {
            batch = batch.array(1).numbers(&[0i32, 1]);
        }
        let batch = batch.array(1).bytes(&[7]);
        let df = decode(&raw::stream(&[nest(depth), batch.batch()]), Form::Stream).unwrap();
        assert_eq!(df.num_rows(), 1);
    }
    for depth in [129, 200, 1_000, 100_000] {
        let (result, memory) = peak(|| decode(&raw::stream(&[nest(depth)]), Form::Stream));
        let error = result.unwrap_err();
        assert_kind!(error.into_kind(), ErrorKind::Limit { limit: "max_depth", allowed: 128, requested } if *requested > 128);
        assert!(memory < ALLOWANCE);
    }
    let limits = Limits { max_depth: 200, ..Limits::default() };
    let frames = Frames::from_stream_with_limits(raw::stream(&[nest(200)]), &limits).unwrap();
    Decoder::new().with_limits(limits).decode(frames).unwrap();
}

#[test]
fn half_a_million_columns() {
    let fields: Vec<_> = (0..500_001).map(|n| Field::new(n.to_string(), DataType::Int8, true)).collect();
    let df = DataFrame::try_new(Schema::new(fields).into(), vec![]).unwrap();
    let frames = to_buffers(&df, Target::Arrow).unwrap();
    let again = from_buffers(frames).unwrap();
    assert_eq!(again.num_columns(), 500_001);
    assert_eq!(again.schema().field(500_000).name(), "500000");
}

#[test]
fn shared_tables_that_look_like_a_larger_tree() {
    // Each level has the one below as both of its children: 2^depth fields from a few bytes.
    for depth in [10, 24, 60] {
        let schema = raw::fields_with(|fbb| {
            let null = ipc::Null::create(fbb, &ipc::NullArgs {});
            let mut field = raw::field(fbb, ipc::Type::Null, null.as_union_value(), true, &[]);
            for _ in 0..depth {
                let table = ipc::Struct_::create(fbb, &ipc::Struct_Args {});
                field = raw::field(fbb, ipc::Type::Struct_, table.as_union_value(), true, &[field, field]);
            }
            vec![field]
        });
        let started = Instant::now();
        let (result, memory) = peak(|| decode(&raw::stream(&[schema]), Form::Stream));
        assert_kind!(result.unwrap_err().into_kind(), ErrorKind::Flatbuffer { .. });
        assert!(started.elapsed() < Duration::from_secs(1) && memory < ALLOWANCE);
    }
    // Side by side.
    let schema = raw::fields_with(|fbb| {
        let name = "n".repeat(10_000);
        let null = ipc::Null::create(fbb, &ipc::NullArgs {}).as_union_value();
        let name = fbb.create_string(&name);
        let mut field = ipc::FieldBuilder::new(fbb);
        field.add_name(name);
        field.add_type_type(ipc::Type::Null);
        field.add_type_(null);
        vec![field.finish(); 1_000]
    });
    let (result, memory) = peak(|| decode(&raw::stream(&[schema]), Form::Stream));
    assert_kind!(result.unwrap_err().into_kind(), ErrorKind::Flatbuffer { .. });
    assert!(memory < ALLOWANCE);
}

// ---- files

fn int8() -> Vec<Field> {
    vec![Field::new("c", DataType::Int8, true)]
}

/// A file of one batch of `[7]`, and the block that finds it.
fn file_of(block: impl Fn(Block) -> Block) -> Vec<u8> {
    let schema = raw::schema(int8());
    let batch = rows(1).array(1).bytes(&[7]);
    let metadata = batch.batch().len() - batch.body.len();
    let truth = Block::new(8 + schema.len() as i64, metadata as i32, batch.body.len() as i64);
    let footer = raw::footer(Some(MetadataVersion::V5), Some(int8()), &[], &[block(truth)]);
    raw::file(&schema, &batch.batch(), &footer)
}

#[test]
fn file_blocks_that_lie() {
    let df = decode(&file_of(|block| block), Form::File).unwrap();
    assert_eq!(first_column(df).as_primitive::<Int8Type>().values(), &[7]);
    let lies: [i64; 9] = [-1, -8, 0, 1, 8, 1 << 31, 3 << 30, 1 << 60, i64::MAX];
    for lie in lies {
        for field in 0..3 {
            let bytes = file_of(|block| match field {
                0 => Block::new(lie, block.metaDataLength(), block.bodyLength()),
                1 => Block::new(block.offset(), lie as i32, block.bodyLength()),
                _ => Block::new(block.offset(), block.metaDataLength(), lie),
            });
            let started = Instant::now();
            // The message itself says how long its body is.
            if let Ok(df) = decode(&bytes, Form::File) {
                assert_eq!((field, df.num_rows()), (2, 1));
            }
            assert!(started.elapsed() < Duration::from_secs(1));
        }
    }
}

#[test]
fn file_footers_that_lie() {
    let good = file_of(|block| block);
    let at = good.len() - 10;
    for length in [-1, 0, 1, 7, i32::MAX, i32::MIN, good.len() as i32, good.len() as i32 - 18] {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
        let error = decode(&bytes, Form::File).unwrap_err();
        let is_refused = matches!(
            error.kind(),
            ErrorKind::BadNumber { part: Part::Footer, .. }
                | ErrorKind::Truncated { part: Part::Footer, .. }
                | ErrorKind::Flatbuffer { .. }
                | ErrorKind::Limit { limit: "max_metadata_bytes", .. }
        );
        assert!(is_refused, "{length}: {error}");
    }
    for bytes in [b"".as_slice(), b"ARROW1", b"ARROW1\0\0ARROW1", b"ARROW1ARROW1", b"PAR1"] {
        assert_kind!(decode(bytes, Form::File).unwrap_err().into_kind(), ErrorKind::NotAFile { .. });
    }
}

#[test]
fn file_footers_without_a_schema() {
    let footer = raw::footer(Some(MetadataVersion::V5), None, &[], &[]);
    let error = decode(&raw::file(&raw::schema(int8()), &[], &footer), Form::File).unwrap_err();
    assert_kind!(error.into_kind(), ErrorKind::SchemaMissing { .. });
}

#[test]
fn file_footers_of_other_versions() {
    // Java left the version out until 0.15, so that it reads as V1; every message has its own.
    for version in [None, Some(MetadataVersion::V1), Some(MetadataVersion::V4)] {
        let footer = raw::footer(version, Some(int8()), &[], &[]);
        decode(&raw::file(&raw::schema(int8()), &[], &footer), Form::File).unwrap();
    }
    for version in [1, 2, 5, -1] {
        let footer = raw::footer(Some(MetadataVersion(version)), Some(int8()), &[], &[]);
        let error = decode(&raw::file(&raw::schema(int8()), &[], &footer), Form::File).unwrap_err();
        assert_kind!(error.into_kind(), ErrorKind::MetadataVersion { version: found, .. } if *found == version);
    }
}

#[test]
fn file_blocks_of_the_wrong_kind() {
    let schema = raw::schema(int8());
    let batch = rows(1).array(1).bytes(&[7]);
    let body = batch.body.len() as i64;
    let to_batch = Block::new(8 + schema.len() as i64, (batch.batch().len() as i64 - body) as i32, body);
    let to_schema = Block::new(8, schema.len() as i32, 0);
    let to_end = Block::new((8 + schema.len() + batch.batch().len()) as i64, 8, 0);
    for (dictionaries, batches) in
        [(vec![to_batch], vec![]), (vec![], vec![to_schema]), (vec![], vec![to_end])]
    {
        let footer = raw::footer(Some(MetadataVersion::V5), Some(int8()), &dictionaries, &batches);
        decode(&raw::file(&schema, &batch.batch(), &footer), Form::File).unwrap_err();
    }
}

#[test]
fn file_blocks_that_overlap() {
    // A block takes 24 bytes: a batch that is there many times would be validated as often.
    let schema = raw::schema(int8());
    let count = 1 << 16;
    let batch = rows(count).array(count).bytes(&vec![7; count as usize]);
    let body = batch.body.len() as i64;
    let block = Block::new(8 + schema.len() as i64, (batch.batch().len() as i64 - body) as i32, body);
    for times in [1, 2, 50_000] {
        let footer = raw::footer(Some(MetadataVersion::V5), Some(int8()), &[], &vec![block; times]);
        let bytes = raw::file(&schema, &batch.batch(), &footer);
        let started = Instant::now();
        let result = decode(&bytes, Form::File);
        assert!(started.elapsed() < Duration::from_secs(5));
        if times == 1 {
            assert_eq!(result.unwrap().num_rows(), 1 << 16);
        } else {
            assert_kind!(result.unwrap_err().into_kind(), ErrorKind::BadNumber { part: Part::Block, .. });
        }
    }
}

// ---- opaque columns

/// A stream of one opaque column and a note that says where its payload is.
fn opaque(note: &str, body: usize) -> Vec<u8> {
    let mark = r#"{"type_name":"object","vendor_name":"python"}"#;
    let field = Field::new("c", DataType::Null, true).with_metadata([("arrow_frames", mark)]);
    let mut batch = rows(2).node(2, 2);
    batch.body = vec![1; body];
    batch.metadata = vec![("arrow_frames", note.to_owned())];
    raw::stream(&[raw::schema(vec![field]), batch.batch()])
}

#[test]
fn opaque_notes_that_lie() {
    let good = r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[[0,5]]}]}"#;
    decode(&opaque(good, 64), Form::Stream).unwrap();
    let lies = [
        "",
        "null",
        "{",
        "[1]",
        r#"{"version":1}"#,
        r#"{"version":1,"body_length":64}"#,
        // Of a version that is not known, in device memory.
        r#"{"version":2,"body_length":64,"opaque":[{"column":0,"frames":[[0,5]]}]}"#,
        r#"{"version":1,"body_length":64,"device":1,"opaque":[{"column":0,"frames":[[0,5]]}]}"#,
        // Another body.
        r#"{"version":1,"body_length":128,"opaque":[{"column":0,"frames":[[0,5]]}]}"#,
        // Not aligned, outside, not up to the end, overlapping, descending.
        r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[[8,5]]}]}"#,
        r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[[0,65]]}]}"#,
        r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[[64,5]]}]}"#,
        r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[[0,5],[0,5]]}]}"#,
        r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[[18446744073709551552,64]]}]}"#,
        r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[[0,18446744073709551615]]}]}"#,
        r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[[-64,5]]}]}"#,
        r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[[0]]}]}"#,
        r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[]}]}"#,
        // No column, another column.
        r#"{"version":1,"body_length":64,"opaque":[{"frames":[[0,5]]}]}"#,
        r#"{"version":1,"body_length":64,"opaque":[{"column":1,"frames":[[0,5]]}]}"#,
    ];
    for lie in lies {
        let error = decode(&opaque(lie, 64), Form::Stream).expect_err(lie);
        let is_refused = matches!(error.kind(), ErrorKind::PayloadLost { column } if column == "c")
            || matches!(error.kind(), ErrorKind::FrameCount { .. });
        assert!(is_refused, "{lie}: {error}");
    }
    // A note as deep as JSON can be.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    decode(&opaque(&deep, 64), Form::Stream).unwrap_err();
}

#[test]
fn layouts_name_no_payload_of_another_body() {
    let note = r#"{"version":1,"body_length":64,"opaque":[{"column":0,"frames":[[0,5]]}]}"#;
    let buffers = |body| {
        let layout = Layout::of_stream(&opaque(note, body));
        assert!(layout.error.is_none());
        layout.messages[1].buffers.clone()
    };
    let payload = BufferLayout { column: 0, part: Part::Payload, offset: 0, length: 5 };
    assert_eq!(buffers(64), [payload]);
    // Longer or shorter than it was: what lies there now is other data, or nothing.
    assert_eq!(buffers(128), []);
    assert_eq!(buffers(0), []);
}

#[test]
fn opaque_column_named_twice() {
    let note = concat!(
        r#"{"version":1,"body_length":128,"opaque":[{"column":0,"frames":[[0,5]]},"#,
        r#"{"column":0,"frames":[[64,5]]}]}"#
    );
    decode(&opaque(note, 128), Form::Stream).unwrap_err();
}

// ---- the same, from a reader and in pieces

#[test]
fn readers_that_end_early_or_late() {
    struct Slow<'a>(&'a [u8]);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let count = out.len().min(1).min(self.0.len());
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    let bytes = stream(DataType::Utf8, &[words(&["a", "bc"]).batch()]);
    let expected = decode(&bytes, Form::Stream).unwrap();
    let found = from_buffers(StreamSource::new(Slow(&bytes)).read_all().unwrap()).unwrap();
    assert_same(&expected, &found, &String::new);
}

#[test]
fn a_decoder_starts_anew_after_an_error() {
    let schema = raw::column(DataType::Int8);
    let frames = |message: Vec<u8>, body: usize| {
        let header = message[..message.len() - body].to_vec();
        Frames::new(header, vec![Buffer::from(&[7i8 as u8])])
    };
    let batch = rows(1).array(1).bytes(&[7]);
    let mut decoder = Decoder::new();
    decoder.decode(Frames::new(schema.clone(), vec![])).unwrap();
    let good = frames(batch.batch(), batch.body.len());
    touch(&decoder.decode(good.clone()).unwrap());
    let mut bad = batch.clone();
    bad.rows = 2;
    decoder.decode(frames(bad.batch(), bad.body.len())).unwrap_err();
    assert_kind!(decoder.decode(good).unwrap_err().into_kind(), ErrorKind::SchemaMissing { .. });
}
