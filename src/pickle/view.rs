//! The graph with the bytes that its scalars lie in: what each value is.

use arrow_buffer::Buffer;

use super::allow::{self, AllowedName, Name};
use super::graph::{Children, Graph, Id, Kind, Node, Segment, Segments};
use super::opcode::*;
use super::scan;

/// Text is shown up to this many bytes: as long as names of types and zones get.
const SHOWN: usize = 60;

/// A graph with the bytes that its scalars lie in.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'p> {
    pub(super) bytes: &'p Buffer,
    pub(super) buffers: &'p [Buffer],
    pub(super) graph: &'p Graph,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'p> {
    None,
    Bool(bool),
    Int(i64),
    /// An integer of more than 64 bits, in two's complement, little-endian.
    BigInt(&'p [u8]),
    Float(f64),
    Text(&'p str),
    /// Bytes, a bytearray or an out-of-band buffer, shared.
    Bytes(Buffer),
    Global(Name),
    Tuple,
    List,
    Dict,
    Set,
    Call(Name),
    /// An object made by `NEWOBJ`.
    New(Name),
}

impl<'p> View<'p> {
    /// Bytes of the pickle and its out-of-band buffers.
    pub(super) fn num_bytes(self) -> u64 {
        let buffers = self.buffers.iter().map(|buffer| buffer.len() as u64);
        buffers.fold(self.bytes.len() as u64, u64::saturating_add)
    }

    pub(super) fn value(self, id: Id) -> Value<'p> {
        let node = self.graph.node(id);
        match node.kind() {
            Kind::None => Value::None,
            Kind::True => Value::Bool(true),
            Kind::False => Value::Bool(false),
            Kind::EmptyTuple | Kind::Tuple => Value::Tuple,
            Kind::Int => {
                let bytes = self.argument(node.payload());
                let opcode = self.bytes.get(node.payload()).copied().unwrap_or_default();
                match opcode {
                    BININT1 | BININT2 => Value::Int(scan::number(bytes).cast_signed()),
                    _ if bytes.len() <= 8 => Value::Int(scan::signed(bytes)),
                    _ => Value::BigInt(bytes),
                }
            }
            Kind::Float => Value::Float(self.float(node.payload())),
            Kind::Text => Value::Text(self.text(id).unwrap_or_default()),
            Kind::Bytes | Kind::ByteArray | Kind::Buffer | Kind::ReadOnlyBuffer => {
                Value::Bytes(self.buffer(id).unwrap_or_default())
            }
            Kind::Global => match self.global(id) {
                Some((name, _)) => Value::Global(name),
                None => Value::None,
            },
            Kind::List => Value::List,
            Kind::Dict => Value::Dict,
            Kind::Set | Kind::FrozenSet => Value::Set,
            kind @ (Kind::Call | Kind::New) => match self.callee(id) {
                Some(name) if kind == Kind::Call => Value::Call(name),
                Some(name) => Value::New(name),
                None => Value::None,
            },
        }
    }

    /// The bytes of text.
    #[inline]
    pub(super) fn text_bytes(self, id: Id) -> Option<&'p [u8]> {
        let node = self.graph.node(id);
        (node.kind() == Kind::Text).then(|| self.argument(node.payload()))
    }

    pub(super) fn text(self, id: Id) -> Option<&'p str> {
        std::str::from_utf8(self.text_bytes(id)?).ok()
    }

    /// Bytes, in the pickle or out of it, shared.
    pub(super) fn buffer(self, id: Id) -> Option<Buffer> {
        let node = self.graph.node(id);
        match node.kind() {
            Kind::Bytes | Kind::ByteArray => {
                let argument = self.argument_range(node.payload());
                Some(self.bytes.slice_with_length(argument.start, argument.len()))
            }
            Kind::Buffer | Kind::ReadOnlyBuffer => self.buffers.get(node.payload()).cloned(),
            _ => None,
        }
    }

    pub(super) fn int(self, id: Id) -> Option<i64> {
        match self.value(id) {
            Value::Int(number) => Some(number),
            _ => None,
        }
    }

    /// What a name means, and the name; nothing for any other value, whose payload is no
    /// place in the table of names.
    pub(super) fn global(self, id: Id) -> Option<(Name, &'static AllowedName)> {
        let node = self.graph.node(id);
        (node.kind() == Kind::Global).then(|| allow::at(node.payload()))?
    }

    /// The callee, the arguments and the state of a call; nothing of any other value.
    fn parts(self, id: Id) -> Children<'p> {
        match self.graph.kind(id) {
            Kind::Call | Kind::New => self.graph.children(id),
            _ => self.graph.no_children(),
        }
    }

    /// What is called, or made an object of.
    pub(super) fn callee(self, id: Id) -> Option<Name> {
        self.global(self.parts(id).next()?).map(|(name, _)| name)
    }

    /// The name of what is called, without its module: several names can mean the same.
    pub(super) fn callee_text(self, id: Id) -> &'static str {
        let callee = self.parts(id).next().and_then(|callee| self.global(callee));
        callee.map_or("", |(_, allowed)| allowed.name)
    }

    /// The arguments of a call.
    pub(super) fn arguments(self, id: Id) -> Children<'p> {
        match self.parts(id).nth(1) {
            Some(arguments) => self.graph.children(arguments),
            None => self.graph.no_children(),
        }
    }

    /// The state that an object was built of.
    pub(super) fn state(self, id: Id) -> Option<Id> {
        self.parts(id).nth(2)
    }

    /// The values of a tuple: what Python takes apart by place, as numpy does its states.
    pub(super) fn tuple(self, id: Id) -> Option<Children<'p>> {
        matches!(self.graph.kind(id), Kind::EmptyTuple | Kind::Tuple).then(|| self.graph.children(id))
    }

    /// What a reference to a value that is no container counts for, where it is bounded what
    /// a pickle would be if every reference were a copy: 1, and 1 more for every 16 bytes.
    #[inline]
    pub(super) fn weight(self, node: Node) -> u64 {
        let bytes = match node.kind() {
            Kind::Text | Kind::Bytes | Kind::ByteArray => self.argument(node.payload()).len(),
            Kind::Buffer | Kind::ReadOnlyBuffer => self.buffers.get(node.payload()).map_or(0, Buffer::len),
            _ => 0,
        };
        (bytes as u64 / 16).saturating_add(1)
    }

    /// Where a value is, as far as it has a place of its own.
    pub(super) fn position(self, id: Id) -> u64 {
        let node = self.graph.node(id);
        match node.kind() {
            Kind::Int | Kind::Float | Kind::Text | Kind::Bytes | Kind::ByteArray => node.payload() as u64,
            _ => self.graph.container(id).map_or(0, |container| container.position),
        }
    }

    /// What a value is called in errors.
    pub(super) fn kind_text(self, id: Id) -> &'static str {
        match self.graph.kind(id) {
            Kind::Call | Kind::New => self.callee(id).map_or("an object", Name::text),
            Kind::Global => match self.global(id) {
                Some((name, _)) => name.text(),
                None => "a name",
            },
            kind => kind.text(),
        }
    }

    /// A value as errors show it: short scalars as they are, else the kind.
    pub(super) fn shown(self, id: Id) -> String {
        match self.value(id) {
            Value::Int(number) => number.to_string(),
            Value::Float(number) => format!("{number:?}"),
            Value::Bool(bool) => if bool { "True" } else { "False" }.to_owned(),
            Value::Text(text) if text.len() <= SHOWN => format!("{text:?}"),
            _ => self.kind_text(id).to_owned(),
        }
    }

    fn float(self, at: usize) -> f64 {
        f64::from_be_bytes(<[u8; 8]>::try_from(self.argument(at)).unwrap_or_default())
    }

    #[inline]
    fn argument(self, at: usize) -> &'p [u8] {
        // By far the most frequent: short text.
        if let Some([SHORT_BINUNICODE, length, rest @ ..]) = self.bytes.get(at..) {
            return rest.get(..usize::from(*length)).unwrap_or_default();
        }
        self.bytes.get(self.argument_range(at)).unwrap_or_default()
    }

    fn argument_range(self, at: usize) -> std::ops::Range<usize> {
        let opcode = self.bytes.get(at).copied().unwrap_or_default();
        let shape = scan::shape(opcode).unwrap_or(scan::Shape::Nothing);
        scan::argument(self.bytes, at, shape).unwrap_or_default()
    }
}

