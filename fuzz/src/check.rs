//! What must hold of whatever was decoded, and of what was not.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_frames::{
    Carriage, Column, Compression, DataFrame, Decoder, Encoder, Error, Fault, Frames, Layout, Limits, Result,
    StreamSource, Target, from_buffers, to_buffers,
};
use arrow_schema::Field;

use crate::rng::Rng;
use crate::same::same;

/// Arrays with more rows than this, at any depth, are validated and not compared: a column
/// of nulls has as many as it claims.
const ROWS_TO_COMPARE: usize = 1 << 16;

/// A header may be larger as a stream than its frames are, by padding. Beyond this it is not
/// written out.
const MOST_WRITTEN: u64 = 8 << 20;

/// So small that memory is a finding long before it runs out.
pub fn limits() -> Limits {
    Limits {
        max_metadata_bytes: 1 << 20,
        max_body_bytes: 1 << 20,
        max_stream_bytes: 4 << 20,
        max_expanded_bytes: 4 << 20,
        max_expansion: 0,
        max_rows_without_bytes: 1 << 16,
        max_depth: 64,
    }
}

/// Decodes frames, and again in other ways, which must come to the same.
pub fn decode(frames: &Frames, rng: &mut Rng) -> Result<DataFrame> {
    let mut decoder = Decoder::new().with_limits(limits());
    let result = decoder.decode(frames.clone());
    match &result {
        Ok(df) => {
            dataframe(df, rng);
            let total = decoder.copies().total();
            assert_eq!(decoder.copies().iter().map(|copied| copied.bytes).sum::<u64>(), total);
            budget(frames, total);
            projection(frames, df, rng);
            message_by_message(frames, df);
        }
        Err(wrong) => {
            error(wrong);
            // Less is looked at, and some of it may be sound.
            let decoder = Decoder::new().with_limits(limits()).with_projection([rng.below(4)]);
            if let Ok(df) = { decoder }.decode(frames.clone()) {
                dataframe(&df, rng);
            }
        }
    }
    result
}

/// Writes frames that came from elsewhere as a stream and as a file, and reads these.
pub fn forms(frames: &Frames, result: &Result<DataFrame>) {
    match frames.segments() {
        Err(wrong) => refused(&wrong, result, &["BufferOutside", "BadNumber"]),
        Ok(segments) if segments.num_bytes() > MOST_WRITTEN => {}
        Ok(segments) => {
            let length = segments.num_bytes();
            let stream: Vec<u8> = segments.flatten().copied().collect();
            assert_eq!(stream.len() as u64, length);
            let again = Frames::from_stream(stream).expect("a stream that was written");
            // What follows the end marker is not sent.
            assert!(frames.header().starts_with(again.header()));
            assert_eq!(frames.buffers(), again.buffers());
        }
    }
    let form = frames.file_form();
    let segments = form.as_ref().map(|form| form.segments());
    match segments {
        Err(wrong) => refused(wrong, result, &["DictionaryChanged", "Limit"]),
        Ok(Err(wrong)) => refused(&wrong, result, &["BufferOutside", "BadNumber"]),
        Ok(Ok(segments)) if segments.num_bytes() > MOST_WRITTEN => {}
        Ok(Ok(segments)) => {
            let file: Vec<u8> = segments.flatten().copied().collect();
            let layout = Layout::of_file(&file);
            assert!(layout.error.is_none(), "of a file that was written: {:?}", layout.error);
            let again = Frames::from_file(file).expect("a file that was written");
            if let Ok(df) = result {
                let again = Decoder::new().with_limits(limits()).decode(again).expect("as it was decoded");
                assert_same(df, &again, "as it came and as a file");
            }
        }
    }
}

/// A layout is there for anything, and names nothing outside a body.
pub fn layout(layout: &Layout) {
    let mut position = None;
    for message in &layout.messages {
        assert!(Some(message.position) > position || position.is_none());
        position = Some(message.position);
        for buffer in message.buffers.iter().filter(|buffer| buffer.length > 0) {
            let end = buffer.offset.checked_add(buffer.length);
            assert!(end.is_some_and(|end| end <= message.body_bytes), "{buffer:?} of {}", message.body_bytes);
        }
    }
    if let Some(wrong) = &layout.error {
        error(wrong);
        assert!(!layout.is_finished);
    }
}

