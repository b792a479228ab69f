//! The folder `dask`: blobs that dask.distributed packed, taken apart and packed again.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use arrow_buffer::Buffer;
use arrow_frames::{pack, unpack_partial, unpack_with_remainder};
use serde_json::Value;

/// What came of a blob.
pub struct Row {
    /// Its file.
    pub file: String,
    /// Its frames.
    pub frames: usize,
    /// What is not as it should be.
    pub faults: Vec<String>,
}

impl Row {
    /// Whether it is what was expected.
    pub fn is_right(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Bytes before the packed frames of a message: its length.
const MESSAGE_LENGTH: usize = 8;

/// Reads every blob that `vectors.json` lists: what spill files hold, and what sockets carry.
pub fn run(dir: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let index = fs::read_to_string(dir.join("vectors.json"))?;
    // Python writes a number that JSON does not have; nothing here looks at it.
    let is_no_number = |line: &&str| line.trim().trim_end_matches(',') == "NaN";
    let index: String = index
        .lines()
        .map(|line| if is_no_number(&line) { line.replace("NaN", "0") } else { line.to_owned() })
        .collect();
    let index: Value = serde_json::from_str(&index)?;
    let vectors = index["vectors"].as_object().ok_or("vectors.json has no vectors")?;
    let mut rows = Vec::new();
    for vector in vectors.values() {
        let files = &vector["files"];
        if let Some(file) = files["serialize_bytes"]["file"].as_str() {
            let blob = Buffer::from_vec(fs::read(dir.join(file))?);
            let mut row = taken_apart(file, &blob);
            let frames = unpack_with_remainder(blob.clone()).map(|(frames, _)| frames).unwrap_or_default();
            let layout = vector["serialize_bytes"]["frame_layout"].as_array();
            let layout = layout.ok_or("a vector without a layout")?;
            check_layout(&mut row, &blob, &frames, layout);
            // The first frame is distributed's header; the others are files of their own.
            for (index, frame) in frames.iter().skip(1).enumerate() {
                if let Some(file) = files[format!("frame{index}")]["file"].as_str()
                    && fs::read(dir.join(file))? != frame.as_slice()
                {
                    row.faults.push(format!("frame {index} is not {file}"));
                }
            }
            rows.push(row);
        }
        if let Some(file) = files["comm_wire"]["file"].as_str() {
            let message = Buffer::from_vec(fs::read(dir.join(file))?);
            rows.push(taken_apart(file, &message.slice(MESSAGE_LENGTH)));
        }
    }
    rows.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(rows)
}

/// Takes a blob apart, whole and cut, and packs it again.
fn taken_apart(file: &str, blob: &Buffer) -> Row {
    let mut row = Row { file: file.to_owned(), frames: 0, faults: Vec::new() };
    let (frames, rest) = match unpack_with_remainder(blob.clone()) {
        Ok(unpacked) => unpacked,
        Err(error) => {
            row.faults.push(error.to_string());
            return row;
        }
    };
    row.frames = frames.len();
    if !rest.is_empty() {
        row.faults.push(format!("{} bytes follow its frames", rest.len()));
    }
    if pack(&frames).segments().collect::<Vec<_>>().concat() != blob.as_slice() {
        row.faults.push("packed again it is another blob".to_owned());
    }
    let prelude = 8 * (frames.len() + 1);
    let mut end = prelude;
    let mut ends = vec![prelude];
    for frame in &frames {
        end += frame.len();
        ends.push(end);
    }
    for cut in 0..blob.len() {
        let partial = unpack_partial(blob.slice_with_length(0, cut));
        if partial.is_ok() != ends.contains(&cut) {
            row.faults.push(format!("cut at byte {cut}: {:?}", partial.err()));
            break;
        }
        if unpack_with_remainder(blob.slice_with_length(0, cut)).is_ok() {
            row.faults.push(format!("cut at byte {cut} it is taken for whole"));
            break;
        }
    }
    row
}

fn check_layout(row: &mut Row, blob: &Buffer, frames: &[Buffer], layout: &[Value]) {
    if layout.len() != frames.len() {
        row.faults.push(format!("{} frames, not {}", frames.len(), layout.len()));
    }
    for (index, (frame, expected)) in frames.iter().zip(layout).enumerate() {
        let offset = frame.as_ptr() as usize - blob.as_ptr() as usize;
        let found = (Some(offset as u64), Some(frame.len() as u64));
        if found != (expected["offset"].as_u64(), expected["nbytes"].as_u64()) {
            row.faults.push(format!("frame {index} lies at {offset} with {} bytes", frame.len()));
        }
    }
}

/// Prints what is not as expected, and the count.
pub fn print(rows: &[Row]) {
    for row in rows.iter().filter(|row| !row.is_right()) {
        println!("dask/{}: {}", row.file, row.faults.join("; "));
    }
    let right = rows.iter().filter(|row| row.is_right()).count();
    println!("{right} of {} packed blobs are as expected", rows.len());
}

/// The section of the document.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "\n## Packed frames\n\nThe folder `dask` has what dask.distributed wrote to spill files and to sockets. Each blob is\n\
         taken apart into the frames that lie where distributed's own index says, is packed again to the same\n\
         bytes, and is an error, or has missing frames, if it is cut at any byte.\n\n",
    );
    let right = rows.iter().filter(|row| row.is_right()).count();
    let frames: usize = rows.iter().map(|row| row.frames).sum();
    let _ = writeln!(text, "{} blobs of {frames} frames, {right} as expected.", rows.len());
    text
}
