//! `cargo xtask ratios`: what the codec costs beside arrow-ipc, measured in one run.
//!
//! The measuring itself is `benches/ratios.rs`, which has the data sets and the jobs.

mod measure;
mod page;
mod plot;

use std::process::ExitCode;

use clap::Args as Arguments;
use comfy_table::{Table, presets};

use crate::performance::{self, Part, machine, time};
use crate::{Outcome, process, table};
use measure::Row;

const PLOT: &str = "docs/performance.svg";

/// How far a ratio is from 1 where one side is measured against itself: what is nearer to it is no
/// difference.
const NOISE: f64 = 0.05;

/// What was promised: our time as a part of the peer's, by data sets and job.
const TARGETS: [(&[&str], &str, f64); 8] = [
    (FLOATS, "encode batches", 0.3),
    (FLOATS, "encode with schema", 0.6),
    (FLOATS, "decode batches", 0.5),
    (FLOATS, "decode frames", 0.8),
    (FLOATS, "decode stream", 0.8),
    (STRINGS, "decode batches", 0.6),
    (STRINGS, "decode frames", 0.6),
    (STRINGS, "decode stream", 0.6),
];

const FLOATS: &[&str] = &["10 × 1M f64", "100 × 10,000 f64", "10,000 × 100 f64"];
const STRINGS: &[&str] = &["5 × 1M utf8, ASCII", "5 × 1M utf8, a third not ASCII"];

/// Measure the codec beside arrow-ipc and print the ratio of each job
///
/// Takes about five minutes, most of them for valgrind, which counts instructions if it is
/// installed. Fails if a ratio of times is over its target.
#[derive(Arguments)]
pub struct Args {
    /// Write the table to docs/PERFORMANCE.md and plot it to docs/performance.svg
    #[arg(long)]
    write: bool,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let rows = measure::all()?;
    for (data, job) in TARGETS.iter().flat_map(|(data, job, _)| data.iter().map(move |data| (data, job))) {
        if !rows.iter().any(|row| row.data == *data && row.job == *job) {
            return Err(format!("no {job:?} of {data:?} was measured, which has a target").into());
        }
    }
    println!("{}", table(&rows));
    if args.write {
        let machine = machine::describe(machine::pinned("arrow-ipc")?)?;
        std::fs::write(process::root().join(PLOT), plot::svg(&rows, &machine))?;
        process::progress(&format!("wrote {PLOT}"));
        performance::write(Part::Codec, &page::markdown(&rows, &machine))?;
    }
    let missed = rows.iter().filter(|row| is_missed(row)).count();
    if missed > 0 {
        process::progress(&format!("{missed} ratios are over their target"));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// The ratio that a row was promised.
fn target(row: &Row) -> Option<f64> {
    let is_of = |(data, job, _): &&(&[&str], &str, f64)| data.contains(&row.data.as_str()) && row.job == *job;
    TARGETS.iter().find(is_of).map(|(_, _, target)| *target)
}

fn is_missed(row: &Row) -> bool {
    target(row).is_some_and(|target| row.ratio > target)
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["", "arrow-frames", "arrow-ipc", "", "ratio", "target", "instructions"]);
    for section in rows.chunk_by(|a, b| a.data == b.data) {
        table.add_row([&section[0].data, "", "", "", "", "", ""]);
        for row in section {
            table.add_row([
                format!("  {}", row.job),
                time(row.ours),
                time(row.theirs),
                row.peer.clone(),
                format!("{:.2}{}", row.ratio, if is_missed(row) { " MISSED" } else { "" }),
                target(row).map_or(String::new(), |target| format!("≤ {target}")),
                row.instructions.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            ]);
        }
    }
    table::align_right(&mut table, [1, 2, 4, 5, 6]);
    table
}
