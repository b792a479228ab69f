//! What a consumer does with a dataframe that was decoded: none of it may panic.

use std::cell::Cell;

use arrow::array::{Array, ArrayData, ArrayRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_frames::{
    Column, DataFrame, Decoder, Error, Frames, Layout, Result, StreamSource, Target, from_buffers, to_buffers,
};

use crate::common::same;
use crate::memory::peak;

/// Memory that decoding may take beside the input's own bytes.
pub const ALLOWANCE: usize = 64 << 20;

/// Arrays with more rows than this, at any depth, are neither shown nor compared: a column of
/// nulls has as many as it claims.
const ROWS_TO_SHOW: usize = 1 << 16;

thread_local! {
    /// Dataframes that were touched: each test has a thread of its own.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// How the bytes of a test come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Stream,
    File,
}

/// Decodes bytes, whatever they are, in little memory, and uses what comes of it.
///
/// A stream is decoded as a slice, in one pass and from a reader, with the same outcome.
#[track_caller]
pub fn decode(bytes: &[u8], form: Form) -> Result<DataFrame> {
    let (result, memory) = peak(|| match form {
        Form::Stream => Frames::from_stream(bytes.to_vec()).and_then(from_buffers),
        Form::File => Frames::from_file(bytes.to_vec()).and_then(from_buffers),
    });
    assert!(memory <= bytes.len() + ALLOWANCE, "{memory} bytes for an input of {}", bytes.len());
    if form == Form::Stream {
        let (read, memory) = peak(|| StreamSource::new(bytes).read_all().and_then(from_buffers));
        assert!(memory <= bytes.len() + ALLOWANCE, "{memory} bytes to read an input of {}", bytes.len());
        match (&result, &read) {
            (Ok(_), Ok(_)) => {}
            (Err(slice), Err(reader)) => {
                assert_eq!(kind(slice), kind(reader), "slice: {slice}; reader: {reader}")
            }
            (slice, reader) => {
                panic!("as a slice {:?}, by a reader {:?}", slice.as_ref().err(), reader.as_ref().err())
            }
        }
        let mut decoder = Decoder::new();
        let (whole, memory) = peak(|| decoder.decode_stream(bytes.to_vec()));
        assert!(memory <= bytes.len() + ALLOWANCE, "{memory} bytes in one pass for {}", bytes.len());
        // Of several faults it may meet another one first.
        assert_eq!(
            result.is_ok(),
            whole.is_ok() && decoder.is_finished(),
            "as a slice {:?}, in one pass {:?}",
            result.as_ref().err(),
            whole.as_ref().err()
        );
    }
    let layout = match form {
        Form::Stream => Layout::of_stream(bytes),
        Form::File => Layout::of_file(bytes),
    };
    // The layout looks at metadata only; what it refuses, decoding must refuse as well.
    if let (Ok(_), Some(error)) = (&result, &layout.error) {
        panic!("decoded, though its layout has a fault: {error}");
    }
    if let Ok(df) = &result {
        touch(df);
    }
    result
}

/// Decodes scattered frames and uses what comes of it.
#[track_caller]
pub fn decode_frames(frames: &Frames) -> Result<DataFrame> {
    let (result, memory) = peak(|| from_buffers(frames.clone()));
    assert!(
        memory <= frames.num_bytes() + ALLOWANCE,
        "{memory} bytes for an input of {}",
        frames.num_bytes()
    );
    if let Ok(df) = &result {
        touch(df);
    }
    // Writing what came in from elsewhere must not panic either.
    let _ = frames.segments().map(|segments| segments.num_bytes());
    let _ = frames.file_form().and_then(|file| Ok(file.segments()?.num_bytes()));
    result
}

/// The name of an error's kind.
pub fn kind(error: &Error) -> String {
    let debug = format!("{:?}", error.kind());
    debug.split([' ', '(']).next().unwrap_or_default().to_owned()
}

/// Uses a dataframe in the ways that read every byte of it.
#[track_caller]
pub fn touch(df: &DataFrame) {
    let columns = || df.batches().iter().flat_map(|batch| batch.columns());
    for array in columns().filter_map(Column::as_native) {
        touch_array(array);
    }
    // The rest takes several times as long, and depends little on which bit was flipped.
    if !COUNT.replace(COUNT.get() + 1).is_multiple_of(8) {
        return;
    }
    let frames = to_buffers(df, Target::Arrow).expect("what was decoded can be encoded");
    let again = from_buffers(frames).expect("what was encoded can be decoded");
    let is_comparable = |column: &Column| column.as_native().is_some_and(is_small);
    if columns().all(is_comparable)
        && let Err(difference) = same(df, &again)
    {
        panic!("a round trip changed it: {difference}");
    }
    // May be refused: pickles that are none, offsets that do not fit together.
    let _ = df.clone().into_record_batch();
    df.detach().expect("what was decoded can be copied");
}

fn touch_array(array: &ArrayRef) {
    array.to_data().validate_full().expect("what was decoded is valid");
    let _ = (array.get_array_memory_size(), array.get_buffer_memory_size());
    if !is_small(array) {
        return;
    }
    let _ = array.logical_null_count();
    // Data is compared by its bits, so that NaNs are equal.
    assert!(array.to_data() == array.to_data(), "not equal to itself");
    // A value may have no text (a date out of range), which is an error, not a panic.
    let options = FormatOptions::default().with_display_error(true);
    if let Ok(shown) = ArrayFormatter::try_new(array.as_ref(), &options) {
        for row in 0..array.len().min(64) {
            let _ = shown.value(row).try_to_string();
        }
    }
    let half = array.len() / 2;
    array.slice(half, array.len() - half).to_data().validate_full().expect("so is a slice of it");
}

fn is_small(array: &ArrayRef) -> bool {
    fn longest(data: &ArrayData) -> usize {
        data.child_data().iter().map(longest).fold(data.len(), usize::max)
    }
    longest(&array.to_data()) <= ROWS_TO_SHOW
}
