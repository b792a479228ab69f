//! Arrow C++ reads what is written here, and is read: tensors by pyarrow, in the interpreter that
//! `ARROW_FRAMES_PYTHON` names, and sparse tensors, for which Python has no functions, by a program
//! that is built against pyarrow's libraries.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use arrow_frames::{Content, Frames, SparseIndex, SparseTensor, StreamSource, Tensor, TensorCodec};

use crate::made::{self, Made};
use crate::{elements, stream};

fn interpreter() -> std::ffi::OsString {
    std::env::var_os("ARROW_FRAMES_PYTHON").expect("`cargo xtask test` sets it")
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The types that Arrow C++ has tensors of, and their names there.
const TYPES: [(DataType, &str); 11] = [
    (DataType::Int8, "int8"),
    (DataType::Int16, "int16"),
    (DataType::Int32, "int32"),
    (DataType::Int64, "int64"),
    (DataType::UInt8, "uint8"),
    (DataType::UInt16, "uint16"),
    (DataType::UInt32, "uint32"),
    (DataType::UInt64, "uint64"),
    (DataType::Float16, "halffloat"),
    (DataType::Float32, "float"),
    (DataType::Float64, "double"),
];

/// Numbers of any type that are none of its NaNs, and not zero.
fn numbers(data_type: &DataType, count: usize) -> Vec<u8> {
    let element = |number: usize| match data_type {
        DataType::Float16 => (0x3c00 + number as u16).to_le_bytes().to_vec(),
        DataType::Float32 => (number as f32 + 0.5).to_le_bytes().to_vec(),
        DataType::Float64 => (number as f64 + 0.5).to_le_bytes().to_vec(),
        other => (number as i64 + 1).to_le_bytes()[..other.primitive_width().unwrap()].to_vec(),
    };
    (0..count).flat_map(element).collect()
}

#[test]
fn pyarrow_reads_ours_and_we_read_what_it_writes() {
    let folder = tempfile::tempdir().unwrap();
    let (sent, written) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&sent).unwrap();
    fs::create_dir(&written).unwrap();

    let mut tensors = BTreeMap::new();
    let layouts: [(&str, &[usize], &[isize]); 8] = [
        ("scalar", &[], &[]),
        ("vector", &[5], &[1]),
        ("c", &[2, 3], &[3, 1]),
        ("f", &[2, 3], &[1, 2]),
        ("permuted", &[2, 3, 4], &[12, 1, 3]),
        ("one", &[3, 1, 2], &[2, 77, 1]),
        ("empty", &[2, 0, 3], &[0, 3, 1]),
        ("gaps", &[2, 3], &[7, 2]),
    ];
    for (data_type, name) in TYPES {
        for (layout, shape, strides) in layouts {
            let data = Buffer::from(numbers(&data_type, 24));
            let width = data_type.primitive_width().unwrap() as isize;
            let strides = strides.iter().map(|stride| stride * width).collect();
            let names = (0..shape.len()).map(|axis| format!("{layout}{axis}"));
            let tensor = Tensor::try_new(data_type.clone(), shape.to_vec(), Some(strides), data).unwrap();
            tensors.insert(format!("{name}_{layout}"), tensor.with_names(names).unwrap());
        }
    }
    for golden in made::all().unwrap() {
        if let Made::Dense(tensor) = golden.tensor
            && TYPES.iter().any(|(data_type, _)| data_type == tensor.data_type())
        {
            tensors.insert(golden.name.to_owned(), tensor);
        }
    }
    for (name, tensor) in &tensors {
        fs::write(sent.join(format!("{name}.arrows")), stream(&tensor.to_frames().unwrap())).unwrap();
    }

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/tensors.py");
    let said = run(Command::new(interpreter()).arg(script).args([&sent, &written]));
    let said: BTreeMap<&str, &str> = said.lines().filter_map(|line| line.split_once('|')).collect();
    assert_eq!(said.len(), tensors.len());
    for (name, tensor) in &tensors {
        let again = Tensor::from_frames(tensor.to_frames().unwrap()).unwrap();
        let kind = TYPES.iter().find(|(data_type, _)| data_type == tensor.data_type()).unwrap().1;
        let strides = if tensor.num_elements() == 0 { &[] } else { again.strides() };
        let mut names = tensor.names().to_vec();
        names.resize(tensor.shape().len(), String::new());
        let names = names.join(",");
        let expected = format!("{kind}|{:?}|{strides:?}|{names}|{}", tensor.shape(), hex(&elements(tensor)));
        assert_eq!(said[name.as_str()], expected, "{name}");

        let theirs = fs::read(written.join(format!("{name}.arrows"))).unwrap();
        let theirs = Frames::from_stream(theirs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let theirs = TensorCodec::new().with_max_copied_bytes(0).decode(theirs).unwrap();
        assert_eq!(theirs.data_type(), tensor.data_type(), "{name}");
        assert_eq!(theirs.shape(), tensor.shape(), "{name}");
        // What is neither row-major nor column-major Arrow C++ writes anew, without the names.
        let is_kept = again.is_row_major() || again.is_column_major();
        if is_kept {
            assert_eq!(theirs.names(), tensor.names(), "{name}");
        }
        assert_eq!(elements(&theirs), elements(tensor), "{name}");
        if is_kept && tensor.num_elements() > 0 {
            assert_eq!(theirs.strides(), again.strides(), "{name}");
        }
    }

    let all: Vec<i32> = (0..120).collect();
    let at = |x: usize, y: usize, z: usize| all[x * 30 + y * 6 + z];
    let view = |name: &str| {
        let bytes = fs::read(written.join(format!("view_{name}.arrows"))).unwrap();
        let tensor = Tensor::from_frames(StreamSource::new(bytes.as_slice()).read_all().unwrap()).unwrap();
        tensor.to_row_major().unwrap()
    };
    let expected = |shape: [usize; 3], at: &dyn Fn(usize, usize, usize) -> i32| {
        let [a, b, c] = shape;
        let places = (0..a).flat_map(move |x| (0..b).flat_map(move |y| (0..c).map(move |z| (x, y, z))));
        places.map(|(x, y, z)| at(x, y, z)).collect::<Vec<i32>>()
    };
    let second = expected([4, 3, 6], &|x, y, z| at(x, 2 * y, z));
    assert_eq!(view("every_second").values::<i32>(), Some(second.as_slice()));
    let transposed = expected([6, 4, 5], &|x, y, z| at(y, z, x));
    assert_eq!(view("transposed").values::<i32>(), Some(transposed.as_slice()));
    let one_row = expected([1, 5, 6], &|_, y, z| at(1, y, z));
    assert_eq!(view("one_row").values::<i32>(), Some(one_row.as_slice()));
    assert_eq!(view("float16").data_type(), &DataType::Float16);
}

/// The program of Arrow C++: pyarrow does not lend its functions for sparse tensors to Python.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let compiler = Command::new("c++").arg("--version").output();
        assert!(compiler.is_ok(), "this test needs a C++ compiler that is called `c++`");
        let script = "import pyarrow; print(pyarrow.get_include()); print(pyarrow.get_library_dirs()[0])";
        let said = run(Command::new(interpreter()).args(["-c", script]));
        let (include, libraries) = said.split_once('\n').unwrap();
        let version = "import pyarrow; print(pyarrow.__version__.split('.')[0])";
        let version = run(Command::new(interpreter()).args(["-c", version]));
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sparse");
        run(Command::new("c++")
            .args(["-std=c++20", "-o"])
            .arg(&program)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/sparse.cc"))
            .arg(format!("-I{include}"))
            .arg(format!("{libraries}/libarrow.so.{version}00"))
            .arg(format!("-Wl,-rpath,{libraries}")));
        program
    };
    PROGRAM.get_or_init(build)
}

