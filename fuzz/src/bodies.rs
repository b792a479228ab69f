//! The fuzz target of bodies: where buffers lie, and how a body is received.
//!
//! An input is a plan and not a stream: its bytes choose how the stream is read and then what is in it. So a few bytes
//! make bodies of several hundred KiB, which have regions of memory of their own.

use std::io::{self, Read};
use std::ops::Range;

use arrow_buffer::Buffer;
use arrow_frames::{
    Column, DataFrame, Decoder, ErrorKind, Frames, Layout, ReceiveMemory, Result, StreamReceiver,
    StreamSource,
};
use arrow_ipc::{
    self as ipc, FieldNode, KeyValue, KeyValueArgs, Message, MessageArgs, MessageHeader, MetadataVersion,
    RecordBatch, RecordBatchArgs,
};
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

use crate::check::{self, kind};
use crate::choices::Choices;
use crate::rng::Rng;

/// Bytes of a body, about.
const MOST: usize = 400_000;

/// A body of so many bytes is received into a region of its own.
const LARGE: usize = 64 << 10;

/// What the memory holds that is used again.
const DIRT: u8 = 0xEE;

/// Where a payload may start.
const ALIGNMENT: usize = 64;

/// Receives a stream in several ways. Says whether it was sound.
pub fn run(input: &[u8], rng: &mut Rng) -> bool {
    let mut choices = Choices(input);
    let ways: [Way; 3] = std::array::from_fn(|index| Way::choose(&mut choices, index > 0));
    let is_misused = choices.chance(64);
    let streams: Vec<Plan> = (0..1 + choices.below(2)).map(|_| Plan::choose(&mut choices)).collect();

    let mut bytes = Vec::new();
    let mut sliced = Vec::new();
    for plan in &streams {
        let start = bytes.len();
        plan.write(&mut bytes);
        let stream = Buffer::from(&bytes[start..]);
        sliced.push(Frames::from_stream(stream.clone()));
        as_slice(plan, &stream, sliced.last().expect("it was pushed"));
    }
    let memory = dirty(streams.iter().flat_map(|plan| &plan.batches).map(|batch| batch.size).max());
    for way in ways {
        let reader = Pieces { left: &bytes, most: way.most, rng: Rng(rng.next()) };
        let mut source = StreamSource::new(reader)
            .with_memory(if way.is_dirty { memory.clone() } else { ReceiveMemory::fresh() })
            .with_writable(way.is_writable)
            .with_read_ahead(way.read_ahead);
        for (plan, sliced) in streams.iter().zip(&sliced) {
            match (source.read_all(), sliced) {
                (Ok(frames), Ok(sliced)) => {
                    assert_same(&frames, sliced);
                    plan.apart(&frames);
                    alone(frames);
                }
                (Err(read), Err(sliced)) => {
                    assert_eq!(kind(&read), kind(sliced), "{read}; {sliced}");
                    // Its place in the stream is lost.
                    break;
                }
                (read, sliced) => {
                    panic!("by a reader {:?}, as a slice {:?}", read.err(), sliced.as_ref().err())
                }
            }
            source.restart();
        }
    }
    if is_misused {
        misuse(&bytes, memory, rng);
    }
    sliced.iter().all(Result::is_ok)
}

/// How a stream is received.
struct Way {
    /// Into memory that was used before.
    is_dirty: bool,
    is_writable: bool,
    read_ahead: usize,
    /// Bytes that a read returns, at most.
    most: usize,
}

impl Way {
    fn choose(choices: &mut Choices<'_>, is_dirty: bool) -> Self {
        Way {
            is_dirty,
            is_writable: choices.chance(150),
            read_ahead: choices.one_of(&[0, 0, 1, 100, LARGE, 1 << 20]),
            most: choices.one_of(&[1 << 20, 70_000, LARGE, 4096, 333]),
        }
    }
}

/// What is in a stream.
struct Plan {
    /// Whether its messages are as before Arrow 0.15.
    is_old: bool,
    columns: usize,
    /// Whether an opaque column follows the others.
    is_opaque: bool,
    batches: Vec<Batch>,
}

/// What is in a body.
struct Batch {
    size: usize,
    /// Makes the bytes of the body.
    key: u8,
    /// One for each column.
    declared: Vec<(i64, i64)>,
    payload: Vec<(usize, usize)>,
    note: Option<String>,
}

