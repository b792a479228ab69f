//! How tensors travel: as a stream of one message, packed, in pieces, spilled; and what tells them
//! from dataframes.

use std::io::Read;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int8Array, RecordBatch};
use arrow::buffer::Buffer;
use arrow_frames::{
    Content, DataFrame, Decoder, ErrorKind, Frames, Layout, MessageKind, Part, SparseTensor, StreamReceiver,
    StreamSource, Target, Tensor, from_buffers, to_buffers,
};

use crate::made::{self, Made};
use crate::stream;

fn dataframe() -> Frames {
    let column: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    to_buffers(&DataFrame::from(batch), Target::Arrow).unwrap()
}

/// Of 64 KiB and more, so that the body is received into memory of its own.
fn large() -> Tensor {
    let data = Buffer::from_vec((0..40_000i32).collect::<Vec<_>>());
    Tensor::try_new(arrow::datatypes::DataType::Int32, vec![100, 400], None, data).unwrap()
}

#[track_caller]
fn assert_same(one: &Frames, other: &Frames) {
    assert_eq!(one.header(), other.header());
    assert_eq!(one.buffers(), other.buffers());
}

#[test]
fn content_is_told_from_header_and_stream() {
    assert_eq!(Content::of(dataframe().header()).unwrap(), Content::DataFrame);
    for golden in made::all().unwrap() {
        let expected = match golden.tensor {
            Made::Dense(_) => Content::Tensor,
            Made::Sparse(_) => Content::SparseTensor,
        };
        assert_eq!(Content::of(golden.frames().unwrap().header()).unwrap(), expected);
        assert_eq!(Content::of(&golden.stream().unwrap()).unwrap(), expected);
    }
    assert!(matches!(Content::of(&[]).unwrap_err().kind(), ErrorKind::SchemaMissing { position: 0 }));
    assert!(matches!(Content::of(&[255; 4]).unwrap_err().kind(), ErrorKind::Truncated { .. }));
}

#[test]
fn one_is_not_taken_for_another() {
    let dense = Tensor::from(vec![1.5]).to_frames().unwrap();
    let sparse = made::sparse_csr().unwrap().to_frames().unwrap();
    let check = |error: arrow_frames::Error, wanted: Content, is: Content| {
        match error.kind() {
            ErrorKind::WrongContent { position: 0, expected, found } => {
                assert_eq!((*expected, *found), (wanted, is))
            }
            other => panic!("{other:?}"),
        }
        let message = error.to_string();
        assert!(message.contains(&format!("{is}, not {wanted}")), "{message}");
    };
    check(from_buffers(dense.clone()).unwrap_err(), Content::DataFrame, Content::Tensor);
    check(from_buffers(sparse.clone()).unwrap_err(), Content::DataFrame, Content::SparseTensor);
    check(Decoder::new().decode_stream(stream(&dense)).unwrap_err(), Content::DataFrame, Content::Tensor);
    check(Tensor::from_frames(dataframe()).unwrap_err(), Content::Tensor, Content::DataFrame);
    check(Tensor::from_frames(sparse.clone()).unwrap_err(), Content::Tensor, Content::SparseTensor);
    check(SparseTensor::from_frames(dataframe()).unwrap_err(), Content::SparseTensor, Content::DataFrame);
    check(SparseTensor::from_frames(dense.clone()).unwrap_err(), Content::SparseTensor, Content::Tensor);
    check(dense.file_form().unwrap_err(), Content::DataFrame, Content::Tensor);
}

#[test]
fn chunks_and_segments_are_the_same_stream() {
    for golden in made::all().unwrap() {
        let frames = golden.frames().unwrap();
        let addresses: Vec<_> = frames.buffers().iter().map(|frame| frame.as_ptr()).collect();
        let chunks = frames.clone().into_chunks().unwrap();
        assert_eq!(chunks.concat(), stream(&frames), "{}", golden.name);
        for address in addresses {
            assert!(chunks.iter().any(|chunk| chunk.as_ptr() == address), "{}", golden.name);
        }
    }
}

#[test]
fn a_tensor_is_all_of_its_stream() {
    for frames in made::all()
        .unwrap()
        .iter()
        .map(|golden| golden.frames().unwrap())
        .chain([large().to_frames().unwrap()])
    {
        let sent = stream(&frames);
        // Nothing is read of what follows.
        let both = [&sent[..], b"what follows"].concat();
        let mut source = StreamSource::new(both.as_slice());
        let read = source.next().unwrap().unwrap();
        assert_same(&frames, &read);
        assert!(source.is_finished());
        assert!(source.next().unwrap().is_none());
        assert_eq!(source.position(), sent.len() as u64);
        let (mut rest, _) = source.into_parts();
        let mut left = String::new();
        rest.read_to_string(&mut left).unwrap();
        assert_eq!(left, "what follows");
        assert_same(&frames, &Frames::from_stream(both.clone()).unwrap());
        // Read ahead, it is handed back.
        let mut source = StreamSource::new(both.as_slice()).with_read_ahead(1 << 20);
        assert_same(&frames, &source.read_all().unwrap());
        let (rest, leftover) = source.into_parts();
        assert_eq!([&leftover[..], rest].concat(), b"what follows");
    }
}