/// The text of a list, row by row; nothing where a row is none.
#[derive(Debug, Clone)]
pub(super) struct Texts<'p> {
    view: View<'p>,
    segments: Option<Segments<'p>>,
    edges: std::slice::Iter<'p, Id>,
    /// What is left of a run.
    run: &'p [u8],
    left: u32,
}

impl<'p> View<'p> {
    /// The text of a list.
    pub(super) fn texts(self, list: Id) -> Texts<'p> {
        let segments = self.graph.container(list).map(|container| self.graph.segments(container));
        Texts { view: self, segments, edges: [].iter(), run: &[], left: 0 }
    }
}

impl<'p> Iterator for Texts<'p> {
    type Item = Option<&'p [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(left) = self.left.checked_sub(1) {
                self.left = left;
                let (row, rest) = match self.run {
                    [SHORT_BINUNICODE, length, rest @ ..] => {
                        let (text, rest) = rest.split_at_checked(usize::from(*length))?;
                        (Some(text), rest)
                    }
                    [NONE, rest @ ..] => (None, rest),
                    [opcode, ..] => {
                        let argument = scan::argument(self.run, 0, scan::shape(*opcode)?).ok()?;
                        (self.run.get(argument.clone()), self.run.get(argument.end..)?)
                    }
                    [] => return None,
                };
                self.run = rest;
                return Some(row);
            }
            if let Some(id) = self.edges.next() {
                return Some(self.view.text_bytes(*id));
            }
            match self.segments.as_mut()?.next()? {
                Segment::Edges(edges) => self.edges = edges.iter(),
                Segment::Run(run) => {
                    self.run = self.view.bytes.get(run.place as usize..)?;
                    self.left = run.count;
                }
            }
        }
    }
}