/// All elements of a sparse tensor, in row-major order.
fn dense(tensor: &SparseTensor) -> Vec<u8> {
    let number = |tensor: &Tensor, place: usize| {
        let bytes = elements(tensor);
        let width = tensor.element_width();
        let mut number = [0; 8];
        number[..width].copy_from_slice(&bytes[place * width..(place + 1) * width]);
        u64::from_le_bytes(number) as usize
    };
    let shape = tensor.shape();
    let mut places: Vec<Vec<usize>> = Vec::new();
    match tensor.index() {
        SparseIndex::Coo { indices } => {
            let place =
                |row| (0..shape.len()).map(|axis| number(indices, row * shape.len() + axis)).collect();
            places.extend((0..tensor.num_values()).map(place));
        }
        SparseIndex::Csr { indptr, indices } => {
            for row in 0..shape[0] {
                let range = number(indptr, row)..number(indptr, row + 1);
                places.extend(range.map(|at| vec![row, number(indices, at)]));
            }
        }
        SparseIndex::Csc { indptr, indices } => {
            for column in 0..shape[1] {
                let range = number(indptr, column)..number(indptr, column + 1);
                places.extend(range.map(|at| vec![number(indices, at), column]));
            }
        }
        SparseIndex::Csf { indptr, indices, axis_order } => {
            // From the leaves up: the node of each level that is the leaf's ancestor.
            for leaf in 0..tensor.num_values() {
                let mut place = vec![0; shape.len()];
                let mut node = leaf;
                for level in (0..shape.len()).rev() {
                    place[axis_order[level]] = number(&indices[level], node);
                    if level > 0 {
                        let pointers = &indptr[level - 1];
                        let count = pointers.shape()[0] - 1;
                        let is_parent = |parent: &usize| {
                            (number(pointers, *parent)..number(pointers, parent + 1)).contains(&node)
                        };
                        node = (0..count).find(is_parent).unwrap();
                    }
                }
                places.push(place);
            }
        }
        _ => unreachable!(),
    }
    let width = tensor.values().element_width();
    let mut all = vec![0; shape.iter().product::<usize>() * width];
    for (value, place) in elements(tensor.values()).chunks(width).zip(places) {
        let at = place.iter().zip(shape).fold(0, |at, (index, size)| at * size + index);
        all[at * width..(at + 1) * width].copy_from_slice(value);
    }
    all
}

