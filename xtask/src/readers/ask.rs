//! What a reader makes of the inputs, and what it is worth beside other writers' files.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use super::back::{self, Back};
use super::inputs::{Input, Truth, Way};
use super::programs::Program;
use super::talk::{Found, Talk};
use super::values;

/// What a cell of the table says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The values are equal; as what, if that is another type, or what else is not the same.
    Equal(Option<String>),
    /// The reader cannot, in its own words, and neither where another writer wrote the same.
    Cannot(String),
    /// It cannot be read, and must not be: the payload of an opaque column is gone.
    PayloadLost,
    /// The values differ, and so they do where another writer wrote the same.
    Wrong(String),
    /// It does better with what another writer wrote: the fault is ours.
    Fault(String),
}

/// What a reader did.
pub struct Asked {
    /// What it read, input by input.
    pub readings: Vec<Reading>,
    /// What it wrote of that.
    pub written: Vec<Written>,
}

/// What a reader found in an input.
pub enum Reading {
    /// What is there, as these types in its own words.
    Equal(Vec<String>),
    /// Nothing; its words.
    Cannot(String),
    /// Something else: the first difference.
    Differs(String),
}

/// What a reader wrote of an input.
pub struct Written {
    /// The input's number.
    pub input: usize,
    /// The way in which it was written.
    pub way: String,
    /// Where it lies.
    pub path: PathBuf,
    /// What became of the values.
    pub verdict: Verdict,
    /// What types it has now, if they are others.
    pub types: Option<String>,
}

/// Has a reader read every input and write it again into a folder.
pub fn ask(talk: &mut Talk, inputs: &[Input], folder: &Path) -> Result<Asked, Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let (mut readings, mut written) = (Vec::new(), Vec::new());
    // Of a row whose first input it does not read, nothing is worth writing.
    let mut is_read: HashMap<&str, bool> = HashMap::new();
    for (number, input) in inputs.iter().enumerate() {
        let found = talk.read(&input.path);
        let ways = found.as_ref().map_or_else(|_| Vec::new(), |found| found.ways.clone());
        let reading = judge(found, &input.truth);
        let is_equal = matches!(reading, Reading::Equal(_));
        if *is_read.entry(&input.row).or_insert(is_equal) && is_equal && input.way.is_written_again() {
            for way in ways {
                // No file can hold a dictionary that changes.
                let is_file = way == "file";
                if is_file && (input.way == Way::Replaced || !input.is_plain) {
                    continue;
                }
                let path = folder.join(input.rewritten(&way));
                written.push(write(talk, input, number, way, path)?);
            }
        }
        readings.push(reading);
    }
    Ok(Asked { readings, written })
}

/// Says of each input what the reader makes of it, after asking it about what others wrote:
/// arrow-rs, and pyarrow where the path is among `of_pyarrow`.
pub fn settle(
    program: &Program,
    talk: &mut Talk,
    inputs: &[Input],
    asked: &Asked,
    of_pyarrow: &HashSet<PathBuf>,
    pyarrow: &Path,
) -> Vec<Verdict> {
    // A reader with types of its own shows them in what it writes.
    let first_of = |row: &str| asked.written.iter().find(|written| inputs[written.input].row == row);
    let as_type = |row: &str, types: &[String]| match first_of(row).filter(|_| program.has_own_types) {
        Some(Written { verdict: Verdict::Cannot(_), .. }) => Some(format!("as {}", types.join(", "))),
        written => written.and_then(|written| written.types.clone()),
    };
    let mut verdicts = Vec::with_capacity(inputs.len());
    for (input, reading) in inputs.iter().zip(&asked.readings) {
        let words = match reading {
            Reading::Equal(types) => {
                verdicts.push(Verdict::Equal(as_type(&input.row, types)));
                continue;
            }
            Reading::Cannot(words) | Reading::Differs(words) => words.clone(),
        };
        let mut others = vec![("arrow-rs", input.reference.clone())];
        let of_pyarrow = Some(pyarrow.join(input.of_pyarrow())).filter(|path| of_pyarrow.contains(path));
        others.extend(of_pyarrow.filter(|_| input.is_plain).map(|path| ("pyarrow", path)));
        let (mut better, mut differs) = (None, false);
        for (writer, path) in others {
            match judge(talk.read(&path), &input.truth) {
                Reading::Equal(_) => better = Some(writer),
                Reading::Differs(_) => differs = true,
                Reading::Cannot(_) => {}
            }
        }
        verdicts.push(match (better, reading) {
            (Some(writer), _) => Verdict::Fault(format!("{words}; it reads what {writer} wrote")),
            (None, Reading::Cannot(_)) if words.starts_with("Unhandled") => Verdict::Fault(words),
            (None, Reading::Cannot(_)) => Verdict::Cannot(words),
            (None, _) if differs => Verdict::Wrong(words),
            (None, _) => Verdict::Fault(format!("{words}; it cannot read what others wrote")),
        });
    }
    verdicts
}

fn judge(found: Result<Found, String>, truth: &Truth) -> Reading {
    let found = match found {
        Ok(found) => found,
        Err(words) => return Reading::Cannot(words),
    };
    let names: Vec<&str> = found.names.iter().map(String::as_str).collect();
    match values::compare(truth, &names, found.rows, &found.values) {
        Ok(()) => Reading::Equal(found.types),
        Err(difference) => Reading::Differs(difference),
    }
}

fn write(
    talk: &mut Talk,
    input: &Input,
    number: usize,
    way: String,
    path: PathBuf,
) -> Result<Written, Box<dyn Error>> {
    let outcome = talk.write(&way, &path);
    if !talk.is_running() {
        // It brought its process down: the next way is asked of a new one.
        let _ = talk.read(&input.path);
    }
    let (verdict, types) = match outcome {
        Err(words) => (Verdict::Cannot(words), None),
        Ok(()) => match back::read(&path, way == "file", &input.truth)? {
            Back::Equal { types, lost } => {
                let lost = lost.map(|lost| format!("without {lost}"));
                (Verdict::Equal(types.clone().or(lost)), types)
            }
            Back::PayloadLost => (Verdict::PayloadLost, None),
            Back::Wrong(difference) => (Verdict::Wrong(difference), None),
            Back::Fault(difference) => (Verdict::Fault(difference), None),
        },
    };
    Ok(Written { input: number, way, path, verdict, types })
}
