//! The graph that a pickle describes: values in an arena, containers with the places of
//! their children.
//!
//! A value takes 8 bytes. Scalars are only the place of their opcode, where the pickle still
//! has their bytes; containers have 32 bytes more, and 4 bytes for each child.

use arrow_buffer::Buffer;

use super::allow::{self, Name};
use super::opcode::*;
use super::scan;

/// A value of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(pub(super) u32);

/// A kind of value, in the low 8 bits of a node; the rest is what the comment says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Nothing.
    None,
    True,
    False,
    EmptyTuple,
    /// The place of the opcode.
    Int,
    Float,
    Text,
    Bytes,
    ByteArray,
    /// The number of the buffer.
    Buffer,
    ReadOnlyBuffer,
    /// The place in the table of allowed names.
    Global,
    /// The index of the container.
    Tuple,
    List,
    Dict,
    Set,
    FrozenSet,
    /// The callee, the arguments as a tuple, and the state if there is one.
    Call,
    New,
}

const KINDS: [Kind; 19] = [
    Kind::None,
    Kind::True,
    Kind::False,
    Kind::EmptyTuple,
    Kind::Int,
    Kind::Float,
    Kind::Text,
    Kind::Bytes,
    Kind::ByteArray,
    Kind::Buffer,
    Kind::ReadOnlyBuffer,
    Kind::Global,
    Kind::Tuple,
    Kind::List,
    Kind::Dict,
    Kind::Set,
    Kind::FrozenSet,
    Kind::Call,
    Kind::New,
];

impl Kind {
    /// Its name in errors.
    pub(super) fn text(self) -> &'static str {
        match self {
            Kind::None => "None",
            Kind::True | Kind::False => "bool",
            Kind::EmptyTuple | Kind::Tuple => "tuple",
            Kind::Int => "int",
            Kind::Float => "float",
            Kind::Text => "str",
            Kind::Bytes => "bytes",
            Kind::ByteArray => "bytearray",
            Kind::Buffer | Kind::ReadOnlyBuffer => "an out-of-band buffer",
            Kind::Global => "a name",
            Kind::List => "list",
            Kind::Dict => "dict",
            Kind::Set => "set",
            Kind::FrozenSet => "frozenset",
            Kind::Call | Kind::New => "an object",
        }
    }

    /// Whether it is a container, whose children are in the graph.
    pub(super) fn is_container(self) -> bool {
        self as u8 >= Kind::Tuple as u8
    }
}

/// A kind and what belongs to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node(u64);

impl Node {
    pub(super) fn new(kind: Kind, payload: u64) -> Self {
        Node(payload << 8 | kind as u64)
    }

    pub(super) fn kind(self) -> Kind {
        KINDS.get(usize::from(self.0.to_le_bytes()[0])).copied().unwrap_or(Kind::None)
    }

    pub(super) fn payload(self) -> usize {
        usize::try_from(self.0 >> 8).unwrap_or(usize::MAX)
    }
}

/// A container. Its children lie in one run of the edges, or in several if others lie between.
#[derive(Debug, Clone, Copy)]
pub(super) struct Container {
    /// The opcode that made it.
    pub(super) position: u64,
    start: u32,
    length: u32,
    /// The chunk that follows the first run, and the last chunk.
    next: u32,
    last: u32,
    /// Children in all.
    total: u32,
    /// Whether something refers to it, so that it must not change any more.
    pub(super) is_used: bool,
}

#[derive(Debug, Clone, Copy)]
struct Chunk {
    start: u32,
    length: u32,
    next: u32,
}

/// No chunk.
const NO_CHUNK: u32 = u32::MAX;

/// The arena.
#[derive(Debug, Clone, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) containers: Vec<Container>,
    pub(super) edges: Vec<Id>,
    chunks: Vec<Chunk>,
}

impl Graph {
    pub(super) fn node(&self, id: Id) -> Node {
        self.nodes.get(id.0 as usize).copied().unwrap_or(Node::new(Kind::None, 0))
    }

