//! The fuzz target of notes: what this crate writes into the metadata of messages, fields and schemas.

use std::ops::Range;

use arrow_buffer::Buffer;
use arrow_frames::{
    Column, DataFrame, Decoder, Frames, Layout, MessageKind, MessageLayout, Part, Result, StreamSource,
};
use arrow_ipc::root_as_message;

use crate::check::limits;
use crate::rng::Rng;
use crate::sites::{self, Site, Sites};
use crate::{json, targets};

/// Where a payload may start.
const ALIGNMENT: usize = 64;

/// Reads a stream, and checks that no note hands out what it must not. Says whether it was sound.
pub fn run(input: &[u8], rng: &mut Rng) -> bool {
    let stream = Buffer::from(input);
    let sliced = Frames::from_stream_with_limits(stream.clone(), &limits());
    let layout = Layout::of_stream(input);
    if let Ok(frames) = &sliced {
        let bodies = bodies(input);
        in_place(&stream, frames, &layout, &bodies);
        if let Ok(df) = Decoder::new().with_limits(limits()).decode(frames.clone())
            && layout.messages.len() == bodies.len()
        {
            payload(&stream, &df, &bodies);
        }
    }
    writable(input, &sliced, rng);
    targets::stream(input, rng)
}

/// Where in a stream a body lies, and its declared buffers in it, as the message says.
struct Body {
    place: Range<usize>,
    declared: Vec<Range<usize>>,
}

/// The bodies of a stream, read by nothing but the flatbuffers that arrow generates.
fn bodies(input: &[u8]) -> Vec<Body> {
    let found = sites::of_stream(input, 0).messages;
    let body = |message: &Sites| {
        let parsed = root_as_message(&input[message.metadata.clone()]).ok()?;
        let batch = match parsed.header_as_dictionary_batch() {
            Some(dictionary) => dictionary.data(),
            None => parsed.header_as_record_batch(),
        };
        let buffers = batch.iter().filter_map(|batch| batch.buffers()).flatten();
        let declared = buffers.filter(|buffer| buffer.length() > 0).map(|buffer| {
            let start = usize::try_from(buffer.offset()).expect("it was accepted");
            start..start + usize::try_from(buffer.length()).expect("it was accepted")
        });
        Some(Body { place: message.metadata.end..message.message.end, declared: declared.collect() })
    };
    found.iter().filter_map(body).collect()
}

/// Each frame is a buffer of its body, where the layout says, or payload behind all buffers.
fn in_place(stream: &Buffer, frames: &Frames, layout: &Layout, bodies: &[Body]) {
    let is_tensor =
        |message: &MessageLayout| matches!(message.kind, MessageKind::Tensor | MessageKind::SparseTensor);
    // What only this crate reads, since it is misaligned, is not compared.
    if layout.messages.len() != bodies.len() || layout.messages.iter().any(is_tensor) {
        return;
    }
    let mut buffers = frames.buffers().iter();
    let mut end_before = 0;
    for body in bodies {
        let mut last = body.place.start;
        for declared in &body.declared {
            let frame = place(stream, buffers.next().expect("a frame for each buffer"));
            assert_eq!(frame, body.place.start + declared.start..body.place.start + declared.end);
            last = last.max(frame.end);
        }
        // As many payload frames as follow, while they lie in this body.
        while let Some(frame) = buffers.clone().next().map(|frame| place(stream, frame)) {
            if frame.start >= body.place.end {
                break;
            }
            assert!(frame.start >= last, "payload at {frame:?} lies on what ends at {last}");
            assert!(frame.end <= body.place.end, "payload at {frame:?} lies outside of {:?}", body.place);
            assert!((frame.start - body.place.start).is_multiple_of(ALIGNMENT));
            last = frame.end;
            buffers.next();
        }
        assert!(body.place.start >= end_before);
        end_before = body.place.end;
    }
    assert!(buffers.next().is_none(), "more frames than buffers");
    for (message, body) in layout.messages.iter().zip(bodies) {
        for payload in
            message.buffers.iter().filter(|buffer| buffer.part == Part::Payload && buffer.length > 0)
        {
            let end = body.declared.iter().map(|declared| declared.end).max().unwrap_or(0);
            assert!(
                payload.offset >= end as u64 && payload.offset + payload.length <= body.place.len() as u64
            );
        }
    }
}

/// What opaque columns have lies in a body, and on no buffer that the message declares.
fn payload(stream: &Buffer, df: &DataFrame, bodies: &[Body]) {
    let opaque = df.batches().iter().flat_map(|batch| batch.columns()).filter_map(|column| match column {
        Column::Opaque(opaque) => Some(opaque.buffers()),
        _ => None,
    });
    let mut seen: Vec<Range<usize>> = Vec::new();
    for buffer in opaque.chain(df.object()).flatten().filter(|buffer| !buffer.is_empty()) {
        let address = buffer.as_ptr() as usize;
        // One that was decompressed has memory of its own.
        if !memory(stream).contains(&address) {
            continue;
        }
        let place = place(stream, buffer);
        let body = bodies.iter().find(|body| body.place.start <= place.start && place.end <= body.place.end);
        let body = body.expect("payload lies in a body");
        let end = body.declared.iter().map(|declared| declared.end).max().unwrap_or(0);
        assert!(place.start >= body.place.start + end, "payload at {place:?} lies on a buffer");
        seen.push(place);
    }
    seen.sort_by_key(|place| (place.start, place.end));
    assert!(seen.windows(2).all(|pair| pair[0].end <= pair[1].start), "payload lies on payload: {seen:?}");
}

