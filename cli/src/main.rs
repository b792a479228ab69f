//! The `arrow-frames` program: exchange dataframes and look inside Arrow IPC.
//!
//! One file per subcommand. What went wrong is one line on stderr: exit code 1 if it is the
//! data or the system, 2 if it is the command line.

mod args;
mod check;
mod completions;
mod convert;
mod dask;
mod exchange;
mod failure;
mod format;
mod guard;
mod input;
mod inspect;
mod output;
mod progress;
mod save;
mod text;
mod utc;
mod verify;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::{Failure, Outcome};

fn main() -> ExitCode {
    guard::silence_panics();
    let args = Args::parse();
    let outcome = guard::guarded(|| run(args.command))
        .unwrap_or_else(|panic| Err(Failure::new("internal error", panic)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Exchange(args) => exchange::run(&args),
        Command::ExchangeReceiver(args) => exchange::receive(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Completions { shell } => completions::completions(shell),
        Command::Man => completions::man(),
    }
}