    pub(super) fn kind(&self, id: Id) -> Kind {
        self.node(id).kind()
    }

    /// A container of this position, still empty.
    pub(super) fn empty(position: u64) -> Container {
        Container { position, start: 0, length: 0, next: NO_CHUNK, last: NO_CHUNK, total: 0, is_used: false }
    }

    pub(super) fn container(&self, id: Id) -> Option<&Container> {
        let node = self.node(id);
        node.kind().is_container().then(|| self.containers.get(node.payload()))?
    }

    /// Notes that the last `count` edges are further children of a container.
    pub(super) fn adopt(&mut self, container: usize, count: u32) {
        let end = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
        let start = end.saturating_sub(count);
        let new = u32::try_from(self.chunks.len()).unwrap_or(NO_CHUNK);
        let Some(parent) = self.containers.get_mut(container) else { return };
        parent.total = parent.total.saturating_add(count);
        if parent.length == 0 {
            (parent.start, parent.length) = (start, count);
            return;
        }
        let last = self.chunks.get_mut(parent.last as usize);
        let (run_start, run_length, run_next) = match last {
            Some(chunk) => (chunk.start, &mut chunk.length, &mut chunk.next),
            None => (parent.start, &mut parent.length, &mut parent.next),
        };
        if run_start.saturating_add(*run_length) == start {
            *run_length = run_length.saturating_add(count);
        } else {
            *run_next = new;
            parent.last = new;
            self.chunks.push(Chunk { start, length: count, next: NO_CHUNK });
        }
    }

    /// The children of a container; of anything else, none.
    pub(super) fn children(&self, id: Id) -> Children<'_> {
        self.container(id).map_or(Children { graph: self, run: [].iter(), next: NO_CHUNK, left: 0 }, |c| {
            self.children_of(c)
        })
    }

    /// The children of a container.
    pub(super) fn children_of(&self, container: &Container) -> Children<'_> {
        let run = self.run(container.start, container.length).iter();
        Children { graph: self, run, next: container.next, left: container.total }
    }

    fn run(&self, start: u32, length: u32) -> &[Id] {
        let (start, end) = (start as usize, start.saturating_add(length) as usize);
        self.edges.get(start..end).unwrap_or_default()
    }
}

/// The children of a container, in order.
#[derive(Debug, Clone)]
pub(super) struct Children<'g> {
    graph: &'g Graph,
    run: std::slice::Iter<'g, Id>,
    next: u32,
    left: u32,
}

impl Iterator for Children<'_> {
    type Item = Id;

    #[inline]
    fn next(&mut self) -> Option<Id> {
        loop {
            if let Some(id) = self.run.next() {
                self.left = self.left.saturating_sub(1);
                return Some(*id);
            }
            let chunk = *self.graph.chunks.get(self.next as usize)?;
            self.run = self.graph.run(chunk.start, chunk.length).iter();
            self.next = chunk.next;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Children<'_> {}

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
            Kind::Global => match allow::at(node.payload()) {
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

    /// What is called, or made an object of.
    pub(super) fn callee(self, id: Id) -> Option<Name> {
        let callee = self.graph.children(id).next()?;
        allow::at(self.graph.node(callee).payload()).map(|(name, _)| name)
    }

    /// The name of what is called, without its module: several names can mean the same.
    pub(super) fn callee_text(self, id: Id) -> &'static str {
        let callee = self.graph.children(id).next().map(|callee| self.graph.node(callee).payload());
        callee.and_then(allow::at).map_or("", |(_, allowed)| allowed.name)
    }

    /// The arguments of a call.
    pub(super) fn arguments(self, id: Id) -> Children<'p> {
        match self.graph.children(id).nth(1) {
            Some(arguments) => self.graph.children(arguments),
            None => self.graph.children(id),
        }
    }

    /// The state that an object was built of.
    pub(super) fn state(self, id: Id) -> Option<Id> {
        self.graph.children(id).nth(2)
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
            Kind::Global => match allow::at(self.graph.node(id).payload()) {
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
