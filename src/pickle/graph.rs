//! The graph that a pickle describes: values in an arena, containers with the places of
//! their children.
//!
//! A scalar is only the place of its opcode, where the pickle still has its bytes. Other values
//! take 8 bytes; containers have 32 bytes more, and 4 bytes for each child, except that a run
//! of text in a list is no more than the place where it starts.

use arrow_buffer::Buffer;

use super::opcode::*;
use super::scan;

/// A value of the graph: the number of a node, or the place of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(pub(super) u32);

/// Marks an [`Id`] that is a place, and a [`Chunk`] that is a run. There are fewer nodes and
/// edges than that; a scalar that lies behind it has a node.
pub(super) const PLACE: u32 = 1 << 31;

/// The values that have no bytes of their own are the first four nodes.
pub(super) const NONE_ID: Id = Id(0);
pub(super) const TRUE_ID: Id = Id(1);
pub(super) const FALSE_ID: Id = Id(2);
pub(super) const EMPTY_TUPLE_ID: Id = Id(3);

impl Id {
    /// The scalar whose opcode is at this place.
    #[inline]
    pub(super) fn at(place: usize) -> Option<Self> {
        u32::try_from(place).ok().filter(|place| place & PLACE == 0).map(|place| Id(place | PLACE))
    }

    #[inline]
    pub(super) fn place(self) -> Option<usize> {
        (self.0 & PLACE != 0).then_some((self.0 & !PLACE) as usize)
    }
}

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

/// A run of children: edges from `start` on, or the text at a place of the pickle.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    start: u32,
    length: u32,
    next: u32,
}

/// No chunk.
const NO_CHUNK: u32 = u32::MAX;

/// Text and `None`, one opcode behind the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// Where the first opcode is.
    pub(super) place: u32,
    /// How many there are.
    pub(super) count: u32,
    /// Bytes of all the text.
    pub(super) text: u64,
}

/// Children that are stored alike.
#[derive(Debug, Clone, Copy)]
pub(super) enum Segment<'g> {
    Edges(&'g [Id]),
    Run(Run),
}

/// The arena.
#[derive(Debug, Clone, Default)]
pub(super) struct Graph {
    pub(super) bytes: Buffer,
    pub(super) nodes: Vec<Node>,
    pub(super) containers: Vec<Container>,
    pub(super) edges: Vec<Id>,
    chunks: Vec<Chunk>,
    runs: Vec<Run>,
}

impl Graph {
    /// A graph of nothing but the values that have no bytes.
    pub(super) fn new(bytes: Buffer) -> Self {
        let singletons = [Kind::None, Kind::True, Kind::False, Kind::EmptyTuple];
        let nodes = singletons.map(|kind| Node::new(kind, 0)).to_vec();
        Graph { bytes, nodes, ..Graph::default() }
    }

    #[inline]
    pub(super) fn node(&self, id: Id) -> Node {
        match id.place() {
            Some(place) => Node::new(self.scalar(place), place as u64),
            None => self.nodes.get(id.0 as usize).copied().unwrap_or(Node::new(Kind::None, 0)),
        }
    }

    /// The kind of the scalar whose opcode is at this place.
    #[inline]
    fn scalar(&self, place: usize) -> Kind {
        match self.bytes.get(place).copied().unwrap_or_default() {
            SHORT_BINUNICODE | BINUNICODE | BINUNICODE8 => Kind::Text,
            BININT1 | BININT2 | BININT | LONG1 | LONG4 => Kind::Int,
            BINFLOAT => Kind::Float,
            SHORT_BINBYTES | BINBYTES | BINBYTES8 => Kind::Bytes,
            BYTEARRAY8 => Kind::ByteArray,
            _ => Kind::None,
        }
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

    /// Makes room for one more run of children; says whether there is memory for it.
    pub(super) fn reserve(&mut self) -> bool {
        self.runs.try_reserve(1).is_ok() && self.chunks.try_reserve(1).is_ok()
    }

    /// Notes that the last `count` edges are further children of a container.
    pub(super) fn adopt(&mut self, container: usize, count: u32) {
        let end = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
        self.attach(container, end.saturating_sub(count), count);
    }

    /// Notes that a run is further children of a container.
    pub(super) fn adopt_run(&mut self, container: usize, run: Run) {
        let index = u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
        self.runs.push(run);
        self.attach(container, index | PLACE, run.count);
    }

    fn attach(&mut self, container: usize, start: u32, count: u32) {
        let new = u32::try_from(self.chunks.len()).unwrap_or(NO_CHUNK);
        let Some(parent) = self.containers.get_mut(container) else { return };
        parent.total = parent.total.saturating_add(count);
        if parent.length == 0 {
            (parent.start, parent.length) = (start, count);
            return;
        }
        let last = self.chunks.get_mut(parent.last as usize);
        let (last_start, last_length, last_next) = match last {
            Some(chunk) => (chunk.start, &mut chunk.length, &mut chunk.next),
            None => (parent.start, &mut parent.length, &mut parent.next),
        };
        let are_edges = (start | last_start) & PLACE == 0;
        if are_edges && last_start.saturating_add(*last_length) == start {
            *last_length = last_length.saturating_add(count);
        } else {
            *last_next = new;
            parent.last = new;
            self.chunks.push(Chunk { start, length: count, next: NO_CHUNK });
        }
    }

    /// Every value that has a node: all but scalars.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(Id)
    }

