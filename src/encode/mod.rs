//! DataFrame → Frames.
//!
//! Columns that travel as pickles become opaque columns first ([`pickled`]). Then
//! [`Encoder`] walks the arrays once per batch ([`walk`]), collects their buffers as frames
//! ([`body`]) and writes the metadata (`crate::wire`). What a slice has to copy is decided
//! in [`slices`], by the bytes that [`measure`] counts; what a stream must say about
//! dictionaries in [`dictionaries`].

mod body;
mod carriage;
mod dictionaries;
mod measure;
mod pickled;
mod slices;
mod unify;
mod walk;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::{Field, Metadata, SchemaRef};
use flatbuffers::FlatBufferBuilder;

use crate::compression::Compression;
use crate::copies::{CopyBudget, CopyReport};
use crate::dataframe::{Batch, Column, DataFrame, OpaqueColumn, check_same_schema};
use crate::error::{ErrorKind, Result};
use crate::frames::Frames;
use crate::nulls;
use crate::pickle::Forms;
use crate::wire::batch::Span;
use crate::wire::opaque::{self, MESSAGE_KEY, NoteParts};
use crate::wire::schema::WireSchema;
use crate::wire::write::{self, BatchParts, DictionaryParts};
use body::{Body, MetDictionary};
use dictionaries::Dictionaries;
use pickled::{Plan, Rules};
use slices::Carried;
use walk::Walk;

pub use carriage::{Carriage, Target};

/// Splits a dataframe into a header and frames, without copying a column.
///
/// For options and the report of what had to be copied, see [`Encoder`].
///
/// # Errors
///
/// [`ErrorKind::DictionaryOfDictionary`] for a type that Arrow IPC cannot say;
/// [`ErrorKind::Nulls`] in a field that says it has none.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Float64Array, RecordBatch};
/// use arrow_frames::{DataFrame, Target, from_buffers, to_buffers};
///
/// let price: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 2.5]));
/// let batch = RecordBatch::try_from_iter([("price", price)])?;
///
/// let frames = to_buffers(&DataFrame::from(batch.clone()), Target::Arrow)?;
/// // The frame is the array's own buffer.
/// assert_eq!(frames.buffers()[0].as_ptr(), batch.column(0).to_data().buffers()[0].as_ptr());
///
/// assert_eq!(from_buffers(frames)?.into_record_batch()?, batch);
/// # Ok(()) }
/// ```
pub fn to_buffers(df: &DataFrame, target: Target) -> Result<Frames> {
    Encoder::new(target).encode(df)
}

/// Encodes dataframes, with options; reusing one saves its small allocations.
///
/// [`encode`](Encoder::encode) makes self-contained frames. For many batches of one schema,
/// [`start`](Encoder::start), [`encode_batch`](Encoder::encode_batch) and
/// [`finish`](Encoder::finish) make one stream in pieces: each piece is the [`Frames`] of
/// its messages, to be sent in order.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int32Array, RecordBatch};
/// use arrow_frames::{Decoder, Encoder, Target};
///
/// let column = |values: Vec<i32>| -> ArrayRef { Arc::new(Int32Array::from(values)) };
/// let first = RecordBatch::try_from_iter([("a", column(vec![1, 2]))])?;
/// let second = RecordBatch::try_from_iter([("a", column(vec![3]))])?;
///
/// let mut encoder = Encoder::new(Target::Arrow).with_max_copied_bytes(0);
/// let mut decoder = Decoder::new();
/// decoder.decode(encoder.start(&first.schema())?)?;
/// for batch in [&first, &second] {
///     let df = decoder.decode(encoder.encode_batch(batch)?)?;
///     assert_eq!(&df.into_record_batch()?, batch);
/// }
/// # Ok(()) }
/// ```
pub struct Encoder {
    rules: Rules,
    compression: Option<Compression>,
    trim: bool,
    deltas: bool,
    writable: bool,
    copies: CopyBudget,
    builder: FlatBufferBuilder<'static>,
    stream: Option<Stream>,
    spare: Vec<Body>,
    frames_hint: usize,
}

