//! `cargo xtask ratios`: what the codec costs beside arrow-ipc, measured in one run.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args as Arguments;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;

use crate::Outcome;
use crate::process::{cargo, output, progress};

/// Measure the codec beside arrow-ipc and print the ratio of each job
#[derive(Arguments)]
pub struct Args {}

/// What was promised: our time as a part of the peer's, by job.
const TARGETS: [(&str, f64); 4] =
    [("encode_batch", 0.3), ("encode_one_shot", 0.6), ("decode_batch", 0.5), ("decode_self_contained", 0.8)];

/// Ends with a failure if the ratio of times is over its target.
pub fn run(_: Args) -> Outcome {
    progress("building the benchmark");
    let program = build()?;
    progress("measuring times: both sides in turn, half a minute");
    let lines = String::from_utf8(output(Command::new(&program).arg("time"))?)?;
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    if has_valgrind {
        progress("counting instructions with valgrind, two minutes");
    }
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
    for line in lines.lines() {
        let [job, shape, side, ours, peer, ratio] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("the benchmark says {line:?}").into());
        };
        let (ours, peer, ratio): (f64, f64, f64) = (ours.parse()?, peer.parse()?, ratio.parse()?);
        // The other form of ours was promised nothing.
        let promised = TARGETS.into_iter().find(|(name, _)| *name == job && side == "arrow_frames");
        let is_missed = promised.is_some_and(|(_, target)| ratio > target);
        missed += u32::from(is_missed);
        let instructions = if has_valgrind {
            let peer = if job.starts_with("encode") { "StreamEncoder" } else { "StreamDecoder" };
            let ours = instructions(&program, job, shape, side)?;
            format!("{:.2}", ours / instructions(&program, job, shape, peer)?)
        } else {
            "no valgrind".to_owned()
        };
        table.add_row([
            job.to_owned() + side.strip_prefix("arrow_frames").unwrap_or(side),
            shape.replace("_f64", " f64").replace('x', " × "),
            micros(ours),
            micros(peer),
            format!("{ratio:.2}"),
            promised.map_or(String::new(), |(_, target)| format!("≤ {target}")),
            instructions,
            if is_missed { "MISSED" } else { "" }.to_owned(),
        ]);
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

/// Builds `benches/ratios.rs` and says where it is.
fn build() -> Result<PathBuf, Box<dyn Error>> {
    let arguments = ["bench", "--package", "arrow-frames", "--bench", "ratios", "--no-run"];
    let messages = output(cargo().args(arguments).args(["--quiet", "--message-format", "json"]))?;
    let messages = String::from_utf8(messages)?;
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let built = messages.rev().find(|message| message["target"]["name"] == "ratios");
    let program = built.as_ref().and_then(|message| message["executable"].as_str()).map(PathBuf::from);
    program.ok_or_else(|| "cargo names no executable of the benchmark".into())
}

/// Instructions of one more repetition of a job: what setting it up takes cancels out.
fn instructions(program: &Path, job: &str, shape: &str, side: &str) -> Result<f64, Box<dyn Error>> {
    // Many columns make few repetitions enough, and valgrind is slow.
    let (few, many) = if shape.starts_with("10000x") { (2, 6) } else { (10, 60) };
    let mut counts = [0.0; 2];
    for (count, times) in counts.iter_mut().zip([few, many]) {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
        let run = command.args(["repeat", job, shape, side, &times.to_string()]).output()?;
        let log = String::from_utf8_lossy(&run.stderr);
        let collected = log.lines().find_map(|line| line.split_once("Collected : "));
        let (_, collected) = collected.ok_or_else(|| format!("valgrind counted nothing:\n{log}"))?;
        *count = collected.trim().parse()?;
    }
    Ok((counts[1] - counts[0]) / f64::from(many - few))
}

fn micros(nanoseconds: f64) -> String {
    format!("{:.2} µs", nanoseconds / 1000.0)
}
