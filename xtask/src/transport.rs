//! `cargo xtask transport`: sockets and spilling beside arrow-ipc, Arrow Flight, pyarrow, CPython and
//! the floor, measured in one run.
//!
//! The measuring itself is the program in `benches/transport`, and `benches/spill.py` for Python.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args as Arguments;
use comfy_table::{Table, presets};

use crate::performance::{machine, median, time};
use crate::process::{self, output, progress};
use crate::{Outcome, pandas, table};

const PAGE: &str = "docs/TRANSPORT.md";

/// What was promised: a side's time, as a part of another side's, by job.
const TARGETS: [(&str, &str, &str, f64); 13] = [
    ("receive 80 MB, Unix socket", FRESH, FLOOR_READ, 1.6),
    ("receive 80 MB, Unix socket", RECYCLED, FLOOR_READ, 1.15),
    ("receive 80 MB, Unix socket", FRESH, READER, 1.0 / 3.0),
    ("receive 80 MB, Unix socket", RECYCLED, READER, 1.0 / 4.0),
    ("receive 80 MB, TCP loopback", FRESH, "Arrow Flight do_get, tuned", 1.0 / 2.0),
    ("receive 80 MB, TCP loopback", RECYCLED, "Arrow Flight do_get, tuned", 1.0 / 2.0),
    ("send 80 MB, Unix socket", "arrow-frames", FLOOR_WRITE, 1.15),
    ("send 80 MB, TCP loopback", "arrow-frames", FLOOR_WRITE, 1.15),
    ("send 1 GB, Unix socket", "arrow-frames", FLOOR_WRITE, 1.15),
    ("100,000 messages of 10 × 100, Unix socket", SINK, SMALL_PEER, 1.0 / 1.3),
    ("100,000 messages of 10 × 100, Unix socket", SINK, LARGE_PEER, 1.0 / 1.3),
    ("100,000 messages of 10 × 100, TCP loopback", SINK, SMALL_PEER, 1.0 / 1.3),
    ("100,000 messages of 10 × 100, TCP loopback", SINK, LARGE_PEER, 1.0 / 1.3),
];

const FLOOR_READ: &str = "floor: read_exact into warm memory";
const FLOOR_WRITE: &str = "floor: write_all of prepared bytes";
const FRESH: &str = "arrow-frames, fresh memory";
const RECYCLED: &str = "arrow-frames, recycled memory";
const READER: &str = "arrow-ipc StreamReader";
const SINK: &str = "arrow-frames StreamSink, StreamSource";
const SMALL_PEER: &str = "arrow-ipc StreamWriter, StreamReader";
const LARGE_PEER: &str = "the same, buffers of 1 MiB";

/// Ways of spilling: what they are called, and the argument that names them.
const SPILLS: [(&str, &str); 5] = [
    ("arrow-frames", "arrow-frames"),
    ("arrow-frames, read by mapping", "map"),
    ("arrow-ipc FileWriter, FileReader", "arrow-ipc"),
    ("pyarrow Feather", "feather"),
    ("CPython pickle 5", "pickle"),
];

/// How many bytes the peak of memory may rise by: job, side, and the most.
const RISES: [(&str, &str, f64); 4] = [
    ("memory of sending 1 GB", "arrow-frames", 16.0 * MIB),
    ("memory of receiving 1 GB", "arrow-frames", 1e9 + 16.0 * MIB),
    ("spill 1 GB, write", "arrow-frames", 16.0 * MIB),
    ("spill 1 GB, read", "arrow-frames, read by mapping", 4.0 * MIB),
];

const MIB: f64 = 1024.0 * 1024.0;

/// Rounds of spilling, in which every way has its turn.
const ROUNDS: usize = 3;

/// Measure sockets and spilling beside their peers and print the times and ratios
///
/// Takes about five minutes and 2 GB of disk in target/. Fails if a ratio is over its target.
#[derive(Arguments)]
pub struct Args {
    /// Write the tables to docs/TRANSPORT.md
    #[arg(long)]
    write: bool,
}