impl Plan {
    fn choose(choices: &mut Choices<'_>) -> Self {
        let (is_old, columns, is_opaque) = (choices.chance(30), 1 + choices.below(12), choices.chance(80));
        let batches = (0..1 + choices.below(3)).map(|_| Batch::choose(choices, columns, is_opaque));
        Plan { is_old, columns, is_opaque, batches: batches.collect() }
    }

    fn write(&self, out: &mut Vec<u8>) {
        schema(self.columns, self.is_opaque, self.is_old, out);
        self.batches.iter().for_each(|batch| batch.write(self.is_old, out));
        out.extend_from_slice(if self.is_old { &[0; 4] } else { &[255, 255, 255, 255, 0, 0, 0, 0] });
    }

    /// Whether buffers of a body lie on each other: that may be refused, by all or by none.
    fn overlaps(&self) -> bool {
        self.batches.iter().any(|batch| {
            let spans = batch.spans();
            (0..spans.len()).any(|index| spans[..index].iter().any(|other| is_over(&spans[index], other)))
        })
    }

    /// Frames share no memory, unless their buffers do.
    fn apart(&self, frames: &Frames) {
        let mut buffers = frames.buffers();
        for batch in &self.batches {
            let spans = batch.spans();
            let (these, rest) = buffers.split_at_checked(spans.len()).expect("a frame for each buffer");
            buffers = rest;
            for (index, span) in spans.iter().enumerate() {
                assert_eq!(these[index].len(), span.len());
                for other in 0..index {
                    let is_over = !is_over(span, &spans[other])
                        && is_over(&range(&these[index]), &range(&these[other]));
                    assert!(!is_over, "frames {other} and {index} lie on each other");
                }
            }
        }
        assert!(buffers.is_empty(), "{} frames of no buffer", buffers.len());
        // Nor with those of another message.
        let mut ranges: Vec<Range<usize>> = frames.buffers().iter().map(range).collect();
        ranges.sort_by_key(|range| (range.start, range.end));
        let is_apart = ranges.windows(2).all(|pair| pair[0].end <= pair[1].start);
        assert!(is_apart || self.overlaps(), "frames of different messages lie on each other");
    }
}

impl Batch {
    fn choose(choices: &mut Choices<'_>, columns: usize, is_opaque: bool) -> Self {
        let mut size = match choices.below(5) {
            0 => choices.below(3_000),
            1 => LARGE - 36 + choices.below(100),
            2 => LARGE,
            _ => choices.below(MOST),
        };
        let key = choices.byte();
        let gap = choices.below(6);
        let mut declared = Vec::with_capacity(columns);
        let mut at = 0usize;
        for _ in 0..columns {
            let length = match choices.below(4) {
                0 => 1 + choices.below(8),
                1 => choices.below(200),
                2 => choices.below(70_000),
                _ => LARGE,
            };
            let length = length.min(size.saturating_sub(at));
            declared.push((at as i64, length as i64));
            at += length;
            at = match gap {
                0 => at.next_multiple_of(ALIGNMENT),
                1 => at.next_multiple_of(8),
                2 => at,
                3 => at + choices.below(5_000),
                _ => at + choices.below(70),
            };
            at = at.min(size);
        }
        if choices.chance(80) {
            for index in (1..columns).rev() {
                declared.swap(index, choices.below(index + 1));
            }
        }
        if choices.chance(40) {
            let (index, over) = (choices.below(columns), choices.below(columns));
            let (offset, length) = declared[over];
            let length = declared[index].1.min(length);
            declared[index] = (offset + choices.one_of(&[0, 8, 16, 1, 64]), length);
        }
        for is_length in [false, true] {
            if choices.chance(6) {
                let lie = choices.one_of(&[i64::MAX, -1, size as i64, size as i64 + 1, i64::MIN, 1 << 40]);
                let span = &mut declared[choices.below(columns)];
                *(if is_length { &mut span.1 } else { &mut span.0 }) = lie;
            }
        }
        let mut payload = Vec::new();
        if is_opaque {
            let mut at =
                declared.iter().map(|(offset, length)| offset.saturating_add(*length)).max().unwrap_or(0);
            at = at.clamp(0, size as i64);
            let mut at = (at as usize).next_multiple_of(ALIGNMENT);
            for _ in 0..1 + choices.below(3) {
                let length = choices.one_of(&[0, 1, 64, 5_000, LARGE, LARGE + 1]);
                payload.push((at, length));
                at = (at + length).next_multiple_of(ALIGNMENT);
            }
            // Where the last one ends, the body does. Or it does not, and the payload is lost.
            size = if choices.chance(20) { size } else { at };
        }
        let note = (is_opaque || choices.chance(180)).then(|| {
            let marks = (0..choices.below(columns + 3)).map(|_| {
                let width = choices.one_of(&[1u8, 2, 4, 8, 16, 32, 0, 3, 255]);
                format!("[{},{width}]", choices.below(columns + 4))
            });
            let marks = marks.collect::<Vec<_>>().join(",");
            let frames: Vec<_> =
                payload.iter().map(|(offset, length)| format!("[{offset},{length}]")).collect();
            let opaque = match is_opaque {
                true => format!("\"opaque\":[{{\"column\":{columns},\"frames\":[{}]}}],", frames.join(",")),
                false => String::new(),
            };
            format!("{{\"version\":1,\"body_length\":{size},{opaque}\"writable\":[{marks}]}}")
        });
        Batch { size, key, declared, payload, note }
    }

