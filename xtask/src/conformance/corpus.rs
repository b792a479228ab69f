//! The files of a folder, and the forms in which each is decoded.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use super::expected::{self, Expected};

/// Starts every Arrow IPC file.
const MAGIC: &[u8] = b"ARROW1";

/// What a file is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// It has the truth beside it, as JSON.
    Golden,
    /// It has no truth beside it.
    Other,
    /// It is malformed.
    Crasher,
}

/// How a file's bytes are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// As a stream that lies in one buffer.
    Stream,
    /// As a stream that is read message by message.
    Reader,
    /// As an IPC file.
    File,
    /// As the stream that begins behind a file's first magic.
    Inside,
}

/// A file in one form.
pub struct Case {
    /// Its path in the folder, with `/` between the parts.
    pub path: String,
    /// What it is there for.
    pub group: Group,
    /// How it is decoded.
    pub form: Form,
    /// What must come of it.
    pub expected: Expected,
}

impl Form {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Form::Stream => "stream",
            Form::Reader => "reader",
            Form::File => "file",
            Form::Inside => "inside",
        }
    }
}

/// Every case in a folder, by path.
pub fn cases(root: &Path) -> Result<Vec<Case>, Box<dyn Error>> {
    let mut files = Vec::new();
    walk(root, &mut files)?;
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let path = file.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        if path.ends_with(".json.gz") || path.ends_with(".txt") {
            continue;
        }
        let group = match path.split('/').next() {
            Some("golden") => Group::Golden,
            Some("crashers") => Group::Crasher,
            _ => Group::Other,
        };
        let is_file = fs::read(&file)?.starts_with(MAGIC);
        let forms: &[Form] = match (group, is_file) {
            // What a fuzzer found in one reader is tried on all of them.
            (Group::Crasher, true) => &[Form::File, Form::Inside],
            (Group::Crasher, false) => &[Form::Stream, Form::Reader, Form::File],
            (_, true) => &[Form::File],
            (_, false) => &[Form::Stream, Form::Reader],
        };
        for &form in forms {
            let expected = expected::of(&path, group);
            cases.push(Case { path: path.clone(), group, form, expected });
        }
    }
    Ok(cases)
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
