//! What untrusted input may claim.

/// What untrusted input may ask for before it is refused.
///
/// A limit bounds what the *numbers in the input* can make this crate do; it is no
/// promise that so much memory exists. Memory is committed only as bytes arrive for it.
/// Exceeding one is [`ErrorKind::Limit`](crate::ErrorKind::Limit), which names the field.
///
/// ```
/// use arrow_frames::Limits;
///
/// let limits = Limits { max_rows_without_bytes: 1_000, ..Limits::default() };
/// assert_eq!(limits.max_depth, 128);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message's metadata (its flatbuffer). Default 256 MiB: a schema of
    /// a million columns has about 100 MiB.
    pub max_metadata_bytes: u64,
    /// Bytes of one message's body. Default 1 TiB: a body is only ever as large as what
    /// arrives, so the default bounds nothing but arithmetic.
    pub max_body_bytes: u64,
    /// Bytes of one whole stream that is received, by [`StreamSource`](crate::StreamSource) or
    /// [`StreamReceiver`](crate::StreamReceiver): no single message bounds what
    /// [`read_all`](crate::StreamSource::read_all) gathers. A message that does not fit is
    /// refused before its body is received. Default none, since a stream may go on for ever.
    pub max_stream_bytes: u64,
    /// Bytes that compressed buffers, dictionaries by joining deltas, and the values of pickles
    /// may become in one call: what a few bytes of input can turn into. What a
    /// [`Decoder`](crate::Decoder) keeps of them from call to call counts in every call:
    /// dictionaries that were compressed or joined, and deltas that no batch has used yet. So a
    /// stream of many small dictionaries is bounded too, and a dictionary that grows by deltas
    /// may become half of this, since the old and the new one are there at once. Default 8 GiB;
    /// raise it for larger compressed dataframes.
    pub max_decompressed_bytes: u64,
    /// Rows of a column whose rows take no bytes (null, zero-width, run-end encoded, no
    /// columns at all): nothing else bounds their number. Default 2³¹ − 1.
    pub max_rows_without_bytes: u64,
    /// Levels of nested types. Default 128; the walk is recursive, and 128 levels fit any
    /// thread's stack with room to spare.
    pub max_depth: usize,
}

impl Limits {
    /// For what this process has encoded.
    pub(crate) const NONE: Limits = Limits {
        max_metadata_bytes: u64::MAX,
        max_body_bytes: u64::MAX,
        max_stream_bytes: u64::MAX,
        max_decompressed_bytes: u64::MAX,
        max_rows_without_bytes: u64::MAX,
        max_depth: usize::MAX,
    };

    /// For what is in memory already, most likely encoded by a process like this one: only what
    /// would exhaust the stack is limited.
    pub(crate) const DEPTH: Limits = Limits { max_depth: DEFAULT_DEPTH, ..Limits::NONE };
}

/// Levels of nested types by default.
const DEFAULT_DEPTH: usize = 128;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_metadata_bytes: 256 << 20,
            max_body_bytes: 1 << 40,
            max_stream_bytes: u64::MAX,
            max_decompressed_bytes: 8 << 30,
            max_rows_without_bytes: i32::MAX as u64,
            max_depth: DEFAULT_DEPTH,
        }
    }
}
