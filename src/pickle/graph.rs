//! The graph that a pickle describes: values in an arena, containers with the places of
//! their children.
//!
//! A value takes 8 bytes. Scalars are only the place of their opcode, where the pickle still
//! has their bytes; containers have 32 bytes more, and 4 bytes for each child.

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
        self.container(id).map_or(self.no_children(), |container| self.children_of(container))
    }

    /// No children.
    pub(super) fn no_children(&self) -> Children<'_> {
        Children { graph: self, run: [].iter(), next: NO_CHUNK, left: 0 }
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
