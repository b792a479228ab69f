//! The Arrow IPC file: the stream between two magics, and a footer that finds its messages.

use std::collections::HashSet;

use arrow_buffer::Buffer;

use super::stream::{Bodies, Piece, Segments, messages, slice_body};
use crate::content::Content;
use crate::error::{ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::limits::Limits;
use crate::wire::envelope::{self, Next, Prefixes};
use crate::wire::file::{Block, Footer, MAGIC};
use crate::wire::message::{Header, Message};
use crate::wire::schema::WireSchema;
use crate::wire::write;
use crate::wire::{ALIGNMENT, END_OF_STREAM};

/// The magic and its padding: the stream inside a file starts here.
const START: usize = 8;

/// Frames as an Arrow IPC file: what has to be written around them, and their slices.
///
/// The file holds a valid stream from byte 8 on. Of frames that this crate laid out, every
/// buffer lies at a multiple of 64, so that a map of the file needs no copy.
#[derive(Debug)]
pub struct FileForm<'a> {
    frames: &'a Frames,
    head: Vec<u8>,
    schema_end: usize,
    tail: Vec<u8>,
}

impl Frames {
    /// These frames as an Arrow IPC file.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
    /// # use arrow_frames::{DataFrame, Frames, Target, from_buffers, to_buffers};
    /// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
    /// # let batch = RecordBatch::try_from_iter([("a", a)])?;
    /// let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow)?;
    ///
    /// let file = frames.file_form()?;
    /// let bytes: Vec<u8> = file.segments()?.flatten().copied().collect();
    /// assert!(bytes.starts_with(b"ARROW1") && bytes.ends_with(b"ARROW1"));
    ///
    /// let df = from_buffers(Frames::from_file(bytes)?)?;
    /// assert_eq!(df.into_record_batch()?, batch);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DictionaryChanged`] if a dictionary is replaced on the way: a file holds
    /// one per column. Otherwise as [`segments`](Frames::segments).
    pub fn file_form(&self) -> Result<FileForm<'_>> {
        let limits = Limits::default();
        let header = self.header();
        let (messages, _) = messages(header, &limits)?;
        let Some((first, rest)) = messages.split_first() else {
            return Err(ErrorKind::SchemaMissing { position: 0 }.into());
        };
        let flatbuffer = |range: &std::ops::Range<usize>| header.get(range.clone()).unwrap_or_default();
        let message = Message::parse(flatbuffer(&first.metadata), 0, &limits)?;
        let Header::Schema(schema) = message.header else {
            return Err(match message.content() {
                Content::DataFrame => ErrorKind::SchemaMissing { position: 0 }.into(),
                _ => message.unexpected(Content::DataFrame),
            });
        };
        let schema = WireSchema::read(schema, &limits)?;

        // The schema's padding makes up for the magic, so that bodies lie at multiples of 64.
        let mut head = MAGIC.to_vec();
        head.resize(START, 0);
        write::encapsulate(flatbuffer(&first.metadata), ALIGNMENT.saturating_sub(START), &mut head)?;

