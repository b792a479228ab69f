//! The fuzz targets on stable: over their corpus, and over what their mutator makes of it.
//!
//! `fuzz/README.md` says what each target asserts and how to run it for longer.

#[path = "../fuzz/src/bodies.rs"]
mod bodies;
#[path = "../fuzz/src/check.rs"]
mod check;
#[path = "../fuzz/src/choices.rs"]
mod choices;
#[path = "../fuzz/src/json.rs"]
mod json;
#[path = "malformed/memory.rs"]
mod memory;
#[path = "../fuzz/src/mutate.rs"]
mod mutate;
#[path = "../fuzz/src/notes.rs"]
mod notes;
#[path = "common/rng.rs"]
mod rng;
#[allow(dead_code)] // The other tests use more of it.
#[path = "common/same.rs"]
mod same;
#[path = "../fuzz/src/sites.rs"]
mod sites;
#[path = "../fuzz/src/split.rs"]
mod split;
#[path = "../fuzz/src/targets.rs"]
mod targets;
#[path = "../fuzz/src/tensor.rs"]
mod tensor;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rng::Rng;
use targets::Target;

/// Mutated inputs per target.
const ROUNDS: usize = 20_000;

/// The same of bodies, which are large.
const ROUNDS_OF_BODIES: usize = 8_000;

/// Bytes of an input, which is also what libFuzzer takes for a corpus of small files.
const MOST: usize = 4096;

/// A target holds an input in several forms at once, and decodes each within its limits.
const MEMORY: usize = 256 << 20;

/// No input of so few bytes takes longer, on any machine.
const TIME: Duration = Duration::from_secs(10);

#[test]
fn header_corpus() {
    replay(Target::Header);
}

#[test]
fn frames_corpus() {
    replay(Target::Frames);
}

#[test]
fn stream_corpus() {
    replay(Target::Stream);
}

#[test]
fn file_corpus() {
    replay(Target::File);
}

#[test]
fn tensor_corpus() {
    replay(Target::Tensor);
}

#[test]
fn bodies_corpus() {
    replay(Target::Bodies);
}

#[test]
fn notes_corpus() {
    replay(Target::Notes);
}

#[test]
fn mutated_headers() {
    mutated(Target::Header);
}

#[test]
fn mutated_frames() {
    mutated(Target::Frames);
}

#[test]
fn mutated_streams() {
    mutated(Target::Stream);
}

#[test]
fn mutated_files() {
    mutated(Target::File);
}

#[test]
fn mutated_tensors() {
    mutated(Target::Tensor);
}

#[test]
fn mutated_bodies() {
    mutated(Target::Bodies);
}

#[test]
fn mutated_notes() {
    mutated(Target::Notes);
}

/// What the mutator is for: flatbuffers that pass the verifier, and other numbers in them.
#[test]
fn mutations_keep_flatbuffers() {
    let mut rng = Rng(1);
    let corpus = corpus(Target::Stream);
    let (mut kept, mut changed) = (0, 0);
    for _ in 0..2_000 {
        let input = &corpus[rng.below(corpus.len())].1;
        let mut bytes = input.clone();
        if !mutate::mutate(&mut bytes, MOST, Target::Stream, &mut rng) {
            continue;
        }
        assert!(bytes.len() <= MOST.max(input.len()));
        changed += usize::from(bytes != *input);
        kept += usize::from(
            sites::of_stream(&bytes, 0).messages.len() >= sites::of_stream(input, 0).messages.len(),
        );
    }
    assert!(changed > 1_800 && kept > 1_200, "{changed} changed, {kept} of them still all flatbuffers");
}

/// Other notes, most of them still JSON in flatbuffers that are still sound.
#[test]
fn mutations_keep_json() {
    let mut rng = Rng(1);
    let corpus = corpus(Target::Notes);
    let texts = |bytes: &[u8]| -> Vec<Vec<u8>> {
        let found = sites::of_stream(bytes, 0).messages;
        found.iter().flat_map(|message| &message.texts).map(|text| bytes[text.clone()].to_vec()).collect()
    };
    let (mut changed, mut kept, mut resized) = (0, 0, 0);
    for _ in 0..2_000 {
        let input = &corpus[rng.below(corpus.len())].1;
        let before = texts(input);
        let mut bytes = input.clone();
        mutate::mutate(&mut bytes, MOST, Target::Notes, &mut rng);
        assert!(bytes.len() <= MOST.max(input.len()));
        let after = texts(&bytes);
        if after == before || after.len() != before.len() {
            continue;
        }
        changed += 1;
        kept += usize::from(after.iter().all(|text| !json::items(text).is_empty()));
        resized += usize::from(after.iter().zip(&before).any(|(after, before)| after.len() != before.len()));
    }
    assert!(
        changed > 1_000 && kept > changed / 2 && resized > changed / 2,
        "{changed} changed, {kept} still JSON, {resized} of another length"
    );
}

fn replay(target: Target) {
    for (path, input) in corpus(target) {
        let is_sound = run(target, &input, &|| path.display().to_string());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The frames of a header are made up, and so are bodies; everything else was written by some encoder.
        let is_made_up = matches!(target, Target::Header | Target::Bodies);
        if name.starts_with("seed-") && !is_made_up && is_enabled(&name) {
            assert!(is_sound, "{name} does not decode");
        }
    }
}

fn mutated(target: Target) {
    let corpus = corpus(target);
    let mut rng = Rng(target as u64);
    let mut sound = 0;
    let rounds = if target == Target::Bodies { ROUNDS_OF_BODIES } else { ROUNDS };
    for round in 0..rounds {
        let (path, input) = &corpus[rng.below(corpus.len())];
        let mut input = input.clone();
        if rng.below(8) == 0 {
            let other = &corpus[rng.below(corpus.len())].1;
            input = mutate::cross(&input, other, MOST, target, &mut rng).unwrap_or(input);
        }
        for _ in 0..=rng.below(3) {
            mutate::mutate(&mut input, MOST, target, &mut rng);
        }
        let context = || {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{round}", target.name()));
            let kept = fs::write(&kept, &input).map(|()| kept);
            format!("round {round}, from {}: {kept:?}", path.display())
        };
        sound += usize::from(run(target, &input, &context));
    }
    // Neither all refused nor all read: both sides of the checks are reached.
    assert!((rounds / 50..rounds * 9 / 10).contains(&sound), "{sound} of {rounds} inputs were sound");
}

/// Runs a target in little memory and time. If it panics, the context is printed.
fn run(target: Target, input: &[u8], context: &dyn Fn() -> String) -> bool {
    let started = Instant::now();
    let failing = Context(context);
    let (is_sound, memory) = memory::peak(|| target.run(input));
    let elapsed = started.elapsed();
    assert!(memory <= MEMORY, "{memory} bytes");
    assert!(elapsed <= TIME, "{elapsed:?}");
    std::mem::forget(failing);
    is_sound
}

/// Says which input it was when a check of it panics.
struct Context<'a>(&'a dyn Fn() -> String);

impl Drop for Context<'_> {
    fn drop(&mut self) {
        eprintln!("failing input: {}", self.0());
    }
}

/// The committed corpus of a target, in order.
fn corpus(target: Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target.name());
    let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    assert!(files.len() >= 20, "{} has {} files", folder.display(), files.len());
    files
}

/// Whether this build has the codec of a seed.
fn is_enabled(name: &str) -> bool {
    (cfg!(feature = "lz4") || !(name.ends_with("lz4") || name.ends_with("stored")))
        && (cfg!(feature = "zstd") || !name.ends_with("zstd"))
}
