//! What is no tensor, each by its name: in memory, and as a message that says so.

use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field};
use arrow_frames::{
    Content, CopyReason, Error, ErrorKind, Fault, Frames, Limits, Part, SparseIndex, SparseTensor, Tensor,
    TensorCodec,
};
use arrow_ipc as ipc;
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

fn try_new(
    data_type: DataType,
    shape: &[usize],
    strides: Option<&[isize]>,
    bytes: usize,
) -> Result<Tensor, ErrorKind> {
    let data = Buffer::from_vec(vec![0u8; bytes]);
    Tensor::try_new(data_type, shape.to_vec(), strides.map(<[isize]>::to_vec), data).map_err(Error::into_kind)
}

#[test]
fn types_without_a_width() {
    let list = DataType::List(Field::new("item", DataType::Int8, true).into());
    let fixed = DataType::FixedSizeList(Field::new("item", DataType::Int8, true).into(), 2);
    let dictionary = DataType::Dictionary(DataType::Int8.into(), DataType::Int8.into());
    for data_type in [
        DataType::Null,
        DataType::Boolean,
        DataType::Utf8,
        DataType::Binary,
        DataType::Utf8View,
        DataType::FixedSizeBinary(0),
        DataType::FixedSizeBinary(-1),
        DataType::Decimal32(10, 0),
        DataType::Decimal128(39, 0),
        DataType::Decimal128(0, 0),
        DataType::Decimal256(77, 0),
        list,
        fixed,
        dictionary,
    ] {
        let error = try_new(data_type.clone(), &[1], None, 64).unwrap_err();
        assert!(matches!(error, ErrorKind::TensorType { .. }), "{data_type}: {error}");
    }
}

#[test]
fn shapes_and_strides() {
    use DataType::Int32;
    let too_short = try_new(Int32, &[2, 3], None, 23).unwrap_err();
    let expected = ErrorKind::TensorLength { part: Part::Values, needed: 24, found: 23 };
    assert_eq!(format!("{too_short:?}"), format!("{expected:?}"));
    for shape in [
        &[usize::MAX][..],
        &[1 << 61],
        &[1 << 31, 1 << 31],
        &[usize::MAX, usize::MAX, 2],
        &[1, usize::MAX / 4],
    ] {
        let error = try_new(Int32, shape, None, 64).unwrap_err();
        assert!(matches!(error, ErrorKind::TensorSize { .. }), "{shape:?}: {error}");
    }
    for strides in [&[4][..], &[12, 4, 4], &[]] {
        let error = try_new(Int32, &[2, 3], Some(strides), 64).unwrap_err();
        assert!(matches!(error, ErrorKind::TensorCount { part: Part::Strides, expected: 2, .. }), "{error}");
    }
    for strides in [[16, 4], [12, 5], [-12, 4], [12, -4], [isize::MAX, 4], [isize::MIN, isize::MIN]] {
        let error = try_new(Int32, &[2, 3], Some(&strides), 24).unwrap_err();
        assert!(matches!(error, ErrorKind::TensorStrides { length: 24, .. }), "{strides:?}: {error}");
    }
    let data = Buffer::from_vec(vec![0u8; 8]);
    for (stride, offset) in [(-4, 3), (4, 5), (0, 5), (4, usize::MAX), (-4, usize::MAX)] {
        let view = Tensor::try_view(Int32, vec![2], vec![stride], offset, data.clone());
        assert!(matches!(view.unwrap_err().kind(), ErrorKind::TensorStrides { .. }), "{stride} at {offset}");
    }
    assert!(Tensor::try_view(Int32, vec![2], vec![-4], 4, data).is_ok());
    let error = Tensor::from(vec![1.5]).with_names(["a", "b"]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TensorCount { part: Part::Names, expected: 1, found: 2 }));
    assert_eq!(error.fault(), Fault::Input);
}

/// Any number of elements that are one and the same.
#[test]
fn a_view_of_more_than_there_is_memory() {
    let data = Buffer::from_vec(vec![1u8]);
    let tensor = Tensor::try_new(DataType::UInt8, vec![1 << 60], Some(vec![0]), data).unwrap();
    assert!(matches!(tensor.to_frames().unwrap_err().kind(), ErrorKind::Memory { .. }));
    assert!(tensor.to_row_major().is_err());
    let error = TensorCodec::new().with_max_copied_bytes(1 << 30).encode(&tensor).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::CopyLimit { reason: CopyReason::Strided, .. }));
}

// ---- sparse, in memory

