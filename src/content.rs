//! What a header or a stream holds, told from its first message.

use std::fmt;

use crate::error::{ErrorKind, Part, Result};
use crate::limits::Limits;
use crate::wire::envelope::{self, Next};
use crate::wire::message::Message;
use crate::wire::tensor;

/// What a header or a stream holds.
///
/// ```
/// use arrow_frames::{Content, Tensor};
///
/// let frames = Tensor::from(vec![1.5, 2.5]).to_frames()?;
/// assert_eq!(Content::of(frames.header())?, Content::Tensor);
/// # Ok::<(), arrow_frames::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Content {
    /// A dataframe, or batches that continue one: see [`Decoder`](crate::Decoder).
    DataFrame,
    /// A [`Tensor`](crate::Tensor).
    Tensor,
    /// A [`SparseTensor`](crate::SparseTensor).
    SparseTensor,
}

impl Content {
    /// What starts with these bytes, a header or a stream (or as much of it as its first
    /// message's metadata). Only that is looked at.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the first message; [`ErrorKind::SchemaMissing`] if there is none.
    pub fn of(header_or_stream: &[u8]) -> Result<Content> {
        let limits = Limits::default();
        let Next::Message(envelope) = envelope::first(header_or_stream, &limits)? else {
            return Err(ErrorKind::SchemaMissing { position: 0 }.into());
        };
        let flatbuffer = header_or_stream.get(envelope.metadata.clone()).ok_or(ErrorKind::Truncated {
            part: Part::Metadata,
            position: 0,
            needed: envelope.metadata.end as u64,
            available: header_or_stream.len() as u64,
        })?;
        Ok(Message::parse(&tensor::readable(flatbuffer), 0, &limits)?.content())
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Content::DataFrame => "a dataframe",
            Content::Tensor => "a tensor",
            Content::SparseTensor => "a sparse tensor",
        })
    }
}
