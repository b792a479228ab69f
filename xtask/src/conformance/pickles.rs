//! The folder `pickle`: what pandas and this crate's forms are read as, and what is refused.
//!
//! `vectors` are the forms that this crate writes, with what pandas makes of each beside them;
//! `natural` are pandas' own pickles; `attacks` must be refused, in a process of their own.

mod cases;
mod mutations;
pub mod probe;
mod report;
mod truth;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayRef};
use arrow::buffer::Buffer;
use arrow_frames::ErrorKind;
use arrow_frames::pickle::{Pickle, PickleFault, allowed_names, disassemble};

pub use cases::Group;
use cases::{Case, Expected};
pub use report::{markdown, print};
use truth::Truth;

/// What came of a pickle.
pub struct Row {
    /// Its path in the folder.
    pub path: String,
    /// What it is there for.
    pub group: Group,
    /// The array's type, what it is called if it has none, or the error.
    pub outcome: Outcome,
    /// What is not as expected.
    pub faults: Vec<String>,
    /// How long it took, and how much memory, in a process of its own.
    pub millis: Option<u64>,
    pub kib: Option<u64>,
}

/// What a pickle was read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// An Arrow array of this type.
    Array(String),
    /// It parses, and has no array.
    Opaque(String),
    /// It does not parse, or may not be given to Python.
    Refused(String),
}

impl Row {
    /// Whether it is what was expected.
    pub fn is_right(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Reads every pickle of a folder.
pub fn run(dir: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let truth = Truth::load(&dir.join("expected-pandas-3.1.json"))?;
    let mut rows = Vec::new();
    for case in cases::cases(dir)? {
        rows.push(match case.expected {
            Expected::Refused => probe::run_apart(dir, &case)?,
            _ => read(dir, &case, &truth)?,
        });
    }
    Ok(rows)
}

/// A pickle and its out-of-band buffers, `NAME.buf0` and so on.
pub fn buffers(pickle: &Path) -> Result<Vec<Buffer>, Box<dyn Error>> {
    let mut buffers = vec![Buffer::from_vec(fs::read(pickle)?)];
    let name = pickle.to_string_lossy();
    let Some(stem) = name.strip_suffix(".oob.pkl").or_else(|| {
        // Those with `.ib` have their buffers in them.
        name.strip_suffix(".pkl").filter(|stem| !stem.ends_with(".ib") && !stem.ends_with(".ibro"))
    }) else {
        return Ok(buffers);
    };
    for number in 0.. {
        match PathBuf::from(format!("{stem}.buf{number}")) {
            buffer if buffer.exists() => buffers.push(Buffer::from_vec(fs::read(buffer)?)),
            _ => break,
        }
    }
    Ok(buffers)
}

fn read(dir: &Path, case: &Case, truth: &Truth) -> Result<Row, Box<dyn Error>> {
    let buffers = buffers(&dir.join(&case.path))?;
    let mut faults = Vec::new();
    let outcome = match Pickle::parse(&buffers) {
        Err(error) => Outcome::Refused(error.to_string()),
        Ok(pickle) => {
            if case.group == Group::Vector {
                faults.extend(not_for_python(&pickle, &buffers));
            }
            match pickle.to_array() {
                Ok(array) => {
                    faults.extend(look(dir, case, truth, &pickle, &array)?);
                    Outcome::Array(array.data_type().to_string())
                }
                Err(error) if has_no_array(&error) => Outcome::Opaque(pickle.describe()),
                Err(error) => Outcome::Refused(error.to_string()),
            }
        }
    };
    match (&case.expected, &outcome) {
        (Expected::Array(Some(expected)), Outcome::Array(found)) if *expected != *found => {
            faults.push(format!("{found}, not {expected}"))
        }
        (Expected::Array(_), Outcome::Array(_)) | (Expected::Opaque, Outcome::Opaque(_)) => {}
        (_, found) => faults.push(format!("{found:?}")),
    }
    if case.group == Group::Vector {
        faults.extend(mutations::panics(&buffers));
    }
    Ok(Row { path: case.path.clone(), group: case.group, outcome, faults, millis: None, kib: None })
}

/// What is wrong with what the check says: vectors of the names that this crate writes must pass
/// it, and those of other names must not.
fn not_for_python(pickle: &Pickle, buffers: &[Buffer]) -> Option<String> {
    let is_written = names(buffers.first()?).all(|(module, name)| {
        allowed_names().iter().any(|n| n.is_written && n.module == module && n.name == name)
    });
    match pickle.check() {
        Ok(()) if is_written => None,
        Ok(()) => Some("for Python, with names that are not written".to_owned()),
        Err(error) => match error.kind() {
            ErrorKind::Pickle { refused: PickleFault::Unchecked { .. }, .. } if !is_written => None,
            _ => Some(format!("not for Python: {error}")),
        },
    }
}

/// The names that a pickle without a memo refers to: they follow their two texts.
fn names(pickle: &[u8]) -> impl Iterator<Item = (String, String)> {
    let mut texts = [String::new(), String::new()];
    disassemble(pickle).map_while(Result::ok).filter_map(move |instruction| {
        if instruction.name.ends_with("BINUNICODE") {
            texts.swap(0, 1);
            texts[1] = String::from_utf8_lossy(instruction.argument).into_owned();
        }
        (instruction.name == "STACK_GLOBAL").then(|| (texts[0].clone(), texts[1].clone()))
    })
}

fn has_no_array(error: &arrow_frames::Error) -> bool {
    let ErrorKind::Pickle { refused, .. } = error.kind() else { return false };
    matches!(refused, PickleFault::NoArrowType { .. } | PickleFault::Mixed { .. })
}

/// What is wrong with an array: by itself, by what pandas says, or beside the same pickle with
/// its buffers inside.
fn look(
    dir: &Path,
    case: &Case,
    truth: &Truth,
    pickle: &Pickle,
    array: &ArrayRef,
) -> Result<Vec<String>, Box<dyn Error>> {
    let mut faults = Vec::new();
    if let Err(error) = array.to_data().validate_full() {
        faults.push(format!("invalid: {error}"));
    }
    match case.group {
        Group::Natural => {
            if let Some(stem) = case.path.strip_suffix(".oob.pkl") {
                let inside = Pickle::parse(&buffers(&dir.join(format!("{stem}.ib.pkl")))?)?.to_array()?;
                if inside.to_data() != array.to_data() {
                    faults.push("not the same with its buffers inside".to_owned());
                }
            }
        }
        _ => faults.extend(truth.compare(case, pickle, array).err()),
    }
    Ok(faults)
}
