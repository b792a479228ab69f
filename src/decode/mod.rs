//! Frames → DataFrame.
//!
//! [`Decoder`] reads the header message by message. A [`reader`] takes the nodes, buffers
//! and frames of one message in order, [`arrays`] builds an array of each type from them,
//! [`validate`] looks at the bytes that Arrow takes on trust, and [`trusted`] holds the only
//! unsafe code: the constructors that skip a check which was made, or which the caller
//! promised to be unnecessary.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod arrays;
mod dictionaries;
mod reader;
mod resolve;
pub(crate) mod trusted;
mod validate;

use arrow_buffer::Buffer;
use arrow_schema::{FieldRef, Metadata, SchemaRef};

use crate::content::Content;
use crate::copies::{CopyBudget, CopyReport};
use crate::dataframe::{Batch, Column, DataFrame, OpaqueColumn, project_schema};
use crate::error::{ErrorKind, Part, Result};
use crate::frames::Frames;
use crate::limits::Limits;
use crate::nulls;
use crate::wire::batch::BatchMeta;
use crate::wire::envelope::{self, Next, Prefixes};
use crate::wire::message::{Header, Message};
use crate::wire::opaque;
use crate::wire::schema::WireSchema;
use dictionaries::{Cost, Dictionaries};
use reader::{Incoming, Reader};
use trusted::Trust;

pub(crate) use reader::aligned_copy;
pub(crate) use resolve::{Unknown, resolve};

/// Rebuilds a dataframe from a header and its frames, without copying a column: each
/// array's buffers are the frames.
///
/// Everything is validated; for options, and for streams that come in pieces, see [`Decoder`].
///
/// # Errors
///
/// Any [`ErrorKind`] whose [`fault`](crate::Error::fault) is the input, and
/// [`ErrorKind::Truncated`] if the header has no end-of-stream marker.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, RecordBatch, StringArray};
/// use arrow_frames::{DataFrame, Frames, Target, from_buffers, to_buffers};
///
/// let city: ArrayRef = Arc::new(StringArray::from(vec![Some("Oslo"), None]));
/// let batch = RecordBatch::try_from_iter([("city", city)])?;
/// let (header, buffers) = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow)?.into_parts();
///
/// // … the header and the buffers travel …
///
/// let df = from_buffers(Frames::new(header, buffers))?;
/// assert_eq!(df.into_record_batch()?, batch);
/// # Ok(()) }
/// ```
pub fn from_buffers(frames: Frames) -> Result<DataFrame> {
    let length = frames.header().len() as u64;
    let mut decoder = Decoder::new();
    let df = decoder.decode(frames)?;
    if !decoder.is_finished() {
        return Err(
            ErrorKind::Truncated { part: Part::End, position: length, needed: 8, available: 0 }.into()
        );
    }
    Ok(df)
}

/// Decodes frames, with options; knows the schema and the dictionaries of the stream.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use std::sync::Arc;
/// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
/// # use arrow_frames::{DataFrame, Target, to_buffers};
/// use arrow_frames::Decoder;
/// # let column = |n: i8| -> ArrayRef { Arc::new(Int8Array::from(vec![n])) };
/// # let batch = RecordBatch::try_from_iter([("a", column(1)), ("b", column(2))])?;
/// # let frames = to_buffers(&DataFrame::from(batch), Target::Arrow)?;
///
/// // Only the second column, and nothing that would have to be copied.
/// let mut decoder = Decoder::new().with_projection([1]).with_max_copied_bytes(0);
/// let df = decoder.decode(frames)?;
/// assert_eq!(df.schema().field(0).name(), "b");
/// assert_eq!(decoder.copies().total(), 0);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    projection: Option<Vec<usize>>,
    copies: CopyBudget,
    trust: Trust,
    writable: bool,
    stream: Option<Stream>,
    /// Where the end marker of the last call ended, if it came to one.
    end: Option<usize>,
}

