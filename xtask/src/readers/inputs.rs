//! The streams and files that the readers are given, and what is in them.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, DictionaryArray, Int8Array, Int32Array, NullArray, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_frames::{Column, Compression, DataFrame, Encoder, Target};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::truth;
use crate::golden::made;

#[path = "../../../tests/common/mod.rs"]
pub mod common;

use common::{Nulls, cases, make};

/// The golden files that show a shape, and what they are called here. Those that only show
/// types would hide one type behind another.
const GOLDEN: [(&str, &str); 6] = [
    ("batches", "a batch without rows between two"),
    ("zero_columns", "no columns, but rows"),
    ("metadata", "metadata of schema, field and message"),
    ("dictionary_delta", "a dictionary that grows by a delta"),
    ("opaque", "opaque columns"),
    ("opaque_zstd", "opaque columns, with zstd"),
];

/// What a reader must find in a stream or file.
pub struct Truth {
    /// The columns' names and types.
    pub schema: SchemaRef,
    /// The number of rows, which a dataframe without columns has too.
    pub rows: usize,
    /// Whether a payload travels that other readers do not know of.
    pub has_opaque: bool,
    /// The values as JSON; see [`truth`].
    pub values: String,
}

/// A stream or a file that we wrote.
pub struct Input {
    /// The line of the table that it belongs to: a type's name, or what is special about it.
    pub row: String,
    /// What distinguishes it from the others of that line.
    pub way: Way,
    /// Where it lies.
    pub path: PathBuf,
    /// Where the same lies as arrow-rs writes it.
    pub reference: PathBuf,
    /// Whether what another writer makes of its values still shows what it is here for:
    /// a delta in a dictionary is gone then.
    pub is_plain: bool,
    /// What is in it.
    pub truth: Arc<Truth>,
}

impl Input {
    /// The name of the file that a reader writes of it.
    pub fn rewritten(&self, way: &str) -> String {
        rewritten(&self.row, self.way, way)
    }

    /// The name of the file that pyarrow wrote of the same values in the same form.
    pub fn of_pyarrow(&self) -> String {
        let (origin, way) = self.way.origin().unwrap_or((self.way, "stream"));
        rewritten(&self.row, origin, way)
    }
}

fn rewritten(row: &str, way: Way, again: &str) -> String {
    let ending = if again == "file" { "arrow" } else { "arrows" };
    format!("{}.{again}.{ending}", stem(row, way))
}

/// A time zone has a slash in its name.
fn stem(row: &str, way: Way) -> String {
    format!("{row} {}", way.name()).replace(['/', ' ', ','], "_")
}

/// A way to write a column: its form, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// A stream of several batches, which are slices; about a third of the values are null.
    Stream,
    /// The same as a file.
    File,
    /// The stream with LZ4.
    Lz4,
    /// The stream with ZSTD.
    Zstd,
    /// A file with LZ4.
    Lz4File,
    /// A file with ZSTD.
    ZstdFile,
    /// A stream of a column without nulls.
    NoNulls,
    /// A stream of a batch of no rows.
    NoRows,
    /// A stream of two batches, of which the second has other dictionaries.
    Replaced,
}

impl Way {
    /// What the table calls it.
    pub fn name(self) -> &'static str {
        match self {
            Way::Stream => "stream",
            Way::File => "file",
            Way::Lz4 => "lz4",
            Way::Zstd => "zstd",
            Way::Lz4File => "lz4 file",
            Way::ZstdFile => "zstd file",
            Way::NoNulls => "no nulls",
            Way::NoRows => "no rows",
            Way::Replaced => "replaced",
        }
    }

    /// Whether it is a file, not a stream.
    pub fn is_file(self) -> bool {
        matches!(self, Way::File | Way::Lz4File | Way::ZstdFile)
    }

    /// Whether a reader is asked to write again what it read: once for the same values.
    pub fn is_written_again(self) -> bool {
        matches!(self, Way::Stream | Way::NoNulls | Way::NoRows | Way::Replaced)
    }

    /// The input whose values are the same, and how a reader writes them to get this one.
    fn origin(self) -> Option<(Way, &'static str)> {
        match self {
            Way::File => Some((Way::Stream, "file")),
            Way::Lz4 => Some((Way::Stream, "lz4")),
            Way::Zstd => Some((Way::Stream, "zstd")),
            Way::Lz4File | Way::ZstdFile => None,
            other => Some((other, "stream")),
        }
    }

    fn encoder(self) -> Encoder {
        let encoder = Encoder::new(Target::Arrow);
        match self {
            Way::Lz4 | Way::Lz4File => encoder.with_compression(Compression::Lz4),
            Way::Zstd | Way::ZstdFile => encoder.with_compression(Compression::Zstd(1)),
            _ => encoder,
        }
    }

    fn arrow_options(self) -> Result<IpcWriteOptions, ArrowError> {
        let codec = match self {
            Way::Lz4 | Way::Lz4File => Some(CompressionType::LZ4_FRAME),
            Way::Zstd | Way::ZstdFile => Some(CompressionType::ZSTD),
            _ => None,
        };
        IpcWriteOptions::default().try_with_compression(codec)
    }
}

