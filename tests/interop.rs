//! Other implementations read what is written here, and are read: arrow-rs's own IPC, in this
//! process, and pyarrow, in the interpreter that `ARROW_FRAMES_PYTHON` names.

mod common;
#[path = "golden/made.rs"]
mod made;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::*;
use arrow::ipc::reader::{FileReader, StreamReader};
use arrow::ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow::ipc::{CompressionType, MetadataVersion};
use arrow_frames::{
    Compression, CopyReason, DataFrame, Decoder, Encoder, ErrorKind, Frames, StreamSource, Target,
    from_buffers,
};
use common::{Nulls, assert_same, cases, file_bytes, make, one_column, same};

/// Types whose children pyarrow gives names and nullability of its own when it writes.
const CHANGED_BY_PYARROW: [&str; 2] = ["map", "fixed_shape_tensor"];

/// Types that pyarrow's Python bindings do not know.
const UNKNOWN_TO_PYARROW: [&str; 2] = ["interval_year_month", "interval_day_time"];

fn bytes(frames: &Frames) -> Vec<u8> {
    frames.segments().unwrap().flatten().copied().collect()
}

/// A dataframe of two batches of each type, with and without nulls: nulls only in the second
/// one, so that the schema is the same.
fn every_type() -> impl Iterator<Item = (String, DataFrame)> {
    cases().into_iter().map(|case| {
        let (field, first) = make(&case.field, 9, Nulls::Some);
        let (_, second) = make(&case.field, 5, Nulls::None);
        let schema: SchemaRef = Schema::new_with_metadata(vec![field], [("key", "value")]).into();
        let batch = |array| RecordBatch::try_new(schema.clone(), vec![array]).unwrap();
        let batches = vec![batch(first), batch(second)];
        (case.name, DataFrame::try_from_batches(schema.clone(), batches).unwrap())
    })
}

/// The same with one batch, so that no dictionary changes.
fn every_type_once() -> impl Iterator<Item = (String, DataFrame)> {
    let once = |case: common::Case| {
        let (field, array) = make(&case.field, 9, Nulls::Some);
        (case.name, one_column(&field, &array))
    };
    cases().into_iter().map(once)
}

// ---- arrow-rs

#[test]
fn arrow_reads_our_streams() {
    for (name, df) in every_type() {
        for encoder in encoders() {
            let stream = bytes(&{ encoder }.encode(&df).unwrap());
            let reader = StreamReader::try_new(stream.as_slice(), None).unwrap();
            let schema = reader.schema();
            let batches = reader.collect::<Result<_, _>>().unwrap();
            assert_same(&df, &DataFrame::try_from_batches(schema, batches).unwrap(), &|| name.clone());
        }
    }
}

#[test]
fn arrow_reads_our_files() {
    for (name, df) in every_type_once() {
        for encoder in encoders() {
            let file = file_bytes(&{ encoder }.encode(&df).unwrap());
            let reader = FileReader::try_new(std::io::Cursor::new(file), None).unwrap();
            let schema = reader.schema();
            let batches = reader.collect::<Result<_, _>>().unwrap();
            assert_same(&df, &DataFrame::try_from_batches(schema, batches).unwrap(), &|| name.clone());
        }
    }
}

#[test]
fn we_read_streams_of_arrow() {
    for (name, df) in every_type() {
        for options in write_options() {
            let mut stream = Vec::new();
            let mut writer =
                StreamWriter::try_new_with_options(&mut stream, df.schema(), options.clone()).unwrap();
            for batch in df.clone().into_record_batches().unwrap() {
                writer.write(&batch).unwrap();
            }
            writer.finish().unwrap();
            drop(writer);
            let context = || format!("{name} with {options:?}");
            assert_read(&df, Frames::from_stream(stream.clone()).unwrap(), &context);
            assert_read(&df, StreamSource::new(stream.as_slice()).read_all().unwrap(), &context);
        }
    }
}

#[test]
fn we_read_files_of_arrow() {
    for (name, df) in every_type_once() {
        for options in write_options() {
            let mut file = Vec::new();
            let mut writer =
                FileWriter::try_new_with_options(&mut file, df.schema(), options.clone()).unwrap();
            for batch in df.clone().into_record_batches().unwrap() {
                writer.write(&batch).unwrap();
            }
            writer.finish().unwrap();
            drop(writer);
            assert_read(&df, Frames::from_file(file).unwrap(), &|| format!("{name} with {options:?}"));
        }
    }
}