fn i64s(numbers: &[i64]) -> Tensor {
    Tensor::from(numbers.to_vec())
}

fn values(count: usize) -> Tensor {
    Tensor::from(vec![1.5; count])
}

fn coo(rows: usize, columns: usize, numbers: &[i64]) -> SparseIndex {
    let data = Buffer::from_vec(numbers.to_vec());
    let indices = Tensor::try_new(DataType::Int64, vec![rows, columns], None, data).unwrap();
    SparseIndex::Coo { indices }
}

#[track_caller]
fn refused(shape: &[usize], index: SparseIndex, count: usize) -> ErrorKind {
    SparseTensor::try_new(shape.to_vec(), index, values(count)).unwrap_err().into_kind()
}

#[test]
fn coordinates() {
    let outside = refused(&[2, 3], coo(2, 2, &[0, 2, 0, 3]), 2);
    assert!(matches!(outside, ErrorKind::TensorIndex { place: 3, index: 3, limit: 3 }), "{outside}");
    let negative = refused(&[2, 3], coo(2, 2, &[-1, 2, 0, 0]), 2);
    assert!(matches!(negative, ErrorKind::TensorIndex { place: 0, index: -1, limit: 2 }), "{negative}");
    let nowhere = refused(&[2, 0], coo(1, 2, &[0, 0]), 1);
    assert!(matches!(nowhere, ErrorKind::TensorIndex { limit: 0, .. }), "{nowhere}");
    let fewer = refused(&[2, 3], coo(2, 2, &[0; 4]), 3);
    assert!(
        matches!(fewer, ErrorKind::TensorCount { part: Part::Indices, expected: 3, found: 2 }),
        "{fewer}"
    );
    let other = refused(&[2, 3, 4], coo(2, 2, &[0; 4]), 2);
    assert!(matches!(other, ErrorKind::TensorCount { part: Part::Shape, .. }), "{other}");
    let flat = refused(&[4], SparseIndex::Coo { indices: i64s(&[1]) }, 1);
    assert!(matches!(flat, ErrorKind::TensorCount { part: Part::Shape, expected: 2, found: 1 }), "{flat}");
    let indices = Tensor::try_new(DataType::Float64, vec![1, 1], None, vec![0u8; 8].into()).unwrap();
    let floats = refused(&[4], SparseIndex::Coo { indices }, 1);
    assert!(matches!(floats, ErrorKind::TensorType { .. }), "{floats}");
    let nested = Tensor::try_new(DataType::Float64, vec![1, 1], None, vec![0u8; 8].into()).unwrap();
    let error = SparseTensor::try_new(vec![4], coo(1, 1, &[0]), nested).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TensorCount { part: Part::Shape, expected: 1, found: 2 }));
    // Of no dimensions there is one place.
    let point = SparseTensor::try_new(vec![], coo(1, 0, &[]), values(1)).unwrap();
    assert!(point.is_canonical());
    assert!(SparseTensor::from_frames(point.to_frames().unwrap()).is_ok());
}

#[test]
fn canonical_is_what_ascends() {
    let is_canonical = |rows: usize, numbers: &[i64]| {
        SparseTensor::try_new(vec![9, 9], coo(rows, 2, numbers), values(rows)).unwrap().is_canonical()
    };
    assert!(is_canonical(0, &[]) && is_canonical(3, &[0, 8, 1, 0, 1, 1]));
    assert!(
        !is_canonical(2, &[1, 1, 1, 1]) && !is_canonical(2, &[1, 0, 0, 8]) && !is_canonical(2, &[1, 1, 1, 0])
    );
    // Large numbers without a sign.
    let indices = Tensor::from(vec![u64::MAX - 1, u64::MAX]);
    let indices = Tensor::try_new(DataType::UInt64, vec![2, 1], None, indices.data().clone()).unwrap();
    let outside = refused(&[usize::MAX], SparseIndex::Coo { indices }, 2);
    assert!(matches!(outside, ErrorKind::TensorIndex { place: 1, .. }), "{outside}");
}