    /// Rows that every declared buffer has a byte for, of columns of one byte.
    fn rows(&self) -> i64 {
        self.declared.iter().map(|(_, length)| *length).min().unwrap_or(0).clamp(0, MOST as i64)
    }

    /// Where the non-empty buffers lie, in order; those outside the body are left out.
    fn spans(&self) -> Vec<Range<usize>> {
        let payload = self.payload.iter().map(|(offset, length)| *offset..offset + length);
        let payload = payload.filter(|span| self.has_payload() && !span.is_empty());
        self.inside().chain(payload).collect()
    }

    fn inside(&self) -> impl Iterator<Item = Range<usize>> {
        self.declared.iter().filter_map(|(offset, length)| {
            let start = usize::try_from(*offset).ok()?;
            let end = start.checked_add(usize::try_from(*length).ok()?)?;
            (start < end && end <= self.size).then_some(start..end)
        })
    }

    /// Whether payload follows the declared buffers, each part right behind the one before at a multiple of 64, and ends
    /// where the body does. Else the note is of another body.
    fn has_payload(&self) -> bool {
        let declared = self.inside().map(|span| span.end).max().unwrap_or(0);
        let mut end = declared.next_multiple_of(ALIGNMENT);
        let is_behind = self.payload.iter().all(|(offset, length)| {
            let is_there = *offset == end;
            end = (offset + length).next_multiple_of(ALIGNMENT);
            is_there
        });
        !self.payload.is_empty() && is_behind && end == self.size
    }

    /// The bytes of the body: any, but none is [`DIRT`].
    fn body(&self) -> Vec<u8> {
        let step = (u64::from(self.key) << 32 | 0x9e37_79b9) | 1;
        let words =
            (0..self.size.div_ceil(8) as u64).map(|index| index.wrapping_mul(step) & 0x7f7f_7f7f_7f7f_7f7f);
        let mut body: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        body.truncate(self.size);
        body
    }

    fn write(&self, is_old: bool, out: &mut Vec<u8>) {
        let mut fbb = FlatBufferBuilder::new();
        let rows = self.rows();
        // A column has a bitmap, which is left out, and values.
        let buffers: Vec<ipc::Buffer> = self
            .declared
            .iter()
            .flat_map(|(offset, length)| [ipc::Buffer::new(0, 0), ipc::Buffer::new(*offset, *length)])
            .collect();
        let mut nodes = vec![FieldNode::new(rows, 0); self.declared.len()];
        nodes.extend((!self.payload.is_empty()).then(|| FieldNode::new(rows, rows)));
        let buffers = Some(fbb.create_vector(&buffers));
        let nodes = Some(fbb.create_vector(&nodes));
        let args =
            RecordBatchArgs { length: rows, nodes, buffers, compression: None, variadicBufferCounts: None };
        let batch = RecordBatch::create(&mut fbb, &args).as_union_value();
        message(fbb, MessageHeader::RecordBatch, batch, self.size, self.note.as_deref(), is_old, out);
        out.extend_from_slice(&self.body());
    }
}

