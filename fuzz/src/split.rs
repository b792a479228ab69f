//! Cuts the bodies of a stream into frames, and frames into wrong ones.

use arrow_buffer::Buffer;
use arrow_frames::{Frames, Layout};

use crate::sites;

/// Bytes of a lie: what to do, to which frame, and a number.
pub const LIE: usize = 4;

/// More lies than these help nobody.
const MOST_LIES: usize = 8;

/// The bytes behind the end marker of a header.
pub fn tail(header: &[u8]) -> &[u8] {
    sites::of_header(header).end.and_then(|end| header.get(end..)).unwrap_or_default()
}

/// A frame of so many bytes that repeats a pattern.
pub fn filled(pattern: &[u8], length: usize) -> Buffer {
    let pattern = if pattern.is_empty() { &[0] } else { pattern };
    Buffer::from_vec(pattern.iter().copied().cycle().take(length).collect::<Vec<u8>>())
}

/// The header and the frames of a stream, as far as it goes, whatever its numbers say, and the
/// bytes behind its end marker.
///
/// [`Frames::from_stream`] would refuse a stream whose bodies do not hold what they should.
pub fn frames(stream: &[u8]) -> (Frames, &[u8]) {
    let source = Buffer::from(stream);
    let found = sites::of_stream(stream, 0);
    let layout = Layout::of_stream(stream);
    let mut header = Vec::new();
    let mut frames = Vec::new();
    for message in &found.messages {
        header.extend_from_slice(&stream[message.message.start..message.metadata.end]);
        if layout.error.is_some() {
            let buffers = message.buffers.iter().cloned();
            frames.extend(buffers.map(|range| source.slice_with_length(range.start, range.len())));
        }
    }
    if layout.error.is_none() {
        for message in &layout.messages {
            let body = message.position + message.metadata_bytes;
            for buffer in message.buffers.iter().filter(|buffer| buffer.length > 0) {
                let (offset, length) = ((body + buffer.offset) as usize, buffer.length as usize);
                frames.push(source.slice_with_length(offset, length));
            }
        }
    }
    if let (Some(end), Some(last)) = (found.end, found.messages.last()) {
        header.extend_from_slice(&stream[last.message.end..end]);
    }
    let tail = found.end.and_then(|end| stream.get(end..)).unwrap_or_default();
    (Frames::new(header, frames), tail)
}

/// Changes frames as these bytes say; the second value is whether they still hold the same.
pub fn lie(frames: &Frames, lies: &[u8]) -> (Frames, bool) {
    let mut buffers = frames.buffers().to_vec();
    let mut is_true = true;
    for lie in lies.as_chunks::<LIE>().0.iter().take(MOST_LIES) {
        let [what, index, low, high] = *lie;
        let number = usize::from(u16::from_le_bytes([low, high]));
        if buffers.is_empty() {
            break;
        }
        let index = usize::from(index) % buffers.len();
        let other = number % buffers.len();
        let buffer = buffers[index].clone();
        is_true &= what % 8 == 0;
        match what % 8 {
            0 => buffers[index] = elsewhere(&buffer, number % 64),
            1 => buffers[index] = buffer.slice_with_length(0, buffer.len().saturating_sub(number)),
            2 => buffers[index] = buffer.slice(number.min(buffer.len())),
            3 => buffers[index] = [&buffer, [low].repeat(usize::from(high)).as_slice()].concat().into(),
            4 => buffers[index] = filled(&[low], buffer.len()),
            5 => buffers.swap(index, other),
            6 => drop(buffers.remove(index)),
            _ => buffers.insert(other, buffer),
        }
    }
    (Frames::new(frames.header().clone(), buffers), is_true)
}

/// The same bytes at an address that suits no wider type.
fn elsewhere(buffer: &Buffer, shift: usize) -> Buffer {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(buffer);
    Buffer::from_vec(bytes).slice(shift)
}
