//! `cargo xtask ratios`: what the codec costs beside arrow-ipc, measured in one run.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args as Arguments;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;

use crate::Outcome;
use crate::process::{cargo, must, output, progress, root};

/// Measure the codec beside arrow-ipc and print the ratio of each job
#[derive(Arguments)]
pub struct Args {
    /// Print the times of the last run instead of measuring them again
    #[arg(long)]
    last: bool,
}

/// Columns × rows of float64, as the benchmarks name them.
const SHAPES: [&str; 3] = ["10x1000000_f64", "100x10000_f64", "10000x100_f64"];

/// A job of `benches/jobs`: both sides do the same work in the same run.
struct Job {
    name: &'static str,
    ours: &'static str,
    peer: &'static str,
    /// Our time must be at most this part of the peer's, where that was promised.
    target: Option<f64>,
}

const JOBS: [Job; 5] = [
    Job { name: "encode_batch", ours: "arrow_frames", peer: "StreamEncoder", target: Some(0.3) },
    Job { name: "encode_one_shot", ours: "arrow_frames", peer: "StreamEncoder", target: Some(0.6) },
    Job { name: "decode_batch", ours: "arrow_frames", peer: "StreamDecoder", target: Some(0.5) },
    Job { name: "decode_self_contained", ours: "arrow_frames", peer: "StreamDecoder", target: Some(0.8) },
    Job { name: "decode_self_contained", ours: "arrow_frames_stream", peer: "StreamDecoder", target: None },
];

/// Ends with a failure if the ratio of times is over its target.
pub fn run(args: Args) -> Outcome {
    if !args.last {
        progress("measuring times; leave the machine alone for two minutes");
        let options = ["--warm-up-time", "0.5", "--measurement-time", "2", "--noplot"];
        must(cargo().args(["bench", "--package", "arrow-frames", "--bench", "codec", "--"]).args(options))?;
    }
    let counter = Counter::new()?;
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "job",
        "columns × rows",
        "arrow-frames",
        "arrow-ipc",
        "ratio of times",
        "target",
        "ratio of instructions",
        "",
    ]);
    let mut missed = 0;
    for job in &JOBS {
        for shape in SHAPES {
            let ours = median(job.name, shape, job.ours)?;
            let peer = median(job.name, shape, job.peer)?;
            let ratio = ours / peer;
            let is_missed = job.target.is_some_and(|target| ratio > target);
            missed += u32::from(is_missed);
            let name = match job.ours.strip_prefix("arrow_frames_") {
                Some(form) => format!("{} ({form})", job.name),
                None => job.name.to_owned(),
            };
            let instructions = counter.ratio(job, shape)?;
            table.add_row([
                name,
                shape.replace("_f64", " f64").replace('x', " × "),
                micros(ours),
                micros(peer),
                format!("{ratio:.2}"),
                job.target.map_or(String::new(), |target| format!("≤ {target}")),
                instructions.map_or("no valgrind".to_owned(), |ratio| format!("{ratio:.2}")),
                if is_missed { "MISSED" } else { "" }.to_owned(),
            ]);
        }
    }
    for column in 2..7 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    println!("{table}");
    if missed > 0 {
        progress(&format!("{missed} ratios are over their target"));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Counts instructions with valgrind, if it is installed.
struct Counter {
    program: Option<PathBuf>,
}

impl Counter {
    fn new() -> Result<Self, Box<dyn Error>> {
        if Command::new("valgrind").arg("--version").output().is_err() {
            return Ok(Counter { program: None });
        }
        progress("counting instructions with valgrind");
        let arguments = ["bench", "--package", "arrow-frames", "--bench", "instructions", "--no-run"];
        let messages = output(cargo().args(arguments).args(["--quiet", "--message-format", "json"]))?;
        let messages = String::from_utf8(messages)?;
        let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let program = messages.filter(|message| message["target"]["name"] == "instructions").last();
        let program = program.as_ref().and_then(|message| message["executable"].as_str()).map(PathBuf::from);
        Ok(Counter { program: Some(program.ok_or("cargo names no executable of `instructions`")?) })
    }

    fn ratio(&self, job: &Job, shape: &str) -> Result<Option<f64>, Box<dyn Error>> {
        let Some(program) = &self.program else { return Ok(None) };
        let ours = instructions(program, job.name, shape, job.ours)?;
        let peer = instructions(program, job.name, shape, job.peer)?;
        Ok(Some(ours / peer))
    }
}

/// Instructions of one more repetition of a job: what setting it up takes cancels out.
fn instructions(program: &Path, job: &str, shape: &str, side: &str) -> Result<f64, Box<dyn Error>> {
    // Many columns make few repetitions enough, and valgrind is slow.
    let (few, many) = if shape.starts_with("10000x") { (2, 6) } else { (10, 60) };
    let mut counts = [0.0; 2];
    for (count, times) in counts.iter_mut().zip([few, many]) {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
        let run = command.args([job, shape, side, &times.to_string()]).output()?;
        let log = String::from_utf8_lossy(&run.stderr);
        let collected = log.lines().find_map(|line| line.split_once("Collected : "));
        let (_, collected) = collected.ok_or_else(|| format!("valgrind counted nothing:\n{log}"))?;
        *count = collected.trim().parse()?;
    }
    Ok((counts[1] - counts[0]) / f64::from(many - few))
}

/// The median time of a benchmark in nanoseconds, from what criterion keeps.
fn median(group: &str, shape: &str, function: &str) -> Result<f64, Box<dyn Error>> {
    let place = root().join("target/criterion").join(format!("{group}_{shape}")).join(function);
    let path = place.join("new/estimates.json");
    let json: Value = serde_json::from_str(&read(&path)?)?;
    let median = json["median"]["point_estimate"].as_f64();
    median.ok_or_else(|| format!("{} has no median", path.display()).into())
}

fn read(path: &Path) -> Result<String, Box<dyn Error>> {
    let text = fs::read_to_string(path);
    text.map_err(|error| format!("{}: {error}; run without --last", path.display()).into())
}

fn micros(nanoseconds: f64) -> String {
    format!("{:.2} µs", nanoseconds / 1000.0)
}
