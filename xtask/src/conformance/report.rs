//! The table of what came of each file.

use super::corpus::{Case, Form};
use super::expected::Expected;

/// What came of a case.
pub struct Row {
    /// The file's path in the folder.
    pub path: String,
    /// How it was decoded.
    pub form: Form,
    /// What must come of it.
    pub expected: Expected,
    /// What was read: batches and rows; or the kind of the error.
    pub outcome: Result<String, String>,
    /// The error's text, or what is not equal.
    pub detail: String,
    /// What is wrong with it, apart from the outcome.
    pub faults: Vec<String>,
    /// Whether pyarrow read what was written again as the same data.
    pub pyarrow: Option<bool>,
}

impl Row {
    /// A case with this outcome.
    pub fn new(case: &Case, outcome: Result<String, String>, detail: String) -> Self {
        Row {
            path: case.path.clone(),
            form: case.form,
            expected: case.expected,
            outcome,
            detail,
            faults: Vec::new(),
            pyarrow: None,
        }
    }

    /// Whether it is what was expected.
    pub fn is_right(&self) -> bool {
        let is_expected = match (self.expected, &self.outcome) {
            (Expected::Truth | Expected::Data, Ok(_)) => true,
            (Expected::Refused(kind, _), Err(found)) => kind == found,
            (Expected::Malformed, Err(_)) => true,
            _ => false,
        };
        is_expected && self.faults.is_empty() && self.pyarrow != Some(false)
    }
}

pub fn markdown(_rows: &[Row], _pyarrow: Option<&str>) -> String {
    String::new()
}

pub fn print(rows: &[Row], _pyarrow: Option<&str>) {
    for row in rows {
        let outcome = match &row.outcome {
            Ok(read) => read.clone(),
            Err(kind) => format!("ERR {kind}"),
        };
        let mark = if row.is_right() { "ok  " } else { "MISS" };
        println!(
            "{mark} {} [{}] {outcome} | {} | {}",
            row.path,
            row.form.name(),
            row.detail,
            row.faults.join("; ")
        );
    }
}
