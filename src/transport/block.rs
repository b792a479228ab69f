//! Memory for what is small: prefixes, metadata and small bodies, one after another.

use bytes::{Buf, Bytes, BytesMut};

use crate::error::{ErrorKind, Result};
use crate::wire::ALIGNMENT;

/// Bytes of a block: a few messages of a service, or the largest body that is small.
const BLOCK: usize = 64 << 10;

/// Memory that is filled from its start, and handed out piece by piece without a copy.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// What has not been handed out: filled, then free.
    memory: BytesMut,
    filled: usize,
}

impl Block {
    /// What has arrived and has not been handed out.
    pub(super) fn pending(&self) -> &[u8] {
        self.memory.get(..self.filled).unwrap_or_default()
    }

    /// Memory for the bytes that come next: for `needed` of them in all, counting those that
    /// are pending, and for `ahead` if there is room.
    ///
    /// Pending bytes stay in one piece with what follows: if they must move for that, the
    /// second value says how many did.
    pub(super) fn space(&mut self, needed: usize, ahead: usize) -> Result<(&mut [u8], usize)> {
        let mut moved = 0;
        // More is claimed than is there: twice what has come is as much as it is believed.
        let needed = needed.min(self.filled.saturating_mul(2).max(BLOCK));
        if self.memory.len() < needed {
            let mut larger = aligned(needed.max(ahead).max(BLOCK))?;
            let pending = self.pending();
            moved = pending.len();
            if let Some(start) = larger.get_mut(..moved) {
                start.copy_from_slice(pending);
            }
            self.memory = larger;
        }
        let end = if ahead == 0 { needed } else { needed.max(self.filled.saturating_add(ahead)) };
        let end = end.min(self.memory.len());
        Ok((self.memory.get_mut(self.filled..end).unwrap_or_default(), moved))
    }

    /// So many bytes have arrived.
    pub(super) fn filled(&mut self, bytes: usize) {
        self.filled = self.filled.saturating_add(bytes).min(self.memory.len());
    }

    /// Hands out the first pending bytes, which are shared from now on.
    pub(super) fn take(&mut self, bytes: usize) -> Bytes {
        let bytes = bytes.min(self.filled);
        self.filled = self.filled.saturating_sub(bytes);
        self.memory.split_to(bytes).freeze()
    }

    /// Passes over the first pending bytes.
    pub(super) fn skip(&mut self, bytes: usize) {
        let bytes = bytes.min(self.filled);
        self.filled = self.filled.saturating_sub(bytes);
        self.memory.advance(bytes);
    }

    /// If nothing is pending, what comes next starts at a multiple of 64.
    pub(super) fn align(&mut self) {
        if self.filled == 0 {
            let padding = padding(&self.memory).min(self.memory.len());
            self.memory.advance(padding);
        }
    }
}

/// That many zeroed bytes at a multiple of 64.
pub(super) fn aligned(bytes: usize) -> Result<BytesMut> {
    let mut vec: Vec<u8> = Vec::new();
    let length = bytes.saturating_add(ALIGNMENT);
    vec.try_reserve_exact(length).map_err(|_| ErrorKind::Memory { bytes: bytes as u64 })?;
    vec.resize(length, 0);
    // Nothing shares it yet, so that it is converted as it is.
    let mut memory = Bytes::from(vec).try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..]));
    memory.advance(padding(&memory));
    memory.truncate(bytes);
    Ok(memory)
}

/// Bytes up to the next multiple of 64.
fn padding(memory: &[u8]) -> usize {
    let address = memory.as_ptr() as usize;
    address.checked_next_multiple_of(ALIGNMENT).unwrap_or(address).saturating_sub(address)
}
