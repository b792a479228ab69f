//! Untrusted input: golden tensors cut at every byte, with every bit flipped and every word
//! replaced, are an error or a sound tensor, in little memory.

use arrow::buffer::Buffer;
use arrow_frames::{Content, Error, Fault, Frames, Layout, Result, SparseTensor, StreamSource, Tensor};

use crate::made;
use crate::memory::peak;
use crate::rng::Rng;
use crate::{elements, stream};

/// What a word is replaced with.
const LIES: [i64; 16] = [
    -1,
    0,
    1,
    2,
    3,
    7,
    8,
    127,
    255,
    i16::MAX as i64,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 45,
    1 << 60,
    i64::MIN,
    i64::MAX,
];

/// Memory that decoding may take beside the input's own bytes.
const ALLOWANCE: usize = 1 << 20;

/// Decodes a stream, whatever it is, and uses what comes of it. Says whether it was sound.
#[track_caller]
fn decode(bytes: &[u8]) -> Result<()> {
    let (result, memory) = peak(|| Frames::from_stream(bytes.to_vec()));
    assert!(memory <= bytes.len() * 2 + ALLOWANCE, "{memory} bytes for {}", bytes.len());
    let read = StreamSource::new(bytes).read_all();
    let layout = Layout::of_stream(bytes);
    let frames = match (result, read) {
        (Ok(frames), Ok(read)) => {
            assert_eq!((frames.header(), frames.buffers()), (read.header(), read.buffers()));
            frames
        }
        (Err(slice), Err(reader)) => {
            assert_eq!(kind(&slice), kind(&reader), "slice: {slice}; reader: {reader}");
            return Err(sound(slice));
        }
        (slice, reader) => panic!("as a slice {:?}, by a reader {:?}", slice.err(), reader.err()),
    };
    assert!(layout.error.is_none(), "taken apart, though its layout has a fault: {:?}", layout.error);
    let result = use_frames(&frames);
    if let Err(error) = &result {
        assert!(!error.to_string().is_empty());
    }
    result.map_err(sound)
}

/// Decodes frames, and what comes of it goes around once more.
fn use_frames(frames: &Frames) -> Result<()> {
    let (result, memory) = peak(|| match Content::of(frames.header())? {
        Content::Tensor => {
            let tensor = Tensor::from_frames(frames.clone())?;
            // Overlapping strides make any number of elements of a few bytes: that is for the
            // receiver to decide.
            if tensor.num_bytes() <= 1 << 16 {
                let again = Tensor::from_frames(tensor.to_frames().unwrap()).unwrap();
                assert_eq!(elements(&tensor), elements(&again));
                assert_eq!((tensor.shape(), tensor.names()), (again.shape(), again.names()));
            }
            Ok(())
        }
        Content::SparseTensor => {
            let tensor = SparseTensor::from_frames(frames.clone())?;
            let again = SparseTensor::from_frames(tensor.to_frames().unwrap()).unwrap();
            assert_eq!(elements(tensor.values()), elements(again.values()));
            assert_eq!(tensor.is_canonical(), again.is_canonical());
            Ok(())
        }
        _ => arrow_frames::from_buffers(frames.clone()).map(drop),
    });
    assert!(memory <= frames.num_bytes() * 4 + ALLOWANCE, "{memory} bytes for {}", frames.num_bytes());
    result
}

fn sound(error: Error) -> Error {
    assert!(matches!(error.fault(), Fault::Input | Fault::Limit), "{error:?}");
    error
}

fn kind(error: &Error) -> String {
    let debug = format!("{:?}", error.kind());
    debug.split([' ', '(']).next().unwrap_or_default().to_owned()
}

fn streams() -> Vec<(&'static str, Vec<u8>)> {
    made::all().unwrap().into_iter().map(|golden| (golden.name, golden.stream().unwrap())).collect()
}

