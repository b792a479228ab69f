//! The ways a dataframe can take from the encoder to the decoder.

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Schema};
use arrow_frames::{DataFrame, Decoder, Encoder, Frames, from_buffers};

/// A dataframe of one batch of one column.
pub fn one_column(field: &FieldRef, array: &ArrayRef) -> DataFrame {
    let options = RecordBatchOptions::new().with_row_count(Some(array.len()));
    let schema = Schema::new(vec![field.clone()]).into();
    RecordBatch::try_new_with_options(schema, vec![array.clone()], &options).unwrap().into()
}

/// Through one buffer that holds an Arrow IPC stream.
pub fn through_stream(frames: &Frames) -> DataFrame {
    let mut stream = Vec::new();
    frames.segments().unwrap().for_each(|segment| stream.extend_from_slice(segment));
    from_buffers(Frames::from_stream(stream).unwrap()).unwrap()
}

/// Through one buffer that holds an Arrow IPC file.
pub fn through_file(frames: &Frames) -> DataFrame {
    from_buffers(Frames::from_file(file_bytes(frames)).unwrap()).unwrap()
}

/// The bytes of these frames as an Arrow IPC file.
pub fn file_bytes(frames: &Frames) -> Vec<u8> {
    frames.file_form().unwrap().segments().unwrap().flatten().copied().collect()
}

/// Batch by batch: a header per message, one decoder for all of them.
pub fn through_pieces(df: &DataFrame) -> DataFrame {
    let (mut encoder, mut decoder) = (Encoder::new(arrow_frames::Target::Arrow), Decoder::new());
    let schema = df.schema().clone();
    decoder.decode(encoder.start(&schema).unwrap()).unwrap();
    let mut batches = Vec::new();
    for batch in df.clone().into_record_batches().unwrap() {
        let decoded = decoder.decode(encoder.encode_batch(&batch).unwrap()).unwrap();
        assert!(!decoder.is_finished());
        batches.extend(decoded.into_record_batches().unwrap());
    }
    let end = decoder.decode(encoder.finish().unwrap()).unwrap();
    assert!(decoder.is_finished() && end.batches().is_empty());
    DataFrame::try_from_batches(decoder.schema().unwrap().clone(), batches).unwrap()
}
