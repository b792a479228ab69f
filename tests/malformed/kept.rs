//! What a decoder keeps from call to call has a bound: dictionaries, and deltas behind them.

use arrow::datatypes::*;
use arrow_frames::{Decoder, Error, ErrorKind, Frames, Limits};

use crate::memory::peak;
use crate::raw::{self, Raw, rows};

const LIMIT: u64 = 4 << 20;

/// The frames of one message, apart from all others.
fn frames(message: &Raw, dictionary: Option<(i64, bool)>) -> Frames {
    let bytes = match dictionary {
        Some((id, is_delta)) => message.dictionary(id, is_delta),
        None => message.batch(),
    };
    let header = bytes[..bytes.len() - message.body.len()].to_vec();
    let used = message.buffers.iter().filter(|(_, length)| *length > 0);
    let frame = |(offset, length): &(i64, i64)| {
        arrow::buffer::Buffer::from(&message.body[*offset as usize..(*offset + *length) as usize])
    };
    Frames::new(header, used.map(frame).collect())
}

/// A decoder that has the schema of so many dictionary columns.
fn decoder(columns: usize) -> Decoder {
    let data_type = DataType::Dictionary(DataType::Int32.into(), DataType::Int8.into());
    let fields = (0..columns).map(|n| Field::new(n.to_string(), data_type.clone(), true)).collect();
    let limits = Limits { max_expanded_bytes: LIMIT, max_expansion: 0, ..Limits::default() };
    let mut decoder = Decoder::new().with_limits(limits);
    decoder.decode(Frames::new(raw::schema(fields), vec![])).unwrap();
    decoder
}

/// So many bytes as values, as they are.
fn plain(count: usize) -> Raw {
    rows(count as i64).array(count as i64).bytes(&vec![7; count])
}

/// A batch of one row of the first value.
fn first_value() -> Frames {
    frames(&rows(1).array(1).numbers(&[0i32]), None)
}

/// Hands messages to a decoder until it refuses one, and says which. Whatever it keeps until
/// then is no more than a small multiple of the limit.
#[track_caller]
fn refused(decoder: &mut Decoder, most: usize, mut message: impl FnMut(usize) -> Frames) -> usize {
    let (refused, memory) = peak(|| {
        for index in 0..most {
            if let Err(error) = decoder.decode(message(index)) {
                assert_limit(error);
                return Some(index);
            }
        }
        None
    });
    assert!(memory as u64 <= 3 * LIMIT, "{memory} bytes");
    refused.expect("there is no bound")
}

#[track_caller]
fn assert_limit(error: Error) {
    let is_limit = matches!(
        error.kind(),
        ErrorKind::Limit { limit: "max_expanded_bytes", requested, allowed: LIMIT } if *requested > LIMIT
    );
    assert!(is_limit, "{error}");
}

#[test]
fn deltas_that_no_batch_uses() {
    let mut decoder = decoder(1);
    decoder.decode(frames(&plain(1), Some((0, false)))).unwrap();
    let calls = refused(&mut decoder, 1 << 20, |_| frames(&plain(1024), Some((0, true))));
    assert!((1_000..4_096).contains(&calls), "{calls}");
    // Of no values they take memory too.
    let mut decoder = self::decoder(1);
    decoder.decode(frames(&plain(1), Some((0, false)))).unwrap();
    let calls = refused(&mut decoder, 1 << 20, |_| frames(&rows(0).array(0).absent(), Some((0, true))));
    assert!((4_000..20_000).contains(&calls), "{calls}");
}

#[test]
fn deltas_that_batches_use() {
    let mut decoder = decoder(1);
    decoder.decode(frames(&plain(1), Some((0, false)))).unwrap();
    let calls = refused(&mut decoder, 1 << 20, |index| match index % 2 {
        0 => frames(&plain(64 << 10), Some((0, true))),
        _ => first_value(),
    });
    // The old and the new dictionary are there at once.
    assert!((40..80).contains(&calls), "{calls}");
}

#[test]
fn dictionaries_that_replace_each_other_are_not_added_up() {
    let mut decoder = decoder(1);
    for _ in 0..100 {
        decoder.decode(frames(&plain(1 << 20), Some((0, false)))).unwrap();
        decoder.decode(first_value()).unwrap();
    }
    // Nor is what came as it is, and is kept as it is, whatever its size.
    decoder.decode(frames(&plain(2 * LIMIT as usize), Some((0, false)))).unwrap();
    decoder.decode(first_value()).unwrap();
}

#[test]
fn another_stream_starts_with_nothing() {
    let mut decoder = decoder(1);
    let data_type = DataType::Dictionary(DataType::Int32.into(), DataType::Int8.into());
    for _ in 0..8 {
        decoder.decode(Frames::new(raw::column(data_type.clone()), vec![])).unwrap();
        decoder.decode(frames(&plain(1), Some((0, false)))).unwrap();
        for _ in 0..8 {
            decoder.decode(frames(&plain(128 << 10), Some((0, true)))).unwrap();
        }
        decoder.decode(first_value()).unwrap();
    }
}

#[cfg(feature = "zstd")]
mod compressed {
    use super::*;
    use arrow::ipc::CompressionType;

    /// So many zeros as values, in a few bytes.
    fn zeros(count: usize) -> Raw {
        let mut buffer = (count as i64).to_le_bytes().to_vec();
        buffer.extend(zstd::bulk::compress(&vec![0; count], 1).unwrap());
        let mut message = rows(count as i64).array(count as i64).bytes(&buffer);
        message.codec = Some(CompressionType::ZSTD);
        message
    }

    #[test]
    fn small_dictionaries_of_many_columns() {
        let message = zeros(1 << 20);
        assert!(message.body.len() < 200);
        let mut decoder = decoder(64);
        let calls = refused(&mut decoder, 64, |id| frames(&message, Some((id as i64, false))));
        assert_eq!(calls, 4);
        // Each by itself is within the limit, again and again.
        let mut decoder = self::decoder(1);
        for _ in 0..20 {
            decoder.decode(frames(&message, Some((0, false)))).unwrap();
        }
    }

    #[test]
    fn small_deltas() {
        let message = zeros(256 << 10);
        let mut decoder = decoder(1);
        decoder.decode(frames(&plain(1), Some((0, false)))).unwrap();
        let calls = refused(&mut decoder, 1 << 16, |_| frames(&message, Some((0, true))));
        assert_eq!(calls, 15);
    }

    #[test]
    fn what_is_kept_counts_in_what_a_call_makes() {
        let mut decoder = decoder(1);
        decoder.decode(frames(&zeros(3 << 20), Some((0, false)))).unwrap();
        decoder.decode(first_value()).unwrap();
        // Half of it is not left.
        let count = 512i64 << 10;
        let mut keys = 0i64.to_le_bytes().to_vec();
        keys[..8].copy_from_slice(&(4 * count).to_le_bytes());
        keys.extend(zstd::bulk::compress(&vec![0; 4 * count as usize], 1).unwrap());
        let mut batch = rows(count).array(count).bytes(&keys);
        batch.codec = Some(CompressionType::ZSTD);
        assert_limit(decoder.decode(frames(&batch, None)).unwrap_err());
    }
}
