//! A dataframe: a schema and batches of columns.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Fields, Metadata, Schema, SchemaRef};

use crate::copies::CopyBudget;
use crate::decode::{Unknown, resolve};
use crate::error::{Error, ErrorKind, Result};
use crate::join::Join;
use crate::wire::opaque;

/// A schema and any number of batches of its columns.
///
/// Cloning is cheap: columns are shared. A dataframe of one [`RecordBatch`] is
/// `DataFrame::from(batch)`.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// use arrow_frames::DataFrame;
///
/// let a: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
/// let df = DataFrame::from(RecordBatch::try_from_iter([("a", a)])?);
/// assert_eq!((df.num_rows(), df.num_columns()), (3, 1));
/// assert_eq!(df.batches()[0].column(0).unwrap().len(), 3);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct DataFrame {
    schema: SchemaRef,
    batches: Vec<Batch>,
    metadata: Metadata,
}

/// Some rows of a dataframe: one column per field of its schema, all of one length.
#[derive(Debug, Clone)]
pub struct Batch {
    columns: Vec<Column>,
    rows: usize,
    metadata: Metadata,
    object: Option<Arc<[Buffer]>>,
}

/// One column of a batch.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Column {
    /// An Arrow array.
    Native(ArrayRef),
    /// A pickle: carried, stored and sent on; its values are not readable here.
    Opaque(OpaqueColumn),
}

/// A column that travels as a pickle (protocol 5) and its out-of-band buffers.
///
/// Its bytes pass through this crate untouched; nothing is executed. Cloning shares them.
#[derive(Debug, Clone)]
pub struct OpaqueColumn(Arc<Opaque>);

#[derive(Debug)]
struct Opaque {
    type_name: String,
    rows: usize,
    buffers: Vec<Buffer>,
}

impl DataFrame {
    /// A dataframe of batches that all have this schema's columns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SchemaMismatch`] if a batch has another number of columns, a column
    /// of another type, or columns of different lengths.
    pub fn try_new(schema: SchemaRef, batches: Vec<Batch>) -> Result<Self> {
        for (index, batch) in batches.iter().enumerate() {
            check_batch(index, &schema, batch)?;
        }
        Ok(Self::new_unchecked(schema, batches))
    }

    /// A dataframe of record batches that all have this schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SchemaMismatch`] names the first column that differs. The flag that a
    /// dictionary is ordered counts, although `Field ==` ignores it.
    pub fn try_from_batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Self> {
        for (index, batch) in batches.iter().enumerate() {
            check_same_schema(index, &schema, batch.schema_ref())?;
        }
        Ok(Self::new_unchecked(schema, batches.into_iter().map(Batch::from).collect()))
    }

    /// One object that is no dataframe: its pickle (protocol 5), then the pickle's out-of-band
    /// buffers. They pass through this crate untouched; nothing is executed. There are no fields
    /// and no rows, and one batch, which carries them. Source: PEP 574.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use arrow::buffer::Buffer;
    /// use arrow_frames::{DataFrame, Target, from_buffers, to_buffers};
    ///
    /// // A bytearray of 3 bytes, which lie beside the pickle.
    /// let object = vec![Buffer::from(b"\x80\x05\x97."), Buffer::from(b"abc")];
    /// let frames = to_buffers(&DataFrame::of_object(object), Target::Arrow)?;
    /// let df = from_buffers(frames)?;
    /// assert_eq!(df.object().unwrap()[1].as_slice(), b"abc");
    /// # Ok(()) }
    /// ```
    pub fn of_object(buffers: Vec<Buffer>) -> Self {
        let batch = Batch::new_unchecked(Vec::new(), 0, Metadata::new()).with_object(Some(buffers));
        Self::new_unchecked(Arc::new(Schema::empty()), vec![batch])
    }

    /// The pickle of an object that is no dataframe, then its out-of-band buffers; none of a
    /// dataframe.
    pub fn object(&self) -> Option<&[Buffer]> {
        self.batches.iter().find_map(Batch::object)
    }

    /// The same columns with other metadata of the schema.
    pub fn with_schema_metadata(mut self, metadata: impl Into<Metadata>) -> Self {
        self.schema = Arc::new(Schema::new_with_metadata(self.schema.fields().clone(), metadata));
        self
    }

