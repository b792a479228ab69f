//! Untrusted input: any bytes give an error or a valid dataframe, never a panic, in time and
//! memory that the input bounds.
//!
//! The golden files are cut at every byte, have every bit flipped and every number replaced.
//! [`traps`] has what others fell into, each by its name; [`places`], [`ends`], [`nulls`] and
//! [`kept`] each have one rule, on every way that bytes can come in.

mod common;
#[path = "malformed/ends.rs"]
mod ends;
#[path = "malformed/kept.rs"]
mod kept;
#[path = "golden/made.rs"]
mod made;
#[path = "malformed/memory.rs"]
mod memory;
#[path = "malformed/nulls.rs"]
mod nulls;
#[path = "malformed/places.rs"]
mod places;
#[path = "malformed/raw.rs"]
mod raw;
#[path = "../fuzz/src/sites.rs"]
mod sites;
#[path = "malformed/touch.rs"]
mod touch;
#[path = "malformed/traps.rs"]
mod traps;

use arrow::buffer::Buffer;
use arrow_frames::{Error, ErrorKind, Frames};
use common::Rng;
use made::Golden;
use sites::{Site, Sites};
use touch::{Form, decode, decode_frames};

/// What a number is replaced with, beside its neighbours.
const LIES: [i64; 14] = [
    -1,
    0,
    1,
    2,
    7,
    127,
    128,
    32_767,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 45,
    1 << 60,
    i64::MIN,
    i64::MAX,
];

/// Pairs of numbers to replace at once, per message.
const PAIRS: usize = 4_000;

/// The golden files that this build can read.
fn all() -> impl Iterator<Item = Golden> {
    made::all().into_iter().filter(|golden| match golden.feature() {
        Some("lz4") => cfg!(feature = "lz4"),
        Some(_) => cfg!(feature = "zstd"),
        None => true,
    })
}

fn streams() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    all().map(|golden| (golden.name, golden.stream().unwrap()))
}

fn files() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    all().filter_map(|golden| Some((golden.name, golden.file().unwrap()?)))
}

#[test]
fn truncated_streams() {
    for (name, bytes) in streams() {
        for length in 0..bytes.len() {
            let error = decode(&bytes[..length], Form::Stream).expect_err(name);
            assert_cut(&error, name, length);
        }
    }
}

#[test]
fn truncated_files() {
    for (name, bytes) in files() {
        for length in 0..bytes.len() {
            let error = decode(&bytes[..length], Form::File).expect_err(name);
            assert!(matches!(error.kind(), ErrorKind::NotAFile { .. }), "{name} cut at {length}: {error}");
        }
    }
}

#[test]
fn truncated_frames() {
    for golden in all() {
        let name = golden.name;
        let frames = golden.encoder().encode(&golden.df).unwrap();
        let (header, buffers) = frames.into_parts();
        for length in 0..header.len() {
            let cut = Frames::new(header.slice_with_length(0, length), buffers.clone());
            decode_frames(&cut).expect_err(name);
        }
        for (index, buffer) in buffers.iter().enumerate() {
            for length in 0..buffer.len() {
                let mut cut = buffers.clone();
                cut[index] = buffer.slice_with_length(0, length);
                let error = decode_frames(&Frames::new(header.clone(), cut)).expect_err(name);
                assert!(matches!(error.kind(), ErrorKind::FrameLength { frame, .. } if *frame == index));
            }
        }
        for count in 0..buffers.len() {
            let cut = Frames::new(header.clone(), buffers[..count].to_vec());
            let error = decode_frames(&cut).expect_err(name);
            assert!(matches!(error.kind(), ErrorKind::FrameCount { found, .. } if *found == count));
        }
        let mut more = buffers;
        more.push(Buffer::from(&[0; 8]));
        let error = decode_frames(&Frames::new(header, more)).expect_err(name);
        assert!(matches!(error.kind(), ErrorKind::FrameCount { .. }), "{name}: {error}");
    }
}

#[test]
fn flipped_bits_in_streams() {
    for (_, bytes) in streams() {
        flip_bits(bytes, |bytes| drop(decode(bytes, Form::Stream)));
    }
}

#[test]
fn flipped_bits_in_files() {
    for (_, bytes) in files() {
        flip_bits(bytes, |bytes| drop(decode(bytes, Form::File)));
    }
}

#[test]
fn flipped_bits_in_frames() {
    for golden in all() {
        let frames = golden.encoder().encode(&golden.df).unwrap();
        let (header, buffers) = frames.into_parts();
        flip_bits(header.to_vec(), |header| {
            drop(decode_frames(&Frames::new(Buffer::from(header), buffers.clone())));
        });
        for (index, buffer) in buffers.iter().enumerate() {
            flip_bits(buffer.to_vec(), |bytes| {
                let mut flipped = buffers.clone();
                flipped[index] = Buffer::from(bytes);
                drop(decode_frames(&Frames::new(header.clone(), flipped)));
            });
        }
    }
}

