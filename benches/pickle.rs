//! Columns written as pickles and read from them, for `cargo xtask pickle`, which asks for
//! one measurement after another and does the same with CPython in between.
//!
//! Each line of stdin, `write KIND` or `read KIND`, is answered by a line: the nanoseconds
//! that doing it once took.

use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{
    Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow::datatypes::Int32Type;
use arrow_frames::pickle::{Forms, Pickle, TextForm};
use arrow_frames::{Column, Decoder, Encoder, OpaqueColumn, Target};

const ROWS: usize = 1_000_000;

/// Distinct strings where they repeat.
const DISTINCT: usize = 1_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [name, scale] = arguments.as_slice() {
        // How the time of writing depends on the rows.
        let rows = ROWS * scale.parse::<usize>().expect("a number") / 100;
        println!("{}", write(&kind(name, rows)).0);
        return;
    }
    let (stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut made = HashMap::new();
    for line in stdin.lines() {
        let line = line.expect("a line");
        let Some((action, name)) = line.split_once(' ') else {
            panic!("write KIND or read KIND, not {line}")
        };
        let batch = made.entry(name.to_owned()).or_insert_with(|| kind(name, ROWS));
        let (wrote, opaque) = write(batch);
        let nanoseconds = match action {
            "write" => wrote,
            _ => read(&opaque, batch.column(0)),
        };
        writeln!(stdout, "{nanoseconds}").expect("a reader");
        stdout.flush().expect("a reader");
    }
}

/// Encodes a batch for pandas; the second time counts.
fn write(batch: &RecordBatch) -> (u128, OpaqueColumn) {
    // CPython pickles the objects themselves: so does this form.
    let forms = Forms { text: TextForm::Object, ..Forms::default() };
    let mut encoder = Encoder::new(Target::Pandas).with_forms(forms);
    let mut decoder = Decoder::new();
    decoder.decode(encoder.start(&batch.schema()).expect("a schema")).expect("a schema");
    encoder.encode_batch(batch).expect("encodes");
    let start = Instant::now();
    let frames = encoder.encode_batch(black_box(batch)).expect("encodes");
    let took = start.elapsed().as_nanos();
    let df = decoder.decode(frames).expect("decodes");
    match df.batches()[0].column(0) {
        Some(Column::Opaque(opaque)) => (took, opaque.clone()),
        _ => panic!("the column is opaque"),
    }
}

/// Reads a pickle as an array of the type that it was made of, and checks that it is equal.
fn read(opaque: &OpaqueColumn, expected: &ArrayRef) -> u128 {
    let start = Instant::now();
    let pickle = Pickle::parse(black_box(opaque).buffers()).expect("parses");
    let array = pickle.to_array_of(expected.data_type()).expect("is an array");
    let took = start.elapsed().as_nanos();
    assert_eq!(&array, expected);
    took
}

/// A batch of one column. The Python side makes the same values.
fn kind(name: &str, rows: usize) -> RecordBatch {
    let text = |row: usize| format!("string number {row}");
    let array: ArrayRef = match name {
        "unique" => Arc::new((0..rows).map(|row| Some(text(row))).collect::<StringArray>()),
        "long" => {
            Arc::new((0..rows).map(|row| Some(format!("string number {row:046}"))).collect::<StringArray>())
        }
        "repeated" => Arc::new((0..rows).map(|row| Some(text(row % DISTINCT))).collect::<StringArray>()),
        "categorical" => {
            let keys = Int32Array::from_iter_values((0..rows).map(|row| (row % DISTINCT) as i32));
            let values: StringArray = (0..DISTINCT).map(|row| Some(text(row))).collect();
            Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(values)))
        }
        "zoned" => {
            let values = (0..rows).map(|row| 1_600_000_000_000_000 + row as i64 * 1_000_003);
            Arc::new(TimestampMicrosecondArray::from_iter_values(values).with_timezone("Europe/Paris"))
        }
        _ => panic!("there is no kind {name}"),
    };
    RecordBatch::try_from_iter([(name, array)]).expect("one column")
}
