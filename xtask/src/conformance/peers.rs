//! Other implementations, asked whether what was written again is the same data.

use std::error::Error;
use std::fs;
use std::io::{Cursor, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::{Command, Stdio};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};

use super::report::Row;

const SCRIPT: &str = "tests/python/compare.py";

/// What a peer says of what was written again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It was not asked.
    Unasked,
    /// It cannot read the original, so that it cannot tell.
    Unable,
    /// It is the same data.
    Same,
    /// It is not, or cannot be read.
    Differs(String),
}

/// What arrow-rs reads from the bytes of a stream or a file.
pub fn read_by_arrow(bytes: &[u8], is_file: bool) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
    let read = || -> Result<_, ArrowError> {
        if is_file {
            let reader = FileReader::try_new(Cursor::new(bytes), None)?;
            return Ok((reader.schema(), reader.collect::<Result<_, _>>()?));
        }
        let reader = StreamReader::try_new(bytes, None)?;
        Ok((reader.schema(), reader.collect::<Result<_, _>>()?))
    };
    match panic::catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(_) => Err("panicked".into()),
    }
}

/// Asks pyarrow about every row that was written again; its version, if there is one.
pub fn ask_pyarrow(root: &Path, corpus: &Path, rows: &mut [Row]) -> Result<Option<String>, Box<dyn Error>> {
    let python = root.join(if cfg!(windows) { ".venv/Scripts/python.exe" } else { ".venv/bin/python" });
    if !python.exists() {
        return Ok(None);
    }
    let mut child =
        Command::new(python).arg(root.join(SCRIPT)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut pairs = String::new();
    for (row, rewritten) in rows.iter().filter_map(|row| Some((row, row.rewritten.as_ref()?))) {
        pairs.push_str(&format!("{}\t{}\n", corpus.join(&row.path).display(), rewritten.display()));
    }
    let mut stdin = child.stdin.take().ok_or("no pipe to pyarrow")?;
    let writer = std::thread::spawn(move || stdin.write_all(pairs.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| "writing to pyarrow failed")??;
    if !output.status.success() {
        return Err(format!("{SCRIPT} ended with {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let mut lines = text.lines();
    let version = lines.next().unwrap_or_default().to_owned();
    for row in rows.iter_mut().filter(|row| row.rewritten.is_some()) {
        let line = lines.next().ok_or("pyarrow answered too little")?;
        row.pyarrow = match line.split_once('\t').unwrap_or((line, "")) {
            ("same", _) => Verdict::Same,
            ("unable", _) => Verdict::Unable,
            (_, why) => Verdict::Differs(why.to_owned()),
        };
    }
    Ok(Some(version))
}

/// What arrow-rs says of a file, and of a stream with what that held.
pub fn ask_arrow(
    original: &Path,
    is_file: bool,
    rewritten: &[u8],
    is_same: impl Fn(&SchemaRef, &[RecordBatch]) -> Result<(), String>,
) -> Result<Verdict, Box<dyn Error>> {
    if read_by_arrow(&fs::read(original)?, is_file).is_err() {
        return Ok(Verdict::Unable);
    }
    let compared = read_by_arrow(rewritten, false).and_then(|(schema, batches)| is_same(&schema, &batches));
    Ok(match compared {
        Ok(()) => Verdict::Same,
        Err(why) => Verdict::Differs(why),
    })
}
