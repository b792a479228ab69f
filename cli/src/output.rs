//! Writing to stdout.

use std::io::{self, ErrorKind, Write};

use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// Prints text. A reader that has gone away wanted no more, which is no failure.
pub fn print(text: &str) -> Outcome {
    write_with(|stdout| stdout.write_all(text.as_bytes()))
}

/// Prints one JSON document.
pub fn print_json(document: &Value) -> Outcome {
    print(&format!("{document:#}\n"))
}

/// Lets a job write to stdout, with [`print`]'s view of a reader that has gone away.
pub fn write_with(job: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Outcome {
    let mut stdout = io::stdout().lock();
    let written = job(&mut stdout).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new("stdout", error)),
        _ => Ok(()),
    }
}
