//! Numbers at addresses that do not suit their type. Arrow's arrays cannot have them there, numpy's can:
//! zeros take their place while frames are decoded or encoded, and they stay where they lie.
//!
//! What arrives over a network or from a file lies anywhere, so that otherwise every number would be
//! copied, while the memory that it came in is kept by whatever else is in it.

use std::collections::HashMap;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::Buffer;
use arrow_frames::{BufferLayout, Column, Frames, Layout, MessageKind, MessageLayout, Part};
use arrow_schema::DataType;

use crate::convert;
use crate::memory::Place;

/// The values of which there are zeros in the arrays, by batch and column.
#[derive(Default)]
pub struct Unaligned {
    values: HashMap<Place, Buffer>,
    /// The same for all of them. The system provides them when they are looked at, which nobody does.
    zeros: Buffer,
}

/// A frame that is the numbers of a column.
struct Numbers {
    frame: usize,
    place: Place,
    width: usize,
}

impl Unaligned {
    /// Takes out of frames the numbers that lie where Arrow does not want them.
    pub fn take(frames: Frames) -> (Frames, Unaligned) {
        let mut unaligned = Unaligned::default();
        let numbers = numbers(&frames);
        let (header, mut buffers) = frames.into_parts();
        for Numbers { frame, place, width } in numbers {
            if let Some(buffer) = buffers.get_mut(frame).filter(|buffer| !is_aligned(buffer, width)) {
                *buffer = unaligned.put(place, buffer.clone());
            }
        }
        (Frames::new(header, buffers), unaligned)
    }

    /// What an array of this type can be made of: the values, or zeros until [`put_back`](Self::put_back).
    pub fn aligned(&mut self, place: Place, data_type: &DataType, values: Buffer) -> Buffer {
        match data_type.primitive_width() {
            Some(width) if !is_aligned(&values, width) => self.put(place, values),
            _ => values,
        }
    }

    /// Puts the numbers into the frames of the arrays.
    pub fn put_back(&self, frames: Frames) -> Frames {
        if self.is_empty() {
            return frames;
        }
        let numbers = numbers(&frames);
        let (header, mut buffers) = frames.into_parts();
        for Numbers { frame, place, .. } in numbers {
            if let (Some(values), Some(buffer)) = (self.values.get(&place), buffers.get_mut(frame)) {
                *buffer = values.clone();
            }
        }
        Frames::new(header, buffers)
    }

    /// Whether everything lies as Arrow wants it.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values of a column where they lie, if there are zeros in its array.
    pub fn values(&self, batch: usize, column: usize) -> Option<&Buffer> {
        self.values.get(&(batch, column))
    }

    /// A column as an Arrow array: with a copy of its values instead of the zeros.
    pub fn array(&self, batch: usize, column: usize, array: &ArrayRef) -> ArrayRef {
        let Some(values) = self.values(batch, column) else { return array.clone() };
        let data = array.to_data().into_builder().buffers(vec![Buffer::from_slice_ref(values.as_slice())]);
        // The copy is aligned, and as long as what the array was made of.
        data.build().map_or_else(|_| array.clone(), make_array)
    }

    /// A column that is an Arrow array without zeros, if it is one.
    pub fn column(&self, batch: usize, place: usize, column: &Column) -> Column {
        match column.as_native() {
            Some(array) => Column::Native(self.array(batch, place, array)),
            None => column.clone(),
        }
    }

    fn put(&mut self, place: Place, values: Buffer) -> Buffer {
        let length = values.len();
        if self.zeros.len() < length {
            self.zeros = Buffer::from_vec(vec![0u64; length.div_ceil(size_of::<u64>())]);
        }
        self.values.insert(place, values);
        self.zeros.slice_with_length(0, length)
    }
}

/// The frames that are numbers: any bytes are sound ones.
fn numbers(frames: &Frames) -> Vec<Numbers> {
    let layout = Layout::of_frames(frames);
    let Some(schema) = layout.schema.as_ref().filter(|_| layout.error.is_none()) else { return Vec::new() };
    let width = |column: usize| {
        let data_type = schema.fields().get(column)?.data_type();
        // Of these types alone the values are the only buffer of that part, and whole bytes each.
        convert::format(data_type).filter(|format| *format != "b")?;
        data_type.primitive_width()
    };
    let mut found = Vec::new();
    for (frame, place, message, buffer) in frames_of(&layout) {
        let is_plain = message.kind == MessageKind::Batch && message.compression.is_none();
        let is_there = frames.buffers().get(frame).is_some_and(|found| found.len() as u64 == buffer.length);
        if let Some(width) = width(buffer.column)
            && is_plain
            && is_there
            && buffer.part == Part::Values
        {
            found.push(Numbers { frame, place, width });
        }
    }
    found
}

/// The place of each frame in what is decoded of these columns, or of all. What is of no column of a batch
/// shares a place that nothing else has.
pub fn places(frames: &Frames, columns: Option<&[usize]>) -> Vec<Place> {
    let place = |(_, (batch, column), message, _): (usize, Place, &MessageLayout, &BufferLayout)| {
        let place = match columns {
            None => Some(column),
            Some(columns) => columns.iter().position(|chosen| *chosen == column),
        };
        let place = place.filter(|_| message.kind == MessageKind::Batch);
        place.map_or((usize::MAX, usize::MAX), |column| (batch, column))
    };
    frames_of(&Layout::of_frames(frames)).map(place).collect()
}

/// Each frame's number, its batch and column, its message, and the buffer that it is.
fn frames_of(layout: &Layout) -> impl Iterator<Item = (usize, Place, &MessageLayout, &BufferLayout)> {
    let mut batches = 0_usize;
    let messages = layout.messages.iter().map(move |message| {
        let batch = batches;
        batches = batches.saturating_add(usize::from(message.kind == MessageKind::Batch));
        (batch, message)
    });
    let buffers = messages.flat_map(|(batch, message)| {
        message.buffers.iter().map(move |buffer| ((batch, buffer.column), message, buffer))
    });
    // An empty one is no frame.
    let frames = buffers.filter(|(_, _, buffer)| buffer.length > 0).enumerate();
    frames.map(|(frame, (place, message, buffer))| (frame, place, message, buffer))
}

fn is_aligned(buffer: &Buffer, width: usize) -> bool {
    (buffer.as_ptr() as usize).is_multiple_of(width)
}
