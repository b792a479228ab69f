//! `cargo xtask ratios`: what the codec costs beside arrow-ipc, measured in one run.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Args as Arguments;
use comfy_table::{CellAlignment, Table, presets};

use crate::Outcome;
use crate::process::{cargo, must, progress, root};

/// Measure the codec beside arrow-ipc and print the ratio of each job
#[derive(Arguments)]
pub struct Args {
    /// Print what the last run measured instead of measuring again
    #[arg(long)]
    last: bool,
}

/// Columns × rows of float64, as the benchmark names them.
const SHAPES: [&str; 3] = ["10x1000000_f64", "100x10000_f64", "10000x100_f64"];

/// A job of `benches/codec.rs`: both sides do the same work in the same run.
struct Job {
    group: &'static str,
    ours: &'static str,
    peer: &'static str,
    /// Our time must be at most this part of the peer's, where that was promised.
    target: Option<f64>,
}

const JOBS: [Job; 5] = [
    Job { group: "encode_batch", ours: "arrow_frames", peer: "StreamEncoder", target: Some(0.3) },
    Job { group: "encode_one_shot", ours: "arrow_frames", peer: "StreamEncoder", target: Some(0.6) },
    Job { group: "decode_batch", ours: "arrow_frames", peer: "StreamDecoder", target: Some(0.5) },
    Job { group: "decode_self_contained", ours: "arrow_frames", peer: "StreamDecoder", target: Some(0.8) },
    Job { group: "decode_self_contained", ours: "arrow_frames_stream", peer: "StreamDecoder", target: None },
];

/// Ends with a failure if a ratio is over its target.
pub fn run(args: Args) -> Outcome {
    if !args.last {
        progress("measuring; leave the machine alone for two minutes");
        let options = ["--warm-up-time", "0.5", "--measurement-time", "2", "--noplot"];
        must(cargo().args(["bench", "--package", "arrow-frames", "--bench", "codec", "--"]).args(options))?;
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["job", "columns × rows", "arrow-frames", "arrow-ipc", "ratio", "target", ""]);
    let mut missed = 0;
    for job in &JOBS {
        for shape in SHAPES {
            let ours = median(job.group, shape, job.ours)?;
            let peer = median(job.group, shape, job.peer)?;
            let ratio = ours / peer;
            let is_missed = job.target.is_some_and(|target| ratio > target);
            missed += u32::from(is_missed);
            let name = match job.ours.strip_prefix("arrow_frames_") {
                Some(form) => format!("{} ({form})", job.group),
                None => job.group.to_owned(),
            };
            table.add_row([
                name,
                shape.replace("_f64", " f64").replace('x', " × "),
                micros(ours),
                micros(peer),
                format!("{ratio:.2}"),
                job.target.map_or(String::new(), |target| format!("≤ {target}")),
                if is_missed { "MISSED" } else { "" }.to_owned(),
            ]);
        }
    }
    for column in 2..6 {
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

/// The median time of a benchmark in nanoseconds, from what criterion keeps.
fn median(group: &str, shape: &str, function: &str) -> Result<f64, Box<dyn Error>> {
    let place = root().join("target/criterion").join(format!("{group}_{shape}")).join(function);
    let path = place.join("new/estimates.json");
    let json: serde_json::Value = serde_json::from_str(&read(&path)?)?;
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
