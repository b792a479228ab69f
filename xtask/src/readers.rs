//! `cargo xtask readers`: other Arrow libraries read what we write, and we read what they write.
//!
//! Each reader is a script in `tests/readers` that is asked about one file after another. Whether
//! it found the right values is decided on what arrow-rs has in memory before anything is
//! encoded; where a reader fails, it must also fail on the same values as arrow-rs and pyarrow
//! write them.

mod ask;
mod back;
pub mod inputs;
mod programs;
mod report;
mod talk;
mod truth;
mod values;

use std::collections::HashSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use crate::{Outcome, process};
use ask::{Asked, Verdict};
use inputs::Input;
use programs::{PYARROW, Program};
use report::{Table, Way};

const OUTPUT: &str = "docs/READERS.md";
const FLIGHTS: &str = "testdata/flights.parquet";

/// Have other Arrow libraries read what we write, and read what they write
///
/// Installs pyarrow 11, 17 and 26, polars, DuckDB, nanoarrow, arro3 and apache-arrow for
/// JavaScript (this needs Node.js 20 or later and npm), and writes the table of type × reader to
/// docs/READERS.md. Fails if values that a reader can read of another writer are not the same.
#[derive(clap::Args)]
pub struct Args {
    /// Write no docs/READERS.md, and fail if it is not what would be written
    #[arg(long)]
    check: bool,

    /// Ask only these, and write nothing: pyarrow-11, pyarrow-17, pyarrow-26, polars, duckdb,
    /// nanoarrow, arro3, arrow-js
    #[arg(long, conflicts_with = "check", value_name = "READER")]
    only: Vec<String>,

    /// Leave what was written in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let scratch = tempfile::tempdir()?;
    let folder = args.keep.as_deref().unwrap_or(scratch.path());
    let is_asked =
        |program: &&Program| args.only.is_empty() || args.only.iter().any(|name| name == program.name);
    let programs: Vec<&Program> = programs::ALL.iter().filter(is_asked).collect();

    fs::create_dir_all(folder.join("in"))?;
    let mut talks = Vec::with_capacity(programs.len());
    for program in &programs {
        let mut talk = program.talk(folder)?;
        let version = talk.version()?;
        talks.push((*program, version, Mutex::new(talk)));
    }
    let inputs = inputs::write(&folder.join("in"), &process::root().join(FLIGHTS))?;
    process::progress(&format!("asking {} readers about {} files", talks.len(), inputs.len()));

    let asked = each(&talks, |(program, _, talk)| {
        ask::ask(&mut lock(talk), &inputs, &folder.join(program.name)).map_err(|error| error.to_string())
    });
    let asked = asked.into_iter().collect::<Result<Vec<Asked>, _>>()?;
    let of_pyarrow = equal_files(&programs, &asked);
    let settled = each(&talks.iter().zip(&asked).collect::<Vec<_>>(), |((program, _, talk), asked)| {
        ask::settle(program, &mut lock(talk), &inputs, asked, &of_pyarrow, &folder.join(PYARROW))
    });

    let versions: Vec<String> = talks.iter().map(|(_, version, _)| version.clone()).collect();
    let (reading, writing) = tables(&versions, &inputs, &settled, &asked);
    let faults = summary(&reading) + summary(&writing);
    let text = document(&versions, &reading, &writing);
    finish(&args, &text, faults)
}

