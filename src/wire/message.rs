//! A message: its version, kind, body length and metadata.

use arrow_ipc::{MessageHeader, MetadataVersion, root_as_message_with_opts};
use arrow_schema::Metadata;
use flatbuffers::{ForwardsUOffset, InvalidFlatbuffer, Vector, VerifierOptions};

use super::batch::{BatchMeta, Span};
use super::opaque::MESSAGE_KEY;
use super::tensor;
use crate::content::Content;
use crate::error::{Error, ErrorKind, Part, Result};
use crate::limits::Limits;

/// Arrow 0.17 named its experimental compression here instead of in the RecordBatch.
const LEGACY_COMPRESSION_KEY: &str = "ARROW:experimental_compression";

/// A verified message.
pub(crate) struct Message<'a> {
    /// Where it starts, for errors.
    pub position: u64,
    /// Whether its metadata version is V4, in which unions have a validity bitmap.
    pub is_v4: bool,
    /// Length of its body.
    pub body_length: u64,
    /// What it is.
    pub header: Header<'a>,
    raw: arrow_ipc::Message<'a>,
}

/// What a message is.
pub(crate) enum Header<'a> {
    /// A schema.
    Schema(arrow_ipc::Schema<'a>),
    /// Values of a dictionary.
    Dictionary {
        /// The dictionary's id.
        id: i64,
        /// Whether the values continue those that came before.
        is_delta: bool,
        /// The values, as a batch of one column.
        batch: arrow_ipc::RecordBatch<'a>,
    },
    /// Rows.
    Batch(arrow_ipc::RecordBatch<'a>),
    /// All values of an array of several dimensions.
    Tensor(arrow_ipc::Tensor<'a>),
    /// Those that are not zero, and where they are.
    SparseTensor(arrow_ipc::SparseTensor<'a>),
}

impl<'a> Message<'a> {
    /// Verifies a flatbuffer that starts at `position` of its source.
    pub(crate) fn parse(metadata: &'a [u8], position: u64, limits: &Limits) -> Result<Self> {
        let raw = root_as_message_with_opts(&verifier(metadata.len(), limits), metadata)
            .map_err(|source| unverified(source, position, limits))?;
        let is_v4 = match raw.version() {
            MetadataVersion::V5 => false,
            MetadataVersion::V4 => true,
            MetadataVersion(version) => {
                return Err(ErrorKind::MetadataVersion { position, version }.into());
            }
        };
        let Ok(body_length) = u64::try_from(raw.bodyLength()) else {
            let number = raw.bodyLength();
            return Err(ErrorKind::BadNumber { part: Part::Body, position, number }.into());
        };
        if body_length > limits.max_body_bytes {
            return Err(ErrorKind::Limit {
                limit: "max_body_bytes",
                requested: body_length,
                allowed: limits.max_body_bytes,
            }
            .into());
        }
        let unexpected = || ErrorKind::UnexpectedMessage { position, header: raw.header_type().0 };
        let header = match raw.header_type() {
            MessageHeader::Schema => Header::Schema(raw.header_as_schema().ok_or_else(unexpected)?),
            MessageHeader::RecordBatch => Header::Batch(raw.header_as_record_batch().ok_or_else(unexpected)?),
            MessageHeader::DictionaryBatch => {
                let dictionary = raw.header_as_dictionary_batch().ok_or_else(unexpected)?;
                let batch = dictionary.data().ok_or_else(unexpected)?;
                Header::Dictionary { id: dictionary.id(), is_delta: dictionary.isDelta(), batch }
            }
            MessageHeader::Tensor => Header::Tensor(raw.header_as_tensor().ok_or_else(unexpected)?),
            MessageHeader::SparseTensor => {
                Header::SparseTensor(raw.header_as_sparse_tensor().ok_or_else(unexpected)?)
            }
            _ => return Err(unexpected().into()),
        };
        // It would move all that follows. Arrow C++ refuses it too.
        if matches!(header, Header::Schema(_)) && body_length > 0 {
            let number = raw.bodyLength();
            return Err(ErrorKind::BadNumber { part: Part::Body, position, number }.into());
        }
        let message = Message { position, is_v4, body_length, header, raw };
        if message.entry(LEGACY_COMPRESSION_KEY).is_some() {
            return Err(ErrorKind::LegacyCompression { position }.into());
        }
        Ok(message)
    }

    /// What the stream holds that starts with this message.
    pub(crate) fn content(&self) -> Content {
        match self.header {
            Header::Schema(_) | Header::Dictionary { .. } | Header::Batch(_) => Content::DataFrame,
            Header::Tensor(_) => Content::Tensor,
            Header::SparseTensor(_) => Content::SparseTensor,
        }
    }

    /// The error that it is none of those that belong where it is.
    #[cold]
    pub(crate) fn misplaced(&self) -> Error {
        ErrorKind::UnexpectedMessage { position: self.position, header: self.raw.header_type().0 }.into()
    }

    /// The error that it belongs to something else.
    #[cold]
    pub(crate) fn unexpected(&self, expected: Content) -> Error {
        ErrorKind::WrongContent { position: self.position, expected, found: self.content() }.into()
    }

    /// Where the frames lie in the body: its non-empty buffers in order, and then the opaque
    /// columns' payload.
    pub(crate) fn frames(&self) -> Result<Vec<Span>> {
        if let Some(meta) = BatchMeta::of(self)? {
            return meta.frames();
        }
        let (_, mut spans) = tensor::buffers(self)?;
        spans.retain(|span| span.length > 0);
        Ok(spans)
    }

    /// The JSON that this crate puts into a message, if it is there.
    pub(crate) fn our_entry(&self) -> Option<&'a str> {
        self.entry(MESSAGE_KEY)
    }

    /// The message's metadata, with all of its entries.
    pub(crate) fn all_metadata(&self) -> Metadata {
        pairs(self.raw.custom_metadata()).collect()
    }

    /// The message's metadata, without the entry that is ours.
    pub(crate) fn metadata(&self) -> Metadata {
        let mut metadata = Metadata::new();
        for (key, value) in pairs(self.raw.custom_metadata()) {
            if key != MESSAGE_KEY {
                metadata.insert(key, value);
            }
        }
        metadata
    }

    fn entry(&self, key: &str) -> Option<&'a str> {
        pairs(self.raw.custom_metadata()).find(|(k, _)| *k == key).map(|(_, value)| value)
    }
}

type KeyValues<'a> = Option<Vector<'a, ForwardsUOffset<arrow_ipc::KeyValue<'a>>>>;

/// The complete pairs of a metadata vector.
pub(crate) fn pairs<'a>(list: KeyValues<'a>) -> impl Iterator<Item = (&'a str, &'a str)> {
    list.into_iter().flatten().filter_map(|pair| Some((pair.key()?, pair.value()?)))
}

/// The error that metadata does not verify.
pub(crate) fn unverified(source: InvalidFlatbuffer, position: u64, limits: &Limits) -> ErrorKind {
    match source {
        // How deep it goes is not known, only that the verifier gave up.
        InvalidFlatbuffer::DepthLimitReached => {
            let allowed = limits.max_depth as u64;
            ErrorKind::Limit { limit: "max_depth", requested: allowed.saturating_add(1), allowed }
        }
        source => ErrorKind::Flatbuffer { position, source },
    }
}

/// The verifier's bounds for metadata of that many bytes.
///
/// A table takes 4 bytes at least, so a tree cannot have more tables than that; tables
/// that are shared to look like a larger tree (and cost exponential time) run into it.
/// The verifier counts a level for a table and one for each vector and union around it.
pub(crate) fn verifier(length: usize, limits: &Limits) -> VerifierOptions {
    VerifierOptions {
        max_depth: limits.max_depth.saturating_mul(4).saturating_add(16),
        max_tables: length.div_ceil(4),
        max_apparent_size: length.saturating_mul(8),
        ..VerifierOptions::default()
    }
}
