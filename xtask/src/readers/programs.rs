//! The readers, and the environments that they are in.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::talk::Talk;
use crate::{process, python};

/// A reader.
pub struct Program {
    /// Its name, which `--only` takes.
    pub name: &'static str,
    /// Where its script lies in `tests/readers`.
    script: &'static str,
    environment: Environment,
    /// Whether it has types of its own, to which it converts what it reads.
    pub has_own_types: bool,
}

enum Environment {
    /// The one that the tests have.
    Tests,
    /// One of its own, for these requirements, from a Python of this name if there is one.
    Python { folder: &'static str, requirements: &'static str, base: Option<&'static str> },
    /// What npm installed.
    Node,
}

const SCRIPTS: &str = "tests/readers";

/// The last Python that pyarrow 11 has wheels for.
const OLD_PYTHON: Option<&str> = Some("python3.11");

const SHARED: Environment = Environment::Python {
    folder: ".venv-readers",
    requirements: "tests/readers/requirements.txt",
    base: None,
};

/// Every reader, in the table's order.
pub const ALL: [Program; 8] = [
    Program {
        name: "pyarrow-11",
        script: "read_pyarrow.py",
        environment: Environment::Python {
            folder: ".venv-pyarrow-11",
            requirements: "tests/readers/requirements-pyarrow-11.txt",
            base: OLD_PYTHON,
        },
        has_own_types: false,
    },
    Program {
        name: "pyarrow-17",
        script: "read_pyarrow.py",
        environment: Environment::Python {
            folder: ".venv-pyarrow-17",
            requirements: "tests/readers/requirements-pyarrow-17.txt",
            base: OLD_PYTHON,
        },
        has_own_types: false,
    },
    Program {
        name: PYARROW,
        script: "read_pyarrow.py",
        environment: Environment::Tests,
        has_own_types: false,
    },
    Program { name: "polars", script: "read_polars.py", environment: SHARED, has_own_types: true },
    Program { name: "duckdb", script: "read_duckdb.py", environment: SHARED, has_own_types: true },
    Program { name: "nanoarrow", script: "read_nanoarrow.py", environment: SHARED, has_own_types: false },
    Program { name: "arro3", script: "read_arro3.py", environment: SHARED, has_own_types: false },
    Program {
        name: "arrow-js",
        script: "js/read_arrow.mjs",
        environment: Environment::Node,
        has_own_types: false,
    },
];

/// The reader whose own files are held against what others cannot read of ours.
pub const PYARROW: &str = "pyarrow-26";

impl Program {
    /// A conversation with the reader, after installing it if need be.
    pub fn talk(&self, logs: &Path) -> Result<Talk, Box<dyn Error>> {
        let interpreter = match self.environment {
            Environment::Tests => python::interpreter()?,
            Environment::Python { folder, requirements, base } => {
                python::environment(folder, requirements, base)?
            }
            Environment::Node => node()?,
        };
        let script = process::root().join(SCRIPTS).join(self.script);
        let start = move || {
            let mut command = Command::new(&interpreter);
            // What a panic prints is for the log only; a backtrace takes far longer.
            command.arg(&script).env("RUST_BACKTRACE", "0").env("PYTHONUTF8", "1");
            // DuckDB has one time zone for all timestamps: the machine's. With one thread,
            // polars always tells the same one of several errors.
            command.env("TZ", "UTC").env("POLARS_MAX_THREADS", "1");
            command
        };
        Ok(Talk::new(start, logs.join(format!("{}.log", self.name))))
    }
}

/// Returns Node's program, after installing what `package-lock.json` lists.
fn node() -> Result<PathBuf, Box<dyn Error>> {
    let folder = process::root().join(SCRIPTS).join("js");
    let lock = fs::read_to_string(folder.join("package-lock.json"))?;
    // Written last, so that an installation that was interrupted starts over.
    let stamp = folder.join("node_modules").join("installed-package-lock.json");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok("node".into());
    }
    process::progress("installing what tests/readers/js/package-lock.json lists");
    let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    process::must(npm.current_dir(&folder))?;
    fs::write(stamp, lock)?;
    Ok("node".into())
}
