//! `inspect` of a pickle: its opcodes, and what the restricted reader makes of them.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use arrow_buffer::Buffer;
use arrow_frames::pickle::{Instruction, Pickle, disassemble};
use arrow_schema::DataType;
use comfy_table::Cell;
use serde_json::{Value, json};

use crate::args::InspectArgs;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::text::{count, counted, number, one_line, table};

/// Opcodes that a person still reads.
const MOST_ROWS: usize = 1000;

/// Whether a name is one of a pickle.
pub fn is_pickle(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pkl" || extension == "pickle")
}

/// Inspects a pickle and the out-of-band buffers beside it (`NAME.buf0`, `NAME.buf1`, …).
pub fn run(args: &InspectArgs) -> Outcome {
    let path = args.file.as_path();
    let buffers = read(path).map_err(|error| Failure::of_file(path, error))?;
    let [pickle, beside @ ..] = buffers.as_slice() else { return Ok(()) };
    let understood = understand(&buffers);
    if args.json {
        output::print_json(&document(path, pickle, beside, &understood))?;
    } else {
        output::print(&report(path, pickle, beside, &understood))?;
    }
    match understood {
        Ok(_) => Ok(()),
        Err(problem) => Err(Failure::of_file(path, problem)),
    }
}

/// What a pickle holds.
struct Understood {
    description: String,
    data_type: DataType,
    length: usize,
}

fn understand(buffers: &[Buffer]) -> arrow_frames::Result<Understood> {
    let pickle = Pickle::parse(buffers)?;
    let array = pickle.to_array()?;
    Ok(Understood {
        description: pickle.describe(),
        data_type: array.data_type().clone(),
        length: array.len(),
    })
}

/// The pickle, and the buffers beside it as far as they are numbered without a gap.
fn read(path: &Path) -> io::Result<Vec<Buffer>> {
    let mut buffers = vec![Buffer::from_vec(fs::read(path)?)];
    loop {
        let beside = path.with_extension(format!("buf{}", buffers.len() - 1));
        match fs::read(beside) {
            Ok(bytes) => buffers.push(Buffer::from_vec(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(buffers),
            Err(error) => return Err(error),
        }
    }
}

/// For people.
fn report(
    path: &Path,
    pickle: &[u8],
    beside: &[Buffer],
    understood: &arrow_frames::Result<Understood>,
) -> String {
    let mut out = String::new();
    let bytes: usize = beside.iter().map(Buffer::len).sum();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{}: a pickle of {} bytes, {} beside it of {} bytes",
        one_line(&path.display().to_string()),
        count(pickle.len()),
        counted(beside.len(), "buffer", "buffers"),
        count(bytes),
    );
    let mut table = table(["at byte", "opcode", "argument"], &[0]);
    let mut rows = 0;
    for instruction in disassemble(pickle) {
        rows += 1;
        match instruction {
            Ok(instruction) if rows <= MOST_ROWS => {
                table.add_row([
                    number(count(instruction.position)),
                    Cell::new(instruction.name),
                    Cell::new(one_line(&argument(&instruction))),
                ]);
            }
            _ => {}
        }
    }
    if rows > MOST_ROWS {
        let more = format!("… {} more", count(rows - MOST_ROWS));
        table.add_row([Cell::new(more), Cell::new("--json has all"), Cell::new("")]);
    }
    let _ = writeln!(out, "{table}");
    let _ = match understood {
        Ok(Understood { description, data_type, length }) => {
            let data_type = one_line(&data_type.to_string());
            writeln!(out, "{}: an Arrow {data_type} of length {}", one_line(description), count(*length))
        }
        Err(problem) => writeln!(out, "refused: {}", one_line(&problem.to_string())),
    };
    out
}

/// For programs.
fn document(
    path: &Path,
    pickle: &[u8],
    beside: &[Buffer],
    understood: &arrow_frames::Result<Understood>,
) -> Value {
    let instruction = |instruction: Instruction<'_>| {
        json!({
            "position": instruction.position,
            "opcode": instruction.name,
            "argument": argument(&instruction),
        })
    };
    let instructions: Vec<_> = disassemble(pickle).map_while(Result::ok).map(instruction).collect();
    let mut document = json!({
        "file": path.display().to_string(),
        "bytes": pickle.len(),
        "buffers": beside.iter().map(Buffer::len).collect::<Vec<_>>(),
        "instructions": instructions,
    });
    match understood {
        Ok(Understood { description, data_type, length }) => {
            document["holds"] = json!(description);
            document["type"] = json!(data_type.to_string());
            document["length"] = json!(length);
        }
        Err(problem) => document["problem"] = json!(problem.to_string()),
    }
    document
}

/// What follows position and name in an instruction's line.
fn argument(instruction: &Instruction<'_>) -> String {
    let line = instruction.to_string();
    line.splitn(3, ' ').nth(2).unwrap_or_default().to_owned()
}
