//! A mutator that knows Arrow IPC: it keeps flatbuffers valid and lies in their numbers.
//!
//! Without it nearly every mutation of a stream is refused by the flatbuffers verifier.

use std::ops::Range;

use arrow_ipc::{root_as_footer, root_as_message};

use crate::notes;
use crate::rng::Rng;
use crate::sites::{self, Found, Site, Sites};
use crate::split::LIE;
use crate::targets::Target;

/// Numbers that are changed at once, at most.
const MOST_CHANGES: usize = 4;

/// Numbers at which something overflows or changes its sign.
const EDGES: [i64; 16] = [
    -1,
    0,
    1,
    2,
    8,
    64,
    127,
    128,
    255,
    i16::MAX as i64,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 45,
    1 << 60,
    i64::MIN,
    i64::MAX,
];

/// Changes an input of a target in a way that such an input has; `false` if it has none.
///
/// The result is no longer than `most` bytes.
pub fn mutate(input: &mut Vec<u8>, most: usize, target: Target, rng: &mut Rng) -> bool {
    if target == Target::Bodies {
        return choices(input, most, rng);
    }
    let found = find(input, target);
    if found.messages.is_empty() {
        return false;
    }
    if target == Target::Notes && rng.below(4) != 0 && notes::mutate(input, most, &found.messages, rng) {
        return true;
    }
    let is_changed = match rng.below(16) {
        // The footer of a file says where its messages are.
        0 | 1 if target != Target::File => messages(input, most, &found, rng),
        2 | 3 => data(input, &found, rng),
        4 => texts(input, &found, rng),
        5 if matches!(target, Target::Frames | Target::Header) => tail(input, most, &found, rng),
        6 if target != Target::File => body(input, most, &found, rng),
        _ => false,
    };
    is_changed || numbers(input, &found, rng)
}