#[test]
fn compressed() {
    type Make = fn(&[i64], &[i64]) -> SparseIndex;
    let csr: Make = |indptr, indices| SparseIndex::Csr { indptr: i64s(indptr), indices: i64s(indices) };
    let csc: Make = |indptr, indices| SparseIndex::Csc { indptr: i64s(indptr), indices: i64s(indices) };
    for (make, shape) in [(csr, [3, 9]), (csc, [9, 3])] {
        assert!(SparseTensor::try_new(shape.to_vec(), make(&[0, 0, 2, 2], &[8, 0]), values(2)).is_ok());
        for pointers in [
            [1, 1, 2, 2],
            [0, 2, 1, 2],
            [0, 0, 2, 3],
            [0, 0, 1, 1],
            [0, -1, 2, 2],
            [-1, 0, 2, 2],
            [0, 3, 3, 2],
        ] {
            let error = refused(&shape, make(&pointers, &[8, 0]), 2);
            assert!(matches!(error, ErrorKind::TensorPointers { limit: 2, .. }), "{pointers:?}: {error}");
        }
        for pointers in [&[0, 2, 2][..], &[0, 0, 0, 2, 2], &[]] {
            let error = refused(&shape, make(pointers, &[8, 0]), 2);
            assert!(
                matches!(error, ErrorKind::TensorCount { part: Part::Pointers, expected: 4, .. }),
                "{error}"
            );
        }
        let outside = refused(&shape, make(&[0, 0, 2, 2], &[9, 0]), 2);
        assert!(matches!(outside, ErrorKind::TensorIndex { place: 0, index: 9, limit: 9 }), "{outside}");
        let fewer = refused(&shape, make(&[0, 0, 2, 2], &[8]), 2);
        assert!(matches!(fewer, ErrorKind::TensorCount { part: Part::Indices, .. }), "{fewer}");
        let cube = refused(&[3, 9, 1], make(&[0, 0, 2, 2], &[8, 0]), 2);
        assert!(
            matches!(cube, ErrorKind::TensorCount { part: Part::Shape, expected: 2, found: 3 }),
            "{cube}"
        );
        let huge = refused(&[usize::MAX, usize::MAX], make(&[0, 0, 2, 2], &[8, 0]), 2);
        assert!(matches!(huge, ErrorKind::TensorCount { part: Part::Pointers, .. }), "{huge}");
    }
}

#[test]
fn trees() {
    let csf = |indptr: &[&[i64]], indices: &[&[i64]], axis_order: &[usize]| SparseIndex::Csf {
        indptr: indptr.iter().map(|numbers| i64s(numbers)).collect(),
        indices: indices.iter().map(|numbers| i64s(numbers)).collect(),
        axis_order: axis_order.to_vec(),
    };
    let good = csf(&[&[0, 1, 3]], &[&[0, 2], &[8, 0, 1]], &[1, 0]);
    assert!(SparseTensor::try_new(vec![9, 3], good, values(3)).is_ok());
    for axes in [&[0, 0][..], &[1, 2], &[0], &[0, 1, 2], &[], &[usize::MAX, 0]] {
        let error = refused(&[9, 3], csf(&[&[0, 1, 3]], &[&[0, 2], &[8, 0, 1]], axes), 3);
        assert!(matches!(error, ErrorKind::TensorAxes { .. }), "{axes:?}: {error}");
    }
    // The other way round the axes are too short.
    let outside = refused(&[9, 3], csf(&[&[0, 1, 3]], &[&[0, 2], &[8, 0, 1]], &[0, 1]), 3);
    assert!(matches!(outside, ErrorKind::TensorIndex { place: 0, index: 8, limit: 3 }), "{outside}");
    let pointers = refused(&[9, 3], csf(&[&[0, 1, 2]], &[&[0, 2], &[8, 0, 1]], &[1, 0]), 3);
    assert!(matches!(pointers, ErrorKind::TensorPointers { place: 2, .. }), "{pointers}");
    let levels = refused(&[9, 3], csf(&[], &[&[0, 2], &[8, 0, 1]], &[1, 0]), 3);
    assert!(matches!(levels, ErrorKind::TensorCount { part: Part::Pointers, .. }), "{levels}");
    let levels = refused(&[9, 3], csf(&[&[0, 1, 3]], &[&[0, 2]], &[1, 0]), 3);
    assert!(matches!(levels, ErrorKind::TensorCount { part: Part::Indices, .. }), "{levels}");
    let count = refused(&[9, 3], csf(&[&[0, 1, 3]], &[&[0, 2], &[8, 0, 1]], &[1, 0]), 4);
    assert!(matches!(count, ErrorKind::TensorCount { part: Part::Indices, .. }), "{count}");
    let none = refused(&[], csf(&[], &[], &[]), 0);
    assert!(matches!(none, ErrorKind::TensorAxes { .. }), "{none}");
    let mixed = SparseIndex::Csf {
        indptr: vec![i64s(&[0, 1])],
        indices: vec![i64s(&[0]), Tensor::from(vec![0i32])],
        axis_order: vec![0, 1],
    };
    assert!(matches!(refused(&[1, 1], mixed, 1), ErrorKind::TensorLevels { .. }));
    // One level, and none of its nodes.
    assert!(SparseTensor::try_new(vec![5], csf(&[], &[&[4]], &[0]), values(1)).is_ok());
    let empty = SparseTensor::try_new(vec![5, 5], csf(&[&[0]], &[&[], &[]], &[0, 1]), values(0)).unwrap();
    assert!(SparseTensor::from_frames(empty.to_frames().unwrap()).is_ok());
}

