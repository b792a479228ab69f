//! Asks each version of pandas, in an interpreter of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::Value;

use super::Error;
use super::case::VERSIONS;
use crate::{process, python};

/// The last Python that pandas 1.5 has a wheel for; the other versions have one too.
const OLDER: &str = "python3.11";

/// A version of pandas.
pub struct Pandas {
    pub version: &'static str,
    interpreter: PathBuf,
}

/// What a version of pandas made of all streams.
pub struct Seen {
    /// The versions of pandas, pyarrow and numpy.
    pub versions: String,
    pub streams: Vec<Value>,
}

/// Makes the environments that are not there yet.
pub fn environments() -> Result<Vec<Pandas>, Error> {
    let make = |version| Ok(Pandas { version, interpreter: interpreter(version)? });
    VERSIONS.into_iter().map(make).collect()
}

/// The interpreter that has that version.
pub fn interpreter(version: &str) -> Result<PathBuf, Error> {
    let requirements = format!("tests/python/requirements-pandas-{version}.txt");
    let base = (version < "3").then_some(OLDER);
    let interpreter = python::environment(&format!(".venv-pandas-{version}"), &requirements, base);
    Ok(interpreter.map_err(|error| match base {
        Some(base) => format!("{error}; pandas {version} needs {base}"),
        None => error.to_string(),
    })?)
}

/// Reads all streams with all versions.
pub fn check(pandas: &[Pandas], folder: &Path, streams: usize) -> Result<Vec<Seen>, Error> {
    let answers = at_once(pandas, |_| vec!["pandas_check.py".into(), folder.into()])?;
    let seen = answers.into_iter().zip(pandas).map(|(mut lines, pandas)| {
        if lines.len() != streams + 1 {
            return Err(format!(
                "pandas {} answered {} lines for {streams} streams",
                pandas.version,
                lines.len()
            )
            .into());
        }
        let versions = lines.remove(0);
        if versions["pandas"] != pandas.version {
            return Err(format!("{} is not pandas {}", versions["pandas"], pandas.version).into());
        }
        let name = |key: &str| format!("{key} {}", versions[key].as_str().unwrap_or_default());
        let versions = ["pandas", "pyarrow", "numpy"].map(name).join(", ");
        Ok(Seen { versions, streams: lines })
    });
    seen.collect()
}

/// Runs a script of `tests/python` with every version at once, and returns the lines of JSON
/// that each printed. The first argument is its name.
pub fn at_once(
    pandas: &[Pandas],
    arguments: impl Fn(usize) -> Vec<PathBuf>,
) -> Result<Vec<Vec<Value>>, Error> {
    let scripts = process::root().join("tests/python");
    let answers: Vec<Result<Vec<u8>, String>> = thread::scope(|scope| {
        let running = pandas.iter().enumerate().map(|(number, pandas)| {
            let mut command = Command::new(&pandas.interpreter);
            let mut arguments = arguments(number).into_iter();
            command.args(arguments.next().map(|script| scripts.join(script))).args(arguments);
            // What a thread returns is sent.
            scope.spawn(move || process::output(&mut command).map_err(|error| error.to_string()))
        });
        let running: Vec<_> = running.collect();
        let lost = |_| Err("a thread panicked".to_owned());
        running.into_iter().map(|thread| thread.join().unwrap_or_else(lost)).collect()
    });
    answers.into_iter().map(|answer| lines(&answer?)).collect()
}

/// Runs a script with the last version.
pub fn with_last(pandas: &[Pandas], arguments: &[PathBuf]) -> Result<Vec<Value>, Error> {
    let last = &pandas[pandas.len().saturating_sub(1)..];
    Ok(at_once(last, |_| arguments.to_vec())?.into_iter().flatten().collect())
}

fn lines(answer: &[u8]) -> Result<Vec<Value>, Error> {
    let lines = str::from_utf8(answer)?.lines();
    Ok(lines.map(serde_json::from_str).collect::<Result<_, _>>()?)
}
