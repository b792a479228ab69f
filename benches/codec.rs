//! The time of each job of `jobs` beside its peer, by criterion: `cargo bench --bench codec`.
//! `cargo xtask ratios` prints their ratios.

mod jobs;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use jobs::{DATA, JOBS};

fn codec(c: &mut Criterion) {
    for data in DATA {
        let batches = (data.make)();
        for job in JOBS {
            let mut group = c.benchmark_group(format!("{}/{}", data.name, job.name));
            // There are many, and some take a tenth of a second.
            let (warm_up, measurement) = (Duration::from_millis(300), Duration::from_secs(1));
            group.sample_size(10).warm_up_time(warm_up).measurement_time(measurement);
            for (side, set_up) in [("arrow-frames", job.ours), (job.peer, job.theirs)] {
                // Set up only if it is asked for.
                let mut run = None;
                group.bench_function(side, |b| b.iter(run.get_or_insert_with(|| set_up(&batches))));
            }
            group.finish();
        }
    }
}

criterion_group!(benches, codec);
criterion_main!(benches);
