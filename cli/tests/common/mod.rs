//! Running the program as a process, and the files it is run on.
#![allow(dead_code)] // Each test file uses some of it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, ListArray, NullArray,
    RecordBatch, StringArray, StructArray,
};
use arrow_frames::{
    Batch, Column, DataFrame, Encoder, Frames, OpaqueColumn, Target, to_buffers, write_segments,
};
use arrow_schema::{DataType, Field, Schema};
use serde_json::Value;
use tempfile::TempDir;

/// The program with these arguments.
pub fn program<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_arrow-frames"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// What a run of the program came to.
pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    Ran(program(arguments).output().unwrap())
}

/// A finished run.
pub struct Ran(pub Output);

impl Ran {
    pub fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    pub fn stderr(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    /// Exit code 0 and nothing on stderr; returns stdout.
    #[track_caller]
    pub fn succeeds(&self) -> String {
        assert_eq!((self.0.status.code(), self.stderr().as_str()), (Some(0), ""), "{}", self.stdout());
        self.stdout()
    }

    /// [`succeeds`](Self::succeeds) with one JSON document, and nothing else, on stdout.
    #[track_caller]
    pub fn prints_json(&self) -> Value {
        serde_json::from_str(&self.succeeds()).unwrap()
    }

    /// Exit code 1 and one line on stderr, which names the file; returns the line.
    #[track_caller]
    pub fn fails_for(&self, file: impl AsRef<Path>) -> String {
        let line = self.fails();
        let file = file.as_ref().to_str().unwrap();
        assert!(line.starts_with(&format!("arrow-frames: {file}: ")), "{line}");
        line
    }

    /// Exit code 1 and one line on stderr; returns the line.
    #[track_caller]
    pub fn fails(&self) -> String {
        self.ends_with_one_line(1)
    }

    /// This exit code and one line on stderr; returns the line.
    #[track_caller]
    pub fn ends_with_one_line(&self, code: i32) -> String {
        let stderr = self.stderr();
        assert_eq!(self.0.status.code(), Some(code), "{stderr}");
        assert!(stderr.starts_with("arrow-frames: ") && stderr.ends_with('\n'), "{stderr:?}");
        assert_eq!(stderr.lines().count(), 1, "{stderr:?}");
        stderr.trim_end().to_owned()
    }
}

/// The real data of the repository.
pub fn flights() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/flights.parquet")
}

/// A folder for a test's files.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes a dataframe as an Arrow IPC stream.
    pub fn stream(&self, name: &str, df: &DataFrame) -> PathBuf {
        self.write(name, stream(df))
    }

    /// Writes a dataframe as an Arrow IPC file.
    pub fn file(&self, name: &str, df: &DataFrame) -> PathBuf {
        let frames = to_buffers(df, Target::Arrow).unwrap();
        let bytes: Vec<u8> = frames.file_form().unwrap().segments().unwrap().flatten().copied().collect();
        self.write(name, bytes)
    }

    /// Writes a dataframe as Parquet.
    pub fn parquet(&self, name: &str, df: &DataFrame) -> PathBuf {
        let path = self.join(name);
        let file = File::create(&path).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, df.schema().clone(), None).unwrap();
        for batch in df.clone().into_record_batches().unwrap() {
            writer.write(&batch).unwrap();
        }
        writer.close().unwrap();
        path
    }

    /// The names of what is in it.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A dataframe as an Arrow IPC stream.
pub fn stream(df: &DataFrame) -> Vec<u8> {
    stream_of(&to_buffers(df, Target::Arrow).unwrap())
}

pub fn stream_of(frames: &Frames) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_segments(&mut bytes, frames.segments().unwrap()).unwrap();
    bytes
}

