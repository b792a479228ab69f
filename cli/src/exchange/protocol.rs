//! What the two processes say to each other beside the data.
//!
//! The sender writes one byte that names the [`Run`], then the run's stream. The receiver
//! writes lines of JSON: one when it has read the file, then two per run: [`Arrived`] at
//! once, so that the sender can stop its clock, and [`Verdict`] when it has compared.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use arrow_frames::CopyReport;
use serde_json::{Value, json};

/// What a run's stream is written and read with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// This crate.
    Frames,
    /// arrow-ipc.
    Peer,
}

/// The dataframe is rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Until the last byte was received, and from there to the dataframe. The peer does
    /// both at once.
    pub receive: Duration,
    pub decode: Duration,
}

/// The dataframe is compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What differs, if anything.
    pub difference: Option<String>,
    /// What decoding copied.
    pub copies: Vec<Copies>,
}

/// Bytes of a column that were copied for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copies {
    pub column: usize,
    pub reason: String,
    pub bytes: u64,
}

impl Run {
    /// The byte that starts it.
    pub fn byte(self) -> u8 {
        match self {
            Run::Frames => b'F',
            Run::Peer => b'P',
        }
    }

    pub fn of_byte(byte: u8) -> Option<Run> {
        [Run::Frames, Run::Peer].into_iter().find(|run| run.byte() == byte)
    }
}

impl Arrived {
    pub fn to_json(self) -> Value {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        json!({ "receive_ns": nanos(self.receive), "decode_ns": nanos(self.decode) })
    }

    pub fn of_json(json: &Value) -> Option<Arrived> {
        let nanos = |key| json.get(key).and_then(Value::as_u64).map(Duration::from_nanos);
        Some(Arrived { receive: nanos("receive_ns")?, decode: nanos("decode_ns")? })
    }
}

impl Verdict {
    pub fn to_json(&self) -> Value {
        let copies = self.copies.iter().map(Copies::to_json).collect::<Vec<_>>();
        json!({ "equal": self.difference.is_none(), "difference": self.difference, "copies": copies })
    }

    pub fn of_json(json: &Value) -> Option<Verdict> {
        let difference = json.get("difference")?.as_str().map(str::to_owned);
        // Two ways to say it: a reply that contradicts itself is none.
        if json.get("equal")?.as_bool()? != difference.is_none() {
            return None;
        }
        let copies = json.get("copies")?.as_array()?.iter().map(Copies::of_json);
        Some(Verdict { difference, copies: copies.collect::<Option<_>>()? })
    }
}

impl Copies {
    /// The entries of a report.
    pub fn of_report(report: &CopyReport) -> Vec<Copies> {
        let entry = |copied: arrow_frames::Copied| Copies {
            column: copied.column,
            reason: copied.reason.to_string(),
            bytes: copied.bytes,
        };
        report.iter().map(entry).collect()
    }

    pub fn to_json(&self) -> Value {
        json!({ "column": self.column, "reason": self.reason, "bytes": self.bytes })
    }

    fn of_json(json: &Value) -> Option<Copies> {
        Some(Copies {
            column: json.get("column")?.as_u64()?.try_into().ok()?,
            reason: json.get("reason")?.as_str()?.to_owned(),
            bytes: json.get("bytes")?.as_u64()?,
        })
    }
}

/// The first line: the receiver has read the file.
pub fn ready() -> Value {
    json!({ "ready": true })
}

/// The line in place of any other when the receiver cannot go on.
pub fn error(why: &str) -> Value {
    json!({ "error": why })
}

/// Writes one line.
pub fn write_line(mut to: impl Write, line: &Value) -> io::Result<()> {
    to.write_all(format!("{line}\n").as_bytes())
}

/// Reads one line; `Ok(None)` if the other side is gone.
pub fn read_line(from: &mut impl BufRead) -> io::Result<Option<Value>> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    if !line.ends_with('\n') {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back() {
        let arrived = Arrived { receive: Duration::from_nanos(7), decode: Duration::from_secs(9) };
        assert_eq!(Arrived::of_json(&arrived.to_json()), Some(arrived));
        let copies = vec![Copies { column: 3, reason: "dictionary".to_owned(), bytes: 40 }];
        for difference in [None, Some("column \"a\": 1 and 2 rows".to_owned())] {
            let verdict = Verdict { difference, copies: copies.clone() };
            assert_eq!(Verdict::of_json(&verdict.to_json()), Some(verdict));
        }
    }

    #[test]
    fn half_a_line_is_none() {
        assert!(read_line(&mut b"{\"ready\":tr".as_slice()).unwrap().is_none());
        assert!(read_line(&mut b"".as_slice()).unwrap().is_none());
        assert!(read_line(&mut b"what?\n".as_slice()).is_err());
    }
}
