//! Writes a pickle: opcodes to the pickle, big buffers beside it.

use arrow_buffer::Buffer;

use super::opcode as op;

/// How many items one `APPENDS` takes. CPython's unpickler is slower with a single giant one.
const ITEMS_PER_APPENDS: usize = 1_000;

/// Writes one pickle of protocol 5 whose big buffers stay out-of-band, shared.
///
/// It is a stack machine's program in postfix order: what is written is pushed, and
/// [`call`](Writer::call) pops its arguments. `FRAME` and `MEMOIZE` are optional, and
/// not written. Source: CPython's `Lib/pickletools.py`; PEP 574.
///
/// ```
/// use arrow_frames::pickle::Writer;
///
/// let mut writer = Writer::new();
/// writer.call("decimal", "Decimal", 1, |w| w.text("1.50"));
/// let buffers = writer.finish();
/// assert_eq!(buffers[0].as_slice(), b"\x80\x05\x8c\x07decimal\x8c\x07Decimal\x93\x8c\x041.50\x85R.");
/// ```
#[derive(Debug)]
pub struct Writer {
    pickle: Vec<u8>,
    buffers: Vec<Buffer>,
}

impl Writer {
    /// A pickle of which nothing is written.
    #[expect(clippy::new_without_default, reason = "it is not empty: the protocol is written")]
    pub fn new() -> Self {
        Writer { pickle: vec![op::PROTO, op::PROTOCOL], buffers: Vec::new() }
    }

    /// Ends the pickle: it comes first, then its out-of-band buffers in the order in
    /// which they were written.
    pub fn finish(mut self) -> Vec<Buffer> {
        self.pickle.push(op::STOP);
        self.buffers.insert(0, Buffer::from_vec(self.pickle));
        self.buffers
    }

    /// `None`.
    pub fn none(&mut self) {
        self.pickle.push(op::NONE);
    }

    /// `True` or `False`.
    pub fn boolean(&mut self, value: bool) {
        self.pickle.push(if value { op::NEWTRUE } else { op::NEWFALSE });
    }

    /// An `int`.
    pub fn int(&mut self, value: i128) {
        if let Ok(byte) = u8::try_from(value) {
            self.pickle.extend([op::BININT1, byte]);
        } else if let Ok(short) = u16::try_from(value) {
            self.pickle.push(op::BININT2);
            self.pickle.extend(short.to_le_bytes());
        } else if let Ok(int) = i32::try_from(value) {
            self.pickle.push(op::BININT);
            self.pickle.extend(int.to_le_bytes());
        } else {
            // Two's complement, as short as its sign allows.
            let extension = if value < 0 { 0xff } else { 0 };
            let bytes = value.to_le_bytes();
            let mut bytes = &bytes[..];
            while let [rest @ .., last] = bytes
                && let [.., next] = rest
                && *last == extension
                && (*next >= 0x80) == (value < 0)
            {
                bytes = rest;
            }
            // An i128 has no more than 16.
            self.pickle.extend([op::LONG1, u8::try_from(bytes.len()).unwrap_or_default()]);
            self.pickle.extend_from_slice(bytes);
        }
    }

    /// An `int` of any size, as the bytes of its two's complement, little-endian.
    pub fn large_int(&mut self, bytes: &[u8]) {
        match u8::try_from(bytes.len()) {
            Ok(length) => self.pickle.extend([op::LONG1, length]),
            Err(_) => {
                self.pickle.push(op::LONG4);
                // No integer is that long that a reader takes.
                let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                self.pickle.extend(length.to_le_bytes());
            }
        }
        self.pickle.extend_from_slice(bytes);
    }

    /// A `float`.
    pub fn float(&mut self, value: f64) {
        self.pickle.push(op::BINFLOAT);
        self.pickle.extend(value.to_be_bytes());
    }

    /// A `str`.
    pub fn text(&mut self, value: &str) {
        self.sized([op::SHORT_BINUNICODE, op::BINUNICODE, op::BINUNICODE8], value.as_bytes());
    }

    /// A `bytes`.
    pub fn bytes(&mut self, value: &[u8]) {
        self.sized([op::SHORT_BINBYTES, op::BINBYTES, op::BINBYTES8], value);
    }

    /// A `memoryview` of a buffer that stays outside the pickle. It is writable if
    /// the memory is in which the reader received it.
    pub fn buffer(&mut self, buffer: Buffer) {
        self.pickle.push(op::NEXT_BUFFER);
        self.buffers.push(buffer);
    }

