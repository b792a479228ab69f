//! Pickles put together by hand, by the forms that this crate writes.

use arrow::buffer::Buffer;
use arrow_frames::pickle::{Pickle, allowed_names, disassemble};
use arrow_frames::{Error, ErrorKind, Result};

/// The opcodes of a value, and the out-of-band buffers that it takes, in order.
#[derive(Debug, Clone, Default)]
pub struct Value {
    pub ops: Vec<u8>,
    pub buffers: Vec<Buffer>,
}

impl Value {
    /// The whole pickle: `PROTO 5`, the value, `STOP`.
    pub fn pickle(&self) -> Vec<Buffer> {
        let bytes = [b"\x80\x05".as_slice(), &self.ops, b"."].concat();
        std::iter::once(Buffer::from_vec(bytes)).chain(self.buffers.clone()).collect()
    }

    pub fn parse(&self) -> Result<Pickle> {
        Pickle::parse(&self.pickle())
    }
}

/// Opcodes as they are.
pub fn raw(ops: &[u8]) -> Value {
    Value { ops: ops.to_vec(), buffers: Vec::new() }
}

/// The values one behind the other.
pub fn join(parts: impl IntoIterator<Item = Value>) -> Value {
    parts.into_iter().fold(Value::default(), |mut all, part| {
        all.ops.extend(part.ops);
        all.buffers.extend(part.buffers);
        all
    })
}

pub fn none() -> Value {
    raw(b"N")
}

pub fn bool(value: bool) -> Value {
    raw(if value { b"\x88" } else { b"\x89" })
}

pub fn int(value: i64) -> Value {
    match value {
        0..=255 => raw(&[b'K', value as u8]),
        _ => raw(&[b"\x8a\x08".as_slice(), &value.to_le_bytes()].concat()),
    }
}

pub fn float(value: f64) -> Value {
    raw(&[b"G".as_slice(), &value.to_be_bytes()].concat())
}

pub fn text(value: &str) -> Value {
    match u8::try_from(value.len()) {
        Ok(length) => raw(&[&[0x8c, length], value.as_bytes()].concat()),
        Err(_) => raw(&[b"X".as_slice(), &(value.len() as u32).to_le_bytes(), value.as_bytes()].concat()),
    }
}

/// Bytes in the pickle.
pub fn bytes(value: &[u8]) -> Value {
    raw(&[b"B".as_slice(), &(value.len() as u32).to_le_bytes(), value].concat())
}

/// Bytes in a buffer of their own.
pub fn out_of_band(buffer: impl Into<Buffer>) -> Value {
    Value { ops: vec![0x97], buffers: vec![buffer.into()] }
}

/// A list, appended to by the thousand.
pub fn list(values: impl IntoIterator<Item = Value>) -> Value {
    let values: Vec<Value> = values.into_iter().collect();
    let mut parts = vec![raw(b"]")];
    for chunk in values.chunks(1_000) {
        parts.push(raw(b"("));
        parts.extend(chunk.iter().cloned());
        parts.push(raw(b"e"));
    }
    join(parts)
}

pub fn texts<'t>(values: impl IntoIterator<Item = &'t str>) -> Value {
    list(values.into_iter().map(text))
}

pub fn dict(pairs: impl IntoIterator<Item = (Value, Value)>) -> Value {
    let pairs = pairs.into_iter().flat_map(|(key, value)| [key, value]);
    join([raw(b"}(")].into_iter().chain(pairs).chain([raw(b"u")]))
}

pub fn tuple(values: impl IntoIterator<Item = Value>) -> Value {
    join([raw(b"(")].into_iter().chain(values).chain([raw(b"t")]))
}

pub fn global(module: &str, name: &str) -> Value {
    join([text(module), text(name), raw(b"\x93")])
}

pub fn call(module: &str, name: &str, arguments: impl IntoIterator<Item = Value>) -> Value {
    join([global(module, name), tuple(arguments), raw(b"R")])
}