/// An encoder for each way to write.
fn encoders() -> Vec<Encoder> {
    let plain = || Encoder::new(Target::Arrow);
    let mut encoders = vec![plain(), plain().with_dictionary_deltas(true)];
    if cfg!(feature = "lz4") {
        encoders.push(plain().with_compression(Compression::Lz4));
    }
    if cfg!(feature = "zstd") {
        encoders.push(plain().with_compression(Compression::Zstd(1)));
    }
    encoders
}

/// The ways in which arrow-rs writes.
fn write_options() -> Vec<IpcWriteOptions> {
    let mut all = Vec::new();
    for alignment in [8, 64] {
        for version in [MetadataVersion::V4, MetadataVersion::V5] {
            all.push(IpcWriteOptions::try_new(alignment, false, version).unwrap());
        }
        all.push(IpcWriteOptions::try_new(alignment, true, MetadataVersion::V4).unwrap());
    }
    for (codec, is_enabled) in
        [(CompressionType::LZ4_FRAME, cfg!(feature = "lz4")), (CompressionType::ZSTD, cfg!(feature = "zstd"))]
    {
        if is_enabled {
            all.push(IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap());
        }
    }
    all.push(IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta));
    all
}

#[track_caller]
fn assert_read(expected: &DataFrame, frames: Frames, context: &dyn Fn() -> String) {
    let df = from_buffers(frames).unwrap_or_else(|error| panic!("{}: {error}", context()));
    assert_same(expected, &df, context);
}

// ---- pyarrow