#[test]
fn streams_of_all_kinds_follow_each_other() {
    let parts = [
        dataframe(),
        Tensor::from(vec![1.5, 2.5]).to_frames().unwrap(),
        large().to_frames().unwrap(),
        made::sparse_csf().unwrap().to_frames().unwrap(),
        dataframe(),
    ];
    let sent: Vec<u8> = parts.iter().flat_map(stream).collect();
    let mut source = StreamSource::new(sent.as_slice());
    for part in &parts {
        assert_same(part, &source.read_all().unwrap());
        assert!(source.is_finished());
        source.restart();
    }
    assert_eq!(source.position(), sent.len() as u64);
}

#[test]
fn byte_by_byte() {
    for golden in made::all().unwrap() {
        let (frames, sent) = (golden.frames().unwrap(), golden.stream().unwrap());
        let mut receiver = StreamReceiver::new();
        let mut received = None;
        let mut bytes = sent.iter();
        while !receiver.is_finished() {
            match receiver.next().unwrap() {
                Some(message) => assert!(received.replace(message).is_none()),
                None => {
                    let space = receiver.space().unwrap();
                    space[0] = *bytes.next().unwrap();
                    receiver.filled(1);
                }
            }
        }
        assert!(bytes.next().is_none() && receiver.is_marked());
        assert_same(&frames, &received.unwrap());
    }
}

#[test]
fn a_tensor_among_other_messages_is_refused() {
    let df = stream(&dataframe());
    let tensor = stream(&Tensor::from(vec![1.5]).to_frames().unwrap());
    // Before the end marker.
    let inside = [&df[..df.len() - 8], &tensor].concat();
    let unexpected = |error: &arrow_frames::Error| {
        let position = (df.len() - 8) as u64;
        matches!(error.kind(), ErrorKind::UnexpectedMessage { position: at, header: 4 } if *at == position)
    };
    assert!(unexpected(&Frames::from_stream(inside.clone()).unwrap_err()));
    assert!(unexpected(&StreamSource::new(inside.as_slice()).read_all().unwrap_err()));
    assert!(unexpected(Layout::of_stream(&inside).error.as_ref().unwrap()));
    assert!(Decoder::new().decode_stream(inside).is_err());
}

#[test]
fn packed() {
    for golden in made::all().unwrap() {
        let frames = golden.frames().unwrap();
        let bytes: Vec<u8> = frames.packed().segments().flatten().copied().collect();
        assert_same(&frames, &Frames::from_packed(bytes).unwrap());
        let bytes: Vec<u8> = frames.packed_aligned().unwrap().segments().flatten().copied().collect();
        let again = Frames::from_packed(bytes).unwrap();
        assert_same(&frames, &again);
    }
}

#[test]
fn layouts() {
    let layout = Layout::of_frames(&made::sparse_csr().unwrap().to_frames().unwrap());
    assert!(layout.error.is_none() && layout.is_finished && layout.schema.is_none());
    let [message] = layout.messages.as_slice() else { panic!("{layout:?}") };
    assert_eq!((message.kind, message.body_bytes), (MessageKind::SparseTensor, 192));
    let buffers: Vec<_> = message.buffers.iter().map(|b| (b.column, b.part, b.offset, b.length)).collect();
    let expected = [(0, Part::Pointers, 0, 12), (1, Part::Indices, 64, 6), (2, Part::Values, 128, 24)];
    assert_eq!(buffers, expected);
    let layout = Layout::of_stream(&stream(&Tensor::from(vec![1.5]).to_frames().unwrap()));
    assert!(layout.error.is_none() && layout.is_finished);
    assert_eq!(layout.messages[0].kind, MessageKind::Tensor);
}

#[cfg(feature = "spill")]
#[test]
fn spilled_and_mapped() {
    use arrow_frames::{Limits, spill};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tensor.arrows");
    let tensor = large();
    let frames = tensor.to_frames().unwrap();
    spill::write_encoded(&path, &frames).unwrap();
    assert_same(&frames, &spill::read_frames(&path, &Limits::default()).unwrap());
    // SAFETY: nobody else knows of the file.
    #[allow(unsafe_code)]
    let mapped = unsafe { spill::map_frames(&path).unwrap() };
    assert_same(&frames, &mapped);
    let again = arrow_frames::TensorCodec::new().with_max_copied_bytes(0).decode(mapped).unwrap();
    assert_eq!(again.values::<i32>(), tensor.values::<i32>());
    assert!(matches!(spill::read(&path).unwrap_err().kind(), ErrorKind::WrongContent { .. }));

    // A byte more, a byte less.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&bytes[..], b"!"].concat()).unwrap();
    let error = spill::read_frames(&path, &Limits::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::BadNumber { part: Part::End, number: 1, .. }), "{error}");
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let error = spill::read_frames(&path, &Limits::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Truncated { part: Part::Body, .. }), "{error}");
}

/// The golden files are what is written today, and hold what they should.
#[test]
fn golden() {
    for golden in made::all().unwrap() {
        let path = format!("{}/testdata/golden/{}.arrows", env!("CARGO_MANIFEST_DIR"), golden.name);
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(bytes == golden.stream().unwrap(), "{}.arrows: `cargo xtask golden`", golden.name);
        let frames = Frames::from_stream(bytes).unwrap();
        assert_same(&frames, &golden.frames().unwrap());
        match &golden.tensor {
            Made::Dense(tensor) => {
                let again = Tensor::from_frames(frames).unwrap();
                assert_eq!(crate::elements(&again), crate::elements(tensor), "{}", golden.name);
                assert_eq!(again.metadata(), tensor.metadata());
            }
            Made::Sparse(tensor) => {
                let again = SparseTensor::from_frames(frames).unwrap();
                assert_eq!(crate::elements(again.values()), crate::elements(tensor.values()));
            }
        }
    }
}