/// An object made by `NEWOBJ`, with its state.
pub fn made(module: &str, name: &str, state: Value) -> Value {
    join([global(module, name), raw(b")\x81"), state, raw(b"b")])
}

/// `numpy.frombuffer` over a buffer.
pub fn from_buffer(data: Value, dtype: &str, count: i64) -> Value {
    call("numpy", "frombuffer", [data, text(dtype), int(count)])
}

/// `numpy.frombuffer` over an out-of-band buffer of these values.
pub fn numbers<T: arrow::datatypes::ArrowNativeType>(values: &[T], dtype: &str) -> Value {
    from_buffer(out_of_band(Buffer::from_slice_ref(values)), dtype, values.len() as i64)
}

pub fn from_codes(codes: Value, categories: Value, ordered: bool) -> Value {
    call("pandas", "Categorical.from_codes", [codes, categories, self::bool(ordered)])
}

pub fn zoned(values: Value, unit: &str, zone: Value) -> Value {
    let dtype = call("pandas", "DatetimeTZDtype", [text(unit), zone]);
    call("pandas", "array", [values, dtype, bool(false)])
}

/// An object array of a list.
pub fn objects(values: Vec<Value>) -> Value {
    let count = values.len() as i64;
    let shape = join([int(count), raw(b"\x85")]);
    let state = tuple([int(1), shape, call("numpy", "dtype", [text("O")]), bool(false), list(values)]);
    join([call("numpy", "empty", [int(0), text("O")]), state, raw(b"b")])
}

pub fn pa_type(name: &str) -> Value {
    call("pyarrow", name, [])
}

/// `pyarrow.Array.from_buffers`; `None` where there is no buffer.
pub fn from_buffers(data_type: Value, length: i64, buffers: Vec<Option<Value>>) -> Value {
    let buffer = |buffer: Option<Value>| match buffer {
        Some(buffer) => call("pyarrow", "py_buffer", [buffer]),
        None => none(),
    };
    let buffers = list(buffers.into_iter().map(buffer));
    call("pyarrow", "Array.from_buffers", [data_type, int(length), buffers])
}

/// An Arrow array of strings, over out-of-band buffers.
pub fn strings(offsets: &[i32], values: &[u8]) -> Value {
    let offsets_buffer = out_of_band(Buffer::from_slice_ref(offsets));
    let length = offsets.len() as i64 - 1;
    from_buffers(
        pa_type("string"),
        length,
        vec![None, Some(offsets_buffer), Some(out_of_band(values.to_vec()))],
    )
}

/// The names that a pickle without a memo refers to.
pub fn names(pickle: &[u8]) -> Vec<(String, String)> {
    let (mut names, mut texts) = (Vec::new(), [String::new(), String::new()]);
    for instruction in disassemble(pickle) {
        let instruction = instruction.unwrap();
        match instruction.name {
            "STACK_GLOBAL" => names.push((texts[0].clone(), texts[1].clone())),
            name if name.ends_with("BINUNICODE") => {
                texts.swap(0, 1);
                texts[1] = String::from_utf8(instruction.argument.to_vec()).unwrap();
            }
            _ => {}
        }
    }
    names
}

/// Whether a pickle has no other names than the crate writes.
pub fn is_written(value: &Value) -> bool {
    let written: Vec<_> = allowed_names().into_iter().filter(|name| name.is_written).collect();
    let is_written = |(module, name): &(String, String)| {
        written.iter().any(|written| written.module == module && written.name == name)
    };
    names(&value.pickle()[0]).iter().all(is_written)
}

/// What a pickle is refused for, and where.
pub fn refused(error: Error) -> (u64, arrow_frames::pickle::PickleFault) {
    match error.into_kind() {
        ErrorKind::Pickle { position, refused, .. } => (position, refused),
        kind => panic!("no error of a pickle: {kind:?}"),
    }
}
