//! The transports beside their peers, for `cargo xtask transport`.
//!
//! Every figure is taken in rounds in which all sides have their turn, so that whatever else the
//! machine does meets all alike. A line per side: the job, the side, the median time in
//! nanoseconds, and the median of its ratios to the job's first side, between tabs.
//!
//! `sockets [PART OF A NAME]...` measures receiving, sending and small messages over sockets.
//! `spill SIDE FILE` does one way of spilling in this process, and prints its times and peaks.
//! `memory send` and `memory receive` do so over a socket, with another process at its other end.

#[cfg(unix)]
mod flight;
#[cfg(unix)]
mod memory;
#[cfg(unix)]
mod receive;
#[cfg(unix)]
mod send;
#[cfg(unix)]
mod small;
#[cfg(unix)]
mod socket;
mod spill;

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};

/// A way to do a job, set up: each call does it once and returns the nanoseconds that count.
pub struct Side {
    /// What it is called.
    pub name: &'static str,
    /// Does it.
    pub run: Box<dyn FnMut() -> f64>,
}

impl Side {
    /// A side.
    pub fn new(name: &'static str, run: impl FnMut() -> f64 + 'static) -> Side {
        Side { name, run: Box::new(run) }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        #[cfg(unix)]
        ["sockets", only @ ..] => {
            let is_wanted = |job: &str| only.iter().all(|part| job.contains(part));
            for transport in [socket::Transport::Unix, socket::Transport::Tcp] {
                for (size, rows, rounds) in [("80 MB", 1_000_000, 25), ("1 GB", 12_500_000, 5)] {
                    let job = format!("receive {size}, {}", transport.name());
                    if is_wanted(&job) {
                        beside(&job, rounds, receive::sides(transport, &floats(10, rows)));
                    }
                    let job = format!("send {size}, {}", transport.name());
                    if is_wanted(&job) {
                        beside(&job, rounds, send::sides(transport, &floats(10, rows)));
                    }
                }
                let job = format!("100,000 messages of 10 × 100, {}", transport.name());
                if is_wanted(&job) {
                    beside(&job, 5, small::sides(transport, &floats(10, 100)));
                }
            }
        }
        ["spill", side, file] => spill::run(side, file),
        #[cfg(unix)]
        ["memory", side] => memory::run(side),
        #[cfg(unix)]
        ["memory-peer", side, address] => memory::peer(side, address),
        _ => eprintln!("nothing to do: this is for `cargo xtask transport`"),
    }
}

/// Gives every side its turn, round by round, and prints the medians.
#[cfg(unix)]
fn beside(job: &str, rounds: usize, mut sides: Vec<Side>) {
    // The first time takes memory that stays, and connects.
    for side in &mut sides {
        (side.run)();
    }
    let mut times = vec![Vec::with_capacity(rounds); sides.len()];
    for _ in 0..rounds {
        for (side, times) in sides.iter_mut().zip(&mut times) {
            times.push((side.run)());
        }
    }
    for (side, own) in sides.iter().zip(&times) {
        let ratios = own.iter().zip(&times[0]).map(|(own, first)| own / first).collect();
        println!("{job}\t{}\t{}\t{}", side.name, median(own.clone()), median(ratios));
    }
}

/// So many columns of doubles.
pub fn floats(columns: usize, rows: usize) -> RecordBatch {
    let column = |n: usize| {
        let values = (0..rows).map(|row| (row * (n + 1)) as f64 * 0.5).collect::<Vec<_>>();
        (format!("column_{n}"), Arc::new(Float64Array::from(values)) as ArrayRef)
    };
    RecordBatch::try_from_iter((0..columns).map(column)).expect("columns of one length")
}

/// The nanoseconds since then.
pub fn since(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64
}

#[cfg(unix)]
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
