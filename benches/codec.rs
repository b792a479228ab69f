//! The time of each job of `jobs` beside its peer, by criterion: `cargo bench --bench codec`.
//! `cargo xtask ratios` prints their ratios.

mod jobs;

use criterion::{Criterion, criterion_group, criterion_main};
use jobs::{DATA, JOBS};

fn codec(c: &mut Criterion) {
    for data in DATA {
        let batches = (data.make)();
        for job in JOBS {
            let mut group = c.benchmark_group(format!("{}/{}", data.name, job.name));
            // Some take a tenth of a second.
            group.sample_size(20);
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
