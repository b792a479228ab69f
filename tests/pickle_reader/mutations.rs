//! Every truncation of a pickle, and every byte with other values in its place: an error or a
//! value, never a panic.

use arrow::array::Array;
use arrow::buffer::Buffer;
use arrow_frames::pickle::{Pickle, disassemble};

use crate::forms;

/// What a byte is replaced with, beside its neighbours: marks, ends, opcodes that take much.
const VALUES: [u8; 12] = [0x00, 0x01, 0x7f, 0x80, 0xff, b'.', b'(', b'R', b'e', 0x93, 0x94, 0x97];

/// Does all that there is to do with a pickle. What is read must be valid.
fn touch(buffers: &[Buffer]) {
    for instruction in disassemble(&buffers[0]) {
        let _ = instruction.map(|instruction| instruction.to_string());
    }
    let Ok(pickle) = Pickle::parse(buffers) else { return };
    let _ = pickle.check();
    assert!(!pickle.describe().is_empty());
    if let Ok(array) = pickle.to_array() {
        array.to_data().validate_full().unwrap();
        let _ = pickle.to_field("column", array.data_type());
        let again = pickle.to_array_of(array.data_type()).unwrap();
        assert_eq!(again.to_data(), array.to_data());
    }
}

#[test]
fn every_truncation() {
    for (_, form) in forms::all() {
        let buffers = form.pickle();
        for length in 0..buffers[0].len() {
            let mut cut = buffers.clone();
            cut[0] = buffers[0].slice_with_length(0, length);
            assert!(Pickle::parse(&cut).is_err());
            touch(&cut);
        }
        for index in 1..buffers.len() {
            for length in 0..buffers[index].len() {
                let mut cut = buffers.clone();
                cut[index] = buffers[index].slice_with_length(0, length);
                touch(&cut);
            }
        }
    }
}

#[test]
fn every_byte() {
    for (_, form) in forms::all() {
        let buffers = form.pickle();
        for index in 0..buffers.len() {
            for position in 0..buffers[index].len() {
                let byte = buffers[index][position];
                let neighbours = [byte.wrapping_add(1), byte.wrapping_sub(1), byte ^ 0x80, byte ^ 0x20];
                for value in VALUES.into_iter().chain(neighbours) {
                    let mut bytes = buffers[index].to_vec();
                    bytes[position] = value;
                    let mut changed = buffers.clone();
                    changed[index] = bytes.into();
                    touch(&changed);
                }
            }
        }
    }
}
