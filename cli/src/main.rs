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

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::{Failure, Outcome};

fn main() -> ExitCode {
    guard::silence_panics();
    let args = match Args::try_parse() {
        Ok(args) => args,
        // Its words may be names of files, which a shell has filled in.
        Err(error) if error.use_stderr() => {
            let _ = std::io::stderr().write_all(text::for_terminal(&error.to_string()).as_bytes());
            return ExitCode::from(2);
        }
        Err(help) => help.exit(),
    };
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