        let mut position = head.len() as u64;
        let mut footer =
            Footer { schema, metadata: message.metadata(), dictionaries: vec![], batches: vec![] };
        let mut seen = HashSet::new();
        for (index, planned) in rest.iter().enumerate() {
            let message =
                Message::parse(flatbuffer(&planned.metadata), planned.envelope.start as u64, &limits)?;
            let metadata_length = planned.envelope.len() as u64;
            let block = Block { offset: position, metadata_length, body_length: planned.body_length };
            match message.header {
                Header::Dictionary { id, is_delta, .. } => {
                    check_dictionary(&mut seen, Some((id, is_delta)), index.saturating_add(1))?;
                    footer.dictionaries.push(block);
                }
                Header::Batch(_) => footer.batches.push(block),
                Header::Schema(_) => {
                    let position = planned.envelope.start as u64;
                    return Err(ErrorKind::SchemaRepeated { position }.into());
                }
                Header::Tensor(_) | Header::SparseTensor(_) => {
                    return Err(message.unexpected(Content::DataFrame));
                }
            }
            position = position.saturating_add(metadata_length).saturating_add(planned.body_length);
        }
        let footer = footer.write()?;
        let length = i32::try_from(footer.len()).map_err(|_| ErrorKind::Limit {
            limit: "max_metadata_bytes",
            requested: footer.len() as u64,
            allowed: i32::MAX as u64,
        })?;
        let mut tail = END_OF_STREAM.to_vec();
        tail.extend_from_slice(&footer);
        tail.extend_from_slice(&length.to_le_bytes());
        tail.extend_from_slice(&MAGIC);
        Ok(FileForm { frames: self, head, schema_end: first.envelope.end, tail })
    }

    /// Takes an Arrow IPC file apart that lies in one buffer; every frame is a slice of it.
    ///
    /// Dictionaries come before batches, whatever their order in the file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotAFile`]; [`ErrorKind::Truncated`] if a block of the footer lies outside
    /// the file, [`ErrorKind::BadNumber`] if two overlap; [`ErrorKind::DictionaryChanged`] if a
    /// dictionary is replaced; whatever is wrong with its messages.
    pub fn from_file(file: impl Into<Buffer>) -> Result<Frames> {
        Self::from_file_with_limits(file, &Limits::default())
    }

    /// [`from_file`](Self::from_file) within these limits.
    ///
    /// # Errors
    ///
    /// Also [`ErrorKind::Limit`].
    pub fn from_file_with_limits(file: impl Into<Buffer>, limits: &Limits) -> Result<Frames> {
        let file = file.into();
        let footer = read_footer(&file, limits)?;
        let mut header = Vec::new();
        write::schema(&mut Default::default(), &mut header, &footer.schema, &footer.metadata)?;
        let mut frames = Vec::new();
        // Dictionaries first: a file's batches may come before them.
        let mut blocks = footer.blocks()?;
        blocks.sort_by_key(|(_, is_dictionary)| !is_dictionary);
        let mut seen = HashSet::new();
        for (index, (block, is_dictionary)) in blocks.iter().enumerate() {
            let message = read_block(&file, block, *is_dictionary, limits, &mut header, &mut frames)?;
            check_dictionary(&mut seen, message, index.saturating_add(1))?;
        }
        write::end(&mut header);
        Ok(Frames::new(header, frames))
    }
}

impl FileForm<'_> {
    /// The slices of the file, in order, for vectored writes.
    ///
    /// # Errors
    ///
    /// As [`Frames::segments`].
    pub fn segments(&self) -> Result<Segments<'_>> {
        let header = self.frames.header();
        let (messages, _) = messages(header, &Limits::default())?;
        let mut pieces = vec![Piece::Bytes(&self.head)];
        let mut bodies = Bodies::new(self.frames, &messages);
        for message in &messages {
            // The schema is in the head, with padding of its own.
            if message.envelope.start >= self.schema_end {
                pieces.push(Piece::Bytes(header.get(message.envelope.clone()).unwrap_or_default()));
            }
            bodies.push(message, &mut pieces)?;
        }
        bodies.finish()?;
        pieces.push(Piece::Bytes(&self.tail));
        Ok(Segments::new(pieces))
    }
}

