//! What is wrong with a pickle.

use std::fmt;

use arrow_schema::DataType;

use super::opcode;
use crate::error::{ErrorKind, Result};

/// Why a pickle, or the values in it, are refused.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum PickleFault {
    // The bytes.
    /// The pickle ends inside an opcode, or where one is needed.
    Truncated {
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// It does not start with `PROTO 4` or `PROTO 5`.
    Protocol {
        /// The version, if it starts with `PROTO`.
        version: Option<u8>,
    },
    /// An opcode that pickles of columns do not need, or that does not exist.
    Opcode {
        /// The opcode.
        opcode: u8,
    },
    /// An opcode where it must not be: a second `PROTO`, a frame in a frame.
    Misplaced {
        /// The opcode.
        opcode: u8,
    },
    /// An empty frame, or one that goes beyond the pickle.
    Frame {
        /// Its declared length.
        length: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// An opcode that lies across the end of its frame.
    FrameEnd {
        /// Where the frame ends.
        end: u64,
    },
    /// Text that is not UTF-8.
    Utf8,

    // The machine.
    /// An opcode that takes more values than there are since the last mark.
    Underflow {
        /// The opcode.
        opcode: u8,
    },
    /// An opcode that needs a mark, and there is none.
    NoMark {
        /// The opcode.
        opcode: u8,
    },
    /// An operand of a kind that the opcode does not take.
    Operand {
        /// The opcode.
        opcode: u8,
        /// The kind of the operand.
        found: &'static str,
    },
    /// A value that was not memoized.
    Memo {
        /// Its number.
        index: u64,
        /// How many values were.
        memoized: usize,
    },
    /// A name that is not on the list of allowed ones.
    Name {
        /// The module.
        module: String,
        /// The name in it.
        name: String,
    },
    /// An allowed name that must not be called.
    Call {
        /// The name.
        name: &'static str,
    },
    /// A container that is added to, or an object that is built, after something else
    /// refers to it: Python would have seen it as it was.
    Changed {
        /// The opcode.
        opcode: u8,
    },
    /// More of something than [`PickleLimits`](super::PickleLimits) allows.
    Budget {
        /// Of what.
        budget: PickleBudget,
        /// What is allowed.
        allowed: u64,
    },
    /// At `STOP` there is not exactly one value.
    Unfinished {
        /// Values on the stack.
        values: usize,
        /// Marks on the stack.
        marks: usize,
    },
    /// Bytes behind `STOP`.
    Trailing {
        /// How many.
        bytes: u64,
    },
    /// More out-of-band buffers are used than there are, or fewer.
    Buffers {
        /// Buffers used.
        used: usize,
        /// Buffers handed in.
        given: usize,
    },
    /// An out-of-band buffer that more than one value has.
    BufferShared {
        /// The number of the buffer, in `NEXT_BUFFER` order.
        buffer: usize,
    },
    /// An array, or a bytearray, that more than one value has.
    ArrayShared,
    /// A value that contains itself.
    Cycle,
    /// A key of a dict, or a value of a set, that cannot be hashed.
    Unhashable {
        /// Its kind.
        found: &'static str,
    },
    /// A key that is in the dict already.
    DuplicateKey,

    // The arguments of calls.
    /// A call with an argument, or a state, that the function does not take.
    Argument {
        /// The function.
        call: &'static str,
        /// The number of the argument, from 0; the state of an object comes last.
        argument: usize,
        /// What was found.
        found: String,
    },
    /// A numpy dtype that does not exist, is not known, or does not belong here.
    Dtype {
        /// The dtype.
        dtype: String,
    },
    /// A shape that is negative, overflows or has too many dimensions.
    Shape {
        /// The first number that is wrong; the number of dimensions if that is.
        number: i64,
    },
    /// A buffer with fewer bytes than its values need.
    BufferLength {
        /// Bytes that the values need.
        needed: u64,
        /// Bytes that the buffer has.
        found: u64,
    },
    /// Parts of an array that must have the same length, and do not.
    Length {
        /// The length of the first.
        expected: usize,
        /// The length of the other.
        found: usize,
    },
    /// A code (an index) without a category (a value).
    Code {
        /// The row.
        row: usize,
        /// The code.
        code: i64,
        /// How many categories there are.
        categories: usize,
    },
    /// A category that is null, or the same as an earlier one.
    Category {
        /// Its index.
        index: usize,
        /// The earlier one, unless it is null.
        same_as: Option<usize>,
    },
    /// Offsets that descend, are negative, or point behind the values.
    Offsets {
        /// The row.
        row: usize,
        /// Where the row starts.
        start: i64,
        /// Where it ends.
        end: i64,
        /// Length of the values.
        limit: u64,
    },
    /// A row of text that is not UTF-8.
    Text {
        /// The row.
        row: usize,
    },
    /// A view that points outside its buffers or disagrees with itself.
    View {
        /// The row.
        row: usize,
    },
    /// What has no name among time zones.
    TimeZone {
        /// The name.
        name: String,
    },
    /// Buffers or types that Arrow refuses to put together.
    Arrow {
        /// The type.
        data_type: DataType,
        /// Arrow's reason.
        reason: String,
    },
    /// A name that is in nothing that this crate writes: what it does with arguments is not known.
    Unchecked {
        /// The function.
        call: &'static str,
    },
    /// What is no array, column or table.
    NoColumn {
        /// What it is.
        held: String,
    },

    // Values.
    /// What has no Arrow type.
    NoArrowType {
        /// What it is.
        held: String,
    },
    /// Values of more than one kind.
    Mixed {
        /// The first row of another kind.
        row: usize,
        /// The kind of the rows before.
        expected: &'static str,
        /// Its kind.
        found: &'static str,
    },
    /// An instant with a time zone that is in no year from 1 to 9999: pandas can crash when it
    /// shows one.
    Year {
        /// The row.
        row: usize,
        /// The instant, in the unit of its type since 1970.
        value: i64,
    },
    /// A value that the type cannot hold exactly.
    Value {
        /// The row.
        row: usize,
        /// Its kind.
        found: &'static str,
        /// The type.
        data_type: DataType,
    },
    /// The values were asked for as a type that they are not exactly.
    Type {
        /// The type that they are.
        held: DataType,
        /// The type that was asked for.
        asked: DataType,
    },
}

/// What [`PickleLimits`](super::PickleLimits) bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PickleBudget {
    /// Opcodes.
    Operations,
    /// Values.
    Nodes,
    /// References to values.
    Edges,
    /// Memoized values.
    Memo,
    /// Containers and calls.
    Containers,
    /// Levels of nesting.
    Depth,
    /// Bytes of one integer.
    IntegerBytes,
    /// Values if every reference were a copy.
    Expansion,
    /// Keys whose hashes can collide.
    CollidingKeys,
    /// Steps of a hash table of pandas for values whose hashes collide.
    HashSteps,
}

