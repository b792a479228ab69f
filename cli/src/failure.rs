//! Why the program ends with exit code 1.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use crate::text;

/// How a subcommand ends.
pub type Outcome<T = ()> = Result<T, Failure>;

/// What failed and why: one line on stderr.
#[derive(Debug)]
pub struct Failure {
    what: String,
    why: String,
}

impl Failure {
    pub fn new(what: impl Display, why: impl Display) -> Self {
        Failure { what: what.to_string(), why: why.to_string() }
    }

    /// A failure of this file.
    pub fn of_file(path: &Path, why: impl Display) -> Self {
        Failure::new(path.display(), why)
    }

    /// Says it on stderr.
    pub fn report(&self) {
        // Names and reasons come from data, and foreign errors have several lines.
        let line = format!("arrow-frames: {}\n", self.line());
        // If stderr is closed, there is nobody to tell, and nothing better to do.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }

    /// The line without the program's name.
    pub fn line(&self) -> String {
        format!("{}: {}", text::one_line(&self.what), text::one_line(&self.why))
    }
}
