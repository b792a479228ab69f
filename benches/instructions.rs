//! Does one job of `jobs` so many times, to be counted by valgrind: times are noisy on a
//! shared machine, instructions are not.
//!
//! `instructions JOB SHAPE SIDE TIMES`. The difference between two runs of different
//! `TIMES` is what the job itself takes.

mod jobs;

use jobs::{JOBS, SHAPES, job, shape_name};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [name, shape, side, times] = arguments.as_slice() else {
        let names: Vec<_> =
            JOBS.iter().map(|(name, sides)| format!("{name} ({})", sides.join(", "))).collect();
        println!("instructions JOB SHAPE SIDE TIMES, where JOB is one of: {}", names.join("; "));
        return;
    };
    let shape = SHAPES.into_iter().find(|s| shape_name(*s) == *shape).expect("a shape of SHAPES");
    let mut job = job(name, shape, side);
    for _ in 0..times.parse::<u32>().expect("a number") {
        job();
    }
}
