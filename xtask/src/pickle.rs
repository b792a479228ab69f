//! `cargo xtask pickle`: what pickled columns cost beside CPython, measured in one run.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use clap::Args as Arguments;
use comfy_table::{CellAlignment, Table, presets};

use crate::Outcome;
use crate::process::{output, progress};
use crate::{process, python};

/// Measure writing and reading pickles beside CPython and print the ratio of each job
///
/// Both sides have the same values; CPython's pickle has its buffers out-of-band. They
/// measure in turn, so that whatever else the machine does meets both alike.
#[derive(Arguments)]
pub struct Args {}

/// Rounds of each side.
const ROUNDS: usize = 15;

/// Columns of a million rows, and how many times as fast as CPython each must be written
/// and read; 0 where nothing was promised.
const KINDS: [(&str, &str, f64, f64); 4] = [
    ("unique", "1M unique strings, object", 20.0, 2.5),
    ("repeated", "1M strings, 1,000 distinct, object", 0.0, 0.0),
    ("categorical", "categorical, 1M rows, 1,000 categories", 0.0, 0.0),
    ("zoned", "1M datetimes with a zone", 0.0, 0.0),
];

/// The kinds that share their buffers: writing them takes as long for any number of rows.
const SHARED: [&str; 2] = ["categorical", "zoned"];

/// Ends with a failure if something is slower than promised.
pub fn run(_: Args) -> Outcome {
    let python = python::interpreter()?;
    progress("building the benchmark");
    let program = process::benchmark("pickle")?;
    let mut ours = Side::start(&mut Command::new(&program))?;
    let script = process::root().join("benches/pickle.py");
    let mut theirs = Side::start(Command::new(python).arg(script))?;

    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["column", "job", "arrow-frames", "CPython", "times as fast", "promised"]);
    let mut missed = 0;
    for (kind, name, write, read) in KINDS {
        for (action, promised) in [("write", write), ("read", read)] {
            progress(&format!("{action} {kind}: both sides in turn"));
            let mut rounds = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                rounds.push((ours.measure(action, kind)?, theirs.measure(action, kind)?));
            }
            let of = |number: fn(&(f64, f64)) -> f64| median(rounds.iter().map(number).collect());
            let (time, peer, faster) = (of(|r| r.0), of(|r| r.1), of(|r| r.1 / r.0));
            missed += u32::from(faster < promised);
            let promise = if promised > 0.0 { format!("≥ {promised}") } else { String::new() };
            table.add_row([
                name.to_owned(),
                action.to_owned(),
                millis(time),
                millis(peer),
                format!("{faster:.1}"),
                promise,
            ]);
        }
    }
    for column in 2..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    println!("{table}");

    for kind in SHARED {
        let mut times = Vec::new();
        for percent in ["1", "10", "100"] {
            let nanoseconds = (0..ROUNDS).map(|_| -> Result<f64, Box<dyn Error>> {
                Ok(String::from_utf8(output(Command::new(&program).args([kind, percent]))?)?
                    .trim()
                    .parse()?)
            });
            times.push(median(nanoseconds.collect::<Result<_, _>>()?));
        }
        let shown: Vec<String> = times.iter().map(|time| format!("{:.1} µs", time / 1e3)).collect();
        println!("writing {kind}, 10,000, 100,000 and 1,000,000 rows: {}", shown.join(", "));
    }
    if missed > 0 {
        progress(&format!("{missed} jobs are slower than promised"));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// A process that measures what it is asked to, one line at a time.
struct Side {
    child: Child,
    replies: BufReader<std::process::ChildStdout>,
}

impl Side {
    fn start(command: &mut Command) -> Result<Side, Box<dyn Error>> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let replies = BufReader::new(child.stdout.take().ok_or("it has no stdout")?);
        Ok(Side { child, replies })
    }

    /// Nanoseconds of doing it once.
    fn measure(&mut self, action: &str, kind: &str) -> Result<f64, Box<dyn Error>> {
        let stdin = self.child.stdin.as_mut().ok_or("it has no stdin")?;
        writeln!(stdin, "{action} {kind}")?;
        stdin.flush()?;
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        line.trim().parse().map_err(|_| format!("{action} {kind} was answered by {line:?}").into())
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // Without stdin it ends by itself.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn millis(nanoseconds: f64) -> String {
    format!("{:.3} ms", nanoseconds / 1e6)
}
