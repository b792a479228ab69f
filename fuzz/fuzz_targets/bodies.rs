#![no_main]

use arrow_frames_fuzz::mutate::mutate_or;
use arrow_frames_fuzz::targets::Target;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|input: &[u8]| {
    Target::Bodies.run(input);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate_or(data, size, max_size, Target::Bodies, seed, fuzzer_mutate)
});