#[test]
fn replaced_numbers_in_streams() {
    for (_, bytes) in streams() {
        replace_numbers(&bytes, &of_stream(&bytes, 0), Form::Stream);
    }
}

#[test]
fn replaced_numbers_in_files() {
    for (_, bytes) in files() {
        // The messages of a file are those of the stream; its footer is its own.
        replace_numbers(&bytes, &[sites::of_footer(&bytes).unwrap()], Form::File);
    }
}

#[test]
fn replaced_pairs_of_numbers_in_streams() {
    for (name, bytes) in streams() {
        replace_pairs(&bytes, &of_stream(&bytes, 0), Form::Stream, name);
    }
}

#[test]
fn replaced_pairs_of_numbers_in_files() {
    for (name, bytes) in files() {
        // Pairs across messages and the footer.
        let mut sites = sites::of_footer(&bytes).unwrap();
        sites.sites.extend(of_stream(&bytes, 8).into_iter().flat_map(|sites| sites.sites));
        replace_pairs(&bytes, &[sites], Form::File, name);
    }
}

#[test]
fn replaced_words_in_metadata() {
    for (_, bytes) in streams() {
        for sites in of_stream(&bytes, 0) {
            let mut bytes = bytes.clone();
            for position in sites.metadata {
                // Whatever lies there: offsets, vtables, lengths of text.
                for width in [1, 2, 4, 8].into_iter().filter(|width| position % width == 0) {
                    let site = Site { position, width, what: "a word" };
                    let number = site.get(&bytes);
                    for lie in [-1, 0, 1, 127, number + 1, number - 1, i64::MAX >> (64 - 8 * width)] {
                        site.set(&mut bytes, lie);
                        drop(decode(&bytes, Form::Stream));
                    }
                    site.set(&mut bytes, number);
                }
            }
        }
    }
}

/// The numbers of every message of a sound stream.
fn of_stream(bytes: &[u8], position: usize) -> Vec<Sites> {
    let found = sites::of_stream(bytes, position);
    assert!(found.end.is_some(), "the stream is cut");
    found.messages
}

/// A stream that is cut says so, and where.
#[track_caller]
fn assert_cut(error: &Error, name: &str, length: usize) {
    let is_cut = match error.kind() {
        ErrorKind::Truncated { position, .. } => *position <= length as u64,
        ErrorKind::SchemaMissing { .. } => length == 0,
        _ => false,
    };
    assert!(is_cut, "{name} cut at {length}: {error}");
}

fn flip_bits(mut bytes: Vec<u8>, decode: impl Fn(&[u8])) {
    for bit in 0..bytes.len() * 8 {
        let (byte, mask) = (bit / 8, 1 << (bit % 8));
        bytes[byte] ^= mask;
        decode(&bytes);
        bytes[byte] ^= mask;
    }
}

fn replace_numbers(bytes: &[u8], messages: &[Sites], form: Form) {
    let mut bytes = bytes.to_vec();
    for site in messages.iter().flat_map(|message| &message.sites) {
        let number = site.get(&bytes);
        for lie in LIES.into_iter().chain(near(number)) {
            site.set(&mut bytes, lie);
            drop(decode(&bytes, form));
        }
        site.set(&mut bytes, number);
    }
}

fn replace_pairs(bytes: &[u8], messages: &[Sites], form: Form, name: &str) {
    let mut bytes = bytes.to_vec();
    let mut rng = Rng(name.len() as u64);
    for message in messages {
        let sites = &message.sites;
        for _ in 0..PAIRS.min(sites.len() * sites.len() * 8) {
            let pair = [sites[rng.below(sites.len())], sites[rng.below(sites.len())]];
            let numbers = pair.map(|site| site.get(&bytes));
            // The same lie twice is the most likely to fit together.
            let lies = numbers.map(|number| lie(&mut rng, number));
            let lies = if rng.below(3) == 0 { [lies[0]; 2] } else { lies };
            for (site, lie) in pair.iter().zip(lies) {
                site.set(&mut bytes, lie);
            }
            drop(decode(&bytes, form));
            for (site, number) in pair.iter().zip(numbers).rev() {
                site.set(&mut bytes, number);
            }
        }
    }
}

fn lie(rng: &mut Rng, number: i64) -> i64 {
    let near = near(number);
    let index = rng.below(LIES.len() + near.len());
    LIES.get(index).copied().unwrap_or_else(|| near[index - LIES.len()])
}

/// Numbers around the truth.
fn near(number: i64) -> [i64; 6] {
    [
        number.wrapping_add(1),
        number.wrapping_sub(1),
        number.wrapping_mul(2),
        number / 2,
        number.wrapping_add(8),
        number.wrapping_neg(),
    ]
}
