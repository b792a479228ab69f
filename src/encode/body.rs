//! The body of one message in the making: its frames, and where they lie.

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_ipc::FieldNode;

use super::slices::Carried;
use crate::wire::ALIGNMENT;
use crate::wire::batch::Span;

/// Frames at consecutive multiples of 64, and the metadata that says so.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// A node per array, depth first.
    pub nodes: Vec<FieldNode>,
    /// A declared buffer per buffer, empty ones included.
    pub buffers: Vec<arrow_ipc::Buffer>,
    /// The number of data buffers of each view array.
    pub variadic: Vec<i64>,
    /// The non-empty buffers, then opaque payload.
    pub frames: Vec<Buffer>,
    /// Whether to note the element width of each declared frame.
    pub marks_widths: bool,
    /// The frames of declared buffers by number, and their element widths.
    pub widths: Vec<(usize, u8)>,
    /// The dictionaries that were met.
    pub dictionaries: Vec<MetDictionary>,
    length: u64,
}

/// A dictionary-encoded array that the walk came to.
#[derive(Debug)]
pub(super) struct MetDictionary {
    /// Which dictionary of the schema it is.
    pub index: usize,
    /// Its values.
    pub values: ArrayRef,
    /// What of them travels for nothing.
    pub carried: Carried,
}

impl Body {
    /// The length of the body so far: a multiple of 64.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Empties the body and keeps its memory.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.buffers.clear();
        self.variadic.clear();
        self.frames.clear();
        self.widths.clear();
        self.dictionaries.clear();
        self.length = 0;
    }

    /// Adds the node of an array.
    pub(super) fn node(&mut self, rows: usize, null_count: usize) {
        self.nodes.push(FieldNode::new(rows as i64, null_count as i64));
    }

    /// Adds a declared buffer of elements of so many bytes; an empty one is no frame.
    pub(super) fn buffer(&mut self, frame: Buffer, width: u8) {
        if self.marks_widths && !frame.is_empty() {
            self.widths.push((self.frames.len(), width));
        }
        let span = self.payload(frame);
        self.buffers.push(arrow_ipc::Buffer::new(span.offset as i64, span.length as i64));
    }

    /// Adds a frame that no declared buffer names.
    pub(super) fn payload(&mut self, frame: Buffer) -> Span {
        let length = frame.len() as u64;
        let span = Span { offset: self.length, length };
        if length > 0 {
            self.length += length.next_multiple_of(ALIGNMENT as u64);
            self.frames.push(frame);
        }
        span
    }

    /// Adds a declared buffer of no bytes.
    pub(super) fn absent(&mut self) {
        self.buffers.push(arrow_ipc::Buffer::new(self.length as i64, 0));
    }
}