/// Writes every input into a folder. `flights` is the Parquet file.
pub fn write(folder: &Path, flights: &Path) -> Result<Vec<Input>, Box<dyn Error>> {
    let mut inputs = Inputs { folder, all: Vec::new() };

    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(flights)?)?;
    let (schema, batches) = (reader.schema().clone(), reader.with_batch_size(25_000).build()?);
    // Read batch by batch, each has dictionaries of its own, which no file can hold.
    let batch = arrow::compute::concat_batches(&schema, &batches.collect::<Result<Vec<_>, _>>()?)?;
    let third = batch.num_rows() / 3;
    let batches = [0, third, 2 * third].map(|start| batch.slice(start, third.min(batch.num_rows() - start)));
    let flights = DataFrame::try_from_batches(schema, batches.to_vec())?;
    use Way::*;
    inputs.add("flights", &[Stream, File, Lz4File, ZstdFile], &flights)?;

    for case in cases() {
        let sliced = slices(&case.field)?;
        inputs.add(&case.name, &[Stream, File, Lz4, Zstd], &sliced)?;
        inputs.add(&case.name, &[NoNulls], &one(make(&case.field, 9, Nulls::None))?)?;
        inputs.add(&case.name, &[NoRows], &one(make(&case.field, 0, Nulls::Some))?)?;
        if has_dictionary(case.field.data_type()) {
            let (first, second) = (make(&case.field, 9, Nulls::Some), make(&case.field, 5, Nulls::Some));
            let schema: SchemaRef = Schema::new(vec![first.0]).into();
            let batches = [first.1, second.1].map(|array| RecordBatch::try_new(schema.clone(), vec![array]));
            let batches = batches.into_iter().collect::<Result<_, _>>()?;
            inputs.add(&case.name, &[Replaced], &DataFrame::try_from_batches(schema, batches)?)?;
        }
    }
    for shape in shapes()? {
        inputs.add(shape.0, &[Stream, File], &shape.1)?;
    }
    for golden in made::all() {
        let Some((_, row)) = GOLDEN.iter().find(|(name, _)| *name == golden.name) else { continue };
        inputs.add_golden(row, &golden)?;
    }
    Ok(inputs.all)
}

struct Inputs<'a> {
    folder: &'a Path,
    all: Vec<Input>,
}

impl Inputs<'_> {
    fn add(&mut self, row: &str, ways: &[Way], df: &DataFrame) -> Result<(), Box<dyn Error>> {
        let truth = Arc::new(truth_of(df, false)?);
        for &way in ways {
            let frames = way.encoder().encode(df)?;
            let bytes: Vec<u8> = match way.is_file() {
                true => frames.file_form()?.segments()?.flatten().copied().collect(),
                false => frames.segments()?.flatten().copied().collect(),
            };
            let reference = by_arrow(way.is_file(), way.arrow_options()?, df)?;
            self.push(row, way, true, &bytes, &reference, &truth)?;
        }
        Ok(())
    }

    /// Adds one of the frozen files.
    fn add_golden(&mut self, row: &str, golden: &made::Golden) -> Result<(), Box<dyn Error>> {
        let df = nulls_for_opaque(&golden.df)?;
        let is_opaque = |column: &Column| column.as_native().is_none();
        let has_opaque = golden.df.batches().iter().any(|batch| batch.columns().iter().any(is_opaque));
        let truth = Arc::new(truth_of(&df, has_opaque)?);
        let is_delta = golden.name == "dictionary_delta";
        let options = match is_delta {
            true => IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta),
            false => IpcWriteOptions::default(),
        };
        let reference = by_arrow(false, options.clone(), &df)?;
        self.push(row, Way::Stream, !is_delta, &golden.stream()?, &reference, &truth)?;
        if let Some(bytes) = golden.file()? {
            let reference = by_arrow(true, options, &df)?;
            self.push(row, Way::File, !is_delta, &bytes, &reference, &truth)?;
        }
        Ok(())
    }

    fn push(
        &mut self,
        row: &str,
        way: Way,
        is_plain: bool,
        bytes: &[u8],
        reference: &[u8],
        truth: &Arc<Truth>,
    ) -> Result<(), Box<dyn Error>> {
        let (stem, ending) = (stem(row, way), if way.is_file() { "arrow" } else { "arrows" });
        let path = self.folder.join(format!("{stem}.{ending}"));
        let reference_path = self.folder.join(format!("{stem}.reference.{ending}"));
        fs::write(&path, bytes)?;
        fs::write(&reference_path, reference)?;
        let truth = truth.clone();
        self.all.push(Input { row: row.to_owned(), way, path, reference: reference_path, is_plain, truth });
        Ok(())
    }
}

