//! The bodies of the fuzz targets: each takes any bytes and panics if a promise is broken.

use std::io::{self, Read};
use std::sync::Arc;

use arrow_frames::{DataFrame, Decoder, Frames, Layout, ReceiveMemory, Result, StreamSource};
use arrow_schema::{Metadata, SchemaRef};

use crate::bodies;
use crate::check::{self, kind, limits};
use crate::notes;
use crate::rng::Rng;
use crate::split;
use crate::tensor;

/// Bytes of all frames that are made up for a header.
const MOST_MADE_UP: u64 = 1 << 20;

/// A target by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A header, behind its end marker what to fill the frames with that it names.
    Header,
    /// A stream whose bodies become frames, behind its end marker how these lie.
    Frames,
    /// A stream.
    Stream,
    /// A file.
    File,
    /// A stream that is a tensor.
    Tensor,
    /// What is in a stream, and how it is received.
    Bodies,
    /// A stream whose metadata has notes.
    Notes,
}

impl Target {
    /// Every target.
    #[allow(dead_code)] // libFuzzer runs one of them.
    pub const ALL: [Target; 7] = [
        Target::Header,
        Target::Frames,
        Target::Stream,
        Target::File,
        Target::Tensor,
        Target::Bodies,
        Target::Notes,
    ];

    /// Its name, which is also that of its corpus.
    #[allow(dead_code)]
    pub fn name(self) -> &'static str {
        match self {
            Target::Header => "header",
            Target::Frames => "frames",
            Target::Stream => "stream",
            Target::File => "file",
            Target::Tensor => "tensor",
            Target::Bodies => "bodies",
            Target::Notes => "notes",
        }
    }

    /// Decodes an input, and checks whatever comes of it. Says whether it was sound.
    pub fn run(self, input: &[u8]) -> bool {
        let mut rng = Rng(hash(input));
        match self {
            Target::Header => header(input, &mut rng),
            Target::Frames => frames(input, &mut rng),
            Target::Stream => stream(input, &mut rng),
            Target::File => file(input, &mut rng),
            Target::Tensor => tensor::run(input, &mut rng),
            Target::Bodies => bodies::run(input, &mut rng),
            Target::Notes => notes::run(input, &mut rng),
        }
    }
}

/// The header as it came, and frames of just the lengths that it names.
fn header(input: &[u8], rng: &mut Rng) -> bool {
    let bare = Frames::new(input.to_vec(), vec![]);
    let layout = Layout::of_frames(&bare);
    check::layout(&layout);
    let lengths = || layout.messages.iter().flat_map(|m| &m.buffers).map(|buffer| buffer.length);
    let total = lengths().fold(0, u64::saturating_add);
    let frames = if layout.error.is_some() || total > MOST_MADE_UP {
        bare
    } else {
        let fill = split::tail(input);
        let lengths = lengths().filter(|length| *length > 0);
        Frames::new(input.to_vec(), lengths.map(|length| split::filled(fill, length as usize)).collect())
    };
    let result = decode(&frames, rng);
    if layout.error.is_some() {
        assert!(result.is_err(), "decoded, though its layout has a fault: {:?}", layout.error);
    }
    result.is_ok()
}

/// Frames cut from a stream's bodies, some of them other than the header says.
fn frames(input: &[u8], rng: &mut Rng) -> bool {
    let (frames, lies) = split::frames(input);
    let (lying, still_true) = split::lie(&frames, lies);
    let result = decode(&lying, rng);
    if still_true && !lies.is_empty() {
        let plain = check::decode(&frames, rng);
        check::agree(&plain, &result, "in place and elsewhere in memory");
    }
    result.is_ok()
}