/// Runs one of the scripts beside this file, and returns what it prints.
#[track_caller]
fn python(script: &str, arguments: &[&Path]) -> String {
    let Some(interpreter) = std::env::var_os("ARROW_FRAMES_PYTHON") else {
        panic!("ARROW_FRAMES_PYTHON names no Python with pyarrow: run `cargo xtask test`, which does");
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let output = Command::new(&interpreter).arg(&script).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", interpreter.display()));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} ended with {}: {errors}", script.display(), output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Files for pyarrow to read, and what it writes of them.
struct Exchange {
    folder: tempfile::TempDir,
    sent: BTreeMap<String, DataFrame>,
}

impl Exchange {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["in", "out"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Exchange { folder, sent: BTreeMap::new() }
    }

    fn path(&self, folder: &str) -> PathBuf {
        self.folder.path().join(folder)
    }

    /// Adds a file of ours, beside the same data as arrow-rs writes it.
    fn send(&mut self, name: String, file: Vec<u8>, df: &DataFrame) {
        // A time zone has a slash in its name.
        let name = name.replace('/', "_");
        let mut reference = StreamWriter::try_new(Vec::new(), df.schema()).unwrap();
        for batch in df.clone().into_record_batches().unwrap() {
            reference.write(&batch).unwrap();
        }
        let reference = reference.into_inner().unwrap();
        fs::write(self.path("in").join(&name), file).unwrap();
        fs::write(self.path("in").join(format!("{name}.reference")), reference).unwrap();
        self.sent.insert(name, df.clone());
    }

    /// Has pyarrow read all files, and reads what it wrote of them.
    #[track_caller]
    fn assert_same(&self) {
        let refused = python("read_ours.py", &[&self.path("in"), &self.path("out")]);
        assert!(refused.is_empty(), "pyarrow refuses:\n{refused}");
        let mut differing = String::new();
        for (name, df) in &self.sent {
            let written = fs::read(self.path("out").join(name)).unwrap();
            let again = Frames::from_stream(written).and_then(from_buffers);
            let again =
                again.map(|again| match CHANGED_BY_PYARROW.iter().any(|start| name.starts_with(start)) {
                    true => cast_to(&again, df.schema()),
                    false => again,
                });
            if let Err(why) = again.map_err(|error| error.to_string()).and_then(|again| same(df, &again)) {
                differing.push_str(&format!("{name}: {why}\n"));
            }
        }
        assert!(differing.is_empty(), "what pyarrow wrote again differs:\n{differing}");
    }
}

fn cast_to(df: &DataFrame, schema: &SchemaRef) -> DataFrame {
    let batches = df.clone().into_record_batches().unwrap().into_iter().map(|batch| {
        let columns = batch.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| arrow::compute::cast(column, field.data_type()).unwrap());
        RecordBatch::try_new(schema.clone(), columns.collect()).unwrap()
    });
    DataFrame::try_from_batches(schema.clone(), batches.collect()).unwrap()
}

fn is_known(name: &str) -> bool {
    !UNKNOWN_TO_PYARROW.contains(&name)
}

#[test]
fn pyarrow_reads_our_streams() {
    let mut exchange = Exchange::new();
    for (name, df) in every_type().filter(|(name, _)| is_known(name)) {
        let plain = Encoder::new(Target::Arrow).encode(&df).unwrap();
        exchange.send(format!("{name}.arrows"), bytes(&plain), &df);
    }
    exchange.assert_same();
}

#[test]
fn pyarrow_reads_our_files() {
    let mut exchange = Exchange::new();
    for (name, df) in every_type_once().filter(|(name, _)| is_known(name)) {
        let plain = Encoder::new(Target::Arrow).encode(&df).unwrap();
        exchange.send(format!("{name}.arrow"), file_bytes(&plain), &df);
    }
    exchange.assert_same();
}

#[cfg(all(feature = "lz4", feature = "zstd"))]
#[test]
fn pyarrow_reads_our_compressed_streams_and_deltas() {
    let mut exchange = Exchange::new();
    for (name, df) in every_type().filter(|(name, _)| is_known(name)) {
        for (kind, mut encoder) in ["plain", "delta", "lz4", "zstd"].into_iter().zip(encoders()).skip(1) {
            let frames = encoder.encode(&df).unwrap();
            exchange.send(format!("{name}.{kind}.arrows"), bytes(&frames), &df);
        }
    }
    exchange.assert_same();
}

#[test]
fn pyarrow_reads_every_golden_file() {
    let mut exchange = Exchange::new();
    let is_readable = |feature: Option<&str>| match feature {
        Some("lz4") => cfg!(feature = "lz4"),
        Some(_) => cfg!(feature = "zstd"),
        None => true,
    };
    for golden in made::all().into_iter().filter(|golden| is_readable(golden.feature())) {
        // Opaque columns are nulls to pyarrow, which drops their payload.
        let df = nulls_for_opaque(&golden.df);
        exchange.send(format!("{}.arrows", golden.name), golden.stream().unwrap(), &df);
        if let Some(file) = golden.file().unwrap() {
            let name = format!("{}.arrow", golden.name);
            // pyarrow has no access to a message's metadata in a file, nor a footer's.
            let batches = df.clone().into_record_batches().unwrap();
            let df = DataFrame::try_from_batches(df.schema().clone(), batches).unwrap();
            exchange.send(name, file, &df);
        }
    }
    // A file's deltas all come before its first batch, which has the longer dictionary then.
    fs::remove_file(exchange.path("in").join("dictionary_delta.arrow.reference")).unwrap();
    let refused = python("read_ours.py", &[&exchange.path("in"), &exchange.path("out")]);
    assert!(refused.is_empty(), "pyarrow refuses:\n{refused}");
}

/// The dataframe that a reader sees who does not know of opaque columns.
fn nulls_for_opaque(df: &DataFrame) -> DataFrame {
    let batches = df.batches().iter().map(|batch| {
        let columns = batch.columns().iter().map(|column| match column.as_native() {
            Some(array) => array.clone(),
            None => Arc::new(NullArray::new(column.len())) as ArrayRef,
        });
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(df.schema().clone(), columns.collect(), &options).unwrap()
    });
    DataFrame::try_from_batches(df.schema().clone(), batches.collect()).unwrap()
}

#[test]
fn a_stream_for_pandas_that_pyarrow_wrote_again_has_lost_its_payload() {
    let exchange = Exchange::new();
    let names = ["plain", "lz4", "zstd"];
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("lo"), None, Some("hi")]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let df = DataFrame::from(RecordBatch::try_from_iter([("words", words), ("n", numbers)]).unwrap());
    let plain = || Encoder::new(Target::Pandas);
    let mut encoders = vec![plain()];
    if cfg!(all(feature = "lz4", feature = "zstd")) {
        encoders.push(plain().with_compression(Compression::Lz4));
        encoders.push(plain().with_compression(Compression::Zstd(1)));
    }
    for (name, encoder) in names.iter().zip(&mut encoders) {
        let stream = bytes(&encoder.encode(&df).unwrap());
        fs::write(exchange.path("in").join(format!("{name}.arrows")), stream).unwrap();
    }
    // pyarrow reads it, and keeps the metadata of the message that says where payload lies.
    assert_eq!(python("read_ours.py", &[&exchange.path("in"), &exchange.path("out")]), "");
    for (name, _) in names.iter().zip(&encoders) {
        let relayed = fs::read(exchange.path("out").join(format!("{name}.arrows"))).unwrap();
        let error = from_buffers(Frames::from_stream(relayed).unwrap()).unwrap_err();
        let is_lost = matches!(error.kind(), ErrorKind::PayloadLost { column } if column == "words");
        assert!(is_lost, "{name}: {error}");
    }
}