/// Does something for each of the items, as many at a time as there are processors.
fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some((number, item)) = lock(&next).next() else { break };
                    let result = work(item);
                    lock(&done).push((number, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A panic elsewhere ends the task anyway.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What pyarrow wrote of equal values.
fn equal_files(programs: &[&Program], asked: &[Asked]) -> HashSet<PathBuf> {
    let of_pyarrow = programs.iter().zip(asked).filter(|(program, _)| program.name == PYARROW);
    let written = of_pyarrow.flat_map(|(_, asked)| &asked.written);
    written.filter(|file| matches!(file.verdict, Verdict::Equal(_))).map(|file| file.path.clone()).collect()
}

fn tables(
    versions: &[String],
    inputs: &[Input],
    settled: &[Vec<Verdict>],
    asked: &[Asked],
) -> (Table, Table) {
    let table = || {
        let mut rows: Vec<String> = inputs.iter().map(|input| input.row.clone()).collect();
        rows.dedup();
        Table { readers: versions.to_vec(), rows, cells: Default::default() }
    };
    let (mut reading, mut writing) = (table(), table());
    for (reader, verdicts) in settled.iter().enumerate() {
        for (input, verdict) in inputs.iter().zip(verdicts) {
            let way = Way { input: input.way.name(), again: None };
            reading.add(&input.row, reader, way, verdict.clone());
        }
        for file in &asked[reader].written {
            let input = &inputs[file.input];
            let way = Way { input: input.way.name(), again: Some(file.way.clone()) };
            writing.add(&input.row, reader, way, file.verdict.clone());
        }
    }
    (reading, writing)
}

/// Prints what is our fault, and counts it.
fn summary(table: &Table) -> usize {
    let mut faults = 0;
    for ((row, reader), said) in &table.cells {
        for (way, verdict) in said {
            if let Verdict::Fault(what) = verdict {
                faults += 1;
                let (row, reader) = (&table.rows[*row], &table.readers[*reader]);
                println!("FAULT {row}, {reader}, {}: {what}", way.name());
            }
        }
    }
    faults
}

fn document(versions: &[String], reading: &Table, writing: &Table) -> String {
    format!(
        "{INTRODUCTION}\nAsked were {}.\n\n## They read what we write\n\n{READING}{}\n## We read what they write\n\n{WRITING}{}",
        versions.join(", "),
        reading.markdown(),
        writing.markdown(),
    )
}

fn finish(args: &Args, text: &str, faults: usize) -> Outcome {
    if faults > 0 {
        process::progress(&format!("{faults} faults of ours"));
        return Ok(ExitCode::FAILURE);
    }
    if !args.only.is_empty() {
        print!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let path = process::root().join(OUTPUT);
    if !args.check {
        fs::write(path, text)?;
        process::progress(&format!("wrote {OUTPUT}"));
        return Ok(ExitCode::SUCCESS);
    }
    match difference(&path, text)? {
        None => {
            process::progress(&format!("{OUTPUT} is up to date"));
            Ok(ExitCode::SUCCESS)
        }
        Some(lines) => {
            process::progress(&format!("{OUTPUT} differs from what would be written:\n{lines}"));
            Ok(ExitCode::FAILURE)
        }
    }
}

/// The lines of a file that are others in a text, and what they would be.
fn difference(path: &Path, text: &str) -> Result<Option<String>, Box<dyn Error>> {
    let committed = fs::read_to_string(path)?;
    if committed == text {
        return Ok(None);
    }
    let has = |text: &str, line: &str| text.lines().any(|other| other == line);
    let gone = committed.lines().filter(|line| !has(text, line)).map(|line| format!("- {line}\n"));
    let new = text.lines().filter(|line| !has(&committed, line)).map(|line| format!("+ {line}\n"));
    Ok(Some(gone.chain(new).collect()))
}

const INTRODUCTION: &str = "\
# Readers

What `cargo xtask readers` found: other Arrow libraries, as their users install them and with
nothing of ours in their processes, read what arrow-frames writes, write it again, and
arrow-frames reads that. `cargo xtask readers --check` fails if this page is not what it would
write; `--only READER` asks one, `--keep DIR` leaves the files.

Given to each reader were `testdata/flights.parquet` (60,000 rows, as a stream and as files:
plain, LZ4 and ZSTD), each type by itself, and dataframes of unusual shape. The types are those of
`tests/common/mod.rs`. Of each there are several inputs, and a cell says of which it is not true:

| input | what it is |
| --- | --- |
| stream | about a third of the values is null; four batches, which are slices: at the start, of no rows, of one row, at a row that is no multiple of 8 |
| file, lz4, zstd | the same as a file, and compressed |
| no nulls | a stream of one batch of a column that is not nullable |
| no rows | a stream of one batch without rows |
| replaced | a stream whose second batch has other dictionaries |

Values are compared, each exactly: numbers to the last bit and digit, but NaNs not by their payload.
What is true comes from the arrays in arrow-rs's memory before they are encoded; what was read
comes from each reader's own values, which the scripts in `tests/readers` print in one form.

| cell | meaning |
| --- | --- |
| equal | the values are equal, and so is the type |
| equal, as T | they are, in another type, which the reader has in place of the first |
| equal, without … | they are, but the reader dropped something that a field says |
| cannot (n) | the reader refuses, in the words of note n; it refuses the same values also as arrow-rs and, where it can, pyarrow 26 write them |
| wrong (n) | the reader finds other values (note n: expected as found), also in what those two write |
| refused: payload lost | the reader knows nothing of opaque columns; what it wrote has lost their payload, and is refused, not read as nulls |
| – | it was not read, so there is nothing to write |

If a reader could read what another writer wrote, but not what we did, the command would fail.
";
const READING: &str = "\
DuckDB reads through pyarrow, since its own extension for Arrow IPC is a download. For apache-arrow
JS the codecs `lz4js` and `fzstd` are registered. What arro3 read is looked at by pyarrow, or by
nanoarrow for the two intervals that pyarrow lacks, in the same memory.

";
const WRITING: &str = "\
Each reader wrote again what it had read, as a stream, a file, and compressed streams, where it
can. The notes on what is wrong say what arrow-frames finds in it; arrow-rs finds the same, or
refuses it. pyarrow 11 and 17 write wrongly a list whose offsets do not start at 0, as those of a
slice that arrow-frames sends without a copy, or their own of `ListArray.from_arrays([2, 4, 6], …)`.

";

#[cfg(test)]
mod tests {
    use super::*;

    /// Running the task takes a while; that it was run for every type is checked with the tests.
    #[test]
    fn the_page_has_a_row_for_every_input() {
        let page = fs::read_to_string(process::root().join(OUTPUT)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for input in inputs::write(folder.path(), &process::root().join(FLIGHTS)).unwrap() {
            let row = if input.row.contains(' ') { input.row } else { format!("`{}`", input.row) };
            assert_eq!(page.matches(&format!("\n| {row} |")).count(), 2, "{row}: run `cargo xtask readers`");
        }
    }
}
