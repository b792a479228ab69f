//! The machine that turns opcodes into a graph. It has a stack, marks and a memo, as Python's
//! has, and calls nothing.
//!
//! What Python would have seen at a call is what the graph says: a container must not change
//! once something refers to it.

mod calls;
mod scalars;

use arrow_buffer::Buffer;

use super::fault::{PickleBudget, PickleFault, refuse};
use super::graph::{EMPTY_TUPLE_ID, FALSE_ID, Graph, Id, Kind, NONE_ID, Node, PLACE, Run, TRUE_ID};
use super::limits::PickleLimits;
use super::opcode::*;
use super::scan::{self, Shape};
use crate::error::{ErrorKind, Result};

/// Runs a pickle to its end; returns the graph and the one value that is left.
pub(super) fn run(bytes: &Buffer, buffers: usize, limits: &PickleLimits) -> Result<(Graph, Id)> {
    let mut machine = Machine {
        bytes,
        limits,
        graph: Graph::new(bytes.clone()),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        at: 0,
        next: 0,
        base: 0,
        frame_end: None,
        taken: Vec::new(),
        operations: 0,
        values: 0,
    };
    machine.start()?;
    while machine.step()? {}
    machine.finish(buffers)
}

struct Machine<'p> {
    bytes: &'p Buffer,
    limits: &'p PickleLimits,
    graph: Graph,
    stack: Vec<Id>,
    /// Heights of the stack at the marks.
    marks: Vec<usize>,
    memo: Vec<Id>,
    /// Where the current opcode is, and where the next one is.
    at: usize,
    next: usize,
    /// The height of the stack at the last mark: below are values of others.
    base: usize,
    frame_end: Option<usize>,
    /// For each out-of-band buffer, whether something has it.
    taken: Vec<bool>,
    operations: u64,
    values: u64,
}