/// Columns of bytes, and an opaque one behind them.
fn schema(columns: usize, is_opaque: bool, is_old: bool, out: &mut Vec<u8>) {
    let mut fbb = FlatBufferBuilder::new();
    let args = ipc::IntArgs { bitWidth: 8, is_signed: false };
    let mut fields = Vec::new();
    for column in 0..columns {
        let name = Some(fbb.create_string(&format!("c{column}")));
        let type_ = Some(ipc::Int::create(&mut fbb, &args).as_union_value());
        let args =
            ipc::FieldArgs { name, nullable: true, type_type: ipc::Type::Int, type_, ..Default::default() };
        fields.push(ipc::Field::create(&mut fbb, &args));
    }
    if is_opaque {
        let mark = pair(&mut fbb, r#"{"type_name":"object","vendor_name":"python"}"#);
        let custom_metadata = Some(fbb.create_vector(&[mark]));
        let name = Some(fbb.create_string("o"));
        let type_ = Some(ipc::Null::create(&mut fbb, &ipc::NullArgs {}).as_union_value());
        let args = ipc::FieldArgs {
            name,
            nullable: true,
            type_type: ipc::Type::Null,
            type_,
            custom_metadata,
            ..Default::default()
        };
        fields.push(ipc::Field::create(&mut fbb, &args));
    }
    let fields = Some(fbb.create_vector(&fields));
    let schema = ipc::Schema::create(&mut fbb, &ipc::SchemaArgs { fields, ..Default::default() });
    message(fbb, MessageHeader::Schema, schema.as_union_value(), 0, None, is_old, out);
}

fn pair<'b>(fbb: &mut FlatBufferBuilder<'b>, text: &str) -> WIPOffset<KeyValue<'b>> {
    let (key, value) = (Some(fbb.create_string("arrow_frames")), Some(fbb.create_string(text)));
    KeyValue::create(fbb, &KeyValueArgs { key, value })
}

/// Writes an encapsulated message, without its body.
fn message(
    mut fbb: FlatBufferBuilder<'_>,
    header_type: MessageHeader,
    header: WIPOffset<UnionWIPOffset>,
    body: usize,
    note: Option<&str>,
    is_old: bool,
    out: &mut Vec<u8>,
) {
    let note = note.map(|note| pair(&mut fbb, note));
    let custom_metadata = note.map(|note| fbb.create_vector(&[note]));
    let args = MessageArgs {
        version: MetadataVersion::V5,
        header_type,
        header: Some(header),
        bodyLength: body as i64,
        custom_metadata,
    };
    let root = Message::create(&mut fbb, &args);
    fbb.finish(root, None);
    let flatbuffer = fbb.finished_data();
    let length = flatbuffer.len().next_multiple_of(8);
    if !is_old {
        out.extend_from_slice(&[255; 4]);
    }
    out.extend_from_slice(&(length as i32).to_le_bytes());
    out.extend_from_slice(flatbuffer);
    out.resize(out.len() + length - flatbuffer.len(), 0);
}

/// Reads a stream as a slice in every way, and compares these.
fn as_slice(plan: &Plan, stream: &Buffer, sliced: &Result<Frames>) {
    let layout = Layout::of_stream(stream);
    check::layout(&layout);
    let once = Decoder::new().decode_stream(stream.clone());
    let twice = match sliced {
        Ok(frames) => Decoder::new().decode(frames.clone()),
        Err(error) => {
            check::error(error);
            assert!(layout.error.is_some() || plan.overlaps(), "{error}, but its layout has no fault");
            assert!(once.is_err(), "{error}, but not in one pass");
            return;
        }
    };
    check::agree(&twice, &once, "in two passes and in one");
    if let Ok(df) = &twice {
        assert!(layout.error.is_none(), "decoded, though its layout has a fault: {:?}", layout.error);
        plan.holds(df, stream);
    } else if let Err(error) = &twice {
        check::error(error);
        let is_lost = matches!(error.kind(), ErrorKind::PayloadLost { .. });
        assert!(is_lost || layout.error.is_some() || plan.overlaps(), "{error}, but its layout has no fault");
    }
}

