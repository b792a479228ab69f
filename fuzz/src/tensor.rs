//! The fuzz target of tensors.

use arrow_buffer::Buffer;
use arrow_frames::{
    Content, Error, Frames, Layout, Result, SparseIndex, SparseTensor, StreamSource, Tensor, TensorCodec,
};

use crate::check::{self, limits};
use crate::rng::Rng;
use crate::targets::Odd;

/// Elements that overlap may be any number of a few bytes: beyond this they are not gathered.
const MOST_GATHERED: usize = 1 << 20;

/// Takes a stream apart, decodes what it is, and encodes that again. Says whether it was sound.
pub fn run(input: &[u8], rng: &mut Rng) -> bool {
    let layout = Layout::of_stream(input);
    check::layout(&layout);
    let sliced = Frames::from_stream_with_limits(input.to_vec(), &limits());
    let mut source = StreamSource::new(Odd { left: input, rng: rng.clone() }).with_limits(limits());
    match (&sliced, &source.read_all()) {
        (Ok(sliced), Ok(read)) => {
            assert_eq!(sliced.header(), read.header());
            assert_eq!(sliced.buffers(), read.buffers());
        }
        (Ok(_), Err(error)) => panic!("a stream in one piece, but not from a reader: {error}"),
        (Err(_), _) => {}
    }
    let Ok(frames) = sliced else { return false };
    let result = match Content::of(frames.header()) {
        Ok(Content::Tensor) => dense(&frames, rng),
        Ok(Content::SparseTensor) => sparse(&frames, rng),
        _ => return false,
    };
    if let Err(error) = &result {
        check::error(error);
    } else {
        assert!(layout.error.is_none(), "decoded, though its layout has a fault: {:?}", layout.error);
    }
    result.is_ok()
}

fn codec() -> TensorCodec {
    TensorCodec::new().with_limits(limits())
}

fn dense(frames: &Frames, rng: &mut Rng) -> Result<()> {
    refused(SparseTensor::from_frames(frames.clone()));
    let mut decoder = codec();
    let tensor = decoder.decode(frames.clone())?;
    budget(decoder.copies().total(), |codec| codec.decode(frames.clone()).map(drop));
    if tensor.num_bytes() > MOST_GATHERED {
        return Ok(());
    }
    let mut encoder = codec();
    let sent = encoder.encode(&tensor)?;
    let copied = if tensor.is_contiguous() { 0 } else { tensor.num_bytes() as u64 };
    assert_eq!(encoder.copies().total(), copied);
    budget(copied, |codec| codec.encode(&tensor).map(drop));
    for again in [sent.clone(), elsewhere(&sent, rng), written(&sent)] {
        assert_same(&tensor, &codec().decode(again).expect("what was encoded"));
    }
    assert_same(&tensor, &codec().decode(elsewhere(frames, rng)).expect("as it was decoded"));
    Ok(())
}

fn sparse(frames: &Frames, rng: &mut Rng) -> Result<()> {
    refused(Tensor::from_frames(frames.clone()));
    let mut decoder = codec();
    let tensor = decoder.decode_sparse(frames.clone())?;
    budget(decoder.copies().total(), |codec| codec.decode_sparse(frames.clone()).map(drop));
    let sent = codec().encode_sparse(&tensor)?;
    for again in [sent.clone(), elsewhere(&sent, rng), written(&sent), elsewhere(frames, rng)] {
        let again = codec().decode_sparse(again).expect("what was encoded, or decoded");
        assert_eq!((tensor.shape(), tensor.names()), (again.shape(), again.names()));
        assert_eq!(tensor.metadata(), again.metadata());
        assert_eq!(tensor.is_canonical(), again.is_canonical());
        assert_same(tensor.values(), again.values());
        let (one, other) = (parts(tensor.index()), parts(again.index()));
        assert_eq!(one.len(), other.len());
        one.into_iter().zip(other).for_each(|(one, other)| assert_same(one, other));
    }
    Ok(())
}

/// What is one is not the other.
fn refused<T>(result: Result<T>) {
    assert!(result.is_err_and(|error: Error| check::kind(&error) == "WrongContent"));
}

/// Exactly so many bytes are enough.
fn budget(total: u64, work: impl Fn(&mut TensorCodec) -> Result<()>) {
    work(&mut codec().with_max_copied_bytes(total)).expect("as many bytes as were copied");
    if let Some(less) = total.checked_sub(1) {
        let error = work(&mut codec().with_max_copied_bytes(less)).expect_err("a byte less");
        assert_eq!(check::kind(&error), "CopyLimit");
    }
}

fn parts(index: &SparseIndex) -> Vec<&Tensor> {
    match index {
        SparseIndex::Coo { indices } => vec![indices],
        SparseIndex::Csr { indptr, indices } | SparseIndex::Csc { indptr, indices } => vec![indptr, indices],
        SparseIndex::Csf { indptr, indices, .. } => indptr.iter().chain(indices).collect(),
        _ => Vec::new(),
    }
}

fn assert_same(one: &Tensor, other: &Tensor) {
    assert_eq!(
        (one.data_type(), one.shape(), one.names()),
        (other.data_type(), other.shape(), other.names())
    );
    assert_eq!(one.metadata(), other.metadata());
    assert_eq!(elements(one), elements(other));
}

fn elements(tensor: &Tensor) -> Vec<u8> {
    let tensor = tensor.to_row_major().expect("not too many");
    tensor.data()[tensor.offset()..tensor.offset() + tensor.num_bytes()].to_vec()
}

/// The same bytes at addresses that suit no wider type.
fn elsewhere(frames: &Frames, rng: &mut Rng) -> Frames {
    let shift = 1 + rng.below(63);
    let moved =
        |buffer: &Buffer| Buffer::from_vec([&vec![0; shift], buffer.as_slice()].concat()).slice(shift);
    Frames::new(frames.header().clone(), frames.buffers().iter().map(moved).collect())
}

/// As a stream, and taken apart.
fn written(frames: &Frames) -> Frames {
    let stream: Vec<u8> = frames.segments().expect("what was encoded").flatten().copied().collect();
    Frames::from_stream(stream).expect("what was written")
}