/// The error that something at this byte is refused.
#[cold]
pub(super) fn refuse<T>(position: u64, refused: PickleFault) -> Result<T> {
    Err(ErrorKind::Pickle { column: String::new(), position, refused }.into())
}

impl fmt::Display for PickleBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PickleBudget::Operations => "operations",
            PickleBudget::Nodes => "values",
            PickleBudget::Edges => "references",
            PickleBudget::Memo => "memoized values",
            PickleBudget::Containers => "containers and calls",
            PickleBudget::Depth => "levels of nesting",
            PickleBudget::IntegerBytes => "bytes of an integer",
            PickleBudget::Expansion => "values when references are expanded",
            PickleBudget::CollidingKeys => "keys whose hashes can collide",
            PickleBudget::HashSteps => "steps of a hash table, since the hashes of categories collide",
        })
    }
}

impl fmt::Display for PickleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use PickleFault::*;
        match self {
            Truncated { needed, available } => {
                write!(f, "{needed} bytes are needed, {available} are there")
            }
            Protocol { version: None } => f.write_str("it does not start with PROTO"),
            Protocol { version: Some(version) } => write!(f, "protocol {version} is neither 4 nor 5"),
            Opcode { opcode } => write!(f, "opcode {opcode:#04x} is unknown or not allowed"),
            Misplaced { opcode } => write!(f, "{} must not come here", Opname(*opcode)),
            Frame { length, available } => {
                write!(f, "a frame of {length} bytes where {available} are left")
            }
            FrameEnd { end } => write!(f, "an opcode lies across the end of its frame at byte {end}"),
            Utf8 => f.write_str("text that is not UTF-8"),
            Underflow { opcode } => write!(f, "{} takes more values than there are", Opname(*opcode)),
            NoMark { opcode } => write!(f, "{} needs a mark", Opname(*opcode)),
            Operand { opcode, found } => write!(f, "{} does not take {found}", Opname(*opcode)),
            Memo { index, memoized } => {
                write!(f, "memoized value {index} does not exist, there are {memoized}")
            }
            Name { module, name } => write!(f, "`{module}.{name}` is not an allowed name"),
            Call { name } => write!(f, "`{name}` must not be called"),
            Changed { opcode } => {
                write!(f, "{} changes a value that something else refers to", Opname(*opcode))
            }
            Budget { budget, allowed } => write!(f, "more than {allowed} {budget}"),
            Unfinished { values, marks } => {
                write!(f, "it stops with {values} values and {marks} marks, not with one value")
            }
            Trailing { bytes } => write!(f, "{bytes} bytes behind the end"),
            Buffers { used, given } => write!(f, "it uses {used} out-of-band buffers of {given}"),
            BufferShared { buffer } => write!(f, "more than one value has the out-of-band buffer {buffer}"),
            ArrayShared => f.write_str("more than one value has this array"),
            Cycle => f.write_str("a value contains itself"),
            Unhashable { found } => write!(f, "{found} cannot be a key"),
            DuplicateKey => f.write_str("a key comes twice in one dict"),
            Argument { call, argument, found } => {
                write!(f, "argument {argument} of `{call}` is {found}")
            }
            Dtype { dtype } => write!(f, "the dtype {dtype:?} is unknown or not allowed"),
            Shape { number } => write!(f, "a shape of {number} is impossible"),
            BufferLength { needed, found } => {
                write!(f, "the values need {needed} bytes, the buffer has {found}")
            }
            Length { expected, found } => {
                write!(f, "parts of {expected} and of {found} values belong together")
            }
            Code { row, code, categories } => {
                write!(f, "row {row} has the code {code}, there are {categories} categories")
            }
            Category { index, same_as: None } => write!(f, "category {index} is null"),
            Category { index, same_as: Some(other) } => {
                write!(f, "category {index} is the same as category {other}")
            }
            Offsets { row, start, end, limit } => {
                write!(f, "row {row} lies at {start}..{end}, the values have length {limit}")
            }
            Text { row } => write!(f, "row {row} is not UTF-8"),
            View { row } => write!(f, "the view in row {row} points outside its buffers or contradicts them"),
            TimeZone { name } => write!(f, "{name:?} is no time zone"),
            Arrow { data_type, reason } => write!(f, "no array of {data_type}: {reason}"),
            Unchecked { call } => write!(f, "what `{call}` does with its arguments is not known"),
            NoColumn { held } => write!(f, "{held} is no array, column or table"),
            NoArrowType { held } => write!(f, "{held} has no Arrow type"),
            Mixed { row, expected, found } => {
                write!(f, "row {row} holds {found}, the rows before hold {expected}")
            }
            Year { row, value } => write!(f, "row {row} is the instant {value}, in no year from 1 to 9999"),
            Value { row, found, data_type } => {
                write!(f, "row {row} holds {found} that {data_type} cannot hold exactly")
            }
            Type { held, asked } => write!(f, "the values are {held}, which is not exactly {asked}"),
        }
    }
}

/// An opcode's name, or its number.
struct Opname(u8);

impl fmt::Display for Opname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match opcode::name(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "opcode {:#04x}", self.0),
        }
    }
}
