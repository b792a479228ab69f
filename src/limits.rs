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
    /// Bytes that one call may allocate for what a few bytes of input can turn into: compressed
    /// buffers, dictionaries joined with their deltas, and the values of pickles. The input's own
    /// bytes allow [`max_expansion`](Self::max_expansion) times as much on top. What a
    /// [`Decoder`](crate::Decoder) keeps of them from call to call counts in every call:
    /// dictionaries that were compressed or joined, and deltas that no batch has used yet. So a
    /// stream of many small dictionaries is bounded too, and a dictionary that grows by deltas
    /// may become half of this, since the old and the new one are there at once. Default 256 MiB;
    /// raise it for small inputs that decompress to more.
    pub max_expanded_bytes: u64,
    /// How many bytes each byte of the input of a call allows on top of
    /// [`max_expanded_bytes`](Self::max_expanded_bytes); of the calls that brought the dictionaries
    /// that are kept, the largest one counts if it is larger. Default 32: columns of real data
    /// seldom compress better.
    pub max_expansion: u64,
    /// Rows of a column whose rows take no bytes (null, zero-width, run-end encoded, no
    /// columns at all): nothing else bounds their number. Default 2³¹ − 1.
    pub max_rows_without_bytes: u64,
    /// Levels of nested types. Default 128; the walk is recursive, and 128 levels fit any
    /// thread's stack with room to spare.
    pub max_depth: usize,
}

impl Limits {
    /// Lower limits, for a process that serves many clients at once: 16 MiB of metadata, 1 GiB for
    /// a body and for a stream, 64 MiB and 8 bytes per byte of input for what expands, 2²⁴ rows
    /// without bytes, 32 levels.
    ///
    /// ```
    /// use arrow_frames::{Limits, StreamSource};
    ///
    /// let stream: &[u8] = b"";
    /// let source = StreamSource::new(stream).with_limits(Limits::for_service());
    /// # let _ = source;
    /// ```
    pub fn for_service() -> Self {
        Limits {
            max_metadata_bytes: 16 << 20,
            max_body_bytes: 1 << 30,
            max_stream_bytes: 1 << 30,
            max_expanded_bytes: 64 << 20,
            max_expansion: 8,
            max_rows_without_bytes: 1 << 24,
            max_depth: 32,
        }
    }

    /// Bytes that an input of so many bytes may expand to.
    pub(crate) fn expanded_bytes(&self, input: u64) -> u64 {
        self.max_expanded_bytes.saturating_add(self.max_expansion.saturating_mul(input))
    }

    /// For what this process has encoded.
    pub(crate) const NONE: Limits = Limits {
        max_metadata_bytes: u64::MAX,
        max_body_bytes: u64::MAX,
        max_stream_bytes: u64::MAX,
        max_expanded_bytes: u64::MAX,
        max_expansion: u64::MAX,
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
            max_expanded_bytes: 256 << 20,
            max_expansion: 32,
            max_rows_without_bytes: i32::MAX as u64,
            max_depth: DEFAULT_DEPTH,
        }
    }
}