// ---- as messages

/// A message and the frames of its buffers.
struct Raw {
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    /// The type, and bytes of the buffer.
    kind: ipc::Type,
    data: Vec<u8>,
    body: i64,
}

impl Default for Raw {
    fn default() -> Self {
        Raw { shape: vec![2, 3], strides: None, kind: ipc::Type::Int, data: vec![0; 24], body: 64 }
    }
}

fn int(fbb: &mut FlatBufferBuilder<'static>) -> WIPOffset<ipc::Int<'static>> {
    ipc::Int::create(fbb, &ipc::IntArgs { bitWidth: 32, is_signed: true })
}

fn envelope(
    mut fbb: FlatBufferBuilder<'static>,
    header_type: ipc::MessageHeader,
    header: WIPOffset<UnionWIPOffset>,
    body: i64,
) -> Vec<u8> {
    let args = ipc::MessageArgs {
        version: ipc::MetadataVersion::V5,
        header_type,
        header: Some(header),
        bodyLength: body,
        custom_metadata: None,
    };
    let message = ipc::Message::create(&mut fbb, &args);
    fbb.finish(message, None);
    let flatbuffer = fbb.finished_data();
    let mut out = vec![0xff; 4];
    out.extend_from_slice(&(flatbuffer.len() as i32).to_le_bytes());
    out.extend_from_slice(flatbuffer);
    out
}

fn dims(
    fbb: &mut FlatBufferBuilder<'static>,
    shape: &[i64],
) -> WIPOffset<flatbuffers::Vector<'static, flatbuffers::ForwardsUOffset<ipc::TensorDim<'static>>>> {
    let dims: Vec<_> = shape
        .iter()
        .map(|size| ipc::TensorDim::create(fbb, &ipc::TensorDimArgs { size: *size, name: None }))
        .collect();
    fbb.create_vector(&dims)
}

impl Raw {
    fn decode(&self) -> Result<Tensor, ErrorKind> {
        let mut fbb = FlatBufferBuilder::new();
        let type_ = match self.kind {
            ipc::Type::Utf8 => ipc::Utf8::create(&mut fbb, &ipc::Utf8Args {}).as_union_value(),
            ipc::Type::Bool => ipc::Bool::create(&mut fbb, &ipc::BoolArgs {}).as_union_value(),
            _ => int(&mut fbb).as_union_value(),
        };
        let shape = dims(&mut fbb, &self.shape);
        let strides = self.strides.as_ref().map(|strides| fbb.create_vector(strides));
        let data = ipc::Buffer::new(0, self.data.len() as i64);
        let args = ipc::TensorArgs {
            type_type: self.kind,
            type_: Some(type_),
            shape: Some(shape),
            strides,
            data: Some(&data),
        };
        let tensor = ipc::Tensor::create(&mut fbb, &args).as_union_value();
        let header = envelope(fbb, ipc::MessageHeader::Tensor, tensor, self.body);
        let buffers = if self.data.is_empty() { vec![] } else { vec![self.data.clone().into()] };
        Tensor::from_frames(Frames::new(header, buffers)).map_err(Error::into_kind)
    }
}

#[test]
fn lying_messages() {
    let good = Raw::default().decode().unwrap();
    assert_eq!((good.shape(), good.strides()), (&[2, 3][..], &[12, 4][..]));
    // Strides of none are those of a row-major tensor.
    assert!(Raw { strides: Some(vec![]), ..Raw::default() }.decode().unwrap().is_row_major());
    // Gaps, and elements that are there twice, are as good as any if they are inside.
    let overlapping = Raw { strides: Some(vec![4, 4]), ..Raw::default() }.decode().unwrap();
    assert_eq!(overlapping.strides(), [4, 4]);
    assert!(Raw { strides: Some(vec![0, 0]), ..Raw::default() }.decode().is_ok());

    for shape in [[-1, 3], [2, i64::MIN]] {
        let error = Raw { shape: shape.to_vec(), ..Raw::default() }.decode().unwrap_err();
        assert!(matches!(error, ErrorKind::BadNumber { part: Part::Shape, .. }), "{error}");
    }
    for shape in [[1 << 62, 1 << 62], [i64::MAX, 2], [1 << 40, 1 << 40]] {
        let error = Raw { shape: shape.to_vec(), ..Raw::default() }.decode().unwrap_err();
        assert!(matches!(error, ErrorKind::TensorSize { .. }), "{error}");
    }
    let error = Raw { shape: vec![2, 4], ..Raw::default() }.decode().unwrap_err();
    assert!(matches!(error, ErrorKind::TensorLength { needed: 32, found: 24, .. }), "{error}");
    for strides in [[-12, 4], [12, i64::MIN]] {
        let error = Raw { strides: Some(strides.to_vec()), ..Raw::default() }.decode().unwrap_err();
        assert!(matches!(error, ErrorKind::BadNumber { part: Part::Strides, .. }), "{error}");
    }
    for strides in [[16, 4], [12, 5], [i64::MAX, i64::MAX]] {
        let error = Raw { strides: Some(strides.to_vec()), ..Raw::default() }.decode().unwrap_err();
        assert!(matches!(error, ErrorKind::TensorStrides { .. }), "{error}");
    }
    let error = Raw { strides: Some(vec![4]), ..Raw::default() }.decode().unwrap_err();
    assert!(matches!(error, ErrorKind::TensorCount { part: Part::Strides, .. }), "{error}");
    for kind in [ipc::Type::Utf8, ipc::Type::Bool, ipc::Type::FloatingPoint, ipc::Type(99)] {
        let error = Raw { kind, ..Raw::default() }.decode().unwrap_err();
        assert!(matches!(error, ErrorKind::TensorType { .. } | ErrorKind::Flatbuffer { .. }), "{error}");
    }
    let error = Raw { body: 23, ..Raw::default() }.decode().unwrap_err();
    assert!(matches!(error, ErrorKind::BufferOutside { body: 23, .. }), "{error}");
    let error = Raw { body: -1, ..Raw::default() }.decode().unwrap_err();
    assert!(matches!(error, ErrorKind::BadNumber { part: Part::Body, .. }), "{error}");
    let huge = Raw { body: 1 << 50, ..Raw::default() };
    assert!(matches!(huge.decode().unwrap_err(), ErrorKind::Limit { limit: "max_body_bytes", .. }));
}

/// Few bytes of indices that strides make many, for as many values.
#[test]
fn overlapping_coordinates() {
    let mut fbb = FlatBufferBuilder::new();
    let type_ = int(&mut fbb).as_union_value();
    let shape = dims(&mut fbb, &[9; 16]);
    let indices_type = int(&mut fbb);
    let strides = fbb.create_vector(&[4i64, 0]);
    let indices = ipc::Buffer::new(0, 16);
    let args = ipc::SparseTensorIndexCOOArgs {
        indicesType: Some(indices_type),
        indicesStrides: Some(strides),
        indicesBuffer: Some(&indices),
        isCanonical: true,
    };
    let index = ipc::SparseTensorIndexCOO::create(&mut fbb, &args).as_union_value();
    let data = ipc::Buffer::new(64, 16);
    let args = ipc::SparseTensorArgs {
        type_type: ipc::Type::Int,
        type_: Some(type_),
        shape: Some(shape),
        non_zero_length: 4,
        sparseIndex_type: ipc::SparseTensorIndex::SparseTensorIndexCOO,
        sparseIndex: Some(index),
        data: Some(&data),
    };
    let tensor = ipc::SparseTensor::create(&mut fbb, &args).as_union_value();
    let header = envelope(fbb, ipc::MessageHeader::SparseTensor, tensor, 128);
    let frames = Frames::new(header, vec![vec![0u8; 16].into(), vec![0u8; 16].into()]);
    assert_eq!(Content::of(frames.header()).unwrap(), Content::SparseTensor);
    let error = SparseTensor::from_frames(frames).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::TensorLength { part: Part::Indices, needed: 256, found: 16 }),
        "{error}"
    );
}

#[test]
fn limits() {
    let frames = Tensor::from(vec![0u8; 1000]).to_frames().unwrap();
    let codec = |limits| TensorCodec::new().with_limits(limits).decode(frames.clone());
    let error = codec(Limits { max_body_bytes: 1000, ..Limits::default() }).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Limit { limit: "max_body_bytes", requested: 1024, .. }),
        "{error}"
    );
    let error = codec(Limits { max_metadata_bytes: 64, ..Limits::default() }).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: "max_metadata_bytes", .. }), "{error}");
}