    /// The children of a container; of anything else, none.
    pub(super) fn children(&self, id: Id) -> Children<'_> {
        let Some(container) = self.container(id) else { return self.no_children() };
        let (segments, left) = (self.segments(container), container.total);
        Children { graph: self, segments, edges: [].iter(), place: 0, run: 0, left }
    }

    /// No children.
    pub(super) fn no_children(&self) -> Children<'_> {
        let segments = Segments { graph: self, chunk: None };
        Children { graph: self, segments, edges: [].iter(), place: 0, run: 0, left: 0 }
    }

    /// The children of a container, by how they are stored.
    pub(super) fn segments(&self, container: &Container) -> Segments<'_> {
        let Container { start, length, next, .. } = *container;
        Segments { graph: self, chunk: Some(Chunk { start, length, next }) }
    }
}

/// The children of a container, by how they are stored.
#[derive(Debug, Clone)]
pub(super) struct Segments<'g> {
    graph: &'g Graph,
    chunk: Option<Chunk>,
}

impl<'g> Iterator for Segments<'g> {
    type Item = Segment<'g>;

    fn next(&mut self) -> Option<Segment<'g>> {
        let Chunk { start, length, next } = self.chunk?;
        self.chunk = self.graph.chunks.get(next as usize).copied();
        if start & PLACE != 0 {
            return self.graph.runs.get((start & !PLACE) as usize).copied().map(Segment::Run);
        }
        let (start, end) = (start as usize, start.saturating_add(length) as usize);
        Some(Segment::Edges(self.graph.edges.get(start..end).unwrap_or_default()))
    }
}

/// The children of a container, in order.
#[derive(Debug, Clone)]
pub(super) struct Children<'g> {
    graph: &'g Graph,
    segments: Segments<'g>,
    edges: std::slice::Iter<'g, Id>,
    /// Where the next value of a run is, and how many there are left of it.
    place: usize,
    run: u32,
    left: u32,
}

impl Iterator for Children<'_> {
    type Item = Id;

    #[inline]
    fn next(&mut self) -> Option<Id> {
        loop {
            if let Some(id) = self.edges.next() {
                self.left = self.left.saturating_sub(1);
                return Some(*id);
            }
            if let Some(run) = self.run.checked_sub(1) {
                self.run = run;
                self.left = self.left.saturating_sub(1);
                let (id, next) = in_run(&self.graph.bytes, self.place)?;
                self.place = next;
                return Some(id);
            }
            match self.segments.next()? {
                Segment::Edges(edges) => self.edges = edges.iter(),
                Segment::Run(run) => (self.place, self.run) = (run.place as usize, run.count),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Children<'_> {}

/// The value at a place of a run, and where the next one is.
#[inline]
fn in_run(bytes: &[u8], place: usize) -> Option<(Id, usize)> {
    let next = match bytes.get(place..)? {
        [SHORT_BINUNICODE, length, ..] => place.checked_add(2)?.checked_add(usize::from(*length))?,
        [NONE, ..] => return Some((NONE_ID, place.checked_add(1)?)),
        [opcode, ..] => scan::argument(bytes, place, scan::shape(*opcode)?).ok()?.end,
        [] => return None,
    };
    Some((Id::at(place)?, next))
}