    /// A `list`. `item` writes each of them.
    pub fn list<T>(&mut self, items: impl IntoIterator<Item = T>, mut item: impl FnMut(&mut Self, T)) {
        self.pickle.push(op::EMPTY_LIST);
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            self.pickle.push(op::MARK);
            for value in items.by_ref().take(ITEMS_PER_APPENDS) {
                item(self, value);
            }
            self.pickle.push(op::APPENDS);
        }
    }

    /// Starts a `list` of few items, which come next.
    pub fn start_list(&mut self) {
        self.pickle.extend([op::EMPTY_LIST, op::MARK]);
    }

    /// Ends it, when all items are written.
    pub fn end_list(&mut self) {
        self.pickle.push(op::APPENDS);
    }

    /// Says, before the next item of a `list` of any length that was started, how many it has: every
    /// so many, those that it has are added, as [`list`](Writer::list) does.
    pub fn continue_list(&mut self, items: usize) {
        if items > 0 && items.is_multiple_of(ITEMS_PER_APPENDS) {
            self.pickle.extend([op::APPENDS, op::MARK]);
        }
    }

    /// Starts a `dict`: each key and its value come next, one after the other.
    pub fn start_dict(&mut self) {
        self.pickle.extend([op::EMPTY_DICT, op::MARK]);
    }

    /// Ends it, when all items are written.
    pub fn end_dict(&mut self) {
        self.pickle.push(op::SETITEMS);
    }

    /// A class or function, by its module and qualified name.
    pub fn global(&mut self, module: &str, name: &str) {
        self.text(module);
        self.text(name);
        self.pickle.push(op::STACK_GLOBAL);
    }

    /// A class or function, called with so many arguments, which `arguments` writes.
    pub fn call(&mut self, module: &str, name: &str, count: usize, arguments: impl FnOnce(&mut Self)) {
        self.start_call(module, name, count);
        arguments(self);
        self.end_call(count);
    }

    /// Starts what [`call`](Writer::call) does in one: the arguments come next.
    pub fn start_call(&mut self, module: &str, name: &str, count: usize) {
        self.global(module, name);
        self.start_tuple(count);
    }

    /// Ends it, when all arguments are written.
    pub fn end_call(&mut self, count: usize) {
        self.end_tuple(count);
        self.pickle.push(op::REDUCE);
    }

    /// A `tuple` of so many values, which `values` writes.
    pub fn tuple(&mut self, count: usize, values: impl FnOnce(&mut Self)) {
        self.start_tuple(count);
        values(self);
        self.end_tuple(count);
    }

    /// Starts what [`tuple`](Writer::tuple) does in one: the values come next.
    pub fn start_tuple(&mut self, count: usize) {
        if count > 3 {
            self.pickle.push(op::MARK);
        }
    }

    /// Ends it, when all values are written.
    pub fn end_tuple(&mut self, count: usize) {
        self.pickle.push(match count {
            0 => op::EMPTY_TUPLE,
            1 => op::TUPLE1,
            2 => op::TUPLE2,
            3 => op::TUPLE3,
            _ => op::TUPLE,
        });
    }

    /// Starts a numpy array of `object` of so many rows, an empty one that is given a state: the
    /// list of its values comes next.
    pub fn start_objects(&mut self, rows: usize) {
        self.call("numpy", "empty", 2, |w| {
            w.int(0);
            w.text("O");
        });
        // Its version, shape, dtype, whether it is in Fortran's order, its items.
        self.start_tuple(5);
        self.int(1);
        self.tuple(1, |w| w.int(rows as i128));
        self.call("numpy", "dtype", 1, |w| w.text("O"));
        self.boolean(false);
    }

    /// Ends it, when the list is written.
    pub fn end_objects(&mut self) {
        self.end_tuple(5);
        self.build();
    }

    /// Gives the value before the last one the last one as its state.
    pub fn build(&mut self) {
        self.pickle.push(op::BUILD);
    }

    /// Forgets the value that was written last: it has been looked up, and that is all.
    pub fn pop(&mut self) {
        self.pickle.push(op::POP);
    }

    /// Bytes of the pickle so far.
    pub(super) fn len(&self) -> usize {
        self.pickle.len()
    }

    /// Makes room for so many more bytes of the pickle.
    pub(super) fn reserve(&mut self, bytes: usize) {
        self.pickle.reserve(bytes);
    }

    fn sized(&mut self, [short, medium, long]: [u8; 3], value: &[u8]) {
        if let Ok(length) = u8::try_from(value.len()) {
            self.pickle.extend([short, length]);
        } else if let Ok(length) = u32::try_from(value.len()) {
            self.pickle.push(medium);
            self.pickle.extend(length.to_le_bytes());
        } else {
            self.pickle.push(long);
            self.pickle.extend((value.len() as u64).to_le_bytes());
        }
        self.pickle.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ints_are_as_short_as_their_sign_allows() {
        let cases: [(i128, &[u8]); 10] = [
            (0, b"K\x00"),
            (255, b"K\xff"),
            (256, b"M\x00\x01"),
            (-1, b"J\xff\xff\xff\xff"),
            (70_000, b"Jp\x11\x01\x00"),
            (1 << 31, b"\x8a\x05\x00\x00\x00\x80\x00"),
            (-(1 << 31) - 1, b"\x8a\x05\xff\xff\xff\x7f\xff"),
            (1 << 70, b"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x40"),
            (-(1 << 70), b"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xc0"),
            (i128::MIN, b"\x8a\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80"),
        ];
        for (value, expected) in cases {
            let mut writer = Writer::new();
            writer.int(value);
            assert_eq!(&writer.pickle[2..], expected, "{value}");
        }
    }

    #[test]
    fn items_are_appended_a_thousand_at_a_time() {
        let mut writer = Writer::new();
        writer.list(0..1_001, |w, _| w.none());
        let pickle = writer.finish().swap_remove(0);
        let count = |opcode| pickle.iter().filter(|byte| **byte == opcode).count();
        assert_eq!((count(op::APPENDS), count(op::MARK), count(op::NONE)), (2, 2, 1_001));
    }

    #[test]
    fn the_first_example_of_a_categorical_is_written_byte_for_byte() {
        let mut writer = Writer::new();
        writer.call("pandas", "Categorical.from_codes", 3, |w| {
            w.call("numpy", "frombuffer", 3, |w| {
                w.buffer(Buffer::from_vec(vec![0i8, 2, 1, -1, 0]));
                w.text("i1");
                w.int(5);
            });
            w.list(["lo", "mid", "hi"], Writer::text);
            w.boolean(true);
        });
        let expected =
            b"\x80\x05\x8c\x06pandas\x8c\x16Categorical.from_codes\x93\x8c\x05numpy\x8c\nfrombuffer\x93\x97\
            \x8c\x02i1K\x05\x87R](\x8c\x02lo\x8c\x03mid\x8c\x02hie\x88\x87R.";
        assert_eq!(writer.finish()[0].as_slice(), expected);
    }
}
