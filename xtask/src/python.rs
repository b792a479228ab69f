//! Python environments: `.venv` at the root, which the interop tests talk to, and others like it.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process;

const REQUIREMENTS: &str = "tests/python/requirements.txt";

/// A copy of the requirements inside the environment. It is written last, so an
/// installation that was interrupted starts over.
const STAMP: &str = "installed-requirements.txt";

/// Returns the interpreter of the tests' environment, after making it if need be.
pub fn interpreter() -> Result<PathBuf, Box<dyn Error>> {
    environment(".venv", REQUIREMENTS, None)
}

/// Returns an environment's interpreter, after making the environment if it is missing, was
/// made for other requirements or no longer runs. `base` is the Python to make it from, if
/// there is one of that name.
pub fn environment(folder: &str, requirements: &str, base: Option<&str>) -> Result<PathBuf, Box<dyn Error>> {
    let root = process::root();
    let wanted =
        fs::read_to_string(root.join(requirements)).map_err(|error| format!("{requirements}: {error}"))?;
    let venv = root.join(folder);
    let stamp = venv.join(STAMP);
    let default = if cfg!(windows) { "python" } else { "python3" };
    let python = program(&venv);

    let installed = fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted);
    if installed && runs(&python) {
        return Ok(python);
    }

    process::progress(&format!("making {folder} for {requirements}"));
    let mut make = Command::new(base.filter(|base| runs(Path::new(base))).unwrap_or(default));
    make.args(["-m", "venv", "--clear"]).arg(&venv);
    process::must(&mut make)?;

    process::progress("installing the requirements");
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet"]);
    // A Python that has no wheel of these versions is better told so at once
    // than after an hour of compiling.
    pip.args(["--disable-pip-version-check", "--only-binary", ":all:"]);
    pip.arg("--requirement").arg(root.join(requirements));
    process::must(&mut pip)?;

    fs::write(&stamp, wanted)?;
    Ok(python)
}

/// The interpreter of an environment.
pub fn program(venv: &Path) -> PathBuf {
    venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// Whether the interpreter starts: it is a link to one that may have been removed.
fn runs(python: &Path) -> bool {
    let mut nothing = Command::new(python);
    nothing.args(["-c", ""]).stdout(Stdio::null()).stderr(Stdio::null());
    nothing.status().is_ok_and(|status| status.success())
}