impl Plan {
    /// What was decoded is what the bodies hold, in place.
    fn holds(&self, df: &DataFrame, stream: &Buffer) {
        assert_eq!(df.batches().len(), self.batches.len());
        for (batch, plan) in df.batches().iter().zip(&self.batches) {
            let body = plan.body();
            let mut spans = plan.spans().into_iter();
            assert_eq!(batch.num_rows() as i64, plan.rows());
            for (column, (_, length)) in batch.columns().iter().zip(&plan.declared) {
                let array = column.as_native().expect("a native column").to_data();
                let span = if *length == 0 { 0..0 } else { spans.next().expect("a span for each buffer") };
                let values = &array.buffers()[0].as_slice()[..array.len()];
                assert_eq!(values, &body[span.start..span.start + array.len()]);
                assert!(array.is_empty() || is_over(&range(&array.buffers()[0]), &range(stream)));
            }
            if let Some(Column::Opaque(opaque)) = batch.columns().get(self.columns) {
                let payload = plan.payload.iter().map(|(offset, length)| &body[*offset..offset + length]);
                assert!(payload.eq(opaque.buffers().iter().map(Buffer::as_slice)), "other payload");
            }
        }
    }
}

/// Memory that was used for a body at least so large, and is full of what was in it.
fn dirty(largest: Option<usize>) -> ReceiveMemory {
    let memory = ReceiveMemory::recycled(4 << 20);
    let mut stream = Vec::new();
    schema(1, false, false, &mut stream);
    let size = largest.unwrap_or(0).max(LARGE);
    let batch = Batch { size, key: 0, declared: vec![(0, size as i64)], payload: vec![], note: None };
    batch.write(false, &mut stream);
    let body = stream.len() - size;
    stream[body..].fill(DIRT);
    drop(
        StreamSource::new(stream.as_slice()).with_memory(memory.clone()).read_all().expect("a sound stream"),
    );
    memory
}

fn assert_same(frames: &Frames, other: &Frames) {
    assert_eq!(frames.header(), other.header());
    assert_eq!(frames.buffers().len(), other.buffers().len());
    for (index, (one, other)) in frames.buffers().iter().zip(other.buffers()).enumerate() {
        // Too many to print.
        assert!(one.as_slice() == other.as_slice(), "frame {index} has other bytes");
    }
}

/// Frames that can be changed in place change nothing else.
fn alone(frames: Frames) {
    let (_, buffers) = frames.into_parts();
    let before: Vec<Vec<u8>> = buffers.iter().map(|buffer| buffer.to_vec()).collect();
    let mut buffers: Vec<Option<Buffer>> = buffers.into_iter().map(Some).collect();
    for index in 0..buffers.len() {
        let Some(Ok(mut changed)) = buffers[index].take().map(Buffer::into_mutable) else { continue };
        changed.as_slice_mut().fill(DIRT);
        for (other, before) in buffers.iter().zip(&before) {
            assert!(
                other.as_ref().is_none_or(|other| other.as_slice() == before),
                "frame {index} is not alone"
            );
        }
    }
}

/// The state machine without a reader, whose functions are called in any order: no panic.
fn misuse(bytes: &[u8], memory: ReceiveMemory, rng: &mut Rng) {
    let mut receiver = StreamReceiver::new().with_memory(memory).with_read_ahead(rng.below(70_000));
    let mut left = bytes;
    for _ in 0..200 {
        match rng.below(8) {
            0 => drop(receiver.next()),
            1 => receiver.filled(rng.below(70_000)),
            2 if rng.below(8) == 0 => drop(receiver.end()),
            3 => receiver.restart(),
            _ => {
                let _ = receiver.next();
                let Ok(space) = receiver.space() else { continue };
                let count = space.len().min(left.len()).min(1 + rng.below(100_000));
                let (now, later) = left.split_at(count);
                space[..count].copy_from_slice(now);
                left = later;
                receiver.filled(count);
            }
        }
        assert!(receiver.leftover().is_empty() || receiver.is_finished());
        assert!(!receiver.is_marked() || receiver.is_finished());
    }
}

fn range(buffer: &Buffer) -> Range<usize> {
    let start = buffer.as_ptr() as usize;
    start..start + buffer.len()
}

fn is_over(one: &Range<usize>, other: &Range<usize>) -> bool {
    !one.is_empty() && !other.is_empty() && one.start < other.end && other.start < one.end
}

/// Returns so many bytes at most, and is interrupted.
struct Pieces<'a> {
    left: &'a [u8],
    most: usize,
    rng: Rng,
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.rng.below(20) == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = out.len().min(self.left.len()).min(1 + self.rng.below(self.most));
        let (now, later) = self.left.split_at(count);
        out[..count].copy_from_slice(now);
        self.left = later;
        Ok(count)
    }
}
