//! The one error type: what is wrong, where, and whose fault it is.

use std::fmt;

use arrow_schema::{ArrowError, DataType};
use flatbuffers::InvalidFlatbuffer;

use crate::content::Content;
use crate::copies::CopyReason;
use crate::pickle::{Inexact, PickleFault};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a dataframe could not be encoded, carried or rebuilt.
///
/// One pointer wide, so that a `Result` costs nothing on the way. [`Error::kind`]
/// has the numbers, [`Error::fault`] says who has to change something.
///
/// ```
/// use arrow_frames::{ErrorKind, Fault, Frames, from_buffers};
///
/// let error = from_buffers(Frames::new(b"\xff\xff\xff\xff\x10".to_vec(), vec![])).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Truncated { position: 0, .. }));
/// assert_eq!(error.fault(), Fault::Input);
/// ```
pub struct Error(Box<ErrorKind>);

impl Error {
    /// What is wrong, with its numbers.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// The owned [`ErrorKind`].
    pub fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// Names the column whose pickle it is.
    pub(crate) fn in_column(mut self, name: &str) -> Self {
        if let ErrorKind::Pickle { column, .. } = &mut *self.0 {
            name.clone_into(column);
        }
        self
    }

    /// Names a field around the one that has nulls.
    #[cold]
    pub(crate) fn inside(mut self, name: &str) -> Self {
        if let ErrorKind::Nulls { column, .. } = &mut *self.0 {
            *column = format!("{name}.{column}");
        }
        self
    }

    /// Moves the position of an error in a message to where the message lies in a stream.
    pub(crate) fn moved_by(mut self, start: u64) -> Self {
        if let ErrorKind::Truncated { position, .. }
        | ErrorKind::BadNumber { position, .. }
        | ErrorKind::EndMarker { position } = &mut *self.0
        {
            *position = position.saturating_add(start);
        }
        self
    }

    /// Who has to change something: the sender, the caller, or the machine.
    pub fn fault(&self) -> Fault {
        use ErrorKind::*;
        match self.kind() {
            SchemaMismatch { .. }
            | RowCount { .. }
            | ColumnMissing { .. }
            | DictionaryOfDictionary { .. }
            | Unstarted
            | PlaceLost
            | CodecDisabled { .. }
            | Inexact { .. }
            | Opaque { .. }
            | WholeObject { columns: 0 } => Fault::Caller,
            Limit { .. } | CopyLimit { .. } | Pickle { refused: PickleFault::Budget { .. }, .. } => {
                Fault::Limit
            }
            Pickle { refused: PickleFault::Type { .. } | PickleFault::NoArrowType { .. }, .. } => {
                Fault::Caller
            }
            Memory { .. } | Io(_) | CodecFailed { .. } => Fault::System,
            _ => Fault::Input,
        }
    }
}

/// Who has to change something for the call to succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes or the arrays that came in are wrong or not supported.
    Input,
    /// The call is wrong: an option, a column that does not exist, a missing feature.
    Caller,
    /// The input may be right, and asks for more than [`Limits`](crate::Limits) allows.
    Limit,
    /// Memory, a socket, a disk.
    System,
}