/// Marks say where frames lie and nothing else: the same frames, and what can be changed is alone.
fn writable(input: &[u8], sliced: &Result<Frames>, rng: &mut Rng) {
    let reader = targets::Odd { left: input, rng: rng.clone() };
    let read = StreamSource::new(reader).with_limits(limits()).with_writable(true).read_all();
    match (read, sliced) {
        (Ok(read), Ok(sliced)) => {
            assert_eq!(read.buffers(), sliced.buffers());
            let (_, buffers) = read.into_parts();
            let before: Vec<Vec<u8>> = buffers.iter().map(|buffer| buffer.to_vec()).collect();
            let mut buffers: Vec<Option<Buffer>> = buffers.into_iter().map(Some).collect();
            for index in 0..buffers.len() {
                let Some(Ok(mut changed)) = buffers[index].take().map(Buffer::into_mutable) else { continue };
                changed.as_slice_mut().fill(0xEE);
                for (other, before) in buffers.iter().zip(&before) {
                    assert!(other.as_ref().is_none_or(|other| other.as_slice() == before), "frame {index}");
                }
            }
        }
        (Ok(_), Err(_)) | (Err(_), Err(_)) => {}
        (Err(error), Ok(_)) => panic!("a stream in one piece, but not from a reader: {error}"),
    }
}

fn memory(stream: &Buffer) -> Range<usize> {
    let start = stream.as_ptr() as usize;
    start..start + stream.len()
}

/// Where a part of a stream lies in it.
fn place(stream: &Buffer, part: &Buffer) -> Range<usize> {
    let (whole, start) = (memory(stream), part.as_ptr() as usize);
    assert!(whole.start <= start && start + part.len() <= whole.end, "a frame outside of the stream");
    start - whole.start..start - whole.start + part.len()
}

/// Changes one text of the metadata, of any length, and writes the message anew.
pub fn mutate(input: &mut Vec<u8>, most: usize, messages: &[Sites], rng: &mut Rng) -> bool {
    let texts: Vec<(usize, &Range<usize>)> = messages
        .iter()
        .enumerate()
        .flat_map(|(index, message)| message.texts.iter().map(move |text| (index, text)))
        .collect();
    let Some((index, text)) = texts.get(rng.below(texts.len())) else { return false };
    let message = &messages[*index];
    let mut new = input[(*text).clone()].to_vec();
    for _ in 0..1 + rng.below(2) {
        new = json::changed(&new, rng).unwrap_or(new);
    }
    // A text is valid UTF-8, or the flatbuffer is not.
    let new = String::from_utf8_lossy(&new).into_owned();
    let Some(changed) = with_text(&input[message.metadata.clone()], message, text, new.as_bytes()) else {
        return false;
    };
    if input.len() - message.metadata.len() + changed.len() > most {
        return false;
    }
    let prefix = Site { position: message.metadata.start - 4, width: 4, what: "metadata length" };
    prefix.set(input, changed.len() as i64);
    input.splice(message.metadata.clone(), changed);
    true
}

/// A flatbuffer with another text: behind all that was there, where its place in a table leads now.
fn with_text(flatbuffer: &[u8], message: &Sites, text: &Range<usize>, new: &[u8]) -> Option<Vec<u8>> {
    let start = text.start.checked_sub(message.metadata.start + 4)?;
    // References lead forward, to the length of the text.
    let leads_there = |at: &usize| {
        let offset = flatbuffer[*at..at + 4].try_into().map(u32::from_le_bytes).unwrap_or(0);
        offset > 0 && at + offset as usize == start
    };
    let reference = (0..start.saturating_sub(3)).step_by(4).find(leads_there)?;
    let mut changed = flatbuffer.to_vec();
    // A text that is the last one gives up its place.
    if flatbuffer[text.end - message.metadata.start..].iter().all(|byte| *byte == 0) {
        changed.truncate(start);
    }
    changed.resize(changed.len().next_multiple_of(4), 0);
    let offset = u32::try_from(changed.len() - reference).ok()?;
    changed[reference..reference + 4].copy_from_slice(&offset.to_le_bytes());
    changed.extend_from_slice(&u32::try_from(new.len()).ok()?.to_le_bytes());
    changed.extend_from_slice(new);
    changed.push(0);
    // With the prefix of 8 bytes a multiple of 64.
    changed.resize((changed.len() + 8).next_multiple_of(ALIGNMENT) - 8, 0);
    root_as_message(&changed).is_ok().then_some(changed)
}
