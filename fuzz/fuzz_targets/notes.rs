#![no_main]

use arrow_frames_fuzz::mutate::{cross_into, mutate_or};
use arrow_frames_fuzz::targets::Target;
use libfuzzer_sys::{fuzz_crossover, fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|input: &[u8]| {
    Target::Notes.run(input);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate_or(data, size, max_size, Target::Notes, seed, fuzzer_mutate)
});

fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    cross_into(one, other, out, Target::Notes, seed)
});