/// What is known of the stream being read.
#[derive(Debug)]
struct Stream {
    wire: WireSchema,
    /// The schema of the projected columns.
    schema: SchemaRef,
    /// For each column of the projection, its place among the wanted columns.
    places: Option<Vec<usize>>,
    /// Whether each column of the stream is wanted.
    wanted: Vec<bool>,
    /// Of each column of the stream that is opaque, the sender's name of its type.
    opaque: Vec<Option<String>>,
    dictionaries: Dictionaries,
    /// Bytes of the largest call that brought a dictionary.
    dictionary_input: u64,
    metadata: Metadata,
    prefixes: Prefixes,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder that validates everything, within the default [`Limits`].
    pub fn new() -> Self {
        Decoder {
            limits: Limits::default(),
            projection: None,
            copies: CopyBudget::default(),
            trust: Trust::validate(),
            writable: false,
            stream: None,
            end: None,
        }
    }

    /// What the input may claim.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Decodes only these columns, in this order; the frames of the others are not read.
    pub fn with_projection(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.projection = Some(columns.into_iter().collect());
        self
    }

    /// Refuses to copy more than this many bytes of column data in one call; 0 is strict
    /// zero copy. Without this, any copy that is needed is made and counted.
    pub fn with_max_copied_bytes(mut self, bytes: u64) -> Self {
        self.copies.allowed = Some(bytes);
        self
    }

    /// Gives every native column buffers that arrow can change in place: `into_builder` then
    /// keeps their addresses. A frame that is already the allocation of a `Vec` of the
    /// element type, and that nothing else refers to, is taken as it is;
    /// [`StreamSource::with_writable`](crate::StreamSource::with_writable) receives such frames.
    /// Any other is copied and counted as [`CopyReason::Writable`](crate::CopyReason::Writable).
    /// Dictionaries, which the arrays of several batches share, stay as they are.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// use arrow::array::{ArrayRef, AsArray, Float64Array, RecordBatch};
    /// use arrow::datatypes::Float64Type;
    /// use arrow_frames::{DataFrame, Decoder, Target, to_buffers};
    ///
    /// let price: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 2.5]));
    /// let frames = to_buffers(&DataFrame::from(RecordBatch::try_from_iter([("price", price)])?), Target::Arrow)?;
    ///
    /// let mut decoder = Decoder::new().with_writable(true);
    /// let batch = decoder.decode(frames)?.into_record_batch()?;
    /// let (_, mut columns, _) = batch.into_parts();
    /// let price = columns.remove(0).as_primitive::<Float64Type>().clone();
    /// let address = price.values().as_ptr();
    /// let mut price = price.into_builder().expect("it is writable");
    /// price.values_slice_mut()[0] = 9.5;
    /// assert_eq!(price.finish().values().as_ptr(), address);
    /// # Ok(()) }
    /// ```
    pub fn with_writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    /// Does not look at the bytes of columns: only structure, sizes and bounds are checked.
    ///
    /// # Safety
    ///
    /// What is decoded must be valid Arrow data in every buffer: ascending offsets inside
    /// their values, UTF-8 text, keys, views, type ids and run ends that exist, true null
    /// counts. Frames that this process encoded from valid arrays and that nobody changed
    /// are. Anything else is undefined behaviour when the arrays are used.
    #[allow(unsafe_code)] // An unsafe *promise* of the caller's; nothing unsafe happens here.
    pub unsafe fn with_trusted_data(mut self) -> Self {
        // SAFETY: the caller makes the promise that `Trust` stands for.
        self.trust = unsafe { Trust::trusted() };
        self
    }

    /// What the last call copied.
    pub fn copies(&self) -> &CopyReport {
        self.copies.report()
    }

    /// Whether the last call came to the end-of-stream marker. If it did not, the stream
    /// goes on, or was cut between two messages.
    pub fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// The schema of what is decoded, once it is known: the stream's, projected.
    pub fn schema(&self) -> Option<&SchemaRef> {
        self.stream.as_ref().map(|stream| &stream.schema)
    }

