//! Runs the benchmark, and valgrind around it.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use crate::process::{benchmark, progress};

/// A job of a data set, done by both sides.
pub struct Row {
    /// The data set.
    pub data: String,
    /// The job.
    pub job: String,
    /// The type of arrow-ipc that is the peer.
    pub peer: String,
    /// The median of our times, in nanoseconds.
    pub ours: f64,
    /// The median of the peer's.
    pub theirs: f64,
    /// The median of the ratios of neighbouring rounds.
    pub ratio: f64,
    /// The ratio of instructions, if they were counted.
    pub instructions: Option<f64>,
}

/// Measures everything.
pub fn all() -> Result<Vec<Row>, Box<dyn Error>> {
    progress("building the benchmark");
    let program = benchmark("ratios")?;
    let mut rows = times(&program)?;
    if Command::new("valgrind").arg("--version").output().is_ok() {
        progress("counting instructions with valgrind, two minutes or three");
        count(&program, &mut rows)?;
    } else {
        progress("no instructions are counted: valgrind is not installed");
    }
    Ok(rows)
}

fn times(program: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut benchmark = Command::new(program).arg("time").stdout(Stdio::piped()).spawn()?;
    let lines = BufReader::new(benchmark.stdout.take().ok_or("the benchmark has no output")?).lines();
    let mut rows: Vec<Row> = Vec::new();
    for line in lines {
        let line = line?;
        let [data, job, peer, ours, theirs, ratio] = line.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("the benchmark says {line:?}").into());
        };
        if rows.last().is_none_or(|row| row.data != data) {
            progress(&format!("measuring times, both sides in turn: {data}"));
        }
        let (ours, theirs, ratio) = (ours.parse()?, theirs.parse()?, ratio.parse()?);
        let [data, job, peer] = [data, job, peer].map(str::to_owned);
        rows.push(Row { data, job, peer, ours, theirs, ratio, instructions: None });
    }
    let status = benchmark.wait()?;
    if status.success() { Ok(rows) } else { Err(format!("the benchmark ended with {status}").into()) }
}

/// Counts the instructions of both sides, on all cores: other than time, they do not depend on
/// what else runs.
fn count(program: &Path, rows: &mut [Row]) -> Result<(), String> {
    let queue = Mutex::new(rows.iter_mut().filter(|row| is_counted(row)));
    let work = || -> Result<(), String> {
        loop {
            let row = queue.lock().map_err(|error| error.to_string())?.next();
            let Some(row) = row else { return Ok(()) };
            let ours = instructions(program, row, "arrow-frames")?;
            row.instructions = Some(ours / instructions(program, row, &row.peer)?);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}

/// Whether instructions say something of their own. Moving bytes takes time and few of them;
/// and where rows are validated, which valgrind takes long for, whole streams take what
/// batches take.
fn is_counted(row: &Row) -> bool {
    match row.peer.as_str() {
        "StreamEncoder" => true,
        "StreamDecoder" => row.data.ends_with("f64") || row.job.starts_with("decode batches"),
        _ => false,
    }
}

/// The instructions of one side, doing its job a few times.
fn instructions(program: &Path, row: &Row, side: &str) -> Result<f64, String> {
    let mut command = Command::new("valgrind");
    command.args([
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        "--toggle-collect=ratios::measured*",
    ]);
    command.arg(program).args(["repeat", &row.data, &row.job, side, "2"]);
    let run = command.output().map_err(|error| format!("valgrind cannot be started: {error}"))?;
    let log = String::from_utf8_lossy(&run.stderr);
    let collected =
        log.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, count)| count.trim());
    let collected = collected.and_then(|count| count.parse().ok()).filter(|count| *count > 0.0);
    collected.ok_or_else(|| format!("valgrind counted nothing:\n{log}"))
}
