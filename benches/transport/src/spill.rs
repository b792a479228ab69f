//! Spilling a dataframe of 1 GB and bringing it back: one way per process, with its peak of memory.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_frames::{DataFrame, spill};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;

use crate::{floats, since};

/// Rows of ten columns of doubles that are 1 GB.
pub const ROWS: usize = 12_500_000;

/// Writes a dataframe, drops it, and reads it: prints the nanoseconds and the rise of the memory's
/// peak of each.
pub fn run(side: &str, file: &str) {
    let path = Path::new(file);
    let batch = floats(10, ROWS);
    let write: fn(&Path, &RecordBatch) = match side {
        "arrow-ipc" => write_theirs,
        _ => write_ours,
    };
    let read: fn(&Path) -> Vec<RecordBatch> = match side {
        "arrow-ipc" => read_theirs,
        "map" => map_ours,
        _ => read_ours,
    };
    measured("write", || write(path, &batch));
    drop(batch);
    measured("read", || {
        assert_eq!(black_box(read(path)).iter().map(RecordBatch::num_rows).sum::<usize>(), ROWS)
    });
}

/// Does a job; prints what it is, its time, and by how many bytes the peak of memory rose.
pub fn measured(what: &str, job: impl FnOnce()) {
    let before = memory("VmRSS:");
    // Forgets the peak that was.
    let is_reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let start = Instant::now();
    job();
    let time = since(start);
    let rise = memory("VmHWM:").saturating_sub(before);
    let rise = if is_reset { rise.to_string() } else { "unknown".to_owned() };
    println!("{what}\t{time}\t{rise}");
}

/// A number of bytes that the system says of this process; 0 where it does not.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

fn write_ours(path: &Path, batch: &RecordBatch) {
    spill::write(path, &DataFrame::from(batch.clone())).expect("writes");
}

fn read_ours(path: &Path) -> Vec<RecordBatch> {
    spill::read(path).expect("reads").into_record_batches().expect("native columns")
}

fn map_ours(path: &Path) -> Vec<RecordBatch> {
    #[allow(unsafe_code)]
    // SAFETY: this process has just written the file, and nobody else knows of it.
    let df = unsafe { spill::map_trusted(path) };
    df.expect("maps").into_record_batches().expect("native columns")
}

fn write_theirs(path: &Path, batch: &RecordBatch) {
    let file = BufWriter::new(File::create(path).expect("a file"));
    let mut writer = FileWriter::try_new(file, batch.schema_ref()).expect("a schema");
    writer.write(batch).expect("writes");
    writer.finish().expect("ends");
}

fn read_theirs(path: &Path) -> Vec<RecordBatch> {
    let file = BufReader::new(File::open(path).expect("a file"));
    FileReader::try_new(file, None).expect("reads").collect::<Result<_, _>>().expect("decodes")
}