    /// For callers that have checked every batch.
    pub(crate) fn new_unchecked(schema: SchemaRef, batches: Vec<Batch>) -> Self {
        DataFrame { schema, batches, metadata: Metadata::new() }
    }

    /// Attaches metadata of the Schema *message* (not of the schema).
    pub fn with_message_metadata(mut self, metadata: impl Into<Metadata>) -> Self {
        self.metadata = metadata.into();
        self
    }

    /// The metadata of the Schema message; most writers leave it empty.
    pub fn message_metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The schema.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The batches, in order.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// The number of columns.
    pub fn num_columns(&self) -> usize {
        self.schema.fields().len()
    }

    /// The number of rows of all batches.
    pub fn num_rows(&self) -> usize {
        self.batches.iter().map(Batch::num_rows).fold(0, usize::saturating_add)
    }

    /// The column of that index, a piece per batch.
    pub fn column(&self, index: usize) -> Option<impl Iterator<Item = &Column>> {
        (index < self.num_columns())
            .then(|| self.batches.iter().filter_map(move |batch| batch.columns.get(index)))
    }

    /// The first column of that name, a piece per batch.
    pub fn column_by_name(&self, name: &str) -> Option<impl Iterator<Item = &Column>> {
        self.column(self.schema.fields().iter().position(|f| f.name() == name)?)
    }

    /// The dataframe of these columns only, in this order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ColumnMissing`].
    pub fn project(&self, columns: &[usize]) -> Result<DataFrame> {
        let pick = |batch: &Batch| -> Option<Batch> {
            let columns = columns.iter().map(|&i| batch.columns.get(i).cloned());
            Some(Batch { columns: columns.collect::<Option<_>>()?, ..batch.clone() })
        };
        let schema = project_schema(&self.schema, columns)?;
        let batches = self.batches.iter().filter_map(pick).collect();
        Ok(DataFrame { schema, batches, metadata: self.metadata.clone() })
    }

    /// One record batch per batch, sharing its columns. Opaque columns become Arrow arrays
    /// as [`Decoder::resolve`](crate::Decoder::resolve) makes them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Opaque`] if an opaque column has no Arrow type, or is refused, and why;
    /// [`ErrorKind::Arrow`] if a column that the schema calls non-nullable has nulls.
    pub fn into_record_batches(self) -> Result<Vec<RecordBatch>> {
        let DataFrame { schema, batches, .. } = self.resolved()?;
        batches.into_iter().map(|batch| batch.into_record_batch(schema.clone())).collect()
    }

    /// The dataframe with Arrow arrays for its opaque columns.
    fn resolved(self) -> Result<DataFrame> {
        let mut copies = CopyBudget::of_reader(self.opaque_bytes());
        resolve(self, &mut copies, Unknown::IsAnError)
    }

    /// Bytes of the payload of all opaque columns.
    pub(crate) fn opaque_bytes(&self) -> u64 {
        let opaque = self.batches.iter().flat_map(Batch::columns).filter_map(|column| match column {
            Column::Opaque(opaque) => Some(opaque),
            Column::Native(_) => None,
        });
        let bytes = opaque.flat_map(|opaque| opaque.buffers()).map(|buffer| buffer.len() as u64);
        bytes.fold(0, u64::saturating_add)
    }

    /// All rows as one record batch: shared if there is one batch, **copied** into new
    /// arrays if there are several.
    ///
    /// # Errors
    ///
    /// As [`into_record_batches`](Self::into_record_batches).
    pub fn into_record_batch(self) -> Result<RecordBatch> {
        let DataFrame { schema, mut batches, .. } = self.resolved()?;
        if batches.len() == 1
            && let Some(batch) = batches.pop()
        {
            return batch.into_record_batch(schema);
        }
        let batches = DataFrame::new_unchecked(schema.clone(), batches).into_record_batches()?;
        if batches.is_empty() { Ok(RecordBatch::new_empty(schema)) } else { join_batches(schema, &batches) }
    }
}

