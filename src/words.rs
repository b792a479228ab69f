//! Bytes in the allocation of a `Vec` of wider elements, so that arrow can change the array in
//! place: its builders take no other allocation.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

use arrow_buffer::Buffer;
use zerocopy::IntoBytes;

use crate::error::{ErrorKind, Result};

/// Bytes that are zeroed ahead of those that arrive: few enough to stay in the cache until
/// they are overwritten, enough for one read.
const STEP: usize = 256 << 10;

/// A `Vec` of elements of some width, filled byte by byte from its start.
#[derive(Debug)]
pub(crate) struct Words {
    vec: WordVec,
    /// Bytes that it will have.
    length: usize,
}

#[derive(Debug)]
enum WordVec {
    W1(Vec<u8>),
    W2(Vec<u16>),
    W4(Vec<u32>),
    W8(Vec<u64>),
    W16(Vec<u128>),
}

/// Runs an expression with `$vec` bound to the vector, whatever its type.
macro_rules! each {
    ($words:expr, $vec:ident => $body:expr) => {
        match $words {
            WordVec::W1($vec) => $body,
            WordVec::W2($vec) => $body,
            WordVec::W4($vec) => $body,
            WordVec::W8($vec) => $body,
            WordVec::W16($vec) => $body,
        }
    };
}

impl Words {
    /// Whether elements have this width in bytes.
    pub(crate) fn has_width(width: u8) -> bool {
        matches!(width, 1 | 2 | 4 | 8 | 16 | 32)
    }

    /// Memory for so many bytes, reserved and not yet touched; of single bytes if nothing has
    /// elements of that width.
    ///
    /// What is wider than 16 bytes is aligned like two elements of half its width, and takes
    /// the same allocation.
    pub(crate) fn new(width: u8, length: usize) -> Result<Words> {
        let mut vec = match width {
            2 => WordVec::W2(Vec::new()),
            4 => WordVec::W4(Vec::new()),
            8 => WordVec::W8(Vec::new()),
            16 | 32 => WordVec::W16(Vec::new()),
            _ => WordVec::W1(Vec::new()),
        };
        let no_memory = |_| ErrorKind::Memory { bytes: length as u64 };
        each!(&mut vec, vec => vec.try_reserve_exact(elements(vec, length)).map_err(no_memory)?);
        Ok(Words { vec, length })
    }

    /// These bytes, moved to such memory.
    pub(crate) fn copied(width: u8, bytes: &[u8]) -> Result<Buffer> {
        let mut words = Words::new(width, bytes.len())?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let space = words.space(bytes.len().saturating_sub(rest.len()));
            let count = space.len().min(rest.len());
            let (now, later) = rest.split_at_checked(count).unwrap_or_default();
            if let Some(space) = space.get_mut(..count) {
                space.copy_from_slice(now);
            }
            rest = later;
        }
        Ok(words.freeze(bytes.len()))
    }

    /// The memory behind the first `filled` bytes, a step of it at most.
    pub(crate) fn space(&mut self, filled: usize) -> &mut [u8] {
        let end = filled.saturating_add(STEP).min(self.length);
        let space = each!(&mut self.vec, vec => {
            let count = elements(vec, end);
            if vec.len() < count {
                vec.resize(count, Default::default());
            }
            vec.as_mut_slice().as_mut_bytes()
        });
        space.get_mut(filled..end).unwrap_or_default()
    }

    /// The first `length` bytes, in this allocation.
    pub(crate) fn freeze(self, length: usize) -> Buffer {
        let buffer = each!(self.vec, vec => Buffer::from_vec(vec));
        buffer.slice_with_length(0, length.min(buffer.len()))
    }
}

/// Elements that hold so many bytes.
fn elements<T>(_: &[T], bytes: usize) -> usize {
    bytes.div_ceil(size_of::<T>())
}