/// [`mutate`] for libFuzzer, which asks for it in place: the new size. What the mutator has no
/// use for, and every fourth input, is left to the `other` one.
#[allow(dead_code)] // libFuzzer calls it.
pub fn mutate_or(
    data: &mut [u8],
    size: usize,
    most: usize,
    target: Target,
    seed: u32,
    other: impl FnOnce(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut rng = Rng(seed.into());
    if rng.below(4) == 0 {
        return other(data, size, most);
    }
    let mut input = data[..size].to_vec();
    if !mutate(&mut input, most, target, &mut rng) {
        return other(data, size, most);
    }
    data[..input.len()].copy_from_slice(&input);
    input.len()
}

/// The first messages of one input and the last ones of another: batches under a schema that
/// is nearly theirs. A file has a footer that says where its messages are; it is not crossed.
pub fn cross(one: &[u8], other: &[u8], most: usize, target: Target, rng: &mut Rng) -> Option<Vec<u8>> {
    if target == Target::File {
        return None;
    }
    let (first, last) = (find(one, target).messages, find(other, target).messages);
    let end = first.get(rng.below(first.len()))?.message.end;
    // The other one's schema would be a second one.
    let start = last.get(1 + rng.below(last.len().saturating_sub(1)))?.message.start;
    let crossed = [&one[..end], &other[start..]].concat();
    (crossed.len() <= most).then_some(crossed)
}

/// [`cross`] for libFuzzer, which asks for it in place: the size, or 0.
#[allow(dead_code)] // libFuzzer calls it.
pub fn cross_into(one: &[u8], other: &[u8], out: &mut [u8], target: Target, seed: u32) -> usize {
    let crossed = cross(one, other, out.len(), target, &mut Rng(seed.into())).unwrap_or_default();
    out[..crossed.len()].copy_from_slice(&crossed);
    crossed.len()
}

/// Where the numbers of an input are.
fn find(input: &[u8], target: Target) -> Found {
    let mut found = match target {
        Target::Header => sites::of_header(input),
        Target::Frames | Target::Stream | Target::Tensor | Target::Notes => sites::of_stream(input, 0),
        Target::File => sites::of_stream(input, input.len().min(8)),
        Target::Bodies => Found::default(),
    };
    if target == Target::File {
        found.messages.extend(sites::of_footer(input));
    }
    found
}

/// Changes, adds or drops a few bytes of an input that is a list of choices.
fn choices(input: &mut Vec<u8>, most: usize, rng: &mut Rng) -> bool {
    for _ in 0..1 + rng.below(MOST_CHANGES) {
        let at = rng.below(input.len() + 1);
        let byte = rng.next() as u8;
        match rng.below(4) {
            0 if input.len() < most => input.insert(at, byte),
            1 if at < input.len() => drop(input.remove(at)),
            _ if at < input.len() => input[at] = byte,
            _ if input.len() < most => input.push(byte),
            _ => {}
        }
    }
    true
}

/// Lies in some numbers of the metadata.
fn numbers(input: &mut [u8], found: &Found, rng: &mut Rng) -> bool {
    let count = 1 + rng.below(MOST_CHANGES);
    let mut same = None;
    let mut is_changed = false;
    for _ in 0..count {
        let message = &found.messages[rng.below(found.messages.len())];
        let site = message.sites[rng.below(message.sites.len())];
        let before = site.get(input);
        let other = &found.messages[rng.below(found.messages.len())];
        let other = other.sites[rng.below(other.sites.len())];
        let lie = match same {
            // The same lie twice is the most likely to fit together.
            Some(same) if rng.below(3) == 0 => same,
            _ if rng.below(8) == 0 => {
                let lie = other.get(input);
                set_valid(input, message_of(found, &other), other, before, rng);
                lie
            }
            _ => lie(before, site, other.get(input), message.message.len(), rng),
        };
        same = Some(lie);
        is_changed |= set_valid(input, message, site, lie, rng);
    }
    is_changed
}

/// Another number.
fn lie(number: i64, site: Site, other: i64, length: usize, rng: &mut Rng) -> i64 {
    let near = rng.below(5) as i64 - 2;
    match rng.below(12) {
        0 | 1 => number.wrapping_add([1, -1, 8, -8, 64, -64][rng.below(6)]),
        2 => number.wrapping_mul([2, 3, 8, -1][rng.below(4)]),
        3 => number / [2, 4, 8][rng.below(3)],
        4 => number.wrapping_add(63) & !63,
        5 => other,
        6 => other.wrapping_add(near),
        7 => (length as i64).wrapping_add(near),
        8 => rng.below(32) as i64,
        9 => (1i64 << rng.below(8 * site.width)).wrapping_add(near),
        10 => number ^ (1 << rng.below(8 * site.width)),
        _ => EDGES[rng.below(EDGES.len())],
    }
}

/// Sets a number, unless the flatbuffer around it would no longer be one: that is refused at
/// once, and worth a try only now and then.
fn set_valid(input: &mut [u8], message: &Sites, site: Site, lie: i64, rng: &mut Rng) -> bool {
    let before = site.get(input);
    site.set(input, lie);
    let is_inside = message.metadata.contains(&site.position);
    if is_inside && !is_valid(&input[message.metadata.clone()]) && rng.below(16) != 0 {
        site.set(input, before);
    }
    site.get(input) != before
}

fn is_valid(flatbuffer: &[u8]) -> bool {
    root_as_message(flatbuffer).is_ok() || root_as_footer(flatbuffer).is_ok()
}

fn message_of<'f>(found: &'f Found, site: &Site) -> &'f Sites {
    let holds = |message: &&Sites| message.sites.iter().any(|other| other.position == site.position);
    found.messages.iter().find(holds).unwrap_or(&found.messages[0])
}

/// Changes a word of a buffer: offsets, keys, sizes, run ends, lengths before compressed data.
fn data(input: &mut [u8], found: &Found, rng: &mut Rng) -> bool {
    let buffers: Vec<&Range<usize>> = found.messages.iter().flat_map(|message| &message.buffers).collect();
    if buffers.is_empty() {
        return false;
    }
    for _ in 0..1 + rng.below(MOST_CHANGES) {
        let buffer = buffers[rng.below(buffers.len())];
        let width = [1, 2, 4, 8][rng.below(4)];
        let words = buffer.len() / width;
        if words == 0 {
            continue;
        }
        let word = [0, 1, words - 1, rng.below(words), rng.below(words)][rng.below(5)].min(words - 1);
        let site = Site { position: buffer.start + word * width, width, what: "a word" };
        let number = site.get(input);
        let other = rng.below(words);
        let other = Site { position: buffer.start + other * width, ..site }.get(input);
        site.set(input, lie(number, site, other, buffer.len(), rng));
    }
    true
}