/// What is wrong, with the numbers that show it.
///
/// Columns are named by their top-level name; positions are byte offsets from the
/// start of what was handed in (a header, a stream, a file).
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Fewer bytes than a length promised.
    Truncated {
        /// What was being read.
        part: Part,
        /// Where it starts.
        position: u64,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// A length, offset or count that is negative, overflows, or is not a multiple of
    /// what it must be.
    BadNumber {
        /// What the number belongs to.
        part: Part,
        /// Where it was found.
        position: u64,
        /// The number.
        number: i64,
    },
    /// The 4 zeros that end a stream of Arrow before 0.15, behind messages of later versions, whose
    /// end marker has 8 bytes: a length in front of them is wrong.
    EndMarker {
        /// Where they were found.
        position: u64,
    },
    /// The magic bytes of an Arrow IPC file are missing at the given position.
    NotAFile {
        /// Where they should be.
        position: u64,
    },
    /// Metadata that is not a valid flatbuffer.
    Flatbuffer {
        /// Where the message starts.
        position: u64,
        /// What the verifier found.
        source: InvalidFlatbuffer,
    },
    /// A metadata version other than V4 and V5.
    MetadataVersion {
        /// Where the message starts.
        position: u64,
        /// The version's number in the schema (V5 is 4).
        version: i16,
    },
    /// A big-endian stream. Its values would have to be swapped, which is a copy.
    BigEndian,
    /// A body compressed by the experimental scheme of Arrow 0.17, whose layout differs.
    LegacyCompression {
        /// Where the message starts.
        position: u64,
    },
    /// A message of a kind that does not belong where it is: unknown, or a tensor behind another
    /// message.
    UnexpectedMessage {
        /// Where the message starts.
        position: u64,
        /// The number of its header type.
        header: u8,
    },
    /// A dataframe where a tensor is expected, or the other way round.
    WrongContent {
        /// Where the message starts.
        position: u64,
        /// What was asked for.
        expected: Content,
        /// What is there.
        found: Content,
    },
    /// A RecordBatch or DictionaryBatch where no schema is known.
    SchemaMissing {
        /// Where the message starts.
        position: u64,
    },
    /// A second Schema message.
    SchemaRepeated {
        /// Where the message starts.
        position: u64,
    },
    /// The schema names a type that is no valid Arrow type.
    BadType {
        /// The top-level column.
        column: String,
        /// What of it is wrong.
        source: ArrowError,
    },
    /// Elements of a tensor whose type is none, or whose values are not of a fixed number of bytes;
    /// an index of a sparse tensor that is not of integers.
    TensorType {
        /// What of it is wrong.
        source: ArrowError,
    },
    /// Levels of a sparse tensor's tree whose indices, or pointers, are of different types.
    TensorLevels {
        /// The type of the first level.
        expected: DataType,
        /// Another one.
        found: DataType,
    },
    /// A tensor with more bytes than can be addressed.
    TensorSize {
        /// The sizes of its dimensions.
        shape: Vec<usize>,
        /// Bytes of an element.
        width: usize,
    },
    /// More, or fewer, of something than a tensor has dimensions or elements.
    TensorCount {
        /// What is counted.
        part: Part,
        /// How many there must be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A buffer of a tensor with too few bytes.
    TensorLength {
        /// What the buffer holds.
        part: Part,
        /// Bytes that it needs.
        needed: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// Strides that lead to elements outside the buffer.
    TensorStrides {
        /// The sizes of the dimensions.
        shape: Vec<usize>,
        /// Bytes from an element to the next one along each.
        strides: Vec<isize>,
        /// Where the first element is.
        offset: usize,
        /// Bytes of the buffer.
        length: u64,
    },
    /// An index of a sparse tensor outside its dimension.
    TensorIndex {
        /// The place of the index among those of its buffer (of a matrix, in row-major order).
        place: usize,
        /// The index.
        index: i128,
        /// The size of the dimension.
        limit: usize,
    },
    /// Index pointers of a sparse tensor that do not start at 0, descend, or do not end where the
    /// indices do.
    TensorPointers {
        /// The place of the pointer that is wrong, in its buffer.
        place: usize,
        /// The pointer.
        pointer: i128,
        /// The one before it (0 for the first).
        before: i128,
        /// How many indices there are.
        limit: usize,
    },
    /// The axes of a sparse tensor's tree are not each of its dimensions once.
    TensorAxes {
        /// The axes.
        order: Vec<i64>,
    },
    /// The number of frames handed in is not the number that the header names.
    FrameCount {
        /// Non-empty buffers that the header names.
        expected: usize,
        /// Frames handed in.
        found: usize,
    },
    /// A frame is not as long as the header says.
    FrameLength {
        /// Index of the frame.
        frame: usize,
        /// Bytes that the header names.
        expected: u64,
        /// Bytes in the frame.
        found: u64,
    },
    /// A message that has fewer, or more, nodes or buffers than its schema needs.
    Count {
        /// The column at which it showed (empty: after the last one).
        column: String,
        /// What is counted.
        part: Part,
        /// How many the message has.
        found: usize,
    },
    /// Two buffers of a body, or of a tensor, that have bytes in common.
    BufferOverlap {
        /// The column of the buffer that comes later in the metadata (empty: not known there).
        column: String,
        /// The index of that buffer in its message.
        buffer: usize,
        /// Its offset in the body.
        offset: u64,
        /// Its length.
        length: u64,
        /// The index of the other buffer.
        other: usize,
        /// Its offset in the body.
        other_offset: u64,
        /// Its length.
        other_length: u64,
    },
    /// A buffer at another place than the one that this crate gave it: the message has a note of
    /// this crate, for a body of this length.
    BufferMoved {
        /// The column (empty: not known there).
        column: String,
        /// The index of the buffer in its message.
        buffer: usize,
        /// Its offset in the body.
        offset: u64,
        /// The end of the buffers in front of it, at the next multiple of 64.
        expected: u64,
    },
    /// A buffer that lies outside its body.
    BufferOutside {
        /// The column.
        column: String,
        /// The index of the buffer in its message.
        buffer: usize,
        /// Its offset in the body.
        offset: i64,
        /// Its length.
        length: i64,
        /// The length of the body.
        body: u64,
    },
    /// A buffer with too few bytes for its rows.
    BufferLength {
        /// The column.
        column: String,
        /// What the buffer holds.
        part: Part,
        /// Bytes that the rows need.
        needed: u64,
        /// Bytes that the buffer has.
        found: u64,
    },
    /// A null count that the validity bitmap does not show.
    NullCount {
        /// The column.
        column: String,
        /// The count in the metadata.
        declared: i64,
        /// The count of the bitmap (of no bitmap: 0).
        found: u64,
    },
    /// Nulls in a field that says it has none.
    Nulls {
        /// The field: the names of the top-level column and of the fields on the way to it, with
        /// dots between them.
        column: String,
        /// How many rows are null.
        nulls: usize,
    },
    /// Offsets that descend, are negative, or point behind the values.
    Offsets {
        /// The column.
        column: String,
        /// The row whose offsets are wrong.
        row: usize,
        /// Where the row starts.
        start: i64,
        /// Where it ends.
        end: i64,
        /// Length of the values.
        limit: u64,
    },
    /// Text that is not UTF-8.
    Utf8 {
        /// The column.
        column: String,
        /// The first row that is not text.
        row: usize,
    },
    /// A string or binary view that points outside its buffers or disagrees with itself.
    View {
        /// The column.
        column: String,
        /// The row.
        row: usize,
    },
    /// A dictionary key without a value.
    DictionaryKey {
        /// The column.
        column: String,
        /// The row.
        row: usize,
        /// The key.
        key: i128,
        /// How many values there are.
        values: usize,
    },
    /// A column needs a dictionary that no message has brought.
    DictionaryMissing {
        /// The column.
        column: String,
        /// The id of the dictionary.
        id: i64,
    },
    /// A DictionaryBatch with an id that the schema does not name, or that two fields of
    /// different types claim.
    DictionaryId {
        /// The id.
        id: i64,
    },
    /// A union's type id that no field has, or an offset outside its child.
    Union {
        /// The column.
        column: String,
        /// The row.
        row: usize,
        /// Its type id.
        type_id: i8,
        /// Its offset into the child (0 in a sparse union).
        offset: i32,
    },
    /// Run ends that do not ascend from 1 to the column's length.
    RunEnds {
        /// The column.
        column: String,
        /// The index of the run.
        run: usize,
        /// Its end.
        end: i64,
    },
    /// Arrays or fields that Arrow refuses to put together.
    Arrow {
        /// The column.
        column: String,
        /// Arrow's reason.
        source: ArrowError,
    },
    /// A compressed buffer that cannot be decompressed to its declared length.
    Compressed {
        /// The column.
        column: String,
        /// The index of the buffer in its message.
        buffer: usize,
        /// The length that its prefix declares.
        declared: i64,
    },
    /// A compression codec or method that is not in the Arrow specification.
    UnknownCodec {
        /// Where the message starts.
        position: u64,
        /// The number of the codec.
        codec: i8,
    },
    /// A codec whose cargo feature is not enabled.
    CodecDisabled {
        /// The name of the feature: `lz4` or `zstd`.
        feature: &'static str,
    },
    /// The compressor itself failed.
    CodecFailed {
        /// The column.
        column: String,
        /// Its reason.
        source: std::io::Error,
    },
    /// Opaque payload that the header promises and the body no longer has as written.
    PayloadLost {
        /// The opaque column (empty: the payload is a whole object).
        column: String,
    },
    /// The values of a column that travels as a pickle were asked for.
    Opaque {
        /// The column.
        column: String,
        /// What it holds: the sender's name of the type.
        type_name: String,
        /// Why it has no Arrow values.
        reason: Box<Error>,
    },
    /// One whole object where columns were asked for, or where columns are.
    WholeObject {
        /// The columns beside it: none, unless the stream is malformed.
        columns: usize,
    },
    /// A column that no pickle carries without changing it.
    Inexact {
        /// The column.
        column: String,
        /// Why.
        reason: Inexact,
    },
    /// A pickle that is malformed, asks for what is not allowed, or whose values are not
    /// what was asked for.
    Pickle {
        /// The column, if the pickle is one of a column.
        column: String,
        /// The byte of the pickle: of the opcode, or of the value or call that is meant.
        position: u64,
        /// What was refused.
        refused: PickleFault,
    },
    /// The input asks for more than [`Limits`](crate::Limits) allows.
    Limit {
        /// The limit, by its field in [`Limits`](crate::Limits).
        limit: &'static str,
        /// What the input asks for.
        requested: u64,
        /// What is allowed.
        allowed: u64,
    },
    /// More bytes would have to be copied than the caller allows.
    CopyLimit {
        /// The column; of a tensor, which of its buffers.
        column: String,
        /// Why a copy is needed.
        reason: CopyReason,
        /// Bytes that would have been copied by then.
        requested: u64,
        /// What is allowed.
        allowed: u64,
    },
    /// A batch that is not of the dataframe's schema.
    SchemaMismatch {
        /// Index of the batch.
        batch: usize,
        /// The first column that differs (or the name that is missing).
        column: String,
        /// The type in the schema, if it has the column.
        expected: Option<DataType>,
        /// The type in the batch, if it has the column.
        found: Option<DataType>,
    },
    /// A column that has another number of rows than its batch.
    RowCount {
        /// Index of the batch.
        batch: usize,
        /// Index of the column.
        column: usize,
        /// Rows of the batch.
        expected: usize,
        /// Rows of the column.
        found: usize,
    },
    /// A column of that name or index does not exist.
    ColumnMissing {
        /// The name, or the index as text.
        column: String,
    },
    /// A dictionary whose values are directly a dictionary: Arrow IPC cannot say it.
    DictionaryOfDictionary {
        /// The column.
        column: String,
    },
    /// A dictionary that changes between batches, which the IPC file format cannot hold.
    DictionaryChanged {
        /// The id of the dictionary.
        id: i64,
        /// The index of its second DictionaryBatch among the messages.
        message: usize,
    },
    /// A batch was encoded before [`Encoder::start`](crate::Encoder::start).
    Unstarted,
    /// The system has no memory of that size.
    Memory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// The place in a stream is not known any more: an earlier call failed, or more bytes were
    /// reported than there was room for.
    PlaceLost,
    /// Reading or writing failed.
    Io(std::io::Error),
}

/// What a number or a buffer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The 4- or 8-byte prefix of an encapsulated message.
    Prefix,
    /// A message's flatbuffer.
    Metadata,
    /// A message's body.
    Body,
    /// A file's footer.
    Footer,
    /// A block of a file's footer.
    Block,
    /// The rows of a batch or an array.
    Rows,
    /// The field nodes of a message.
    Nodes,
    /// The buffers of a message.
    Buffers,
    /// The counts of variadic buffers of a message.
    VariadicCounts,
    /// A validity bitmap.
    Validity,
    /// Offsets of a string, binary, list, map or dense union.
    Offsets,
    /// Sizes of a list-view.
    Sizes,
    /// String or binary views.
    Views,
    /// Values.
    Values,
    /// Type ids of a union.
    TypeIds,
    /// The sizes of a tensor's dimensions.
    Shape,
    /// The strides of a tensor.
    Strides,
    /// The names of a tensor's dimensions.
    Names,
    /// The indices of a sparse tensor's elements.
    Indices,
    /// The pointers into those.
    Pointers,
    /// The order of the axes of a sparse tensor's index.
    AxisOrder,
    /// The payload of an opaque column.
    Payload,
    /// The end-of-stream marker.
    End,
    /// The count and the lengths before packed frames.
    Prelude,
    /// A packed frame.
    Frame,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Prefix => "message prefix",
            Part::Metadata => "message metadata",
            Part::Body => "message body",
            Part::Footer => "file footer",
            Part::Block => "footer block",
            Part::Rows => "row count",
            Part::Nodes => "field nodes",
            Part::Buffers => "buffers",
            Part::VariadicCounts => "variadic buffer counts",
            Part::Validity => "validity bitmap",
            Part::Offsets => "offsets",
            Part::Sizes => "sizes",
            Part::Views => "views",
            Part::Values => "values",
            Part::TypeIds => "type ids",
            Part::Shape => "tensor shape",
            Part::Strides => "tensor strides",
            Part::Names => "dimension names",
            Part::Indices => "sparse indices",
            Part::Pointers => "sparse index pointers",
            Part::AxisOrder => "axis order",
            Part::Payload => "opaque payload",
            Part::End => "end-of-stream marker",
            Part::Prelude => "count and lengths of frames",
            Part::Frame => "packed frame",
        })
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ErrorKind::*;
        match self {
            Truncated { part, position, needed, available } => write!(
                f,
                "input ends early: the {part} at byte {position} needs {needed} bytes, {available} are there"
            ),
            BadNumber { part, position, number } => {
                write!(f, "the {part} at byte {position} has an impossible number: {number}")
            }
            EndMarker { position } => write!(
                f,
                "the 4 zeros at byte {position} are no end marker: the messages in front of them are not of Arrow before 0.15, so that a length is wrong"
            ),
            NotAFile { position } => {
                write!(f, "not an Arrow IPC file: no `ARROW1` at byte {position}")
            }
            Flatbuffer { position, source } => write!(
                f,
                "the message at byte {position} is not a valid flatbuffer: {}",
                source.to_string().trim_end().replace('\n', " ")
            ),
            MetadataVersion { position, version } => write!(
                f,
                "the message at byte {position} has metadata version {version}; only V4 (3) and V5 (4) are known"
            ),
            BigEndian => f.write_str(
                "the stream is big-endian; only little-endian is supported: ask the sender for it",
            ),
            LegacyCompression { position } => write!(
                f,
                "the message at byte {position} uses the experimental compression of Arrow 0.17; re-write it with Arrow 1.0 or later"
            ),
            UnexpectedMessage { position, header } => write!(
                f,
                "the message at byte {position} is of type {header}, which does not belong there"
            ),
            WrongContent { position, expected, found } => {
                write!(f, "the message at byte {position} starts {found}, not {expected}")
            }
            TensorType { source } => write!(f, "the tensor has no valid type: {source}"),
            TensorLevels { expected, found } => {
                write!(f, "a level of the sparse tensor has numbers of type {found}, the first one {expected}")
            }
            TensorSize { shape, width } => {
                write!(f, "a tensor of shape {shape:?} with elements of {width} bytes cannot be addressed")
            }
            TensorCount { part, expected, found } => {
                write!(f, "the tensor has {found} {part}, {expected} are needed")
            }
            TensorLength { part, needed, found } => {
                write!(f, "the {part} of the tensor need {needed} bytes, the buffer has {found}")
            }
            TensorStrides { shape, strides, offset, length } => write!(
                f,
                "a tensor of shape {shape:?} with strides {strides:?} that starts at byte {offset} does not fit into its buffer of {length} bytes"
            ),
            TensorIndex { place, index, limit } => {
                write!(f, "index {place} of the sparse tensor is {index}, its dimension has size {limit}")
            }
            TensorPointers { place, pointer, before, limit } => write!(
                f,
                "index pointer {place} of the sparse tensor is {pointer}, after {before}: they must ascend from 0 to {limit}"
            ),
            TensorAxes { order } => {
                write!(f, "the axes {order:?} are not each dimension of the sparse tensor once")
            }
            SchemaMissing { position } => {
                write!(f, "the message at byte {position} comes before any schema")
            }
            SchemaRepeated { position } => {
                write!(f, "a second schema at byte {position}")
            }
            BadType { column, source } => write!(f, "column {column:?} has no valid type: {source}"),
            FrameCount { expected, found } => {
                write!(f, "the header names {expected} frames, {found} were handed in")
            }
            FrameLength { frame, expected, found } => {
                write!(f, "frame {frame} has {found} bytes, the header says {expected}")
            }
            Count { column, part, found } if column.is_empty() => {
                write!(f, "the message has {found} {part}, more than its schema needs")
            }
            Count { column, part: Part::Rows, found } => write!(
                f,
                "something in column {column:?} has {found} rows, where its batch or parent needs another number"
            ),
            Count { column, part, found } => {
                write!(f, "the message has {found} {part}, too few: column {column:?} needs more")
            }
            BufferOverlap { column, buffer, offset, length, other, other_offset, other_length } => write!(
                f,
                "buffer {buffer}{} at {offset} of length {length} overlaps buffer {other} at {other_offset} of length {other_length}",
                OfColumn(column)
            ),
            BufferMoved { column, buffer, offset, expected } => write!(
                f,
                "buffer {buffer}{} lies at {offset}; the note of its message says that arrow-frames wrote it, at {expected}",
                OfColumn(column)
            ),
            BufferOutside { column, buffer, offset, length, body } if column.is_empty() => write!(
                f,
                "buffer {buffer} at {offset} of length {length} does not fit into its body of {body} bytes"
            ),
            BufferOutside { column, buffer, offset, length, body } => write!(
                f,
                "buffer {buffer} (column {column:?}) at {offset} of length {length} does not fit into its body of {body} bytes"
            ),
            BufferLength { column, part, needed, found } => {
                write!(f, "the {part} of column {column:?} need {needed} bytes, the buffer has {found}")
            }
            NullCount { column, declared, found } => {
                write!(f, "column {column:?} declares {declared} nulls, its validity bitmap shows {found}")
            }
            Nulls { column, nulls } => {
                write!(f, "{nulls} rows of {column:?} are null, and its field says that none is")
            }
            Offsets { column, row, start, end, limit } => write!(
                f,
                "row {row} of column {column:?} lies at {start}..{end}, its values have length {limit}"
            ),
            Utf8 { column, row } => write!(f, "row {row} of column {column:?} is not UTF-8"),
            View { column, row } => write!(
                f,
                "the view in row {row} of column {column:?} points outside its buffers or contradicts them"
            ),
            DictionaryKey { column, row, key, values } => write!(
                f,
                "row {row} of column {column:?} has the dictionary key {key}, there are {values} values"
            ),
            DictionaryMissing { column, id } => {
                write!(f, "column {column:?} needs dictionary {id}, which has not come")
            }
            DictionaryId { id } => {
                write!(f, "dictionary {id} belongs to no column, or to columns of different types")
            }
            Union { column, row, type_id, offset } => write!(
                f,
                "row {row} of union column {column:?} has type id {type_id} and offset {offset}, which do not exist"
            ),
            RunEnds { column, run, end } => write!(
                f,
                "run {run} of column {column:?} ends at {end}: run ends must ascend from 1 to the row count"
            ),
            Arrow { column, source } => write!(f, "column {column:?}: {source}"),
            Compressed { column, buffer, declared } => {
                write!(f, "buffer {buffer} (column {column:?}) does not decompress to its {declared} bytes")
            }
            UnknownCodec { position, codec } => {
                write!(f, "the message at byte {position} uses an unknown compression ({codec})")
            }
            CodecDisabled { feature } => {
                write!(f, "compression needs the cargo feature `{feature}` of arrow-frames")
            }
            CodecFailed { column, source } => {
                write!(f, "column {column:?} could not be compressed: {source}")
            }
            PayloadLost { column } if column.is_empty() => {
                f.write_str("the payload of the object was lost: something re-wrote the stream on the way")
            }
            PayloadLost { column } => write!(
                f,
                "the payload of opaque column {column:?} was lost: something re-wrote the stream on the way"
            ),
            Opaque { column, type_name, reason } => {
                write!(
                    f,
                    "column {column:?} is opaque (a pickled {type_name}) and has no Arrow values: {reason}"
                )
            }
            WholeObject { columns: 0 } => {
                write!(f, "what was sent is one pickled object, and no dataframe: `DataFrame::object` has it")
            }
            WholeObject { columns } => {
                write!(f, "what was sent is one whole object, and has {columns} columns beside it")
            }
            Inexact { column, reason } => write!(
                f,
                "column {column:?} cannot be pickled exactly: {reason}; let it travel as its Arrow buffers (`Carriage::OpaqueOrNative`), or change it"
            ),
            Pickle { column, position, refused } if column.is_empty() => {
                write!(f, "pickle refused at byte {position}: {refused}")
            }
            Pickle { column, position, refused } => {
                write!(f, "column {column:?}: pickle refused at byte {position}: {refused}")
            }
            Limit { limit, requested, allowed } => {
                write!(f, "the input asks for {requested} where `Limits::{limit}` allows {allowed}")
            }
            CopyLimit { column, reason, requested, allowed } => write!(
                f,
                "column {column:?} needs a copy ({reason}): {requested} bytes in all, {allowed} are allowed"
            ),
            SchemaMismatch { batch, column, expected, found } => {
                write!(f, "batch {batch} is not of the schema: column {column:?} ")?;
                match (expected, found) {
                    (Some(expected), Some(found)) if expected == found => {
                        f.write_str("differs in name, nullability, order or metadata")
                    }
                    (Some(expected), Some(found)) => write!(f, "is {found}, not {expected}"),
                    (Some(_), None) => f.write_str("is missing"),
                    (None, _) => f.write_str("is not in the schema"),
                }
            }
            RowCount { batch, column, expected, found } => {
                write!(f, "column {column} of batch {batch} has {found} rows, the batch has {expected}")
            }
            ColumnMissing { column } => write!(f, "there is no column {column}"),
            DictionaryOfDictionary { column } => write!(
                f,
                "column {column:?} is a dictionary whose values are a dictionary, which Arrow IPC cannot express: decode the inner one first"
            ),
            DictionaryChanged { id, message } => write!(
                f,
                "dictionary {id} changes in message {message}: the IPC file format holds one dictionary per column; unify them or write a stream"
            ),
            Unstarted => f.write_str("`Encoder::start` must come before the first batch"),
            Memory { bytes } => write!(f, "the system has no {bytes} bytes of memory"),
            PlaceLost => f.write_str(
                "the place in the stream was lost: an earlier call failed, or its reader reported too many bytes",
            ),
            Io(source) => source.fmt(f),
        }
    }
}

/// The name of a column in parentheses, if it is known.
struct OfColumn<'c>(&'c str);

impl fmt::Display for OfColumn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " (column {:?})", self.0) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            ErrorKind::BadType { source, .. }
            | ErrorKind::Arrow { source, .. }
            | ErrorKind::TensorType { source } => Some(source),
            ErrorKind::CodecFailed { source, .. } | ErrorKind::Io(source) => Some(source),
            _ => None,
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(kind))
    }
}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Self {
        ErrorKind::Io(source).into()
    }
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        match error.into_kind() {
            ErrorKind::Io(source) => source,
            kind => std::io::Error::new(std::io::ErrorKind::InvalidData, Error::from(kind)),
        }
    }
}
