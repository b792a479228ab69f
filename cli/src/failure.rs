//! Why the program ends with exit code 1, or 2.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::text;

/// How a subcommand ends.
pub type Outcome<T = ()> = Result<T, Failure>;

/// What failed and why: one line on stderr.
#[derive(Debug)]
pub struct Failure {
    what: String,
    why: String,
    code: u8,
}

impl Failure {
    pub fn new(what: impl Display, why: impl Display) -> Self {
        Failure { what: what.to_string(), why: why.to_string(), code: 1 }
    }

    /// A command line that cannot be followed.
    pub fn usage(what: impl Display, why: impl Display) -> Self {
        Failure { code: 2, ..Failure::new(what, why) }
    }

    /// A failure of this file.
    pub fn of_file(path: &Path, why: impl Display) -> Self {
        Failure::new(path.display(), why)
    }

    /// Says it on stderr.
    pub fn report(&self) -> ExitCode {
        // Names and reasons come from data, and foreign errors have several lines.
        let line = format!("arrow-frames: {}\n", self.line());
        // If stderr is closed, there is nobody to tell, and nothing better to do.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
        ExitCode::from(self.code)
    }

    /// The line without the program's name.
    pub fn line(&self) -> String {
        format!("{}: {}", text::one_line(&self.what), text::one_line(&self.why))
    }
}