impl Batch {
    /// A batch of columns that have this many rows each.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RowCount`] if a column has another length.
    pub fn try_new(columns: Vec<Column>, rows: usize) -> Result<Self> {
        match columns.iter().map(Column::len).enumerate().find(|(_, found)| *found != rows) {
            None => Ok(Self::new_unchecked(columns, rows, Metadata::new())),
            Some((column, found)) => {
                Err(ErrorKind::RowCount { batch: 0, column, expected: rows, found }.into())
            }
        }
    }

    /// For callers that have checked every length.
    pub(crate) fn new_unchecked(columns: Vec<Column>, rows: usize, metadata: Metadata) -> Self {
        Batch { columns, rows, metadata, object: None }
    }

    /// Attaches metadata of the batch's message, which the round trip keeps.
    pub fn with_metadata(mut self, metadata: impl Into<Metadata>) -> Self {
        self.metadata = metadata.into();
        self
    }

    /// The metadata of the batch's message (`Message.custom_metadata`).
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Adds an object that is no column, if there is one.
    pub(crate) fn with_object(mut self, buffers: Option<Vec<Buffer>>) -> Self {
        self.object = buffers.map(Arc::from);
        self
    }

    /// The buffers of an object that is no column.
    pub(crate) fn object(&self) -> Option<&[Buffer]> {
        self.object.as_deref()
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of that index.
    pub fn column(&self, index: usize) -> Option<&Column> {
        self.columns.get(index)
    }

    /// The number of rows; also known when there are no columns.
    pub fn num_rows(&self) -> usize {
        self.rows
    }

    /// Puts another column of the same length in the place of one.
    pub(crate) fn replace_column(&mut self, index: usize, column: Column) {
        if let Some(place) = self.columns.get_mut(index) {
            *place = column;
        }
    }

    /// The batch without columns that are opaque, of which there are none once they are
    /// resolved.
    fn into_record_batch(self, schema: SchemaRef) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let columns = self.columns.into_iter().filter_map(|column| match column {
            Column::Native(array) => Some(array),
            Column::Opaque(_) => None,
        });
        RecordBatch::try_new_with_options(schema, columns.collect(), &options)
            .map_err(|source| ErrorKind::Arrow { column: String::new(), source }.into())
    }
}

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Native(array) => array.len(),
            Column::Opaque(opaque) => opaque.num_rows(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The Arrow array, unless the column is opaque.
    pub fn as_native(&self) -> Option<&ArrayRef> {
        match self {
            Column::Native(array) => Some(array),
            Column::Opaque(_) => None,
        }
    }
}

impl OpaqueColumn {
    /// An opaque column of `rows` rows: `buffers` are the pickle, then its out-of-band
    /// buffers in `NEXT_BUFFER` order. `type_name` is the sender's name of its dtype.
    pub fn new(type_name: impl Into<String>, rows: usize, buffers: Vec<Buffer>) -> Self {
        OpaqueColumn(Arc::new(Opaque { type_name: type_name.into(), rows, buffers }))
    }

    /// The sender's name of the type: `category`, `object`, …
    pub fn type_name(&self) -> &str {
        &self.0.type_name
    }

    /// The number of rows.
    pub fn num_rows(&self) -> usize {
        self.0.rows
    }

    /// The pickle, then its out-of-band buffers.
    pub fn buffers(&self) -> &[Buffer] {
        &self.0.buffers
    }
}

impl From<RecordBatch> for Batch {
    fn from(batch: RecordBatch) -> Self {
        let rows = batch.num_rows();
        let (_, columns, _) = batch.into_parts();
        Batch::new_unchecked(columns.into_iter().map(Column::Native).collect(), rows, Metadata::new())
    }
}

impl From<RecordBatch> for DataFrame {
    fn from(batch: RecordBatch) -> Self {
        DataFrame::new_unchecked(batch.schema(), vec![batch.into()])
    }
}

impl From<ArrayRef> for Column {
    fn from(array: ArrayRef) -> Self {
        Column::Native(array)
    }
}