/// What is known of the stream being written.
#[derive(Debug)]
struct Stream {
    schema: WireSchema,
    /// What becomes of the batches' columns; none while a whole dataframe is encoded.
    plan: Option<Plan>,
    dictionaries: Dictionaries,
    /// How many batches came before, for errors.
    batches: usize,
}

impl Encoder {
    /// An encoder for that receiver: no compression, any number of copied bytes, whole
    /// dictionaries, changed dictionaries replaced.
    pub fn new(target: Target) -> Self {
        Encoder {
            rules: Rules { target, forms: Forms::default(), carriage: None },
            compression: None,
            trim: false,
            deltas: false,
            writable: false,
            copies: CopyBudget::default(),
            builder: FlatBufferBuilder::new(),
            stream: None,
            spare: Vec::new(),
            frames_hint: 0,
        }
    }

    /// Decides how each column travels, by its index and field, instead of the target.
    ///
    /// ```
    /// use arrow_frames::{Carriage, Encoder, Target};
    /// use arrow::datatypes::DataType;
    ///
    /// // Dates too become Python objects; "note" stays an Arrow column.
    /// let encoder = Encoder::new(Target::Pandas).with_carriage(|_, field| {
    ///     match (field.name().as_str(), field.data_type()) {
    ///         ("note", _) => Carriage::Native,
    ///         (_, DataType::Date32) => Carriage::Opaque,
    ///         _ => Target::Pandas.carriage(field),
    ///     }
    /// });
    /// ```
    pub fn with_carriage(
        mut self,
        carriage: impl Fn(usize, &Field) -> Carriage + Send + Sync + 'static,
    ) -> Self {
        self.rules.carriage = Some(Box::new(carriage));
        self
    }

    /// Chooses among the forms that pickled columns can take.
    pub fn with_forms(mut self, forms: Forms) -> Self {
        self.rules.forms = forms;
        self
    }

    /// Compresses every buffer by itself, as Arrow IPC does. Each is then a counted copy.
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// Refuses to copy more than this many bytes of column data in one call; 0 is strict
    /// zero copy. Without this, any copy that is needed is made and counted.
    pub fn with_max_copied_bytes(mut self, bytes: u64) -> Self {
        self.copies.allowed = Some(bytes);
        self
    }

    /// Sends only the dictionary values that a slice uses, where that is cheaper.
    ///
    /// Off by default, since unused values (categories) are data. It never applies to
    /// ordered dictionaries, nor in a stream of several batches, nor for pandas.
    pub fn with_trimmed_dictionaries(mut self, trim: bool) -> Self {
        self.trim = trim;
        self
    }

    /// Sends only the new values of a dictionary that has grown since the last batch.
    ///
    /// Off by default: polars and nanoarrow read replaced dictionaries, not deltas.
    pub fn with_dictionary_deltas(mut self, deltas: bool) -> Self {
        self.deltas = deltas;
        self
    }

    /// Marks the frames of native columns as ones that the receiver may change in place: a
    /// receiver that [asks](crate::StreamSource::with_writable) gets each in an allocation of
    /// its own, of the column's element type. Nothing changes for others. Compressed frames
    /// are not marked: they are decompressed into new memory anyway.
    pub fn with_writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    /// What the last call copied.
    pub fn copies(&self) -> &CopyReport {
        self.copies.report()
    }