/// A few columns of plain types, in two batches.
pub fn plain() -> DataFrame {
    let batch = |numbers: Vec<i64>, texts: Vec<Option<&str>>, floats: Vec<Option<f64>>| {
        let numbers: ArrayRef = Arc::new(Int64Array::from(numbers));
        let texts: ArrayRef = Arc::new(StringArray::from(texts));
        let floats: ArrayRef = Arc::new(Float64Array::from(floats));
        let columns = [("number", numbers, false), ("text", texts, true), ("float", floats, true)];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    let first = batch(vec![1, 2, 3], vec![Some("a"), None, Some("größe")], vec![Some(0.5), None, Some(-0.0)]);
    let second = batch(vec![4], vec![Some("b, c")], vec![Some(1e300)]);
    DataFrame::try_from_batches(first.schema(), vec![first, second]).unwrap()
}

/// Nested, ordered, empty and null columns, with metadata everywhere.
pub fn fancy() -> DataFrame {
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(vec![
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]));
    let values: ArrayRef = Arc::new(StringArray::from(vec!["low", "high", "unused"]));
    let keys = Int32Array::from(vec![Some(1), Some(0), None]);
    let dictionary: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
    let inner: ArrayRef = Arc::new(Int32Array::from(vec![7, 8, 9]));
    let child = Arc::new(Field::new("inner", DataType::Int32, false));
    let structure: ArrayRef = Arc::new(StructArray::from(vec![(child, inner)]));
    let nulls: ArrayRef = Arc::new(NullArray::new(3));
    let nan: ArrayRef = Arc::new(Float64Array::from(vec![Some(f64::NAN), None, Some(f64::INFINITY)]));
    let columns = vec![list, dictionary, structure, nulls, nan];
    let field = |name: &str, index: usize, nullable: bool| {
        Field::new(name, columns[index].data_type().clone(), nullable)
    };
    let fields = vec![
        field("list", 0, true).with_metadata([("unit", "m")]),
        field("level", 1, true).with_dict_is_ordered(true),
        field("same", 2, false),
        field("nothing", 3, true),
        field("same", 4, true),
    ];
    let schema = Arc::new(Schema::new_with_metadata(fields, [("origin", "test")]));
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let batch = Batch::from(batch).with_metadata([("part", "1")]);
    DataFrame::try_new(schema, vec![batch]).unwrap()
}

/// A dataframe with a column that travels as a pickle.
pub fn opaque() -> DataFrame {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let note = r#"{"type_name":"period[D]","vendor_name":"pandas"}"#;
    let fields = vec![
        Field::new("number", DataType::Int64, true),
        Field::new("when", DataType::Null, true).with_metadata([("arrow_frames", note)]),
    ];
    let pickle = b"\x80\x05N.".to_vec();
    let opaque = OpaqueColumn::new("period[D]", 2, vec![pickle.into(), vec![1u8; 100].into()]);
    let columns = vec![Column::Native(numbers), Column::Opaque(opaque)];
    let batch = Batch::try_new(columns, 2).unwrap();
    DataFrame::try_new(Arc::new(Schema::new(fields)), vec![batch]).unwrap()
}

/// Two batches whose dictionaries differ, which an Arrow IPC file cannot hold as they are.
pub fn two_dictionaries() -> DataFrame {
    let batch = |values: Vec<&str>| {
        let array: DictionaryArray<Int32Type> = values.into_iter().collect();
        RecordBatch::try_from_iter([("d", Arc::new(array) as ArrayRef)]).unwrap()
    };
    let (first, second) = (batch(vec!["x", "y", "x"]), batch(vec!["z", "y"]));
    DataFrame::try_from_batches(first.schema(), vec![first, second]).unwrap()
}

/// A stream in which one byte of the text "größe" is not UTF-8, and where that text lies.
pub fn bad_text() -> (Vec<u8>, usize) {
    let mut bytes = stream(&plain());
    let at = bytes.windows("größe".len()).position(|window| window == "größe".as_bytes()).unwrap();
    bytes[at + 2] = 0xff;
    (bytes, at)
}

/// Encodes with an option.
pub fn frames_with(df: &DataFrame, option: impl FnOnce(Encoder) -> Encoder) -> Frames {
    option(Encoder::new(Target::Arrow)).encode(df).unwrap()
}

/// Runs with something on stdin.
pub fn run_with_input(mut command: Command, input: &[u8]) -> Ran {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        Ran(child.wait_with_output().unwrap())
    })
}

/// Runs with a stdout whose reader is gone from the start; returns exit code and stderr.
pub fn run_into_closed_pipe(mut command: Command) -> (Option<i32>, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}
