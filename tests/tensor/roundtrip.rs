//! What goes out comes in: each element type in each layout of each rank.

use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use arrow_frames::{CopyReason, Frames, StreamSource, Tensor, TensorCodec};

use crate::made::{self, Made};
use crate::{elements, stream};

/// Every type of elements.
fn types() -> Vec<DataType> {
    use DataType::*;
    vec![
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Decimal32(9, 2),
        Decimal64(18, -3),
        Decimal128(38, 10),
        Decimal256(76, 20),
        Date32,
        Date64,
        Time32(TimeUnit::Millisecond),
        Time64(TimeUnit::Nanosecond),
        Timestamp(TimeUnit::Second, None),
        Timestamp(TimeUnit::Nanosecond, Some("Asia/Tokyo".into())),
        Duration(TimeUnit::Microsecond),
        Interval(IntervalUnit::YearMonth),
        Interval(IntervalUnit::DayTime),
        Interval(IntervalUnit::MonthDayNano),
        FixedSizeBinary(1),
        FixedSizeBinary(7),
    ]
}

/// A layout: the shape, the strides in elements, and where the first element is; and whether its
/// elements lie one behind the other.
struct Layout {
    name: &'static str,
    shape: &'static [usize],
    strides: &'static [isize],
    first: usize,
    is_contiguous: bool,
}

const fn layout(
    name: &'static str,
    shape: &'static [usize],
    strides: &'static [isize],
    first: usize,
    is_contiguous: bool,
) -> Layout {
    Layout { name, shape, strides, first, is_contiguous }
}

const LAYOUTS: [Layout; 24] = [
    layout("scalar", &[], &[], 0, true),
    layout("scalar in the middle", &[], &[], 5, true),
    layout("vector", &[5], &[1], 0, true),
    layout("part of a vector", &[5], &[1], 3, true),
    layout("every second", &[5], &[2], 1, false),
    layout("backwards", &[5], &[-1], 4, false),
    layout("one, again and again", &[5], &[0], 2, false),
    layout("one element, any stride", &[1], &[-100], 2, true),
    layout("no elements", &[0], &[1], 0, true),
    layout("no elements, any stride", &[0], &[-7], 0, true),
    layout("row-major", &[2, 3], &[3, 1], 0, true),
    layout("column-major", &[2, 3], &[1, 2], 0, true),
    layout("column-major behind others", &[2, 3], &[1, 2], 7, true),
    layout("columns of more rows", &[2, 3], &[1, 4], 0, false),
    layout("rows of more columns", &[2, 3], &[5, 1], 1, false),
    layout("rows backwards", &[2, 3], &[-3, 1], 3, false),
    layout("one row, again and again", &[4, 3], &[0, 1], 0, false),
    layout("no columns", &[3, 0], &[0, 1], 0, true),
    layout("an axis of one", &[3, 1, 2], &[2, 77, 1], 0, true),
    layout("three row-major", &[2, 3, 4], &[12, 4, 1], 0, true),
    layout("three column-major", &[2, 3, 4], &[1, 2, 6], 0, true),
    layout("permuted", &[2, 3, 4], &[4, 8, 1], 0, true),
    layout("permuted otherwise", &[2, 3, 4], &[12, 1, 3], 0, true),
    layout("runs with gaps", &[2, 2, 3, 2], &[24, 9, 2, 1], 2, false),
];

#[test]
fn every_type_in_every_layout() {
    for data_type in types() {
        for layout in &LAYOUTS {
            let case = format!("{data_type}, {}", layout.name);
            let width = Tensor::try_new(data_type.clone(), vec![0], None, Buffer::default())
                .unwrap_or_else(|error| panic!("{case}: {error}"))
                .element_width();
            let data: Vec<u8> = (0..64 * width).map(|byte| (byte * 37 + byte / 256) as u8).collect();
            let strides = layout.strides.iter().map(|stride| stride * width as isize).collect();
            let (shape, first) = (layout.shape.to_vec(), layout.first * width);
            let tensor =
                Tensor::try_view(data_type.clone(), shape, strides, first, Buffer::from_vec(data)).unwrap();
            assert_eq!(tensor.is_contiguous(), layout.is_contiguous, "{case}");

            let mut codec = TensorCodec::new();
            let frames = codec.encode(&tensor).unwrap();
            let bytes = tensor.num_bytes();
            assert_eq!(frames.buffers().len(), usize::from(bytes > 0), "{case}");
            let copied = if layout.is_contiguous { 0 } else { bytes as u64 };
            assert_eq!(codec.copies().total(), copied, "{case}");
            assert_eq!(codec.copies().of_reason(CopyReason::Strided), copied, "{case}");
            if layout.is_contiguous && bytes > 0 {
                let address = tensor.data()[first..].as_ptr();
                assert_eq!(
                    (frames.buffers()[0].as_ptr(), frames.buffers()[0].len()),
                    (address, bytes),
                    "{case}"
                );
            }

            assert_same(&tensor, &Tensor::from_frames(frames.clone()).unwrap(), &case);
            let sent = stream(&frames);
            assert!(sent.len().is_multiple_of(64), "{case}");
            let taken = Frames::from_stream(sent.clone()).unwrap();
            assert_same(&tensor, &Tensor::from_frames(taken).unwrap(), &case);
            let mut source = StreamSource::new(sent.as_slice());
            assert_same(&tensor, &Tensor::from_frames(source.read_all().unwrap()).unwrap(), &case);
            assert!(source.is_finished(), "{case}");
        }
    }
}