    /// Encodes a whole dataframe: schema, dictionaries, batches and the end marker.
    ///
    /// Columns whose dictionary is the same array in every batch share one dictionary.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::CopyLimit`], [`ErrorKind::DictionaryOfDictionary`],
    /// [`ErrorKind::CodecDisabled`], [`ErrorKind::Inexact`]; [`ErrorKind::Nulls`] in a field that
    /// says it has none, which no reader would take.
    pub fn encode(&mut self, df: &DataFrame) -> Result<Frames> {
        self.copies.reset();
        let df = &*self.rules.apply(df, &mut self.copies)?;
        let mut out = self.output();
        let mut schema = WireSchema::new(df.schema().clone())?;
        // To pandas, unused values are categories.
        let trim = self.trim && df.batches().len() == 1 && self.rules.target != Target::Pandas;
        if !trim {
            dictionaries::share_ids(&mut schema, df);
        }
        let mut stream = self.push_schema(&mut out, schema, df.message_metadata())?;
        for batch in df.batches() {
            let columns = batch.columns().iter().map(ColumnRef::from);
            let beside =
                Beside { rows: batch.num_rows(), metadata: batch.metadata(), object: batch.object() };
            self.push_batch(&mut stream, &mut out, columns, &beside, trim)?;
        }
        write::end(&mut out.header);
        Ok(self.frames(out))
    }

    /// Starts a stream: the frames of its Schema message.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DictionaryOfDictionary`], [`ErrorKind::CodecDisabled`],
    /// [`ErrorKind::Inexact`].
    pub fn start(&mut self, schema: &SchemaRef) -> Result<Frames> {
        self.copies.reset();
        let mut out = self.output();
        let plan = self.rules.plan(schema)?;
        let schema = WireSchema::new(plan.wire_schema()?)?;
        let stream = self.push_schema(&mut out, schema, &Metadata::new())?;
        self.stream = Some(Stream { plan: Some(plan), ..stream });
        Ok(self.frames(out))
    }

    /// Continues the stream with a batch: the frames of its messages, and of the
    /// dictionaries that are new or have changed.
    ///
    /// For pandas a categorical has the categories of this batch. A reader joins those of
    /// several batches, but refuses ordered ones that are not the same in each;
    /// [`encode`](Encoder::encode) gives all batches the same.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unstarted`], [`ErrorKind::SchemaMismatch`], [`ErrorKind::CopyLimit`],
    /// [`ErrorKind::Inexact`], [`ErrorKind::Nulls`].
    /// After an error the stream is as it was before the call.
    pub fn encode_batch(&mut self, batch: &RecordBatch) -> Result<Frames> {
        self.copies.reset();
        let mut stream = self.stream.take().ok_or(ErrorKind::Unstarted)?;
        let result = self.encode_batch_of(&mut stream, batch);
        self.stream = Some(stream);
        result
    }

    /// Ends the stream: the frames of its end marker. A stream for pandas that had no batch
    /// gets one of no rows first, which has the dtypes.
    ///
    /// # Errors
    ///
    /// As [`encode_batch`](Encoder::encode_batch).
    pub fn finish(&mut self) -> Result<Frames> {
        self.copies.reset();
        let mut out = self.output();
        if let Some(mut stream) = self.stream.take()
            && self.rules.target == Target::Pandas
            && stream.batches == 0
            && let Some(batch) = stream.plan.as_ref().and_then(Plan::empty_batch)
        {
            self.push_planned(&mut stream, &mut out, &batch)?;
        }
        write::end(&mut out.header);
        Ok(self.frames(out))
    }

    fn encode_batch_of(&mut self, stream: &mut Stream, batch: &RecordBatch) -> Result<Frames> {
        if let Some(plan) = &stream.plan {
            check_same_schema(stream.batches, plan.schema(), batch.schema_ref())?;
        }
        stream.batches += 1;
        stream.dictionaries.begin();
        let mut out = self.output();
        let result = match &stream.plan {
            Some(plan) if !plan.is_trivial() => {
                self.push_planned(stream, &mut out, &Batch::from(batch.clone()))
            }
            _ => {
                let columns = batch.columns().iter().map(ColumnRef::Native);
                self.push_batch(stream, &mut out, columns, &Beside::rows(batch.num_rows()), false)
            }
        };
        if result.is_err() {
            stream.dictionaries.undo();
            stream.batches -= 1;
        }
        result.map(|()| self.frames(out))
    }