    /// Decodes frames whose header holds any number of messages.
    ///
    /// A Schema message starts a new stream. Without one, the batches continue the stream
    /// of the call before, with its schema and dictionaries.
    ///
    /// # Errors
    ///
    /// See [`from_buffers`]; [`ErrorKind::SchemaMissing`] if no stream was started. After an
    /// error the decoder starts anew.
    pub fn decode(&mut self, frames: Frames) -> Result<DataFrame> {
        let (header, buffers) = frames.into_parts();
        self.decode_messages(&header, Some(buffers))
    }

    /// Decodes an Arrow IPC stream that lies in one buffer (a received body, a file), or a
    /// piece of one that ends between two messages: each array's buffers are slices of it.
    ///
    /// This is [`Frames::from_stream`] and [`decode`](Self::decode) in one pass over the
    /// metadata. What follows an end marker is ignored.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use arrow::array::{ArrayRef, Int8Array, RecordBatch};
    /// # use arrow_frames::{DataFrame, Decoder, Target, to_buffers};
    /// # let a: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
    /// # let batch = RecordBatch::try_from_iter([("a", a)])?;
    /// # let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow)?;
    /// let received: Vec<u8> = frames.segments()?.flatten().copied().collect();
    ///
    /// let mut decoder = Decoder::new();
    /// let df = decoder.decode_stream(received)?;
    /// assert!(decoder.is_finished());
    /// assert_eq!(df.into_record_batch()?, batch);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`decode`](Self::decode), and [`ErrorKind::Truncated`] if a body ends early.
    pub fn decode_stream(&mut self, stream: impl Into<Buffer>) -> Result<DataFrame> {
        self.decode_messages(&stream.into(), None)
    }

    /// Where the end marker of the last call ended in its header or stream, if it came to one.
    #[cfg(feature = "spill")]
    pub(crate) fn end(&self) -> Option<u64> {
        self.end.map(|end| end as u64)
    }

    /// Turns opaque columns into Arrow arrays, as far as they have an Arrow type: those that
    /// were pickled for pandas become what they were, to the schema's metadata. Nothing is
    /// executed. The others stay opaque. Counts in [`copies`](Decoder::copies), and within
    /// the same cap, together with what the last [`decode`](Decoder::decode) copied.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::CopyLimit`].
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::Arc;
    /// use arrow::array::{ArrayRef, RecordBatch, StringArray};
    /// use arrow_frames::{Column, DataFrame, Decoder, Target, to_buffers};
    ///
    /// let name: ArrayRef = Arc::new(StringArray::from(vec!["lo", "hi"]));
    /// let batch = RecordBatch::try_from_iter([("name", name)])?;
    /// let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Pandas)?;
    ///
    /// let mut decoder = Decoder::new().with_max_copied_bytes(0);
    /// let df = decoder.decode(frames)?;
    /// assert!(matches!(df.batches()[0].column(0), Some(Column::Opaque(_))));
    /// assert_eq!(decoder.resolve(df)?.into_record_batch()?, batch);
    /// # Ok(()) }
    /// ```
    pub fn resolve(&mut self, df: DataFrame) -> Result<DataFrame> {
        self.copies.max_expanded = Some(self.limits.expanded_bytes(df.opaque_bytes()));
        resolve::resolve(df, &mut self.copies, Unknown::StaysOpaque)
    }

