//! Python's pickle, protocol 5 with out-of-band buffers (PEP 574): what columns travel as
//! when Arrow buffers cannot carry them exactly to the receiver.
//!
//! Bytes are written and read; nothing is ever executed.
//!
//! A [`Writer`] writes opcodes, and leaves big buffers beside the pickle, shared; [`Forms`]
//! chooses among the forms that columns can take. Reading takes three steps, each of
//! which may refuse:
//!
//! 1. [`Pickle::parse`] turns the opcodes into a graph in an arena. Names that are on an
//!    exact list ([`allowed_names`]) are the only ones that may be called, and the
//!    [`PickleLimits`] bound what a few bytes can ask for.
//! 2. [`Pickle::check`] looks at the arguments of every call, and at the buffers that they
//!    are given: what passes may be handed to Python.
//! 3. [`Pickle::to_array`] makes an Arrow array of what has an Arrow type, with the same
//!    checks. Buffers are shared, not copied, wherever their layout is Arrow's.
//!
//! `docs/PICKLE.md` lists the names and why each is there.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::indexing_slicing))]

mod allow;
mod arrays;
mod check;
mod describe;
mod disassemble;
mod fault;
mod forms;
mod graph;
mod hash;
mod limits;
mod machine;
mod opcode;
mod scan;
mod view;
mod walk;
mod writer;

use std::collections::HashMap;
use std::fmt;

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field};

use crate::copies::CopyBudget;
use crate::error::Result;
use arrays::Reading;
use graph::{Graph, Id};
use view::View;

pub use allow::{AllowedName, Role, allowed_names};
pub use disassemble::{Disassembly, Instruction, disassemble};
pub use fault::{PickleBudget, PickleFault};
pub(crate) use forms::{Categories, Pickler, check_categories, dtype_name};
pub use forms::{Forms, Inexact, TextForm, ZonedForm, index, multi_index, objects, range_index};
pub use hash::{Hashed, colliding_pairs, hash_steps, most_hash_steps};
pub use limits::PickleLimits;
pub use writer::Writer;

/// A pickle that was parsed, and of which nothing was executed. It shares its buffers.
///
/// ```
/// use arrow_frames::pickle::Pickle;
///
/// // A list of two strings.
/// let pickle = Pickle::parse(&[b"\x80\x05](\x8c\x02lo\x8c\x02hie.".as_slice().into()])?;
/// assert_eq!(pickle.describe(), "a list of 2 values: str");
///
/// // No global is called that is not on the list.
/// let error = Pickle::parse(&[b"\x80\x05\x8c\x02os\x8c\x06system\x93.".as_slice().into()]).unwrap_err();
/// assert_eq!(error.to_string(), "pickle refused at byte 14: `os.system` is not an allowed name");
/// # Ok::<(), arrow_frames::Error>(())
/// ```
#[derive(Clone)]
pub struct Pickle {
    /// The pickle itself.
    bytes: Buffer,
    /// Its out-of-band buffers.
    buffers: Vec<Buffer>,
    graph: Graph,
    root: Id,
}

impl Pickle {
    /// Parses a pickle, which comes first, and its out-of-band buffers, in the order of
    /// [`OpaqueColumn::buffers`](crate::OpaqueColumn::buffers).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Pickle`](crate::ErrorKind::Pickle), which says what was refused and at
    /// which byte.
    pub fn parse(buffers: &[Buffer]) -> Result<Self> {
        Self::parse_within(buffers, &PickleLimits::default())
    }

    /// The same within other limits.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse).
    pub fn parse_within(buffers: &[Buffer], limits: &PickleLimits) -> Result<Self> {
        let (bytes, buffers) = match buffers.split_first() {
            Some((bytes, buffers)) => (bytes.clone(), buffers.to_vec()),
            None => (Buffer::default(), Vec::new()),
        };
        let (graph, root) = machine::run(&bytes, buffers.len(), limits)?;
        let pickle = Pickle { bytes, buffers, graph, root };
        walk::check(pickle.view(), limits)?;
        Ok(pickle)
    }