#[test]
fn truncated() {
    for (name, bytes) in streams() {
        for length in 0..bytes.len() {
            let Err(error) = decode(&bytes[..length]) else { panic!("{name} cut at {length}") };
            let expected: &[&str] = if length == 0 { &["SchemaMissing"] } else { &["Truncated"] };
            assert!(expected.contains(&kind(&error).as_str()), "{name} cut at {length}: {error}");
        }
    }
}

#[test]
fn flipped_bits() {
    let (mut refused, mut taken) = (0, 0);
    for (name, bytes) in streams() {
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let result = std::panic::catch_unwind(|| decode(&changed));
            match result.unwrap_or_else(|_| panic!("{name}, bit {bit}")) {
                Ok(()) => taken += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 5_000 && taken > 5_000, "{refused} refused, {taken} taken");
}

/// Every word of every width, as it is and by a little.
#[test]
fn replaced_words() {
    let (mut refused, mut taken) = (0, 0);
    for (name, bytes) in streams() {
        for width in [2, 4, 8] {
            for start in (0..bytes.len()).step_by(width) {
                let mut word = [0; 8];
                word[..width].copy_from_slice(&bytes[start..start + width]);
                let word = i64::from_le_bytes(word);
                let near = [-8, -1, 1, 8].map(|by| word.wrapping_add(by));
                for lie in LIES.into_iter().chain(near) {
                    let mut changed = bytes.clone();
                    changed[start..start + width].copy_from_slice(&lie.to_le_bytes()[..width]);
                    let result = std::panic::catch_unwind(|| decode(&changed));
                    match result.unwrap_or_else(|_| panic!("{name}, {lie} at {start}")) {
                        Ok(()) => taken += 1,
                        Err(_) => refused += 1,
                    }
                }
            }
        }
    }
    assert!(refused > 5_000 && taken > 5_000, "{refused} refused, {taken} taken");
}

/// Two words at once, of which the second often fits the first.
#[test]
fn replaced_pairs() {
    let mut rng = Rng(7);
    let streams = streams();
    for round in 0..40_000 {
        let (name, bytes) = &streams[rng.below(streams.len())];
        let mut changed = bytes.clone();
        let lie = LIES[rng.below(LIES.len())];
        for _ in 0..2 {
            let width = [1, 2, 4, 8][rng.below(4)];
            let start = rng.below(bytes.len() / width) * width;
            let number = if rng.below(3) == 0 { rng.below(9) as i64 } else { lie };
            changed[start..start + width].copy_from_slice(&number.to_le_bytes()[..width]);
        }
        let result = std::panic::catch_unwind(|| decode(&changed));
        let _ = result.unwrap_or_else(|_| panic!("{name}, round {round}"));
    }
}

/// Frames that are not those of the header.
#[test]
fn other_frames() {
    for golden in made::all().unwrap() {
        let (header, buffers) = golden.frames().unwrap().into_parts();
        let name = golden.name;
        let mut more = buffers.clone();
        more.push(Buffer::from_vec(vec![0u8]));
        let error = use_frames(&Frames::new(header.clone(), more)).unwrap_err();
        assert_eq!(kind(&error), "FrameCount", "{name}");
        if buffers.is_empty() {
            continue;
        }
        let error = use_frames(&Frames::new(header.clone(), buffers[1..].to_vec())).unwrap_err();
        assert_eq!(kind(&error), "FrameCount", "{name}");
        for (index, buffer) in buffers.iter().enumerate() {
            for length in [0, buffer.len() - 1, buffer.len() + 1] {
                let mut bytes = buffer.to_vec();
                bytes.resize(length, 0);
                let mut other = buffers.clone();
                other[index] = bytes.into();
                let error = use_frames(&Frames::new(header.clone(), other)).unwrap_err();
                assert_eq!(kind(&error), "FrameLength", "{name}");
            }
        }
    }
}

/// What a header names is what is sent: nothing else, and not nothing.
#[test]
fn segments_of_other_frames() {
    let (header, buffers) = Tensor::from(vec![1.5, 2.5]).to_frames().unwrap().into_parts();
    assert!(Frames::new(header.clone(), vec![]).segments().is_err());
    assert!(Frames::new(header.clone(), vec![buffers[0].slice(1)]).segments().is_err());
    assert_eq!(stream(&Frames::new(header, buffers)).len() % 64, 0);
}

/// Where a header has the offset of each buffer that is not empty, with its place in the body.
fn places(frames: &Frames) -> Vec<(usize, i64, i64)> {
    let header = frames.header();
    let layout = Layout::of_frames(frames);
    let buffers = layout.messages[0].buffers.iter().filter(|buffer| buffer.length > 0);
    let place = |buffer: &arrow_frames::BufferLayout| {
        let pair = [buffer.offset.to_le_bytes(), buffer.length.to_le_bytes()].concat();
        let found: Vec<usize> =
            (0..header.len() - 15).filter(|&at| header[at..at + 16] == pair[..]).collect();
        assert_eq!(found.len(), 1, "{buffer:?}");
        (found[0], buffer.offset as i64, buffer.length as i64)
    };
    buffers.map(place).collect()
}

/// Pointers, indices and values that have bytes in common: a write to one changes another, which
/// was checked.
#[test]
fn parts_that_overlap() {
    let mut count = 0;
    for golden in made::all().unwrap() {
        let frames = golden.frames().unwrap();
        let bytes = stream(&frames);
        let body = bytes.len() - frames.header().len();
        let places = places(&frames);
        for (moved, &(at, own, length)) in places.iter().enumerate() {
            for (other, &(_, offset, other_length)) in places.iter().enumerate() {
                if moved == other {
                    continue;
                }
                // All of it, half of it, and by a byte on either side.
                let ends =
                    [offset, offset + other_length / 2, offset + other_length - 1, offset - length + 1];
                for offset in ends.into_iter().filter(|&offset| offset >= 0 && offset + length <= body as i64)
                {
                    assert_ne!(offset, own);
                    let what = format!("{}: buffer {moved} over {other}, at {offset}", golden.name);
                    let with = |bytes: &[u8]| {
                        let mut bytes = bytes.to_vec();
                        bytes[at..at + 8].copy_from_slice(&offset.to_le_bytes());
                        bytes
                    };
                    let error = decode(&with(&bytes)).unwrap_err();
                    assert_eq!(kind(&error), "BufferOverlap", "{what}: {error}");
                    let apart = Frames::new(with(frames.header()), frames.buffers().to_vec());
                    let error = use_frames(&apart).unwrap_err();
                    assert_eq!(kind(&error), "BufferOverlap", "{what}: {error}");
                    let error = Layout::of_frames(&apart).error.unwrap();
                    assert_eq!(kind(&error), "BufferOverlap", "{what}: {error}");
                    count += 1;
                }
            }
        }
    }
    assert!(count > 50, "{count}");
}

/// The same parts in the opposite order, each at the next multiple of 8.
#[test]
fn parts_in_any_order() {
    for golden in made::all().unwrap() {
        let frames = golden.frames().unwrap();
        let bytes = stream(&frames);
        let (mut header, body) = (frames.header().to_vec(), &bytes[frames.header().len()..]);
        let mut permuted = Vec::new();
        for (at, offset, length) in places(&frames).into_iter().rev() {
            header[at..at + 8].copy_from_slice(&(permuted.len() as i64).to_le_bytes());
            permuted.extend_from_slice(&body[offset as usize..(offset + length) as usize]);
            permuted.resize(permuted.len().next_multiple_of(8), 0);
        }
        permuted.resize(body.len(), 0);
        decode(&[header.as_slice(), &permuted].concat()).unwrap_or_else(|e| panic!("{}: {e}", golden.name));
        let read = Frames::from_stream([header, permuted].concat()).unwrap();
        assert_eq!(read.buffers(), frames.buffers(), "{}", golden.name);
    }
}
