//! `cargo xtask python`: the Python package, built, installed and tested as its users have it.
//!
//! The wheel is built once, with the profile and the features of all that is built for tests, so that
//! arrow is compiled once. The tests never see the source tree: they import what the wheel installed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::process::{self, must, progress, root};
use crate::{Outcome, pandas, python};

/// What keeps the task from running.
type Error = Box<dyn std::error::Error>;

/// Where the table of what the versions of pandas load of each other is.
const DOCUMENT: &str = "docs/PYTHON.md";

/// pytest's exit code where there was no test to run.
const NO_TESTS: i32 = 5;

/// Build the Python package, and run its tests on each version of pandas
///
/// Builds the wheel with maturin, checks its types, installs it where there is no other
/// library, and into the environments of pandas 1.5.3, 2.2.3 and 3.1.1 and of
/// dask.distributed, and runs the tests of python/tests.
#[derive(clap::Args, Default)]
pub struct Args {
    /// Further arguments for pytest
    #[arg(last = true)]
    pytest: Vec<String>,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let tools = python::interpreter()?;
    let scratch = tempfile::tempdir()?;
    let wheel = wheel(&tools, "dev", scratch.path())?;
    types(&tools, &wheel)?;
    alone(&tools, &wheel, scratch.path())?;

    let service = tcp_service()?;
    let pytest = |interpreter: &Path, what: &[&str]| {
        let mut tests = python(interpreter);
        // hypothesis writes what it found into the folder that it is started in.
        tests.env("HYPOTHESIS_STORAGE_DIRECTORY", root().join("target/hypothesis"));
        tests.env("ARROW_FRAMES_TCP_SERVICE", &service);
        tests.args(["-m", "pytest", "--quiet", "--config-file", "python/pyproject.toml"]);
        tests.args(what).args(&args.pytest);
        let status = process::status(&mut tests)?;
        // Some tests that were asked for may not be in every folder.
        if status.success() || status.code() == Some(NO_TESTS) && !args.pytest.is_empty() {
            return Ok(());
        }
        Err(Error::from(format!("the Python tests ended with {status}")))
    };
    for version in pandas::VERSIONS {
        let interpreter = pandas::interpreter(version)?;
        install(&tools, &interpreter, &wheel)?;
        progress(&format!("the Python tests on pandas {version}"));
        pytest(&interpreter, &["python/tests", "--ignore", "python/tests/dask"])?;
    }
    versions(scratch.path())?;
    if args.pytest.is_empty() {
        progress("the examples in the package's documentation");
        let examples = ["--doctest-modules", "--pyargs", "arrow_frames", "--ignore-glob", "*/dask.py"];
        pytest(&pandas::last()?, &examples)?;
    }
    let interpreter = python::environment(".venv-dask", "python/tests/dask/requirements.txt", None)?;
    install(&tools, &interpreter, &wheel)?;
    progress("the Python tests on dask.distributed");
    // Workers import the tests' own modules by the names that they have here.
    pytest(&interpreter, &["--import-mode", "prepend", "python/tests/dask"])?;
    if args.pytest.is_empty() {
        pytest(&interpreter, &["--doctest-modules", "--pyargs", "arrow_frames.dask"])?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Has each version of pandas load what each has written, and fails if that is not what the
/// documentation says.
fn versions(folder: &Path) -> Result<(), Error> {
    progress("what each pandas loads of the others");
    let interpreters =
        pandas::VERSIONS.into_iter().map(pandas::interpreter).collect::<Result<Vec<_>, _>>()?;
    let mut script = python(&pandas::last()?);
    // It finds the samples beside it.
    script.env("PYTHONPATH", root().join("python/tests")).args(["python/tests/versions.py", "table"]);
    let table = String::from_utf8(process::output(script.arg(folder).args(interpreters))?)?;
    if fs::read_to_string(root().join(DOCUMENT))?.contains(&table) {
        return Ok(());
    }
    Err(format!("{DOCUMENT} has another table than this one, which was measured:\n{table}").into())
}

/// Builds the wheel with one of cargo's profiles.
pub fn wheel(tools: &Path, profile: &str, folder: &Path) -> Result<PathBuf, Error> {
    progress("building the wheel");
    let mut maturin = python(tools);
    maturin.args(["-m", "maturin", "build", "--profile", profile, "--locked"]);
    // It is for this machine only, so that it may need all that this machine has.
    maturin.args(["--auditwheel", "skip", "--manifest-path", "python/Cargo.toml", "--interpreter"]);
    must(maturin.arg(tools).arg("--out").arg(folder))?;
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let wheels = files.collect::<Result<Vec<_>, std::io::Error>>()?;
    let wheel = wheels.into_iter().find(|file| file.extension() == Some(OsStr::new("whl")));
    Ok(wheel.ok_or("maturin has built no wheel")?)
}

/// Checks the types: the stubs against the extension module, and the package.
fn types(tools: &Path, wheel: &Path) -> Result<(), Error> {
    install(tools, tools, wheel)?;
    progress("checking the types");
    must(python(tools).args(["-m", "mypy.stubtest", "arrow_frames._native"]))?;
    must(python(tools).args(["-m", "mypy", "--config-file", "python/pyproject.toml", "python/arrow_frames"]))
}

/// Has an interpreter without any library use the package.
fn alone(tools: &Path, wheel: &Path, folder: &Path) -> Result<(), Error> {
    progress("the package where there is no other library");
    let empty = folder.join("empty");
    must(python(tools).args(["-m", "venv", "--without-pip"]).arg(&empty))?;
    let interpreter = python::program(&empty);
    install(tools, &interpreter, wheel)?;
    must(python(&interpreter).arg("python/tests/without_libraries.py"))
}

/// Installs the wheel into an environment, with another's pip: not all have one.
pub fn install(tools: &Path, interpreter: &Path, wheel: &Path) -> Result<(), Error> {
    let mut pip = python(tools);
    pip.args(["-m", "pip", "--python"]).arg(interpreter);
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]);
    must(pip.arg("--force-reinstall").arg(wheel))
}

/// Builds the example that the README's section on Python talks to, as `cargo test` does.
fn tcp_service() -> Result<PathBuf, Error> {
    let members = ["build", "--workspace", "--exclude", "transport-bench", "--all-features"];
    let built = process::built(&[&members[..], &["--example", "tcp_service"]].concat())?;
    process::executable(&built, "tcp_service")
}

/// An interpreter at the root that finds nothing there: neither the folder nor the caller's paths.
pub fn python(interpreter: &Path) -> Command {
    let mut python = Command::new(interpreter);
    python.current_dir(root()).arg("-P").env_remove("PYTHONPATH");
    python
}