#[track_caller]
fn assert_same(sent: &Tensor, received: &Tensor, case: &str) {
    assert_eq!(sent.data_type(), received.data_type(), "{case}");
    assert_eq!(sent.shape(), received.shape(), "{case}");
    assert_eq!(sent.names(), received.names(), "{case}");
    assert_eq!(sent.metadata(), received.metadata(), "{case}");
    assert_eq!(elements(sent), elements(received), "{case}");
    let row_major = received.to_row_major().unwrap();
    assert!(row_major.is_row_major());
    assert_eq!(elements(sent), elements(&row_major), "{case}");
    let sent = sent.to_row_major().unwrap();
    let bytes = &sent.data()[sent.offset()..sent.offset() + sent.num_bytes()];
    assert_eq!(elements(&sent), bytes, "{case}");
    // An axis that leads somewhere else only counts where there is one.
    if sent.is_contiguous() && sent.num_elements() > 0 && !sent.strides().iter().any(|stride| *stride < 0) {
        assert!(received.is_contiguous(), "{case}");
    }
}

#[test]
fn strides_of_contiguous_layouts_are_kept() {
    for layout in LAYOUTS.iter().filter(|layout| layout.is_contiguous && !layout.shape.contains(&0)) {
        let data = Buffer::from_vec((0..64i32).collect::<Vec<_>>());
        let strides: Vec<isize> = layout.strides.iter().map(|stride| stride * 4).collect();
        let tensor =
            Tensor::try_view(DataType::Int32, layout.shape.to_vec(), strides.clone(), layout.first * 4, data)
                .unwrap();
        let again = Tensor::from_frames(tensor.to_frames().unwrap()).unwrap();
        // Where an axis of one element leads to means nothing.
        let axes =
            || layout.shape.iter().zip(again.strides()).zip(&strides).filter(|((size, _), _)| **size > 1);
        assert!(axes().all(|((_, again), sent)| again == sent), "{}", layout.name);
        assert_eq!(again.offset(), 0);
    }
}

#[test]
fn names_and_metadata() {
    let tensor = Tensor::from(vec![1u8, 2])
        .with_names(["ø\0"])
        .unwrap()
        .with_metadata([("arrow_frames", "{}"), ("key", ""), ("", "value")].into());
    let again = Tensor::from_frames(tensor.to_frames().unwrap()).unwrap();
    assert_eq!(again.names(), ["ø\0"]);
    assert_eq!(again.metadata(), tensor.metadata());
    // Names that are all empty are none.
    assert!(tensor.with_names([""]).unwrap().names().is_empty());
}

#[test]
fn typed_values() {
    let tensor = Tensor::from(vec![1i16, 2, 3]);
    assert_eq!(tensor.values::<i16>(), Some(&[1, 2, 3][..]));
    assert_eq!(tensor.values::<u16>(), None);
    let odd = Tensor::try_view(DataType::Int16, vec![1], vec![2], 1, Buffer::from_vec(vec![0u64])).unwrap();
    assert_eq!(odd.values::<i16>(), None);
    let backwards = Tensor::try_view(DataType::Int16, vec![3], vec![-2], 4, tensor.data().clone()).unwrap();
    assert_eq!(backwards.values::<i16>(), None);
    assert_eq!(backwards.to_row_major().unwrap().values::<i16>(), Some(&[3, 2, 1][..]));
}

/// Large enough that every run of bytes, and the walk around it, is taken.
#[test]
fn gathered_as_one_by_one() {
    let data = Buffer::from_vec((0..4096).map(|n| (n * 7 % 251) as u8).collect::<Vec<_>>());
    for width in [1usize, 2, 3, 4, 8, 16] {
        for (shape, strides, first) in [
            (vec![5, 6, 7], vec![200isize, 30, 4], 0),
            (vec![5, 6, 7], vec![-200, 30, -4], 1000),
            (vec![2, 3, 5, 4], vec![0, 100, -20, 1], 200),
            (vec![9, 1, 5], vec![11, 1000, 0], 3),
            (vec![3, 4, 5], vec![1, 3, 12], 0),
        ] {
            let bytes = |strides: Vec<isize>| strides.iter().map(|stride| stride * width as isize).collect();
            let kind = DataType::FixedSizeBinary(width as i32);
            // Elements that overlap, and the same by whole elements.
            for (strides, first) in [(strides.clone(), first), (bytes(strides.clone()), first * width)] {
                let Ok(tensor) = Tensor::try_view(kind.clone(), shape.clone(), strides, first, data.clone())
                else {
                    continue;
                };
                assert_same(&tensor, &Tensor::from_frames(tensor.to_frames().unwrap()).unwrap(), "gathered");
            }
        }
    }
}

#[test]
fn sparse_of_every_index() {
    for golden in made::all().unwrap() {
        let Made::Sparse(tensor) = &golden.tensor else { continue };
        let name = golden.name;
        let again = arrow_frames::SparseTensor::from_frames(golden.frames().unwrap()).unwrap();
        assert_eq!(again.data_type(), tensor.data_type(), "{name}");
        assert_eq!(again.shape(), tensor.shape(), "{name}");
        assert_eq!(again.names(), tensor.names(), "{name}");
        assert_eq!(again.metadata(), tensor.metadata(), "{name}");
        assert_eq!(again.is_canonical(), tensor.is_canonical(), "{name}");
        assert_eq!(crate::copies::buffers(&again), crate::copies::buffers(tensor), "{name}");
        assert_eq!(format!("{:?}", again.index()), format!("{:?}", tensor.index()), "{name}");
        assert_eq!(elements(again.values()), elements(tensor.values()), "{name}");
    }
}
