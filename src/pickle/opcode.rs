//! The opcodes of pickle protocol 5 that pickles of real columns use. The others are
//! refused. Source: CPython's `Lib/pickletools.py`, PEP 3154 (protocol 4), PEP 574
//! (protocol 5).

/// The only protocol version that is written; reading also takes 4, whose opcodes it has.
pub(crate) const PROTOCOL: u8 = 5;

macro_rules! opcodes {
    ($($name:ident = $byte:literal,)*) => {
        $(pub(crate) const $name: u8 = $byte;)*

        /// The name of an opcode, if it is one of these.
        pub(crate) fn name(opcode: u8) -> Option<&'static str> {
            match opcode {
                $($name => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

opcodes! {
    // The pickle itself.
    PROTO = 0x80,
    FRAME = 0x95,
    STOP = b'.',
    // The stack and the memo.
    MARK = b'(',
    POP = b'0',
    POP_MARK = b'1',
    MEMOIZE = 0x94,
    BINGET = b'h',
    LONG_BINGET = b'j',
    // Scalars.
    NONE = b'N',
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    BININT = b'J',
    BININT1 = b'K',
    BININT2 = b'M',
    LONG1 = 0x8a,
    LONG4 = 0x8b,
    BINFLOAT = b'G',
    // Text and bytes.
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE = b'X',
    BINUNICODE8 = 0x8d,
    SHORT_BINBYTES = b'C',
    BINBYTES = b'B',
    BINBYTES8 = 0x8e,
    BYTEARRAY8 = 0x96,
    // Buffers outside the pickle.
    NEXT_BUFFER = 0x97,
    READONLY_BUFFER = 0x98,
    // Containers.
    EMPTY_LIST = b']',
    APPEND = b'a',
    APPENDS = b'e',
    EMPTY_DICT = b'}',
    SETITEM = b's',
    SETITEMS = b'u',
    EMPTY_SET = 0x8f,
    ADDITEMS = 0x90,
    FROZENSET = 0x91,
    EMPTY_TUPLE = b')',
    TUPLE = b't',
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    // Calls.
    STACK_GLOBAL = 0x93,
    REDUCE = b'R',
    NEWOBJ = 0x81,
    BUILD = b'b',
}