impl Machine<'_> {
    /// Takes `PROTO`, which every pickle of these protocols starts with.
    fn start(&mut self) -> Result<()> {
        match self.bytes.as_slice() {
            [] => self.refuse(PickleFault::Truncated { needed: 2, available: 0 }),
            [PROTO, 4 | PROTOCOL, ..] => {
                self.next = 2;
                Ok(())
            }
            [PROTO, version, ..] => self.refuse(PickleFault::Protocol { version: Some(*version) }),
            [PROTO] => self.refuse(PickleFault::Truncated { needed: 2, available: 1 }),
            _ => self.refuse(PickleFault::Protocol { version: None }),
        }
    }

    /// Takes one opcode; says whether there is another.
    #[inline]
    fn step(&mut self) -> Result<bool> {
        self.at = self.next;
        let Some(&opcode) = self.bytes.get(self.at) else {
            return self.refuse(PickleFault::Truncated { needed: 1, available: 0 });
        };
        self.operations = self.operations.saturating_add(1);
        if self.operations > self.limits.max_operations {
            return self.over(PickleBudget::Operations, self.limits.max_operations);
        }
        // By far the most frequent opcode comes first.
        if opcode == SHORT_BINUNICODE {
            self.short_text()?;
        } else {
            self.next = self.at.saturating_add(1);
            self.opcode(opcode)?;
        }
        if let Some(end) = self.frame_end
            && self.next >= end
        {
            if self.next > end {
                return self.refuse(PickleFault::FrameEnd { end: end as u64 });
            }
            self.frame_end = None;
        }
        Ok(opcode != STOP)
    }

    /// Does what an opcode says.
    fn opcode(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            STOP => Ok(()),
            FRAME => self.frame(),
            MARK if self.text_run()? => Ok(()),
            MARK => {
                self.base = self.stack.len();
                push(&mut self.marks, self.base)
            }
            POP => self.pop(opcode).map(drop),
            POP_MARK => {
                let height = self.unmark(opcode)?;
                self.stack.truncate(height);
                Ok(())
            }
            MEMOIZE => self.memoize(),
            BINGET => self.get(1),
            LONG_BINGET => self.get(4),
            NONE => push(&mut self.stack, NONE_ID),
            NEWTRUE => push(&mut self.stack, TRUE_ID),
            NEWFALSE => push(&mut self.stack, FALSE_ID),
            EMPTY_TUPLE => push(&mut self.stack, EMPTY_TUPLE_ID),
            BININT => self.scalar(Kind::Int, Shape::Number(4)),
            BININT1 => self.scalar(Kind::Int, Shape::Number(1)),
            BININT2 => self.scalar(Kind::Int, Shape::Number(2)),
            LONG1 => self.long(1),
            LONG4 => self.long(4),
            BINFLOAT => self.scalar(Kind::Float, Shape::Number(8)),
            BINUNICODE => self.text(4),
            BINUNICODE8 => self.text(8),
            SHORT_BINBYTES => self.scalar(Kind::Bytes, Shape::Counted(1)),
            BINBYTES => self.scalar(Kind::Bytes, Shape::Counted(4)),
            BINBYTES8 => self.scalar(Kind::Bytes, Shape::Counted(8)),
            BYTEARRAY8 => self.scalar(Kind::ByteArray, Shape::Counted(8)),
            NEXT_BUFFER => {
                let number = self.taken.len();
                push(&mut self.taken, false)?;
                self.push_node(Node::new(Kind::Buffer, number as u64))
            }
            READONLY_BUFFER => self.read_only(),
            EMPTY_LIST => self.container(Kind::List, 0),
            EMPTY_DICT => self.container(Kind::Dict, 0),
            EMPTY_SET => self.container(Kind::Set, 0),
            APPEND => self.add(opcode, Kind::List, 1),
            SETITEM => self.add(opcode, Kind::Dict, 2),
            APPENDS => self.add_marked(opcode, Kind::List),
            SETITEMS => self.add_marked(opcode, Kind::Dict),
            ADDITEMS => self.add_marked(opcode, Kind::Set),
            TUPLE => self.collect(opcode, Kind::Tuple),
            FROZENSET => self.collect(opcode, Kind::FrozenSet),
            TUPLE1 => self.container(Kind::Tuple, 1),
            TUPLE2 => self.container(Kind::Tuple, 2),
            TUPLE3 => self.container(Kind::Tuple, 3),
            STACK_GLOBAL => self.global(),
            REDUCE => self.call(opcode, Kind::Call),
            NEWOBJ => self.call(opcode, Kind::New),
            BUILD => self.build(),
            PROTO => self.refuse(PickleFault::Misplaced { opcode }),
            _ => self.refuse(PickleFault::Opcode { opcode }),
        }
    }

    fn finish(self, buffers: usize) -> Result<(Graph, Id)> {
        let trailing = self.bytes.len().saturating_sub(self.next) as u64;
        if trailing > 0 {
            return refuse(self.next as u64, PickleFault::Trailing { bytes: trailing });
        }
        if self.taken.len() != buffers {
            return self.refuse(PickleFault::Buffers { used: self.taken.len(), given: buffers });
        }
        match (self.stack.as_slice(), self.marks.len()) {
            ([root], 0) => Ok((self.graph, *root)),
            (values, marks) => self.refuse(PickleFault::Unfinished { values: values.len(), marks }),
        }
    }

    fn frame(&mut self) -> Result<()> {
        if self.frame_end.is_some() {
            return self.refuse(PickleFault::Misplaced { opcode: FRAME });
        }
        let argument = scan::argument(self.bytes, self.at, Shape::Number(8))?;
        let length = scan::number(self.bytes.get(argument.clone()).unwrap_or_default());
        let available = self.bytes.len().saturating_sub(argument.end);
        match usize::try_from(length) {
            Ok(length) if length > 0 && length <= available => {
                self.next = argument.end;
                self.frame_end = Some(self.next.saturating_add(length));
                Ok(())
            }
            _ => self.refuse(PickleFault::Frame { length, available: available as u64 }),
        }
    }

    fn memoize(&mut self) -> Result<()> {
        if self.memo.len() as u64 >= self.limits.max_memo {
            return self.over(PickleBudget::Memo, self.limits.max_memo);
        }
        let top = self.top(MEMOIZE)?;
        push(&mut self.memo, top)
    }

    fn get(&mut self, width: usize) -> Result<()> {
        let argument = scan::argument(self.bytes, self.at, Shape::Number(width))?;
        self.next = argument.end;
        let index = scan::number(self.bytes.get(argument).unwrap_or_default());
        match usize::try_from(index).ok().and_then(|index| self.memo.get(index)) {
            Some(id) => push(&mut self.stack, *id),
            None => self.refuse(PickleFault::Memo { index, memoized: self.memo.len() }),
        }
    }

    fn read_only(&mut self) -> Result<()> {
        let id = self.pop(READONLY_BUFFER)?;
        let node = self.graph.node(id);
        match node.kind() {
            Kind::Buffer => self.push_node(Node::new(Kind::ReadOnlyBuffer, node.payload() as u64)),
            kind => self.refuse(PickleFault::Operand { opcode: READONLY_BUFFER, found: kind.text() }),
        }
    }

    /// Adds the top values to the container below them.
    fn add(&mut self, opcode: u8, kind: Kind, count: usize) -> Result<()> {
        match self.stack.len().checked_sub(count) {
            Some(height) if height > self.base => self.add_from(opcode, kind, height),
            _ => self.refuse(PickleFault::Underflow { opcode }),
        }
    }

    /// Adds the values above the last mark to the container below it.
    fn add_marked(&mut self, opcode: u8, kind: Kind) -> Result<()> {
        let height = self.unmark(opcode)?;
        if height <= self.base {
            return self.refuse(PickleFault::Underflow { opcode });
        }
        self.add_from(opcode, kind, height)
    }

    fn add_from(&mut self, opcode: u8, kind: Kind, height: usize) -> Result<()> {
        let parent = height.checked_sub(1).and_then(|below| self.stack.get(below)).copied();
        let parent = self.graph.node(parent.unwrap_or(NONE_ID));
        if parent.kind() != kind {
            return self.refuse(PickleFault::Operand { opcode, found: parent.kind().text() });
        }
        let count = self.stack.len().saturating_sub(height);
        if kind == Kind::Dict && !count.is_multiple_of(2) {
            return self.refuse(PickleFault::Underflow { opcode });
        }
        self.adopt(opcode, parent.payload(), height)
    }

    /// Makes a container of the values above the last mark.
    fn collect(&mut self, opcode: u8, kind: Kind) -> Result<()> {
        let height = self.unmark(opcode)?;
        match self.stack.len().saturating_sub(height) {
            0 if kind == Kind::Tuple => push(&mut self.stack, EMPTY_TUPLE_ID),
            count => self.container(kind, count),
        }
    }

    /// Makes a container of the top values.
    fn container(&mut self, kind: Kind, count: usize) -> Result<()> {
        let height = match self.stack.len().checked_sub(count) {
            Some(height) if height >= self.base => height,
            _ => {
                let opcode = self.bytes.get(self.at).copied().unwrap_or_default();
                return self.refuse(PickleFault::Underflow { opcode });
            }
        };
        let index = self.graph.containers.len();
        let allowed = self.limits.max_free_containers.saturating_add(self.bytes.len() as u64 / 4);
        if index as u64 >= allowed {
            return self.over(PickleBudget::Containers, allowed);
        }
        push(&mut self.graph.containers, Graph::empty(self.at as u64))?;
        if count > 0 {
            self.adopt(0, index, height)?;
        }
        self.push_node(Node::new(kind, index as u64))
    }

    /// Moves the values above a height of the stack into a container.
    fn adopt(&mut self, opcode: u8, container: usize, height: usize) -> Result<()> {
        if self.graph.containers.get(container).is_some_and(|container| container.is_used) {
            return self.refuse(PickleFault::Changed { opcode });
        }
        let Graph { nodes, containers, edges, .. } = &mut self.graph;
        let moved = self.stack.get(height..).unwrap_or_default();
        let allowed = self.limits.max_edges.min(u64::from(PLACE));
        if (edges.len() as u64).saturating_add(moved.len() as u64) > allowed {
            return self.over(PickleBudget::Edges, allowed);
        }
        edges.try_reserve(moved.len()).map_err(|_| no_memory::<Id>(moved.len()))?;
        for id in moved {
            // A place is one of a scalar.
            let Some(node) = nodes.get(id.0 as usize).filter(|_| id.place().is_none()) else { continue };
            match node.kind() {
                Kind::Buffer | Kind::ReadOnlyBuffer => {
                    let buffer = node.payload();
                    if self.taken.get_mut(buffer).is_some_and(|taken| std::mem::replace(taken, true)) {
                        return refuse(self.at as u64, PickleFault::BufferShared { buffer });
                    }
                }
                kind if kind.is_container() => {
                    if let Some(child) = containers.get_mut(node.payload()) {
                        child.is_used = true;
                    }
                }
                _ => {}
            }
        }
        edges.extend_from_slice(moved);
        let count = u32::try_from(moved.len()).unwrap_or(u32::MAX);
        self.stack.truncate(height);
        if !self.graph.reserve() {
            return Err(no_memory::<Run>(1).into());
        }
        self.graph.adopt(container, count);
        Ok(())
    }

    /// Pushes the scalar of the current opcode.
    #[inline]
    fn push_scalar(&mut self, kind: Kind) -> Result<()> {
        match Id::at(self.at) {
            Some(id) => {
                self.count_values(1)?;
                push(&mut self.stack, id)
            }
            None => self.push_node(Node::new(kind, self.at as u64)),
        }
    }

    fn push_node(&mut self, node: Node) -> Result<()> {
        self.count_values(1)?;
        match u32::try_from(self.graph.nodes.len()) {
            Ok(id) if id < PLACE => {
                push(&mut self.graph.nodes, node)?;
                push(&mut self.stack, Id(id))
            }
            _ => self.over(PickleBudget::Nodes, u64::from(PLACE)),
        }
    }

    #[inline]
    fn count_values(&mut self, count: u64) -> Result<()> {
        self.values = self.values.saturating_add(count);
        if self.values > self.limits.max_nodes {
            return self.over(PickleBudget::Nodes, self.limits.max_nodes);
        }
        Ok(())
    }

    fn top(&self, opcode: u8) -> Result<Id> {
        match self.stack.last() {
            Some(top) if self.stack.len() > self.base => Ok(*top),
            _ => self.refuse(PickleFault::Underflow { opcode }),
        }
    }

    fn pop(&mut self, opcode: u8) -> Result<Id> {
        let top = self.top(opcode)?;
        self.stack.pop();
        Ok(top)
    }

    /// Takes the last mark; returns the height of the stack at it.
    fn unmark(&mut self, opcode: u8) -> Result<usize> {
        let Some(height) = self.marks.pop() else {
            return self.refuse(PickleFault::NoMark { opcode });
        };
        self.base = self.marks.last().copied().unwrap_or_default();
        Ok(height)
    }

    #[cold]
    fn over<T>(&self, budget: PickleBudget, allowed: u64) -> Result<T> {
        self.refuse(PickleFault::Budget { budget, allowed })
    }

    #[cold]
    fn refuse<T>(&self, fault: PickleFault) -> Result<T> {
        refuse(self.at as u64, fault)
    }
}

/// Pushes, or says that there is no memory.
#[inline]
fn push<T>(values: &mut Vec<T>, value: T) -> Result<()> {
    if values.len() == values.capacity() {
        values.try_reserve(1).map_err(|_| no_memory::<T>(values.len()))?;
    }
    values.push(value);
    Ok(())
}

#[cold]
fn no_memory<T>(count: usize) -> ErrorKind {
    ErrorKind::Memory { bytes: (count as u64).saturating_mul(size_of::<T>() as u64) }
}