/// Changes a number that is written in metadata: our note is JSON.
fn texts(input: &mut [u8], found: &Found, rng: &mut Rng) -> bool {
    let texts: Vec<&Range<usize>> = found.messages.iter().flat_map(|message| &message.texts).collect();
    if texts.is_empty() {
        return false;
    }
    let text = &mut input[texts[rng.below(texts.len())].clone()];
    let digits: Vec<usize> = (0..text.len()).filter(|at| text[*at].is_ascii_digit()).collect();
    if digits.is_empty() {
        return false;
    }
    for _ in 0..1 + rng.below(2) {
        let at = digits[rng.below(digits.len())];
        let is_first = at == 0 || !text[at - 1].is_ascii_digit();
        let is_last = text.get(at + 1).is_none_or(|next| !next.is_ascii_digit());
        // No number begins with a zero, unless it is one.
        let least = u8::from(is_first && !is_last);
        text[at] = b'0' + least + rng.below(10 - usize::from(least)) as u8;
    }
    true
}

/// Drops, repeats or swaps whole messages with their bodies.
fn messages(input: &mut Vec<u8>, most: usize, found: &Found, rng: &mut Rng) -> bool {
    let mut order: Vec<usize> = (0..found.messages.len()).collect();
    let (one, other) = (rng.below(order.len()), rng.below(order.len()));
    match rng.below(3) {
        0 => drop(order.remove(one)),
        1 => order.insert(other, one),
        _ => order.swap(one, other),
    }
    let ranges: Vec<Range<usize>> = found.messages.iter().map(|message| message.message.clone()).collect();
    let end = ranges.last().map_or(0, |range| range.end);
    let mut changed: Vec<u8> =
        order.iter().flat_map(|index| &input[ranges[*index].clone()]).copied().collect();
    changed.extend_from_slice(&input[end..]);
    if changed.len() > most || changed == *input {
        return false;
    }
    *input = changed;
    true
}

/// Makes a body longer or shorter, and says so.
fn body(input: &mut Vec<u8>, most: usize, found: &Found, rng: &mut Rng) -> bool {
    let message = &found.messages[rng.below(found.messages.len())];
    let Some(length) = message.sites.iter().find(|site| site.what == "body length") else { return false };
    let step = [1, 8, 64][rng.below(3)];
    let end = message.message.end;
    let number = length.get(input);
    if rng.below(2) == 0 {
        if input.len() + step > most {
            return false;
        }
        input.splice(end..end, vec![rng.next() as u8; step]);
        length.set(input, number.wrapping_add(step as i64));
    } else {
        let start = end.saturating_sub(step).max(message.metadata.end);
        input.drain(start..end);
        length.set(input, number.wrapping_sub((end - start) as i64));
    }
    true
}

/// Changes what lies behind the end marker: how frames lie, or what is in them.
fn tail(input: &mut Vec<u8>, most: usize, found: &Found, rng: &mut Rng) -> bool {
    let Some(end) = found.end else { return false };
    match rng.below(4) {
        0 => input.truncate(end),
        1 if input.len() > end => {
            let at = end + rng.below(input.len() - end);
            input[at] = rng.next() as u8;
        }
        _ => {
            let small = rng.below(70) as u16;
            let number = if rng.below(2) == 0 { small } else { rng.next() as u16 };
            let mut lie = [rng.below(8) as u8, rng.below(24) as u8, 0, 0];
            lie[2..].copy_from_slice(&number.to_le_bytes());
            if input.len() + LIE > most {
                return false;
            }
            input.extend_from_slice(&lie);
        }
    }
    true
}