/// A side of a job.
struct Row {
    job: String,
    side: String,
    /// The median of its times in nanoseconds.
    time: f64,
    /// The median of its ratios to the job's first side.
    ratio: f64,
    /// By how many bytes the peak of memory rose, where that was looked at.
    rise: Option<f64>,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    progress("building the benchmark");
    let built = process::built(&["build", "--release", "--package", "transport-bench"])?;
    let program = process::executable(&built, "transport-bench")?;
    let mut rows = sockets(&program)?;
    rows.extend(memory(&program)?);
    rows.extend(spills(&program)?);
    println!("{}", table(&rows));
    let mut missed: Vec<String> = TARGETS.iter().filter_map(|target| verdict(&rows, target)).collect();
    for (job, side, most) in RISES {
        let rise = find(&rows, job, side).and_then(|row| row.rise);
        if rise.is_none_or(|rise| rise > most) {
            missed.push(format!("{job}: {side} rises by {rise:?} bytes, not {most}"));
        }
    }
    if args.write {
        let page = include_str!("transport/page.md")
            .replace("{machine}", &machine::describe(peers()?)?.text())
            .replace("{tables}", &markdown(&rows))
            .replace("{targets}", &targets(&rows));
        fs::write(process::root().join(PAGE), page)?;
        progress(&format!("wrote {PAGE}"));
    }
    if missed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    missed.iter().for_each(|line| progress(&format!("missed: {line}")));
    Ok(ExitCode::FAILURE)
}

fn sockets(program: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    progress("measuring sockets, all sides in turn");
    let lines = String::from_utf8(output(Command::new(program).arg("sockets"))?)?;
    let row = |line: &str| {
        let [job, side, time, ratio] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("the benchmark says {line:?}").into());
        };
        let (job, side) = (job.to_owned(), side.to_owned());
        Ok(Row { job, side, time: time.parse()?, ratio: ratio.parse()?, rise: None })
    };
    lines.lines().map(row).collect()
}

/// Sending and receiving in processes of their own, for the peak of memory.
fn memory(program: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for (job, side, name) in [
        ("memory of sending 1 GB", "arrow-frames", "send"),
        ("memory of receiving 1 GB", "arrow-frames", "receive"),
        ("memory of receiving 1 GB", READER, "receive-theirs"),
    ] {
        progress(&format!("{job}, {side}"));
        let lines = String::from_utf8(output(Command::new(program).args(["memory", name]))?)?;
        let (time, rise) = figures(&lines, name)?;
        let first = rows.iter().find(|row: &&Row| row.job == job).map_or(time, |row| row.time);
        let (job, side) = (job.to_owned(), side.to_owned());
        rows.push(Row { job, side, time, ratio: time / first, rise: Some(rise) });
    }
    Ok(rows)
}

/// Every way of spilling in a process of its own, so that each has its own peak of memory.
fn spills(program: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let python = pandas::last()?;
    let script = process::root().join("benches/spill.py");
    // Beside the program: a folder for temporary files may lie in memory.
    let folder = tempfile::tempdir_in(program.parent().ok_or("a program in no folder")?)?;
    let file = folder.path().join("spilled");
    let mut measured = vec![vec![]; SPILLS.len()];
    for round in 1..=ROUNDS {
        progress(&format!("spilling 1 GB, round {round} of {ROUNDS}"));
        for ((_, side), measured) in SPILLS.iter().zip(&mut measured) {
            let mut command = match *side {
                "feather" | "pickle" => {
                    let mut command = Command::new(&python);
                    command.arg(&script);
                    command
                }
                _ => {
                    let mut command = Command::new(program);
                    command.arg("spill");
                    command
                }
            };
            measured.push(spill(command.arg(side).arg(&file))?);
            fs::remove_file(&file)?;
        }
    }
    let mut rows = Vec::new();
    for (place, job) in ["spill 1 GB, write", "spill 1 GB, read"].into_iter().enumerate() {
        for ((side, _), own) in SPILLS.iter().zip(&measured) {
            let of = |number: &dyn Fn(usize) -> f64| median((0..ROUNDS).map(number).collect());
            rows.push(Row {
                job: job.to_owned(),
                side: (*side).to_owned(),
                time: of(&|round| own[round][place].0),
                ratio: of(&|round| own[round][place].0 / measured[0][round][place].0),
                rise: Some(of(&|round| own[round][place].1)),
            });
        }
    }
    Ok(rows)
}

/// The time and the rise of memory of writing and of reading.
fn spill(command: &mut Command) -> Result<[(f64, f64); 2], Box<dyn Error>> {
    let lines = String::from_utf8(output(command)?)?;
    Ok([figures(&lines, "write")?, figures(&lines, "read")?])
}