#[test]
fn pyarrow_keeps_the_metadata_of_messages() {
    let exchange = Exchange::new();
    let golden = made::all().into_iter().find(|golden| golden.name == "metadata").unwrap();
    fs::write(exchange.path("in").join("metadata.arrows"), golden.stream().unwrap()).unwrap();
    assert_eq!(python("read_ours.py", &[&exchange.path("in"), &exchange.path("out")]), "");
    let written = fs::read(exchange.path("out").join("metadata.arrows")).unwrap();
    let again = from_buffers(Frames::from_stream(written).unwrap()).unwrap();
    assert_eq!(again.batches()[0].metadata(), golden.df.batches()[0].metadata());
    assert_eq!(again.schema().as_ref(), golden.df.schema().as_ref());
}

#[test]
fn we_read_what_pyarrow_writes() {
    let folder = tempfile::tempdir().unwrap();
    python("write_theirs.py", &[folder.path()]);
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let stream = |name: &str| from_buffers(Frames::from_stream(read(name)).unwrap()).unwrap();
    let file = |name: &str| from_buffers(Frames::from_file(read(name)).unwrap()).unwrap();

    let wide = wide();
    let mut names = vec!["wide.arrows", "wide_v4.arrows", "wide_legacy.arrows"];
    if cfg!(feature = "lz4") {
        names.push("wide_lz4.arrows");
    }
    if cfg!(feature = "zstd") {
        names.push("wide_zstd.arrows");
        assert_same(&wide, &file("wide_zstd.arrow"), &|| "wide_zstd.arrow".into());
    }
    for name in names {
        assert_same(&wide, &stream(name), &|| name.into());
        let read = from_buffers(StreamSource::new(read(name).as_slice()).read_all().unwrap()).unwrap();
        assert_same(&wide, &read, &|| name.into());
    }
    assert_same(&wide, &file("wide.arrow"), &|| "wide.arrow".into());

    for name in ["deltas.arrows", "replaced.arrows"] {
        assert_eq!(words(stream(name)), ["a", "b", "c", "-", "d", "a"], "{name}");
    }
    assert_eq!(words(file("unified.arrow")), ["a", "b", "c", "-", "d", "a"]);
    if cfg!(feature = "zstd") {
        assert_eq!(words(stream("deltas_zstd.arrows")), ["a", "b", "c", "-", "d", "a"]);
    }
    for (codec, is_enabled) in [("lz4", cfg!(feature = "lz4")), ("zstd", cfg!(feature = "zstd"))] {
        if is_enabled {
            assert_text(&stream(&format!("text_{codec}.arrows")).into_record_batch().unwrap(), 0..5_000);
        }
    }
    let sliced = stream("sliced.arrows").into_record_batches().unwrap();
    assert_text(&sliced[0], 1_234..1_237);
    assert_text(&sliced[1], 0..0);
    assert_text(&sliced[2], 4_999..5_000);
    let no_columns = stream("no_columns.arrows");
    assert_eq!((no_columns.num_columns(), no_columns.num_rows()), (0, 5));
}

