//! What was copied, by column and reason.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{ErrorKind, Result};
use crate::limits::Limits;

/// Why bytes had to be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum CopyReason {
    /// A bitmap that starts inside a byte (a slice at a row that is no multiple of 8).
    BitOffset,
    /// Offsets, views or run ends that had to be re-written for a slice.
    Rebased,
    /// Values gathered because a slice references too little of what it would carry.
    Compacted,
    /// Elements of a tensor gathered because they do not lie one behind the other: a view with
    /// gaps, or with strides that are negative or 0.
    Strided,
    /// A dictionary trimmed to the values in use, or joined with its delta.
    Dictionary,
    /// A frame whose address does not suit its element type.
    Misaligned,
    /// A buffer compressed for the wire.
    Compressed,
    /// A buffer decompressed.
    Decompressed,
    /// A frame that was to become writable, and shares its memory or is not in an allocation of
    /// its element type.
    Writable,
    /// Values written into a pickle or read from one, where what Python takes is not laid out
    /// as in Arrow: Python objects, booleans of a byte each, codes and datetimes beside nulls.
    Pickled,
}

impl fmt::Display for CopyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CopyReason::BitOffset => "bitmap at a bit offset",
            CopyReason::Rebased => "rebased offsets",
            CopyReason::Compacted => "compacted slice",
            CopyReason::Strided => "strided tensor",
            CopyReason::Dictionary => "dictionary",
            CopyReason::Misaligned => "misaligned frame",
            CopyReason::Compressed => "compression",
            CopyReason::Decompressed => "decompression",
            CopyReason::Writable => "writable",
            CopyReason::Pickled => "pickled values",
        })
    }
}

/// One kind of copy of one column: how many bytes were written to new memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// The top-level column; of a tensor, the number of its buffer.
    pub column: usize,
    /// Why.
    pub reason: CopyReason,
    /// Bytes of column data written to new memory.
    pub bytes: u64,
}

/// Every byte of column data that an encode or a decode copied, by column and reason.
///
/// Metadata (the header) is not column data. An empty report means zero copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport {
    copies: BTreeMap<(usize, CopyReason), u64>,
    total: u64,
}

impl CopyReport {
    /// Bytes copied in all.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The copies, one entry per column and reason, by column.
    pub fn iter(&self) -> impl Iterator<Item = Copied> + '_ {
        self.copies.iter().map(|(&(column, reason), &bytes)| Copied { column, reason, bytes })
    }

    /// Bytes copied of one top-level column.
    pub fn of_column(&self, column: usize) -> u64 {
        self.iter().filter(|c| c.column == column).map(|c| c.bytes).sum()
    }

    /// Bytes copied for one reason.
    pub fn of_reason(&self, reason: CopyReason) -> u64 {
        self.iter().filter(|c| c.reason == reason).map(|c| c.bytes).sum()
    }
}

/// The report in the making, and the cap on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct CopyBudget {
    pub(crate) allowed: Option<u64>,
    /// The most that may become of compressed buffers, delta dictionaries and pickles, where they
    /// are read.
    pub(crate) max_expanded: Option<u64>,
    expanded: u64,
    report: CopyReport,
}

impl CopyBudget {
    /// For an input of so many bytes that is read where the caller set no limits.
    pub(crate) fn of_reader(input: u64) -> Self {
        CopyBudget { max_expanded: Some(Limits::default().expanded_bytes(input)), ..Self::default() }
    }

    pub(crate) fn report(&self) -> &CopyReport {
        &self.report
    }

    /// Forgets what was counted; the cap stays.
    pub(crate) fn reset(&mut self) {
        self.report.copies.clear();
        self.report.total = 0;
        self.expanded = 0;
    }

    /// What a call starts with: bytes that were made of the input of earlier ones, and are kept.
    pub(crate) fn start_with(&mut self, kept: u64) {
        self.expanded = kept;
    }

    /// Bytes that were made of the input so far, and those that the call started with.
    pub(crate) fn expanded(&self) -> u64 {
        self.expanded
    }

    /// Counts a copy *before* it is made, or refuses it.
    pub(crate) fn claim(
        &mut self,
        column: usize,
        name: &str,
        reason: CopyReason,
        bytes: usize,
    ) -> Result<()> {
        let bytes = bytes as u64;
        if bytes == 0 {
            return Ok(());
        }
        let total = self.report.total.saturating_add(bytes);
        if let Some(allowed) = self.allowed
            && total > allowed
        {
            return Err(
                ErrorKind::CopyLimit { column: name.to_owned(), reason, requested: total, allowed }.into()
            );
        }
        if matches!(reason, CopyReason::Decompressed | CopyReason::Dictionary | CopyReason::Pickled)
            && let Some(allowed) = self.max_expanded
        {
            let requested = self.expanded.saturating_add(bytes);
            if requested > allowed {
                return Err(ErrorKind::Limit { limit: "max_expanded_bytes", requested, allowed }.into());
            }
            self.expanded = requested;
        }
        self.report.total = total;
        *self.report.copies.entry((column, reason)).or_default() += bytes;
        Ok(())
    }
}
