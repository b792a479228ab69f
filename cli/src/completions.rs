//! Shell completions and the manual page, from the command line's own definition.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::failure::{Failure, Outcome};
use crate::output;

/// Prints the completions of a shell.
pub fn completions(shell: Shell) -> Outcome {
    let mut command = Args::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    output::print_bytes(&script)
}

/// Prints the manual page.
pub fn man() -> Outcome {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(Args::command()).render(&mut page);
    rendered.map_err(|error| Failure::new("the manual page", error))?;
    output::print_bytes(&page)
}
