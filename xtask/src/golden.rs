//! `cargo xtask golden`: writes testdata/golden, byte-identical each time.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::{Outcome, process};

#[path = "../../tests/golden/made.rs"]
pub mod made;
#[path = "../../tests/golden/object.rs"]
pub mod object;
#[path = "../../tests/golden/tensors.rs"]
pub mod tensors;

const FOLDER: &str = "testdata/golden";

/// Regenerate testdata/golden, which pins the wire format
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing, and fail if a file is not what would be written
    #[arg(long)]
    check: bool,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let folder = process::root().join(FOLDER);
    let files = files()?;
    if !args.check {
        fs::create_dir_all(&folder)?;
        for (name, bytes) in &files {
            fs::write(folder.join(name), bytes)?;
        }
    }
    let differing = differences(&folder, &files)?;
    for name in &differing {
        process::progress(&format!("{FOLDER}/{name} is not what would be written"));
    }
    if !differing.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    let bytes: usize = files.values().map(Vec::len).sum();
    let done = if args.check { "are up to date" } else { "written" };
    process::progress(&format!("{FOLDER}: {} files, {bytes} bytes {done}", files.len()));
    Ok(ExitCode::SUCCESS)
}

/// Every file by its name.
fn files() -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
    let mut files = BTreeMap::new();
    for golden in made::all() {
        files.insert(format!("{}.arrows", golden.name), golden.stream()?);
        if let Some(file) = golden.file()? {
            files.insert(format!("{}.arrow", golden.name), file);
        }
    }
    files.insert("object.arrows".to_owned(), object::stream()?);
    for golden in tensors::all()? {
        files.insert(format!("{}.arrows", golden.name), golden.stream()?);
    }
    Ok(files)
}

/// The files that differ, are missing, or should not be there.
fn differences(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<String>, Box<dyn Error>> {
    let differs =
        |(name, bytes): &(&String, &Vec<u8>)| fs::read(folder.join(name)).ok().as_ref() != Some(*bytes);
    let mut differing: Vec<String> = files.iter().filter(differs).map(|(name, _)| name.clone()).collect();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !files.contains_key(&name) {
            differing.push(name);
        }
    }
    Ok(differing)
}