/// An error says what is wrong with the input, whatever numbers it has to show.
pub fn error(error: &Error) {
    assert!(!error.to_string().is_empty() && !format!("{error:?}").is_empty());
    // A build may lack a codec.
    let is_expected = matches!(error.fault(), Fault::Input | Fault::Limit) || kind(error) == "CodecDisabled";
    assert!(is_expected, "whose fault is it? {error}");
}

/// The name of an error's kind.
pub fn kind(error: &Error) -> String {
    let debug = format!("{:?}", error.kind());
    debug.split([' ', '(']).next().unwrap_or_default().to_owned()
}

/// Two ways lead to the same dataframe, or to the same kind of error.
pub fn agree(left: &Result<DataFrame>, right: &Result<DataFrame>, what: &str) {
    match (left, right) {
        (Ok(left), Ok(right)) => assert_same(left, right, what),
        (Err(left), Err(right)) => assert_eq!(kind(left), kind(right), "{what}: {left}; {right}"),
        (left, right) => panic!("{what}: {:?}, {:?}", left.as_ref().err(), right.as_ref().err()),
    }
}

/// Two dataframes are equal in all that a dataframe says.
pub fn assert_same(left: &DataFrame, right: &DataFrame, what: &str) {
    if is_comparable(left)
        && let Err(difference) = same(left, right)
    {
        panic!("{what}: {difference}");
    }
}

/// What a consumer does with a dataframe that was decoded.
fn dataframe(df: &DataFrame, rng: &mut Rng) {
    natives(df).for_each(valid);
    // Pickles of opaque columns are read as Arrow; nobody vouches for what they hold.
    let resolved = Decoder::new().resolve(df.clone()).expect("there is no cap on copies");
    assert_eq!((resolved.num_rows(), resolved.num_columns()), (df.num_rows(), df.num_columns()));
    natives(&resolved).for_each(valid);
    if !is_comparable(df) || !is_comparable(&resolved) {
        return;
    }
    round_trip(df, rng);
    assert_same(df, &df.detach().expect("what was decoded can be copied"), "detached");
    // Refused where an opaque column has no Arrow type, or a column nulls that the schema denies.
    if let Ok(batches) = df.clone().into_record_batches() {
        assert!(resolved.batches().iter().flat_map(|batch| batch.columns()).all(|c| c.as_native().is_some()));
        if let Some(batch) = batches.get(rng.below(batches.len())) {
            let offset = rng.below(batch.num_rows() + 1);
            let slice = batch.slice(offset, rng.below(batch.num_rows() - offset + 1));
            let slice = DataFrame::from(slice);
            round_trip(&slice, rng);
            for_pandas(&slice);
        }
        joined(df, &batches);
    }
}

fn valid(array: &ArrayRef) {
    array.to_data().validate_full().expect("what was decoded is valid");
    let half = array.len() / 2;
    array.slice(half, array.len() - half).to_data().validate_full().expect("so is a slice of it");
}

/// Pickles what is pickled for pandas, as far as it can be, and reads it back.
fn for_pandas(df: &DataFrame) {
    let carriage = |_, field: &Field| match Target::Pandas.carriage(field) {
        Carriage::Opaque => Carriage::OpaqueOrNative,
        other => other,
    };
    let mut encoder = Encoder::new(Target::Pandas).with_carriage(carriage);
    let frames = encoder.encode(df).expect("what cannot be pickled stays as it is");
    let mut decoder = Decoder::new();
    let again = decoder.decode(frames).expect("what was encoded can be decoded");
    assert_same(df, &decoder.resolve(again).expect("there is no cap on copies"), "pickled and read");
}

/// Encodes, sends and decodes a dataframe in some way.
fn round_trip(df: &DataFrame, rng: &mut Rng) {
    let encoder = Encoder::new(Target::Arrow);
    let mut encoder = match rng.below(8) {
        0 => encoder.with_compression(Compression::Lz4),
        1 => encoder.with_compression(Compression::Zstd(1)),
        2 => encoder.with_dictionary_deltas(true),
        3 => encoder.with_trimmed_dictionaries(true),
        _ => encoder,
    };
    let frames = match encoder.encode(df) {
        Err(error) if kind(&error) == "CodecDisabled" => to_buffers(df, Target::Arrow),
        result => result,
    };
    let frames = frames.expect("what was decoded can be encoded");
    let bytes = || frames.segments().expect("frames of our own").flatten().copied().collect::<Vec<u8>>();
    let frames = match rng.below(4) {
        0 => Frames::from_stream(bytes()),
        1 => StreamSource::new(bytes().as_slice()).read_all(),
        2 => match frames.file_form() {
            Ok(form) => {
                let segments = form.segments().expect("frames of our own");
                Frames::from_file(segments.flatten().copied().collect::<Vec<u8>>())
            }
            // A file holds one dictionary per column.
            Err(error) => {
                assert_eq!(kind(&error), "DictionaryChanged");
                Ok(frames.clone())
            }
        },
        _ => Ok(frames.clone()),
    };
    let again = from_buffers(frames.expect("what was sent")).expect("what was encoded can be decoded");
    assert_same(df, &again, "encoded and decoded");
}