    /// Decodes messages: of a header whose frames lie apart, or of a stream with bodies.
    fn decode_messages(&mut self, messages: &Buffer, frames: Option<Vec<Buffer>>) -> Result<DataFrame> {
        self.copies.reset();
        let frame_bytes = frames.iter().flatten().map(|frame| frame.len() as u64);
        let input = frame_bytes.fold(messages.len() as u64, u64::saturating_add);
        self.end = None;
        let mut stream = self.stream.take();
        let so_far = |stream: &Stream| (stream.dictionary_input, stream.dictionaries.kept(), stream.prefixes);
        let (kept_input, kept, mut prefixes) = stream.as_ref().map(so_far).unwrap_or_default();
        self.copies.max_expanded = Some(self.limits.expanded_bytes(input.max(kept_input)));
        self.copies.start_with(kept);
        let limits = &self.limits;
        let mut work = Work {
            limits,
            trust: self.trust,
            writable: self.writable,
            copies: &mut self.copies,
            incoming: Incoming::new(messages, frames, limits),
        };
        let mut batches = Vec::new();
        let mut position = 0;
        let mut is_first = true;
        loop {
            let envelope = match envelope::next(messages, position, &mut prefixes, limits)? {
                Next::Message(envelope) => envelope,
                Next::End { end } => {
                    self.end = Some(end);
                    break;
                }
                Next::Nothing => break,
            };
            let start = envelope.start as u64;
            let metadata_end = envelope.metadata.end;
            let first = Prefixes::of(&envelope);
            let flatbuffer = messages.get(envelope.metadata).unwrap_or_default();
            let message = Message::parse(flatbuffer, start, limits)?;
            position = work.incoming.start_message(metadata_end, message.body_length)?;
            if let Header::Schema(schema) = message.header {
                if !is_first {
                    return Err(ErrorKind::SchemaRepeated { position: start }.into());
                }
                let wire = WireSchema::read(schema, limits)?;
                // Another stream may have come before.
                prefixes = first;
                work.copies.start_with(0);
                stream = Some(Stream::new(wire, self.projection.as_deref(), message.metadata())?);
            } else if let Some(meta) = BatchMeta::of(&message)? {
                let stream = stream.as_mut().ok_or(ErrorKind::SchemaMissing { position: start })?;
                if let Header::Dictionary { id, is_delta, .. } = message.header {
                    stream.dictionary_input = stream.dictionary_input.max(input);
                    stream.dictionary(&meta, id, is_delta, &mut work)?;
                } else {
                    let (columns, object) = stream.batch(&meta, &mut work)?;
                    let batch = Batch::new_unchecked(columns, meta.rows, message.metadata());
                    batches.push(batch.with_object(object));
                }
            } else {
                return Err(message.unexpected(Content::DataFrame));
            }
            is_first = false;
        }
        work.incoming.finish()?;
        let mut stream = stream.ok_or(ErrorKind::SchemaMissing { position: 0 })?;
        stream.prefixes = prefixes;
        let allowed = self.limits.expanded_bytes(stream.dictionary_input);
        let requested = stream.dictionaries.kept();
        if requested > allowed {
            return Err(ErrorKind::Limit { limit: "max_expanded_bytes", requested, allowed }.into());
        }
        let df = DataFrame::new_unchecked(stream.schema.clone(), batches)
            .with_message_metadata(stream.metadata.clone());
        self.stream = Some(stream);
        Ok(df)
    }
}

/// About what an array takes beside its buffers.
const ARRAY_BYTES: u64 = 256;

/// Columns, and the buffers of a whole object.
type BatchParts = (Vec<Column>, Option<Vec<Buffer>>);

/// What one call works with.
struct Work<'d> {
    limits: &'d Limits,
    trust: Trust,
    writable: bool,
    copies: &'d mut CopyBudget,
    incoming: Incoming<'d>,
}

impl Stream {
    /// Takes the values of a dictionary.
    fn dictionary(
        &mut self,
        meta: &BatchMeta<'_>,
        id: i64,
        is_delta: bool,
        work: &mut Work<'_>,
    ) -> Result<()> {
        let found = self.dictionaries.find(id);
        let found =
            found.and_then(|(index, is_wanted)| Some((index, self.wire.dictionaries.get(index)?, is_wanted)));
        let (index, field, is_wanted) = found.ok_or(ErrorKind::DictionaryId { id })?;
        if field.nested > 0 {
            self.dictionaries.join_deltas(&self.wire, work.limits, work.copies)?;
        }
        let before = work.copies.expanded();
        let mut reader = Reader::new(meta, &self.wire, &self.dictionaries, work);
        reader.start_dictionary(field.column, index);
        if !is_wanted {
            reader.skip(&field.value_type)?;
            return reader.finish();
        }
        let name = self.wire.column_name(field.column);
        let values = reader.column(&field.value_type).map_err(|error| error.inside(name))?;
        reader.finish()?;
        let arrays = (meta.nodes.len() as u64).saturating_mul(ARRAY_BYTES);
        let made = work.copies.expanded().saturating_sub(before);
        let cost = Cost { made, waiting: meta.body_length.saturating_add(arrays) };
        self.dictionaries.insert(id, values, is_delta, cost);
        Ok(())
    }