#[test]
fn arrow_cpp_reads_our_sparse_tensors() {
    let program = program();
    let folder = tempfile::tempdir().unwrap();
    let (sent, written) = (folder.path().join("in"), folder.path().join("out"));
    for golden in made::all().unwrap() {
        let Made::Sparse(tensor) = &golden.tensor else { continue };
        let name = golden.name;
        fs::write(&sent, golden.stream().unwrap()).unwrap();
        let said = run(Command::new(program).arg("again").args([&sent, &written]));
        assert!(said.ends_with("|OK"), "{name}: {said}");
        if name == "sparse_empty" {
            continue;
        }
        // Of a tree Arrow C++ takes the bytes of its buffers for the numbers of nodes, and writes those.
        if name != "sparse_csf" {
            let again = Frames::from_stream(fs::read(&written).unwrap()).unwrap();
            let again = SparseTensor::from_frames(again).unwrap();
            assert_eq!(again.shape(), tensor.shape(), "{name}");
            assert_eq!(again.names(), tensor.names(), "{name}");
            assert_eq!(again.is_canonical(), tensor.is_canonical(), "{name}");
            assert_eq!(elements(again.values()), elements(tensor.values()), "{name}");
        }
        run(Command::new(program).arg("dense").args([&sent, &written]));
        let all = Tensor::from_frames(Frames::from_stream(fs::read(&written).unwrap()).unwrap()).unwrap();
        assert_eq!(elements(&all), dense(tensor), "{name}");
    }
}

#[test]
fn we_read_the_sparse_tensors_of_arrow_cpp() {
    let program = program();
    let folder = tempfile::tempdir().unwrap();
    let (sent, written) = (folder.path().join("in"), folder.path().join("out"));
    let mut read = 0;
    // Shapes whose levels have odd and even numbers of nodes.
    for shape in [vec![7], vec![3, 5], vec![4, 9], vec![2, 3, 5], vec![3, 4, 2, 3]] {
        let count: usize = shape.iter().product();
        for density in 0..4 {
            let values: Vec<f64> = (0..count)
                .map(|n| if (n * 7 + density) % 11 < density * 3 { n as f64 + 0.5 } else { 0.0 })
                .collect();
            let data = Buffer::from_vec(values.clone());
            let tensor = Tensor::try_new(DataType::Float64, shape.clone(), None, data)
                .unwrap()
                .with_names((0..shape.len()).map(|axis| format!("axis {axis}")))
                .unwrap();
            fs::write(&sent, stream(&tensor.to_frames().unwrap())).unwrap();
            for kind in ["coo", "csr", "csc", "csf"] {
                // Of trees of one dimension Arrow C++ reads and writes none.
                if matches!(kind, "csr" | "csc") && shape.len() != 2 || kind == "csf" && shape.len() < 2 {
                    continue;
                }
                // Of 64 bits without a sign Arrow C++ has no indices.
                for index in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"] {
                    let case = format!("{kind} of {index}, {shape:?}, density {density}");
                    run(Command::new(program).args([kind, index]).args([&sent, &written]));
                    let bytes = fs::read(&written).unwrap();
                    assert_eq!(Content::of(&bytes).unwrap(), Content::SparseTensor);
                    let frames = StreamSource::new(bytes.as_slice()).read_all().unwrap();
                    let sparse =
                        SparseTensor::from_frames(frames).unwrap_or_else(|error| panic!("{case}: {error}"));
                    assert_eq!(sparse.shape(), shape, "{case}");
                    assert_eq!(sparse.names(), tensor.names(), "{case}");
                    let expected = values.iter().filter(|value| **value != 0.0).count();
                    assert_eq!(sparse.num_values(), expected, "{case}");
                    assert_eq!(dense(&sparse), elements(&tensor), "{case}");
                    assert_eq!(sparse.is_canonical(), kind == "coo", "{case}");
                    read += 1;
                }
            }
        }
    }
    assert!(read > 300, "{read}");
}