/// A dataframe of one column, whose batches are slices of it: at its start, empty, of one
/// row, and at a row that is no multiple of 8. They share their dictionaries.
fn slices(field: &Field) -> Result<DataFrame, Box<dyn Error>> {
    let (field, array) = make(field, 40, Nulls::Some);
    let schema: SchemaRef = Schema::new(vec![field]).into();
    let slice = |(start, rows)| RecordBatch::try_new(schema.clone(), vec![array.slice(start, rows)]);
    let batches = [(0, 9), (9, 0), (9, 1), (13, 20)].map(slice);
    Ok(DataFrame::try_from_batches(schema.clone(), batches.into_iter().collect::<Result<_, _>>()?)?)
}

/// Dataframes whose shape is what a reader may not expect.
fn shapes() -> Result<Vec<(&'static str, DataFrame)>, Box<dyn Error>> {
    let names: ArrayRef = Arc::new(StringArray::from(vec!["red", "green", "blue"]));
    let keys = |keys: [Option<i8>; 4]| Int8Array::from(keys.to_vec());
    let colour = |of| Arc::new(DictionaryArray::new(keys(of), names.clone())) as ArrayRef;
    let (first, second) =
        (colour([Some(2), None, Some(0), Some(1)]), colour([Some(1), Some(1), None, Some(0)]));
    let shared = RecordBatch::try_from_iter([("colour", first), ("other_colour", second)])?;

    let column = |values: [i32; 2]| Arc::new(Int32Array::from(values.to_vec())) as ArrayRef;
    let same =
        RecordBatch::try_from_iter([("a", column([1, 2])), ("b", column([3, 4])), ("a", column([5, 6]))])?;
    let none = DataFrame::try_from_batches(same.project(&[0, 1])?.schema(), vec![])?;
    Ok(vec![
        ("one dictionary for two columns", shared.into()),
        ("two columns of one name", same.into()),
        ("no batches", none),
    ])
}

fn one((field, array): (Arc<Field>, ArrayRef)) -> Result<DataFrame, Box<dyn Error>> {
    Ok(RecordBatch::try_new(Schema::new(vec![field]).into(), vec![array])?.into())
}

fn truth_of(df: &DataFrame, has_opaque: bool) -> Result<Truth, Box<dyn Error>> {
    let batches = df.clone().into_record_batches()?;
    let values = truth::columns(df.num_columns(), &batches).to_string();
    Ok(Truth { schema: df.schema().clone(), rows: df.num_rows(), has_opaque, values })
}

/// The stream or file that arrow-rs writes.
fn by_arrow(is_file: bool, options: IpcWriteOptions, df: &DataFrame) -> Result<Vec<u8>, Box<dyn Error>> {
    let batches = df.clone().into_record_batches()?;
    if is_file {
        let mut writer = FileWriter::try_new_with_options(Vec::new(), df.schema(), options)?;
        batches.iter().try_for_each(|batch| writer.write(batch))?;
        return Ok(writer.into_inner()?);
    }
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), df.schema(), options)?;
    batches.iter().try_for_each(|batch| writer.write(batch))?;
    Ok(writer.into_inner()?)
}

/// The dataframe that a reader sees who does not know of opaque columns.
fn nulls_for_opaque(df: &DataFrame) -> Result<DataFrame, Box<dyn Error>> {
    let batches = df.batches().iter().map(|batch| {
        let columns = batch.columns().iter().map(|column| match column.as_native() {
            Some(array) => array.clone(),
            None => Arc::new(NullArray::new(column.len())) as ArrayRef,
        });
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(df.schema().clone(), columns.collect(), &options)
    });
    Ok(DataFrame::try_from_batches(df.schema().clone(), batches.collect::<Result<_, _>>()?)?)
}

fn has_dictionary(data_type: &DataType) -> bool {
    use DataType::*;
    match data_type {
        Dictionary(..) => true,
        List(child) | LargeList(child) | ListView(child) | LargeListView(child) => {
            has_dictionary(child.data_type())
        }
        FixedSizeList(child, _) | Map(child, _) | RunEndEncoded(_, child) => {
            has_dictionary(child.data_type())
        }
        Struct(fields) => fields.iter().any(|field| has_dictionary(field.data_type())),
        Union(fields, _) => fields.iter().any(|(_, field)| has_dictionary(field.data_type())),
        _ => false,
    }
}