/// The time and the rise of memory of a job among these lines.
fn figures(lines: &str, job: &str) -> Result<(f64, f64), Box<dyn Error>> {
    let line = lines.lines().find_map(|line| line.strip_prefix(job)?.strip_prefix('\t'));
    let (time, rise) = line.and_then(|line| line.split_once('\t')).ok_or("no figures of memory")?;
    Ok((time.parse()?, rise.parse()?))
}

/// The versions of the peers.
fn peers() -> Result<String, Box<dyn Error>> {
    let python = output(Command::new(pandas::last()?).args([
        "-c",
        "import platform, pyarrow; print(f'pyarrow {pyarrow.__version__}, CPython {platform.python_version()}')",
    ]))?;
    let python = String::from_utf8(python)?;
    let ours = ["arrow-ipc", "arrow-flight", "tonic"].map(machine::pinned);
    let ours = ours.into_iter().collect::<Result<Vec<_>, _>>()?.join(", ");
    Ok(format!("{ours}, {}", python.trim()))
}

/// A row of a job.
fn find<'r>(rows: &'r [Row], job: &str, side: &str) -> Option<&'r Row> {
    rows.iter().find(|row| row.job == job && row.side == side)
}

/// By how much a target was missed, if it was.
fn verdict(rows: &[Row], (job, side, other, most): &(&str, &str, &str, f64)) -> Option<String> {
    let (Some(own), Some(other_row)) = (find(rows, job, side), find(rows, job, other)) else {
        return Some(format!("{job}: {side} or {other} was not measured"));
    };
    // Both are medians of ratios to the same rounds of the same side.
    let ratio = own.ratio / other_row.ratio;
    (ratio > *most).then(|| format!("{job}: {side} is {ratio:.2} × {other}, not {most:.2}"))
}

fn targets(rows: &[Row]) -> String {
    let mut text = String::from("| job | side | beside | ratio | target |\n|---|---|---|---:|---:|\n");
    for target in &TARGETS {
        let (job, side, other, most) = target;
        if let (Some(own), Some(other_row)) = (find(rows, job, side), find(rows, job, other)) {
            let ratio = own.ratio / other_row.ratio;
            let missed = if ratio > *most { " (missed)" } else { "" };
            let _ = writeln!(text, "| {job} | {side} | {other} | **{ratio:.2}**{missed} | ≤ {most:.2} |");
        }
    }
    text.push_str("\n| job | side | memory rises by | target |\n|---|---|---:|---:|\n");
    for (job, side, most) in RISES {
        if let Some(rise) = find(rows, job, side).and_then(|row| row.rise) {
            let missed = if rise > most { " (missed)" } else { "" };
            let (rise, most) = (rise / MIB, most / MIB);
            let _ = writeln!(text, "| {job} | {side} | **{rise:.1} MiB**{missed} | ≤ {most:.0} MiB |");
        }
    }
    text.trim_end().to_owned()
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["", "time", "× the first", "memory rises by"]);
    for section in rows.chunk_by(|a, b| a.job == b.job) {
        table.add_row([&section[0].job, "", "", ""]);
        for row in section {
            table.add_row([
                format!("  {}", row.side),
                time(row.time),
                format!("{:.2}", row.ratio),
                rise(row),
            ]);
        }
    }
    table::align_right(&mut table, [1, 2, 3]);
    table
}

fn markdown(rows: &[Row]) -> String {
    let mut text = String::new();
    for section in rows.chunk_by(|a, b| a.job == b.job) {
        let with_memory = section.iter().any(|row| row.rise.is_some());
        let _ = write!(text, "### {}\n\n", section[0].job);
        text.push_str(if with_memory {
            "| side | time | × the first | memory rises by |\n|---|---:|---:|---:|\n"
        } else {
            "| side | time | × the first |\n|---|---:|---:|\n"
        });
        for row in section {
            let _ = write!(text, "| {} | {} | {:.2} |", row.side, time(row.time), row.ratio);
            if with_memory {
                let _ = write!(text, " {} |", rise(row));
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

fn rise(row: &Row) -> String {
    row.rise.map_or(String::new(), |bytes| format!("{:.1} MiB", bytes / MIB))
}