/// A stream in one buffer, and the same from a reader that returns odd pieces of it.
pub fn stream(input: &[u8], rng: &mut Rng) -> bool {
    let layout = Layout::of_stream(input);
    check::layout(&layout);
    let sliced = Frames::from_stream_with_limits(input.to_vec(), &limits());
    let mut source = StreamSource::new(Odd { left: input, rng: rng.clone() }).with_limits(limits());
    let read = source.read_all();
    assert!(source.position() <= input.len() as u64);
    // Read ahead, and with frames of their own: the same bytes elsewhere in memory.
    let mut ahead = StreamSource::new(Odd { left: input, rng: rng.clone() })
        .with_limits(limits())
        .with_memory(ReceiveMemory::recycled(1 << 20))
        .with_read_ahead(1 + rng.below(5_000))
        .with_writable(true);
    let read_ahead = ahead.read_all();
    for other in [&read, &read_ahead] {
        match (&sliced, other) {
            (Ok(sliced), Ok(other)) => {
                assert_eq!(sliced.header(), other.header());
                assert_eq!(sliced.buffers(), other.buffers());
            }
            (Ok(_), Err(error)) => panic!("a stream in one piece, but not from a reader: {error}"),
            (Err(_), _) => {}
        }
    }
    if read_ahead.is_ok() && source.is_finished() {
        let (rest, leftover) = ahead.into_parts();
        assert!(input.ends_with(&[&leftover[..], rest.left].concat()));
    }
    let result = sliced.and_then(|frames| decode(&frames, rng));
    if let (Ok(_), Some(error)) = (&result, &layout.error) {
        panic!("decoded, though its layout has a fault: {error}");
    }
    let read = read.and_then(|frames| Decoder::new().with_limits(limits()).decode(frames));
    check::agree(&result, &read, "as a slice and by a reader");

    let mut decoder = Decoder::new().with_limits(limits());
    match (&result, &decoder.decode_stream(input.to_vec())) {
        (Ok(two), Ok(one)) => check::assert_same(two, one, "in two passes and in one"),
        // Of several faults it may meet another one first.
        (Err(_), Err(error)) => check::error(error),
        (two, one) => panic!("in two passes {:?}, in one {:?}", two.as_ref().err(), one.as_ref().err()),
    }
    if let Ok(df) = &result {
        in_two_pieces(input, df, &layout, rng);
    }

    let in_turn = message_by_message(Odd { left: input, rng: rng.clone() });
    match (&result, &in_turn) {
        (Ok(whole), Ok(Some(pieces))) => check::assert_same(whole, pieces, "whole and message by message"),
        // What one call may expand to is less for all messages together.
        (Err(whole), Ok(Some(_))) => assert_eq!(kind(whole), "Limit", "{whole}, but not message by message"),
        (Ok(_), Ok(None)) => panic!("decoded, though it has two schemas"),
        (Ok(_), Err(error)) => panic!("message by message: {error}"),
        (Err(_), Ok(None) | Err(_)) => {}
    }
    result.is_ok()
}

/// A file in one buffer.
fn file(input: &[u8], rng: &mut Rng) -> bool {
    let layout = Layout::of_file(input);
    check::layout(&layout);
    let frames = Frames::from_file_with_limits(input.to_vec(), &limits());
    let result = frames.and_then(|frames| decode(&frames, rng));
    match (&result, &layout.error) {
        (Ok(_), Some(error)) => panic!("decoded, though its layout has a fault: {error}"),
        (Err(error), _) => check::error(error),
        (Ok(_), None) => {}
    }
    result.is_ok()
}

/// Decodes frames, and writes them in other forms.
fn decode(frames: &Frames, rng: &mut Rng) -> Result<DataFrame> {
    let result = check::decode(frames, rng);
    check::forms(frames, &result);
    result
}

/// A stream that is cut between two messages goes on where it was cut.
fn in_two_pieces(stream: &[u8], df: &DataFrame, layout: &Layout, rng: &mut Rng) {
    let Some(message) = layout.messages.get(1 + rng.below(layout.messages.len().saturating_sub(1))) else {
        return;
    };
    let mut decoder = Decoder::new().with_limits(limits());
    let mut batches = Vec::new();
    let (first, last) = stream.split_at(message.position as usize);
    for piece in [first, last] {
        let piece = decoder.decode_stream(piece.to_vec()).expect("as it was decoded");
        batches.extend_from_slice(piece.batches());
    }
    assert_eq!(decoder.is_finished(), layout.is_finished);
    let again = DataFrame::try_new(df.schema().clone(), batches).expect("batches of one schema");
    check::assert_same(df, &again.with_message_metadata(df.message_metadata().clone()), "in two pieces");
}

/// Reads a message, decodes it, and goes on; `None` if a second schema came, with which the
/// decoder starts another stream.
fn message_by_message(reader: impl Read) -> Result<Option<DataFrame>> {
    let mut source = StreamSource::new(reader).with_limits(limits());
    let mut decoder = Decoder::new().with_limits(limits());
    let mut stream: Option<(SchemaRef, Metadata)> = None;
    let mut batches = Vec::new();
    while let Some(frames) = source.next()? {
        // A header of nothing but the end marker ends a stream that never began.
        let df = decoder.decode(frames)?;
        assert_eq!(source.is_finished(), decoder.is_finished());
        let (schema, _) = stream.get_or_insert_with(|| (df.schema().clone(), df.message_metadata().clone()));
        if !Arc::ptr_eq(schema, df.schema()) {
            return Ok(None);
        }
        batches.extend_from_slice(df.batches());
    }
    let Some((schema, metadata)) = stream else {
        return decoder.decode(Frames::default()).map(Some);
    };
    let df = DataFrame::try_new(schema, batches).expect("batches of one schema");
    Ok(Some(df.with_message_metadata(metadata)))
}

/// Returns a few bytes at a time, or many, and is interrupted.
pub struct Odd<'a> {
    pub left: &'a [u8],
    pub rng: Rng,
}

impl Read for Odd<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = match self.rng.below(8) {
            0 => return Err(io::ErrorKind::Interrupted.into()),
            1..4 => 1 + self.rng.below(9),
            4 => 1 + self.rng.below(500),
            _ => usize::MAX,
        };
        let count = most.min(out.len()).min(self.left.len());
        let (now, later) = self.left.split_at(count);
        out[..count].copy_from_slice(now);
        self.left = later;
        Ok(count)
    }
}

/// FNV-1a: the same input makes the same choices.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