    /// Pickles what the stream's plan says, and encodes the batch.
    fn push_planned(&mut self, stream: &mut Stream, out: &mut Output, batch: &Batch) -> Result<()> {
        let columns = match &stream.plan {
            Some(plan) => plan.columns(batch, &mut self.copies)?,
            None => batch.columns().to_vec(),
        };
        let columns = columns.iter().map(ColumnRef::from);
        self.push_batch(stream, out, columns, &Beside::rows(batch.num_rows()), false)
    }

    /// An empty body, in the memory of one that was sent.
    fn body(&mut self) -> Body {
        let mut body = self.spare.pop().unwrap_or_default();
        body.clear();
        body.marks_widths = self.writable && self.compression.is_none();
        body
    }

    fn output(&self) -> Output {
        Output {
            header: Vec::with_capacity(header_capacity(self.frames_hint)),
            frames: Vec::with_capacity(self.frames_hint),
        }
    }

    fn frames(&mut self, out: Output) -> Frames {
        self.frames_hint = out.frames.len();
        Frames::new(out.header, out.frames)
    }

    fn push_schema(&mut self, out: &mut Output, schema: WireSchema, metadata: &Metadata) -> Result<Stream> {
        if let Some(codec) = self.compression.map(Compression::codec)
            && !codec.is_enabled()
        {
            return Err(ErrorKind::CodecDisabled { feature: codec.name() }.into());
        }
        write::schema(&mut self.builder, &mut out.header, &schema, metadata)?;
        let dictionaries = Dictionaries::new(&schema, self.deltas);
        Ok(Stream { schema, plan: None, dictionaries, batches: 0 })
    }