#[test]
fn what_pyarrow_sends_is_decoded_without_a_copy() {
    // Decimals and views, which need 16 bytes where pyarrow pads to 8: a stream over a pipe.
    let script = "
import sys
from decimal import Decimal
import pyarrow as pa
rows = 50_001
table = pa.table({
    'flag': pa.array([n % 3 == 0 for n in range(rows)]),
    'price': pa.array([None if n % 7 == 0 else Decimal(n) for n in range(rows)], pa.decimal128(38, 0)),
    'name': pa.array([f'name number {n}' for n in range(rows)], pa.string_view()),
    'text': pa.array([f'text {n}' for n in range(rows)]),
})
with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
    writer.write_table(table, max_chunksize=40_000)
";
    let interpreter = std::env::var_os("ARROW_FRAMES_PYTHON").expect("`cargo xtask test` sets it");
    let mut sender = Command::new(interpreter);
    let mut sender = sender.args(["-c", script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut source = StreamSource::new(sender.stdout.take().unwrap());
    let frames = source.read_all().unwrap();
    assert!(source.is_finished() && sender.wait().unwrap().success());
    let large = frames.buffers().iter().filter(|frame| frame.len() >= 64 << 10).count();
    assert!(large >= 8, "{large} buffers are large");
    let mut decoder = Decoder::new().with_max_copied_bytes(0);
    let batch = decoder.decode(frames).unwrap().into_record_batch().unwrap();
    assert_eq!(batch.column(1).as_primitive::<Decimal128Type>().value(50_000), 50_000);
    assert_eq!(batch.column(2).as_string_view().value(49_999), "name number 49999");
    assert_eq!(batch.column(3).as_string::<i32>().value(50_000), "text 50000");
}

#[test]
#[cfg(feature = "spill")]
fn pyarrow_maps_a_spilled_dataframe_without_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.arrows");
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
    let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..100_000).map(|n| n.to_string())));
    let batch = RecordBatch::try_from_iter([("n", column), ("text", text)]).unwrap();
    arrow_frames::spill::write(&path, &batch.into()).unwrap();
    let script = folder.path().join("map.py");
    fs::write(
        &script,
        "
import sys
import pyarrow as pa
before = pa.total_allocated_bytes()
table = pa.ipc.open_stream(pa.memory_map(sys.argv[1])).read_all()
assert pa.total_allocated_bytes() == before
print(table.num_rows, table['n'][99_999], table['text'][99_999])
",
    )
    .unwrap();
    let interpreter = std::env::var_os("ARROW_FRAMES_PYTHON").expect("`cargo xtask test` sets it");
    let output = Command::new(interpreter).arg(&script).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "100000 99999 99999");
}

#[test]
fn copies_of_misaligned_pyarrow_buffers_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    python("write_theirs.py", &[folder.path()]);
    let frames = Frames::from_stream(fs::read(folder.path().join("wide.arrows")).unwrap()).unwrap();
    let wide =
        |frame: &&arrow_buffer::Buffer| frame.len() >= 48 && !(frame.as_ptr() as usize).is_multiple_of(16);
    let misaligned = frames.buffers().iter().filter(wide).count() as u64;
    let mut decoder = Decoder::new();
    decoder.decode(frames).unwrap();
    let copied = decoder.copies().of_reason(CopyReason::Misaligned);
    assert_eq!(decoder.copies().total(), copied);
    // Three rows: of 16 bytes, of 32 in a decimal256. Text of a view may lie anywhere.
    assert!(copied <= misaligned * 96 && (copied > 0 || misaligned == 0), "{copied}, {misaligned} buffers");
}

/// What `write_theirs.py` calls wide.
fn wide() -> DataFrame {
    let long = "longer than the twelve bytes that fit";
    let decimals = || [Some(150), None, Some(-225)];
    let decimal128 = Decimal128Array::from_iter(decimals()).with_precision_and_scale(20, 2).unwrap();
    let decimal256 = decimals().map(|number| number.map(i256::from_i128));
    let decimal256 = Decimal256Array::from_iter(decimal256).with_precision_and_scale(50, 2).unwrap();
    let interval = |sign: i32| IntervalMonthDayNanoType::make_value(sign, 2 * sign, 3 * i64::from(sign));
    let columns: [(&str, ArrayRef); 6] = [
        ("int8", Arc::new(Int8Array::from(vec![Some(1), None, Some(3)]))),
        ("decimal128", Arc::new(decimal128)),
        ("decimal256", Arc::new(decimal256)),
        ("utf8_view", Arc::new(StringViewArray::from(vec![Some("short"), None, Some(long)]))),
        (
            "binary_view",
            Arc::new(BinaryViewArray::from_iter([Some(b"\xff".as_slice()), None, Some(long.as_bytes())])),
        ),
        (
            "interval",
            Arc::new(IntervalMonthDayNanoArray::from(vec![Some(interval(1)), None, Some(interval(-1))])),
        ),
    ];
    let fields = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let arrays = columns.iter().map(|(_, array)| array.clone()).collect();
    RecordBatch::try_new(schema.into(), arrays).unwrap().into()
}

fn words(df: DataFrame) -> Vec<String> {
    let batch = df.into_record_batch().unwrap();
    let words = arrow::compute::cast(batch.column(0), &DataType::Utf8).unwrap();
    words.as_string::<i32>().iter().map(|word| word.unwrap_or("-").to_owned()).collect()
}

#[track_caller]
fn assert_text(batch: &RecordBatch, rows: std::ops::Range<i64>) {
    let text = batch.column_by_name("text").unwrap().as_string::<i32>();
    assert!(text.iter().all(|text| text == Some("the same words")));
    assert_eq!(
        batch.column_by_name("n").unwrap().as_primitive::<Int64Type>().values(),
        &rows.collect::<Vec<_>>()
    );
}
