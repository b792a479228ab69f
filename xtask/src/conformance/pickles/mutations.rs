//! Every truncation of a pickle, and every byte with others in its place: none may panic.

use std::panic::{self, AssertUnwindSafe};

use arrow::buffer::Buffer;
use arrow_frames::pickle::Pickle;

/// What a byte is replaced with, beside its complement.
const VALUES: [u8; 4] = [0x00, 0xff, b'.', b'('];

/// The first change that makes reading panic.
pub fn panics(buffers: &[Buffer]) -> Option<String> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let found = (0..buffers.len()).find_map(|index| panics_in(buffers, index));
    panic::set_hook(hook);
    found
}

fn panics_in(buffers: &[Buffer], index: usize) -> Option<String> {
    let mut changed = buffers.to_vec();
    for position in 0..buffers[index].len() {
        changed[index] = buffers[index].slice_with_length(0, position);
        if is_panic(&changed) {
            return Some(format!("panic when buffer {index} is cut at {position}"));
        }
        let byte = buffers[index][position];
        for value in VALUES.into_iter().chain([!byte]) {
            let mut bytes = buffers[index].to_vec();
            bytes[position] = value;
            changed[index] = Buffer::from_vec(bytes);
            if is_panic(&changed) {
                return Some(format!("panic when byte {position} of buffer {index} is {value:#04x}"));
            }
        }
    }
    None
}

fn is_panic(buffers: &[Buffer]) -> bool {
    let read = || {
        let Ok(pickle) = Pickle::parse(buffers) else { return };
        let _ = (pickle.check(), pickle.describe(), pickle.to_array());
    };
    panic::catch_unwind(AssertUnwindSafe(read)).is_err()
}
