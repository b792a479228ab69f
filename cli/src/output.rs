//! Writing to stdout.

use std::io::{self, ErrorKind, Write};

use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::text;

/// Prints text, in which names and values may be whatever the data says.
pub fn print(text: &str) -> Outcome {
    print_bytes(text::for_terminal(text).as_bytes())
}

/// Prints one JSON document.
pub fn print_json(document: &Value) -> Outcome {
    print_bytes(text::json_for_terminal(&format!("{document:#}\n")).as_bytes())
}

/// Prints bytes. A reader that has gone away wanted no more, which is no failure.
pub fn print_bytes(bytes: &[u8]) -> Outcome {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new("stdout", error)),
        _ => Ok(()),
    }
}