/// Finds and reads the footer of a file.
pub(crate) fn read_footer(file: &[u8], limits: &Limits) -> Result<Footer> {
    const LENGTH: usize = 4;
    if !file.starts_with(&MAGIC) {
        return Err(ErrorKind::NotAFile { position: 0 }.into());
    }
    let tail = file.len().checked_sub(MAGIC.len()).filter(|tail| *tail >= START.saturating_add(LENGTH));
    let Some(tail) = tail.filter(|tail| file.get(*tail..) == Some(&MAGIC)) else {
        return Err(ErrorKind::NotAFile { position: file.len().saturating_sub(MAGIC.len()) as u64 }.into());
    };
    let at = tail.saturating_sub(LENGTH);
    let length = file.get(at..tail).and_then(|bytes| bytes.first_chunk::<LENGTH>()).copied();
    let length = i32::from_le_bytes(length.unwrap_or_default());
    let bad = || ErrorKind::BadNumber { part: Part::Footer, position: at as u64, number: length.into() };
    let needed = usize::try_from(length).ok().filter(|length| *length > 0).ok_or_else(bad)?;
    if needed as u64 > limits.max_metadata_bytes {
        let (requested, allowed) = (needed as u64, limits.max_metadata_bytes);
        return Err(ErrorKind::Limit { limit: "max_metadata_bytes", requested, allowed }.into());
    }
    let start = at.checked_sub(needed).filter(|start| *start >= START).ok_or(ErrorKind::Truncated {
        part: Part::Footer,
        position: at as u64,
        needed: needed as u64,
        available: at.saturating_sub(START) as u64,
    })?;
    Footer::read(file.get(start..at).unwrap_or_default(), start as u64, limits)
}

/// Refuses a dictionary (its id, and whether it is a delta) that replaces one of the file:
/// nothing says which batches would still mean the old one.
pub(crate) fn check_dictionary(
    seen: &mut HashSet<i64>,
    dictionary: Option<(i64, bool)>,
    message: usize,
) -> Result<()> {
    match dictionary {
        Some((id, is_delta)) if !seen.insert(id) && !is_delta => {
            Err(ErrorKind::DictionaryChanged { id, message }.into())
        }
        _ => Ok(()),
    }
}

/// Reads the message of a block; returns the id of a dictionary, and whether it is a delta.
fn read_block(
    file: &Buffer,
    block: &Block,
    is_dictionary: bool,
    limits: &Limits,
    header: &mut Vec<u8>,
    frames: &mut Vec<Buffer>,
) -> Result<Option<(i64, bool)>> {
    let outside = || ErrorKind::Truncated {
        part: Part::Block,
        position: block.offset,
        needed: block.metadata_length.saturating_add(block.body_length),
        available: (file.len() as u64).saturating_sub(block.offset),
    };
    let number = |number: u64| usize::try_from(number).ok();
    let start = number(block.offset).ok_or_else(outside)?;
    let body = number(block.metadata_length).and_then(|length| start.checked_add(length));
    let body = body.filter(|body| *body <= file.len()).ok_or_else(outside)?;
    let messages = file.get(..body).unwrap_or_default();
    let Next::Message(envelope) = envelope::next(messages, start, &mut Prefixes::default(), limits)? else {
        return Err(ErrorKind::Truncated {
            part: Part::Metadata,
            position: block.offset,
            needed: block.metadata_length,
            available: 0,
        }
        .into());
    };
    let flatbuffer = messages.get(envelope.metadata).unwrap_or_default();
    let message = Message::parse(flatbuffer, block.offset, limits)?;
    if message.body_length != block.body_length {
        let number = i64::try_from(block.body_length).unwrap_or(i64::MAX);
        return Err(ErrorKind::BadNumber { part: Part::Block, position: block.offset, number }.into());
    }
    match (&message.header, is_dictionary) {
        (Header::Dictionary { .. }, true) | (Header::Batch(_), false) => {}
        (Header::Schema(_), _) => return Err(ErrorKind::SchemaRepeated { position: block.offset }.into()),
        _ => return Err(message.misplaced()),
    }
    // The flatbuffer is written with a prefix of our own, so that the header is uniform.
    write::encapsulate(flatbuffer, 0, header)?;
    slice_body(&message, file, body, frames)?;
    match message.header {
        Header::Dictionary { id, is_delta, .. } => Ok(Some((id, is_delta))),
        _ => Ok(None),
    }
}
