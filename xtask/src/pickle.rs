//! `cargo xtask pickle`: what pickled columns cost beside CPython, measured in one run.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use clap::Args as Arguments;
use comfy_table::{Table, presets};

use crate::performance::{self, Part, machine, median, time};
use crate::process::{self, output, progress};
use crate::{Outcome, pandas, table};

/// Measure writing and reading pickles beside CPython and print the ratio of each job
///
/// Both sides have the same values; CPython's pickle has its buffers out-of-band. They
/// measure in turn, so that whatever else the machine does meets both alike. Fails if
/// something is slower than promised.
#[derive(Arguments)]
pub struct Args {
    /// Write the table to docs/PERFORMANCE.md
    #[arg(long)]
    write: bool,
}

/// Rounds of each side.
const ROUNDS: usize = 15;

/// Columns of a million rows, and how many times as fast as CPython each must be written
/// and read; 0 where nothing was promised.
const KINDS: [(&str, &str, f64, f64); 5] = [
    ("unique", "unique strings of 20 bytes", 20.0, 2.5),
    ("long", "unique strings of 60 bytes", 0.0, 0.0),
    ("repeated", "strings, 1,000 distinct", 0.0, 0.0),
    ("categorical", "categorical of 1,000 categories", 0.0, 0.0),
    ("zoned", "datetimes with a zone", 0.0, 0.0),
];

/// The kinds that share their buffers: writing them takes as long for any number of rows.
const SHARED: [&str; 2] = ["categorical", "zoned"];

/// A column that was written or read by both sides.
struct Row {
    column: &'static str,
    job: &'static str,
    ours: f64,
    theirs: f64,
    /// The median of how many times as fast we are.
    faster: f64,
    promised: f64,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let python = pandas::last()?;
    progress("building the benchmark");
    let program = process::benchmark("pickle")?;
    let script = process::root().join("benches/cpython.py");
    let mut theirs = Side::start(Command::new(python).arg(script))?;
    let peer = theirs.line()?;
    let rows = measure(&mut Side::start(&mut Command::new(&program))?, &mut theirs)?;
    println!("{}", table(&rows));
    let shared = shared(&program)?;
    println!("{shared}");
    if args.write {
        let page = include_str!("pickle/page.md")
            .replace("{machine}", &machine::describe(peer)?.text())
            .replace("{table}", &markdown(&rows))
            .replace("{shared}", &shared);
        performance::write(Part::Pickles, &page)?;
    }
    let missed = rows.iter().filter(|row| row.is_missed()).count();
    if missed > 0 {
        progress(&format!("{missed} jobs are slower than promised"));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(ours: &mut Side, theirs: &mut Side) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for (kind, column, write, read) in KINDS {
        for (job, promised) in [("write", write), ("read", read)] {
            progress(&format!("{job} {kind}: both sides in turn"));
            let mut rounds = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                rounds.push((ours.measure(job, kind)?, theirs.measure(job, kind)?));
            }
            let of = |number: fn(&(f64, f64)) -> f64| median(rounds.iter().map(number).collect());
            let (time, peer, faster) = (of(|r| r.0), of(|r| r.1), of(|r| r.1 / r.0));
            rows.push(Row { column, job, ours: time, theirs: peer, faster, promised });
        }
    }
    Ok(rows)
}

impl Row {
    fn is_missed(&self) -> bool {
        self.faster < self.promised
    }

    fn cells(&self) -> [String; 6] {
        let missed = if self.is_missed() { " (missed)" } else { "" };
        [
            self.column.to_owned(),
            self.job.to_owned(),
            time(self.ours),
            time(self.theirs),
            format!("{:.1}{missed}", self.faster),
            if self.promised > 0.0 { format!("≥ {}", self.promised) } else { String::new() },
        ]
    }
}

const HEADER: [&str; 6] = ["column", "job", "arrow-frames", "CPython", "times as fast", "target"];

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(HEADER);
    table.add_rows(rows.iter().map(Row::cells));
    table::align_right(&mut table, 2..6);
    table
}

fn markdown(rows: &[Row]) -> String {
    let mut text = format!("| {} |\n|---|---|---:|---:|---:|---:|", HEADER.join(" | "));
    for row in rows {
        let [column, job, ours, theirs, faster, target] = row.cells();
        let _ = write!(text, "\n| {column} | {job} | {ours} | {theirs} | **{faster}** | {target} |");
    }
    text
}

/// A line for each kind that shares its buffers: how long writing takes by the number of rows.
fn shared(program: &Path) -> Result<String, Box<dyn Error>> {
    let mut lines = Vec::new();
    for kind in SHARED {
        let mut times = Vec::new();
        for percent in ["1", "10", "100"] {
            let nanoseconds = (0..ROUNDS).map(|_| -> Result<f64, Box<dyn Error>> {
                Ok(String::from_utf8(output(Command::new(program).args([kind, percent]))?)?.trim().parse()?)
            });
            times.push(time(median(nanoseconds.collect::<Result<_, _>>()?)));
        }
        lines.push(format!("- {kind}: {}", times.join(", ")));
    }
    Ok(lines.join("\n"))
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
        let line = self.line()?;
        line.parse().map_err(|_| format!("{action} {kind} was answered by {line:?}").into())
    }

    fn line(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // Without stdin it ends by itself.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