/// The rows of all batches in one are those of each.
fn joined(df: &DataFrame, batches: &[RecordBatch]) {
    let Ok(whole) = df.clone().into_record_batch() else { return };
    let mut start = 0;
    for batch in batches {
        let slice = DataFrame::from(whole.slice(start, batch.num_rows()));
        assert_same(&DataFrame::from(batch.clone()), &slice, "joined with other batches");
        start += batch.num_rows();
    }
    assert_eq!(start, whole.num_rows());
    whole.columns().iter().for_each(|array| array.to_data().validate_full().expect("so is the whole"));
}

/// The report of copies is what the budget goes by.
fn budget(frames: &Frames, total: u64) {
    let decode =
        |most| Decoder::new().with_limits(limits()).with_max_copied_bytes(most).decode(frames.clone());
    decode(total).expect("no more than was reported");
    if let Some(less) = total.checked_sub(1) {
        assert_eq!(kind(&decode(less).expect_err("less than was reported")), "CopyLimit");
    }
}

/// Some columns, in another order, are those of the whole.
fn projection(frames: &Frames, df: &DataFrame, rng: &mut Rng) {
    if df.num_columns() == 0 {
        return;
    }
    let columns: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(df.num_columns())).collect();
    let mut decoder = Decoder::new().with_limits(limits()).with_projection(columns.clone());
    match decoder.decode(frames.clone()) {
        Ok(some) => assert_same(&df.project(&columns).expect("its columns"), &some, "projected"),
        // Rows of no columns take no bytes.
        Err(error) => assert!(columns.is_empty() && kind(&error) == "Limit", "{columns:?}: {error}"),
    }
}

/// One decoder that is given a message at a time comes to the same.
fn message_by_message(frames: &Frames, df: &DataFrame) {
    let layout = Layout::of_frames(frames);
    assert!(layout.error.is_none(), "decoded, though its layout has a fault: {:?}", layout.error);
    let mut decoder = Decoder::new().with_limits(limits());
    let mut batches = Vec::new();
    let (mut next, mut end) = (0, 0);
    for message in &layout.messages {
        let count = message.buffers.iter().filter(|buffer| buffer.length > 0).count();
        let header =
            frames.header().slice_with_length(message.position as usize, message.metadata_bytes as usize);
        let buffers = frames.buffers().get(next..next + count).expect("a frame per buffer of the layout");
        let piece = decoder.decode(Frames::new(header, buffers.to_vec()));
        batches.extend_from_slice(piece.expect("as it was decoded").batches());
        (next, end) = (next + count, (message.position + message.metadata_bytes) as usize);
    }
    assert_eq!(next, frames.buffers().len(), "frames that the layout does not name");
    decoder.decode(Frames::new(frames.header().slice(end), vec![])).expect("the end marker");
    assert_eq!(decoder.is_finished(), layout.is_finished);
    let again = DataFrame::try_new(df.schema().clone(), batches).expect("one schema");
    assert_same(df, &again.with_message_metadata(df.message_metadata().clone()), "message by message");
}

/// What decodes can be written in another form, but for these reasons.
fn refused(wrong: &Error, result: &Result<DataFrame>, reasons: &[&str]) {
    assert!(!wrong.to_string().is_empty());
    assert!(result.is_err() || reasons.contains(&kind(wrong).as_str()), "decoded and not written: {wrong}");
}

fn natives(df: &DataFrame) -> impl Iterator<Item = &ArrayRef> {
    df.batches().iter().flat_map(|batch| batch.columns()).filter_map(Column::as_native)
}

fn is_comparable(df: &DataFrame) -> bool {
    natives(df).all(is_small)
}

fn is_small(array: &ArrayRef) -> bool {
    fn longest(data: &arrow_data::ArrayData) -> usize {
        data.child_data().iter().map(longest).fold(data.len(), usize::max)
    }
    longest(&array.to_data()) <= ROWS_TO_COMPARE
}
