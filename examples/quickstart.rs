//! Writes a dataframe as frames, rebuilds it, and leaves `prices.arrows` for any Arrow reader.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_frames::{DataFrame, Target, from_buffers, to_buffers, write_frames};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let city: ArrayRef = Arc::new(StringArray::from(vec!["Oslo", "Lima"]));
    let price: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 2.5]));
    let df = DataFrame::from(RecordBatch::try_from_iter([("city", city), ("price", price)])?);

    let frames = to_buffers(&df, Target::Arrow)?; // a header, and the columns' own memory
    write_frames(&mut std::fs::File::create("prices.arrows")?, &frames)?;
    let again = from_buffers(frames)?; // arrays that reference the frames
    assert_eq!(again.into_record_batch()?, df.into_record_batch()?);
    Ok(())
}
