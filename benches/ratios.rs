//! Each job of `jobs` beside its peer, for `cargo xtask ratios`. Other arguments than these, as
//! `cargo bench` passes them, do nothing:
//!
//! `ratios time [PART OF A NAME]...` measures both sides in turn, many short rounds each, so that
//! whatever else the machine does meets both alike. A line per data set and job, its parts
//! between tabs: the two, the peer, the median times in nanoseconds, and the median ratio.
//!
//! `ratios repeat DATA JOB SIDE TIMES` does one job so many times, for valgrind to count what
//! happens in [`measured`].

mod jobs;

use std::hint::black_box;
use std::time::{Duration, Instant};

use jobs::{DATA, JOBS, Job, Run};

/// How long a round of one side should take: long beside a clock's error, and so short that most
/// rounds pass before the scheduler lets others in, however many there are.
const ROUND: Duration = Duration::from_micros(500);

/// Rounds of each side, unless they take longer than `ENOUGH`; then at least `FEWEST`.
const ROUNDS: usize = 501;
const FEWEST: usize = 15;
const ENOUGH: Duration = Duration::from_secs(2);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["repeat", data, job, side, times] => {
            let data = DATA.into_iter().find(|known| known.name == *data).expect("a data set");
            let job = JOBS.into_iter().find(|known| known.name == *job).expect("a job");
            let set_up = if *side == job.peer { job.theirs } else { job.ours };
            let mut run = set_up(&(data.make)());
            // What the first time allocates stays.
            drop(run());
            measured(&mut run, times.parse().expect("a number"));
        }
        ["time", only @ ..] => {
            for data in DATA {
                let is_wanted =
                    |job: &Job| only.iter().all(|part| data.name.contains(part) || job.name.contains(part));
                if !JOBS.iter().any(is_wanted) {
                    continue;
                }
                let batches = (data.make)();
                for job in JOBS.into_iter().filter(is_wanted) {
                    let (ours, peer, ratio) = beside((job.ours)(&batches), (job.theirs)(&batches));
                    println!("{}\t{}\t{}\t{ours}\t{peer}\t{ratio}", data.name, job.name, job.peer);
                }
            }
        }
        _ => eprintln!("nothing to do: this is for `cargo xtask ratios`"),
    }
}

/// The median times of both sides in nanoseconds, and the median of the rounds' ratios.
fn beside(mut ours: Run, mut peer: Run) -> (f64, f64, f64) {
    assert!(ours() == peer(), "both sides decode the same");
    let (our_times, peer_times) = (repetitions(&mut ours), repetitions(&mut peer));
    let mut rounds = Vec::with_capacity(ROUNDS);
    let start = Instant::now();
    while rounds.len() < FEWEST || rounds.len() < ROUNDS && start.elapsed() < ENOUGH {
        rounds.push((nanoseconds(&mut ours, our_times), nanoseconds(&mut peer, peer_times)));
    }
    let of = |number: fn(&(f64, f64)) -> f64| median(rounds.iter().map(number).collect());
    (of(|round| round.0), of(|round| round.1), of(|round| round.0 / round.1))
}

/// How often a job fits into a round; doing it so often warms it up.
fn repetitions(run: &mut Run) -> u32 {
    let mut times = 1;
    while nanoseconds(run, times) * f64::from(times) < ROUND.as_nanos() as f64 {
        times *= 2;
    }
    times
}

/// The mean time of so many repetitions.
fn nanoseconds(run: &mut Run, times: u32) -> f64 {
    let start = Instant::now();
    measured(run, times);
    start.elapsed().as_nanos() as f64 / f64::from(times)
}

/// Does a job so many times. valgrind finds this function by its name.
#[inline(never)]
fn measured(run: &mut Run, times: u32) {
    for _ in 0..times {
        drop(black_box(run()));
    }
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
