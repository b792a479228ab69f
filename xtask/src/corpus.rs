//! `cargo xtask corpus`: writes the seeds among fuzz/corpus, byte-identical each time.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::process::ExitCode;

use arrow_frames::{Frames, Layout};

use crate::golden::{made, tensors};
use crate::readers::inputs::common::Rng;
use crate::{Outcome, process};

mod special;

const FOLDER: &str = "fuzz/corpus";

/// The name of every seed begins with this; other files of the corpus were found by fuzzing.
const SEED: &str = "seed-";

/// Larger golden files are left out: libFuzzer makes inputs as large as the largest seed.
const MOST: usize = 4096;

/// Behind the end marker of a header: what its frames are filled with.
const FILL: [u8; 5] = [0, 1, 2, 0, 0];

/// Behind the end marker of a stream: how its frames lie, four bytes each. Here all that are
/// likely to be there are at odd addresses, and still hold the same.
const ELSEWHERE: [[u8; 4]; 6] =
    [[0, 0, 1, 0], [0, 1, 3, 0], [0, 2, 4, 0], [0, 3, 8, 0], [0, 4, 2, 0], [0, 5, 7, 0]];

/// Plans of bodies, and the bytes of each: any bytes are one, and more of them make larger ones.
const PLANS: u64 = 24;
const PLAN: usize = 160;

/// What a text of ours has in the metadata of messages, fields and schemas.
const OURS: &[u8] = b"arrow_frames";

/// Regenerate the seeds in fuzz/corpus
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing, and fail if a seed is not what would be written
    #[arg(long)]
    check: bool,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let root = process::root().join(FOLDER);
    let seeds = seeds()?;
    if !args.check {
        for (name, bytes) in &seeds {
            let path = root.join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, bytes)?;
        }
    }
    let is_same =
        |(name, bytes): &(&String, &Vec<u8>)| fs::read(root.join(name)).is_ok_and(|found| found == **bytes);
    let mut wrong: Vec<String> =
        seeds.iter().filter(|seed| !is_same(seed)).map(|(name, _)| name.clone()).collect();
    for folder in fs::read_dir(&root)? {
        let folder = folder?;
        for file in fs::read_dir(folder.path())? {
            let (folder, file) = (folder.file_name(), file?.file_name());
            let name = format!("{}/{}", folder.to_string_lossy(), file.to_string_lossy());
            if file.to_string_lossy().starts_with(SEED) && !seeds.contains_key(&name) {
                wrong.push(name);
            }
        }
    }
    wrong.iter().for_each(|name| process::progress(&format!("{FOLDER}/{name} is not what would be written")));
    if !wrong.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    let bytes: usize = seeds.values().map(Vec::len).sum();
    let done = if args.check { "are up to date" } else { "written" };
    process::progress(&format!("{FOLDER}: {} seeds, {bytes} bytes {done}", seeds.len()));
    Ok(ExitCode::SUCCESS)
}

/// Every seed by its target and name.
fn seeds() -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
    let mut streams = special::streams();
    let mut files = special::files();
    for golden in made::all() {
        let (stream, file) = (golden.stream()?, golden.file()?);
        if stream.len() <= MOST {
            streams.push((golden.name, stream));
            files.extend(file.map(|file| (golden.name, file)));
        }
    }
    let mut seeds = BTreeMap::new();
    for (name, stream) in streams {
        let mut header = header(&stream)?;
        header.extend_from_slice(&FILL);
        seeds.insert(format!("header/{SEED}{name}"), header);
        seeds.insert(format!("frames/{SEED}{name}"), [&stream, ELSEWHERE.as_flattened()].concat());
        if stream.windows(OURS.len()).any(|part| part == OURS) {
            seeds.insert(format!("notes/{SEED}{name}"), stream.clone());
        }
        seeds.insert(format!("stream/{SEED}{name}"), stream);
    }
    for golden in tensors::all()? {
        seeds.insert(format!("tensor/{SEED}{}", golden.name), golden.stream()?);
    }
    for (name, stream) in special::tensors()? {
        seeds.insert(format!("tensor/{SEED}{name}"), stream);
    }
    for (name, stream) in special::notes()? {
        seeds.insert(format!("notes/{SEED}{name}"), stream);
    }
    for plan in 0..PLANS {
        let mut rng = Rng(plan);
        let bytes = (0..PLAN).map(|_| rng.next() as u8).collect();
        seeds.insert(format!("bodies/{SEED}{plan:02}"), bytes);
    }
    for (name, file) in files {
        seeds.insert(format!("file/{SEED}{name}"), file);
    }
    Ok(seeds)
}

/// The messages of a stream without their bodies.
fn header(stream: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let layout = Layout::of_stream(stream);
    match layout.error {
        None => Ok(Frames::from_stream(stream)?.header().to_vec()),
        Some(error) => Err(error.into()),
    }
}