    /// The Arrow array that the pickle holds, of the type that is natural for it.
    ///
    /// | pickle | array |
    /// |---|---|
    /// | categorical | dictionary, with keys as wide as the codes; code −1 is null |
    /// | numpy integers, floats, booleans, datetimes, durations | the same; `NaT` is null |
    /// | datetimes with a zone | timestamps in that zone |
    /// | nullable integers, floats, booleans | the same, with nulls |
    /// | strings, a list of `str` and missing values | `Utf8` (`LargeUtf8` from 2 GiB on) |
    /// | an Arrow array | that array |
    /// | periods | their ordinals, as pyarrow stores them |
    /// | intervals | structs of `left` and `right`, as pyarrow stores them |
    /// | objects that are all bool, int, float, bytes, `Decimal`, `date`, `datetime`, `time`, `timedelta` or `UUID` | booleans, integers, …, `Decimal128`, `Date32`, timestamps, `Time64`, durations, `FixedSizeBinary(16)` |
    ///
    /// Buffers are shared with the pickle's where the layout is the same.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Pickle`](crate::ErrorKind::Pickle): with [`PickleFault::NoArrowType`] or
    /// [`PickleFault::Mixed`], which name what it holds, or with what is wrong in it.
    pub fn to_array(&self) -> Result<ArrayRef> {
        self.read(None, &mut self.copies(), 0, "")
    }

    /// The same array as another type, if it has the same values in it: that of the column
    /// before it was pickled.
    ///
    /// # Errors
    ///
    /// As [`to_array`](Self::to_array), and [`PickleFault::Type`] if it is not exactly that.
    pub fn to_array_of(&self, data_type: &DataType) -> Result<ArrayRef> {
        self.read(Some(data_type), &mut self.copies(), 0, "")
    }

    /// The array of a column, with every copy counted.
    pub(crate) fn read(
        &self,
        data_type: Option<&DataType>,
        copies: &mut CopyBudget,
        column: usize,
        name: &str,
    ) -> Result<ArrayRef> {
        let mut reading = Reading { view: self.view(), copies, column, name, known: HashMap::new() };
        reading.array(self.root, data_type).map_err(|error| error.in_column(name))
    }

    /// The field of a column of these values: with the flag that a categorical's categories
    /// are ordered, and with what [`to_array`](Self::to_array) cannot say of periods and
    /// intervals, as the extension types `pandas.period` and `pandas.interval` of pyarrow.
    ///
    /// # Errors
    ///
    /// As [`to_array`](Self::to_array).
    pub fn to_field(&self, name: &str, data_type: &DataType) -> Result<Field> {
        arrays::field(self.view(), self.root, name, data_type)
    }

    /// Checks that Python may be given this pickle: that it refers to no other names than this
    /// crate writes ([`AllowedName::is_written`]), and that every call in it, whatever refers to
    /// it, has arguments and buffers that the function takes without harm.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Pickle`](crate::ErrorKind::Pickle) with the first call that is not.
    /// [`PickleFault::Unchecked`] is no sign of harm: it is what pickles of pandas' own, and those
    /// with other names, end in.
    pub fn check(&self) -> Result<()> {
        check::check(self.view(), self.root)
    }

    /// About how many bytes Python takes for what the pickle holds, beside the out-of-band buffers.
    pub fn python_bytes(&self) -> u64 {
        check::python_bytes(self.view())
    }

    /// One line that names what the pickle holds: `pandas.DataFrame`, `an object array of 3
    /// values: list, dict`.
    pub fn describe(&self) -> String {
        describe::describe(self.view(), self.root)
    }

    /// What may become of the pickle where the caller set no limits.
    fn copies(&self) -> CopyBudget {
        CopyBudget::of_reader(self.view().num_bytes())
    }

    fn view(&self) -> View<'_> {
        View { bytes: &self.bytes, buffers: &self.buffers, graph: &self.graph }
    }
}

impl fmt::Debug for Pickle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buffers: Vec<usize> = self.buffers.iter().map(Buffer::len).collect();
        let mut debug = f.debug_struct("Pickle");
        debug.field("holds", &self.describe()).field("bytes", &self.bytes.len());
        debug.field("buffers", &buffers).finish()
    }
}
