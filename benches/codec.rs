//! The time of encode and decode beside arrow-ipc, by criterion: `cargo bench --bench codec`.
//! `cargo xtask ratios` prints their ratios.

mod jobs;

use criterion::{Criterion, criterion_group, criterion_main};
use jobs::{JOBS, SHAPES, job, shape_name};

fn codec(c: &mut Criterion) {
    for (name, sides) in JOBS {
        for shape in SHAPES {
            let mut group = c.benchmark_group(format!("{name}/{}", shape_name(shape)));
            for side in sides {
                let mut job = job(name, shape, side);
                group.bench_function(*side, |b| b.iter(&mut job));
            }
            group.finish();
        }
    }
}

criterion_group!(benches, codec);
criterion_main!(benches);