/// Refuses a schema that is not the dataframe's, naming the first column that differs.
pub(crate) fn check_same_schema(index: usize, expected: &SchemaRef, found: &SchemaRef) -> Result<()> {
    if Arc::ptr_eq(expected, found) {
        return Ok(());
    }
    let (a, b) = (expected.fields(), found.fields());
    let (left, right) = if a.len() == b.len() {
        match a.iter().zip(b).find(|(a, b)| a != b || !same_order_flags(a, b)) {
            Some((a, b)) => (Some(a), Some(b)),
            None if expected.metadata() == found.metadata() => return Ok(()),
            None => (a.first(), b.first()),
        }
    } else {
        let shared = a.len().min(b.len());
        (a.get(shared), b.get(shared))
    };
    let name = left.or(right).map(|f| f.name().clone()).unwrap_or_default();
    Err(mismatch(index, name, left.map(|f| f.data_type()), right.map(|f| f.data_type())))
}

/// The schema of some of its columns, metadata kept.
pub(crate) fn project_schema(schema: &Schema, columns: &[usize]) -> Result<SchemaRef> {
    let fields = schema.fields();
    let pick = |&i: &usize| match fields.get(i) {
        Some(field) => Ok(field.clone()),
        None => Err(Error::from(ErrorKind::ColumnMissing { column: i.to_string() })),
    };
    let fields = columns.iter().map(pick).collect::<Result<Fields>>()?;
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()).into())
}

fn check_batch(index: usize, schema: &SchemaRef, batch: &Batch) -> Result<()> {
    let fields = schema.fields();
    if fields.len() != batch.columns.len() {
        let missing = fields.get(batch.columns.len());
        let name = missing.map(|field| field.name().clone()).unwrap_or_default();
        return Err(mismatch(index, name, missing.map(|field| field.data_type()), None));
    }
    for (place, (field, column)) in fields.iter().zip(&batch.columns).enumerate() {
        let right_type = match column {
            Column::Native(array) => array.data_type() == field.data_type() && !opaque::is_marked(field),
            Column::Opaque(_) => opaque::is_marked(field),
        };
        if !right_type {
            let found = column.as_native().map(|array| array.data_type());
            return Err(mismatch(index, field.name().clone(), Some(field.data_type()), found));
        }
        if column.len() != batch.rows {
            let (expected, found) = (batch.rows, column.len());
            return Err(ErrorKind::RowCount { batch: index, column: place, expected, found }.into());
        }
    }
    Ok(())
}

/// The rows of several record batches of this schema, as one.
fn join_batches(schema: SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch> {
    let rows = batches.iter().map(RecordBatch::num_rows).fold(0, usize::saturating_add);
    let mut copies = CopyBudget::default();
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (column, field) in schema.fields().iter().enumerate() {
        let pieces: Vec<ArrayRef> = batches.iter().map(|batch| batch.column(column).clone()).collect();
        let name = field.name();
        let mut join = Join { copies: &mut copies, column, name, max_rows_without_bytes: u64::MAX };
        columns.push(join.arrays(&pieces)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|source| ErrorKind::Arrow { column: String::new(), source }.into())
}

fn mismatch(batch: usize, column: String, expected: Option<&DataType>, found: Option<&DataType>) -> Error {
    let (expected, found) = (expected.cloned(), found.cloned());
    ErrorKind::SchemaMismatch { batch, column, expected, found }.into()
}

/// Whether every dictionary in two equal fields has the same ordered flag.
fn same_order_flags(a: &Field, b: &Field) -> bool {
    if a.dict_is_ordered() != b.dict_is_ordered() {
        return false;
    }
    same_child_flags(a.data_type(), b.data_type())
}

/// Whether every dictionary inside two equal types has the same ordered flag.
pub(crate) fn same_child_flags(a: &DataType, b: &DataType) -> bool {
    use DataType::*;
    match (a, b) {
        (List(a), List(b))
        | (LargeList(a), LargeList(b))
        | (ListView(a), ListView(b))
        | (LargeListView(a), LargeListView(b))
        | (FixedSizeList(a, _), FixedSizeList(b, _))
        | (Map(a, _), Map(b, _)) => same_order_flags(a, b),
        (Struct(a), Struct(b)) => a.iter().zip(b).all(|(a, b)| same_order_flags(a, b)),
        (Union(a, _), Union(b, _)) => a.iter().zip(b.iter()).all(|((_, a), (_, b))| same_order_flags(a, b)),
        (RunEndEncoded(_, a), RunEndEncoded(_, b)) => same_order_flags(a, b),
        (Dictionary(_, a), Dictionary(_, b)) => same_child_flags(a, b),
        _ => true,
    }
}
