//! Each job of `jobs` beside its peer, for `cargo xtask ratios`.
//!
//! `ratios time` measures both sides in turn, many short rounds each, so that whatever else
//! the machine does meets both alike; a line per job, shape and side has the median times
//! in nanoseconds and the median ratio. `ratios repeat JOB SHAPE SIDE TIMES` does one job
//! so many times, for valgrind to count: the difference between two runs of different
//! `TIMES` is what the job itself takes.

mod jobs;

use std::time::{Duration, Instant};

use jobs::{JOBS, SHAPES, job, shape_name};

/// How long a round of one side should take: long beside a clock's error, short beside the
/// disturbances of a machine.
const ROUND: Duration = Duration::from_millis(4);

/// Rounds of each side.
const ROUNDS: usize = 101;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["repeat", name, shape, side, times] => {
            let shape = SHAPES.into_iter().find(|s| shape_name(*s) == *shape).expect("a shape of SHAPES");
            let mut job = job(name, shape, side);
            for _ in 0..times.parse::<u32>().expect("a number") {
                job();
            }
        }
        ["time"] | [] => {
            for (name, sides) in JOBS {
                let (peer, ours) = sides.split_last().expect("the last side is the peer");
                for side in ours {
                    for shape in SHAPES {
                        let (ours, peer, ratio) = beside(job(name, shape, side), job(name, shape, peer));
                        println!("{name} {} {side} {ours} {peer} {ratio}", shape_name(shape));
                    }
                }
            }
        }
        _ => panic!("usage: ratios time | ratios repeat JOB SHAPE SIDE TIMES"),
    }
}

/// The median times of both jobs in nanoseconds, and the median of the rounds' ratios.
fn beside(mut ours: impl FnMut(), mut peer: impl FnMut()) -> (f64, f64, f64) {
    let (our_times, peer_times) = (repetitions(&mut ours), repetitions(&mut peer));
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        rounds.push((nanoseconds(&mut ours, our_times), nanoseconds(&mut peer, peer_times)));
    }
    let of = |number: fn(&(f64, f64)) -> f64| median(rounds.iter().map(number).collect());
    (of(|round| round.0), of(|round| round.1), of(|round| round.0 / round.1))
}

/// How often a job fits into a round; doing it so often warms it up.
fn repetitions(job: &mut impl FnMut()) -> u32 {
    let mut times = 1;
    while nanoseconds(job, times) * f64::from(times) < ROUND.as_nanos() as f64 {
        times *= 2;
    }
    times
}

/// The mean time of so many repetitions.
fn nanoseconds(job: &mut impl FnMut(), times: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        job();
    }
    start.elapsed().as_nanos() as f64 / f64::from(times)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