    /// The wanted columns of a batch, and the whole object that it carries, if it does.
    fn batch(&mut self, meta: &BatchMeta<'_>, work: &mut Work<'_>) -> Result<BatchParts> {
        self.dictionaries.join_deltas(&self.wire, work.limits, work.copies)?;
        let mut reader = Reader::new(meta, &self.wire, &self.dictionaries, work);
        let fields = self.wire.schema.fields();
        if self.schema.fields().is_empty() {
            reader.check_free_rows(meta.rows)?;
        }
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        let mut opaque_columns = Vec::new();
        for (index, (field, wanted)) in fields.iter().zip(&self.wanted).enumerate() {
            reader.start_column(index);
            if !wanted {
                reader.skip(field.data_type())?;
                continue;
            }
            if let Some(Some(type_name)) = self.opaque.get(index) {
                opaque_columns.push((index, columns.len(), type_name));
            }
            let has_nulls = reader.has_nulls();
            let array = reader.column(field.data_type()).map_err(|error| error.inside(field.name()))?;
            if has_nulls {
                nulls::check_column(field, array.as_ref())?;
            }
            columns.push(Column::Native(array));
        }
        let mut payload = reader.payload(&self.wanted)?;
        reader.finish()?;
        let object = payload.remove(&opaque::WHOLE_OBJECT);
        if object.is_some() && !fields.is_empty() {
            return Err(ErrorKind::WholeObject { columns: fields.len() }.into());
        }
        for (index, place, type_name) in opaque_columns {
            let (Some(slot), Some(buffers)) = (columns.get_mut(place), payload.remove(&index)) else {
                return Err(ErrorKind::PayloadLost { column: self.wire.column_name(index).to_owned() }.into());
            };
            *slot = Column::Opaque(OpaqueColumn::new(type_name.as_str(), meta.rows, buffers));
        }
        // What is left belongs to a column that lost its mark: it is no column of nulls.
        if let Some(&index) = payload.keys().find(|index| self.wanted.get(**index) == Some(&true)) {
            return Err(ErrorKind::PayloadLost { column: self.wire.column_name(index).to_owned() }.into());
        }
        let columns = match &self.places {
            None => columns,
            Some(places) => places.iter().filter_map(|&place| columns.get(place).cloned()).collect(),
        };
        Ok((columns, object))
    }

    fn new(wire: WireSchema, projection: Option<&[usize]>, metadata: Metadata) -> Result<Self> {
        let count = wire.schema.fields().len();
        let (schema, wanted, places) = match projection {
            None => (wire.schema.clone(), vec![true; count], None),
            Some(projection) => {
                let schema = project_schema(&wire.schema, projection)?;
                let mut wanted = vec![false; count];
                for index in projection {
                    if let Some(wanted) = wanted.get_mut(*index) {
                        *wanted = true;
                    }
                }
                let decoded: Vec<usize> = (0..count).filter(|i| wanted.get(*i) == Some(&true)).collect();
                let place = |index| decoded.binary_search(index).ok();
                let places = projection.iter().filter_map(place).collect();
                (schema, wanted, Some(places))
            }
        };
        let lost = |(field, wanted): &(&FieldRef, &bool)| **wanted && opaque::is_mark_of_values(field);
        if let Some((field, _)) = wire.schema.fields().iter().zip(&wanted).find(lost) {
            return Err(ErrorKind::PayloadLost { column: field.name().clone() }.into());
        }
        let type_name = |field: &FieldRef| opaque::is_marked(field).then(|| opaque::type_name(field));
        let opaque = wire.schema.fields().iter().map(type_name).collect();
        let dictionaries = Dictionaries::new(&wire, &wanted)?;
        let prefixes = Prefixes::default();
        let dictionary_input = 0;
        Ok(Stream {
            wire,
            schema,
            places,
            wanted,
            opaque,
            dictionaries,
            dictionary_input,
            metadata,
            prefixes,
        })
    }
}