    /// Walks one batch, sends the dictionaries it met, then the batch.
    fn push_batch<'c>(
        &mut self,
        stream: &mut Stream,
        out: &mut Output,
        columns: impl Iterator<Item = ColumnRef<'c>>,
        beside: &Beside<'_>,
        trim: bool,
    ) -> Result<()> {
        let Stream { schema, dictionaries, .. } = stream;
        let mut body = self.body();
        let mut opaque_columns = Vec::new();
        let mut walk = Walk {
            body: &mut body,
            schema,
            copies: &mut self.copies,
            compression: self.compression,
            column: 0,
            dictionary: 0,
            trim,
            carried: Carried::default(),
        };
        for (index, column) in columns.enumerate() {
            walk.column = index;
            match column {
                ColumnRef::Native(array) => {
                    // Who calls has checked that there is a field for each column.
                    let Some(field) = schema.schema.fields().get(index) else { continue };
                    // Its reader would look for a payload.
                    if opaque::is_marked(field) {
                        return Err(ErrorKind::PayloadLost { column: field.name().clone() }.into());
                    }
                    let node = walk.body.nodes.len();
                    walk.array(array).map_err(|error| error.inside(field.name()))?;
                    if walk.body.nodes.get(node).is_some_and(|node| node.null_count() > 0) {
                        nulls::check_column(field, array)?;
                    }
                }
                ColumnRef::Opaque(opaque) => {
                    walk.null(opaque.num_rows());
                    opaque_columns.push((index, opaque));
                }
            }
        }
        let payload = opaque_columns.iter().map(|(index, opaque)| (*index, opaque.buffers()));
        let payload = payload.chain(beside.object.map(|buffers| (opaque::WHOLE_OBJECT, buffers)));
        let mut spans = Vec::with_capacity(opaque_columns.len());
        for (index, buffers) in payload {
            walk.column = index;
            let frames = buffers.iter().map(|buffer| walk.payload(buffer));
            spans.push((index, frames.collect::<Result<Vec<_>>>()?));
        }
        for met in std::mem::take(&mut body.dictionaries) {
            self.push_dictionary(schema, dictionaries, out, met, trim)?;
        }
        self.push_message(out, body, beside.rows, &spans, None, beside.metadata)
    }

    /// Sends a dictionary, and those inside its values first, unless the receiver has it.
    fn push_dictionary(
        &mut self,
        schema: &WireSchema,
        dictionaries: &mut Dictionaries,
        out: &mut Output,
        met: MetDictionary,
        trim: bool,
    ) -> Result<()> {
        let MetDictionary { index, values, carried } = met;
        let Some(update) = dictionaries.update(index, &values) else { return Ok(()) };
        let Some(field) = schema.dictionaries.get(index) else { return Ok(()) };
        let mut body = self.body();
        let mut walk = Walk {
            body: &mut body,
            schema,
            copies: &mut self.copies,
            compression: self.compression,
            column: field.column,
            dictionary: index + 1,
            trim,
            carried,
        };
        let name = schema.column_name(field.column);
        walk.array(&update.values).map_err(|error| error.inside(name))?;
        for met in std::mem::take(&mut body.dictionaries) {
            self.push_dictionary(schema, dictionaries, out, met, trim)?;
        }
        let dictionary = DictionaryParts { id: field.id, is_delta: update.is_delta };
        self.push_message(out, body, update.values.len(), &[], Some(&dictionary), &Metadata::new())
    }

    /// Writes the message of a body, and hands its frames out.
    fn push_message(
        &mut self,
        out: &mut Output,
        mut body: Body,
        rows: usize,
        opaque: &[(usize, Vec<Span>)],
        dictionary: Option<&DictionaryParts>,
        metadata: &Metadata,
    ) -> Result<()> {
        let codec = self.compression.map(Compression::codec);
        let body_length = body.length();
        let parts = BatchParts {
            rows,
            nodes: &body.nodes,
            buffers: &body.buffers,
            variadic: &body.variadic,
            codec,
            body_length,
        };
        let note = NoteParts { body_length, codec, opaque, writable: &body.widths };
        match note.write() {
            None => write::batch(&mut self.builder, &mut out.header, &parts, dictionary, metadata)?,
            Some(note) => {
                let metadata = metadata.clone().with(MESSAGE_KEY, note);
                write::batch(&mut self.builder, &mut out.header, &parts, dictionary, &metadata)?;
            }
        }
        out.frames.append(&mut body.frames);
        self.spare.push(body);
        Ok(())
    }
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("target", &self.rules.target)
            .field("forms", &self.rules.forms)
            .field("compression", &self.compression)
            .field("trim", &self.trim)
            .field("deltas", &self.deltas)
            .field("writable", &self.writable)
            .field("copies", &self.copies)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

/// A header and its frames in the making.
struct Output {
    header: Vec<u8>,
    frames: Vec<Buffer>,
}

/// What a batch is beside its columns.
struct Beside<'b> {
    rows: usize,
    metadata: &'b Metadata,
    /// The buffers of an object that is no column.
    object: Option<&'b [Buffer]>,
}

impl Beside<'_> {
    /// Nothing but rows.
    fn rows(rows: usize) -> Self {
        static NONE: Metadata = Metadata::new();
        Beside { rows, metadata: &NONE, object: None }
    }
}

/// A column of a dataframe or of a record batch.
enum ColumnRef<'c> {
    Native(&'c ArrayRef),
    Opaque(&'c OpaqueColumn),
}

impl<'c> From<&'c Column> for ColumnRef<'c> {
    fn from(column: &'c Column) -> Self {
        match column {
            Column::Native(array) => ColumnRef::Native(array),
            Column::Opaque(opaque) => ColumnRef::Opaque(opaque),
        }
    }
}

/// Room for the metadata of about so many frames: 16 bytes for each buffer, of which
/// there are up to two per frame (absent bitmaps), 16 for each node, and the tables.
fn header_capacity(frames: usize) -> usize {
    256 + 48 * frames
}
