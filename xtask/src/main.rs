//! The repository's own tasks, run as `cargo xtask NAME` from anywhere inside it.
//!
//! Each task is one file: its arguments and a `run` that says how the process ends.

mod allowlist;
mod conformance;
mod corpus;
mod golden;
mod leaks;
mod pandas;
mod performance;
mod pickle;
mod process;
mod python;
mod python_benches;
mod python_package;
mod ratios;
mod readers;
mod table;
mod test;
mod testdata;
mod transport;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;

/// How a task ends: a command that ran and failed passes on its exit code, and
/// whatever kept a task from running is the error.
type Outcome = Result<ExitCode, Box<dyn Error>>;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The repository's own tasks")]
enum Task {
    Allowlist(allowlist::Args),
    Conformance(conformance::Args),
    Corpus(corpus::Args),
    Golden(golden::Args),
    Leaks(leaks::Args),
    Pandas(pandas::Args),
    Pickle(pickle::Args),
    #[command(hide = true)]
    Probe(conformance::probe::Args),
    #[command(hide = true)]
    ProbePickle(conformance::pickles::probe::Args),
    Python(python_package::Args),
    PythonBenches(python_benches::Args),
    Ratios(ratios::Args),
    Readers(readers::Args),
    Test(test::Args),
    Testdata(testdata::Args),
    Transport(transport::Args),
}

fn main() -> ExitCode {
    let outcome = match Task::parse() {
        Task::Allowlist(args) => allowlist::run(args),
        Task::Conformance(args) => conformance::run(args),
        Task::Corpus(args) => corpus::run(args),
        Task::Golden(args) => golden::run(args),
        Task::Leaks(args) => leaks::run(args),
        Task::Pandas(args) => pandas::run(args),
        Task::Pickle(args) => pickle::run(args),
        Task::Probe(args) => conformance::probe::run(args),
        Task::ProbePickle(args) => conformance::pickles::probe::run(args),
        Task::Python(args) => python_package::run(args),
        Task::PythonBenches(args) => python_benches::run(args),
        Task::Ratios(args) => ratios::run(args),
        Task::Readers(args) => readers::run(args),
        Task::Test(args) => test::run(args),
        Task::Testdata(args) => testdata::run(args),
        Task::Transport(args) => transport::run(args),
    };
    outcome.unwrap_or_else(|error| {
        process::progress(&format!("error: {error}"));
        ExitCode::FAILURE
    })
}
