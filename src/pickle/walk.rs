//! What is asked of a finished graph: that it ends, and does not get larger than it is.
//!
//! Every container is looked at, also those that the value no longer refers to: Python would
//! have made them too.

use std::collections::HashSet;

use super::fault::{PickleBudget, PickleFault, refuse};
use super::graph::{Container, Graph, Id, Kind, Segment, Segments};
use super::limits::PickleLimits;
use super::view::{Value, View};
use crate::error::{ErrorKind, Result};

/// Checks nesting, cycles, expansion and keys.
pub(super) fn check(view: View<'_>, limits: &PickleLimits) -> Result<()> {
    let graph = view.graph;
    let mut levels = try_filled(graph.containers.len(), NEW)?;
    let mut sizes = try_filled(graph.containers.len(), 0u64)?;
    let free = limits.max_free_expansion;
    let references = (graph.edges.len() as u64).saturating_mul(16);
    let allowed = free.saturating_add(references).saturating_add(view.num_bytes());
    let mut path: Vec<Visit<'_>> = Vec::new();
    for start in 0..graph.containers.len() {
        visit(view, start, &mut levels, &mut sizes, &mut path, limits)?;
    }
    // What nothing refers to has all else in it.
    let mut total = 0u64;
    for (container, size) in graph.containers.iter().zip(&sizes).filter(|(c, _)| !c.is_used) {
        total = total.saturating_add(*size);
        if total > allowed {
            return over(container, PickleBudget::Expansion, allowed);
        }
    }
    for id in graph.ids() {
        match graph.kind(id) {
            Kind::Dict => keys(view, id, true, limits)?,
            Kind::Set | Kind::FrozenSet => keys(view, id, false, limits)?,
            _ => {}
        }
    }
    Ok(())
}

/// A container that was not visited, and one whose children are being visited; any other
/// number is the levels in it.
const NEW: u32 = 0;
const OPEN: u32 = u32::MAX;

/// Visits a container and all in it, children first.
fn visit<'g>(
    view: View<'g>,
    start: usize,
    levels: &mut [u32],
    sizes: &mut [u64],
    path: &mut Vec<Visit<'g>>,
    limits: &PickleLimits,
) -> Result<()> {
    if levels.get(start) != Some(&NEW) {
        return Ok(());
    }
    let graph = view.graph;
    open(view, start, levels, path);
    while let Some(visit) = path.last_mut() {
        let Some(child) = visit.next_container() else {
            let (level, size) = (visit.below.saturating_add(1), visit.size);
            let done = visit.container;
            if level as usize > limits.max_depth {
                return over_at(graph, done, PickleBudget::Depth, limits.max_depth as u64);
            }
            path.pop();
            set(levels, done, level);
            set(sizes, done, size);
            if let Some(parent) = path.last_mut() {
                parent.add(level, size);
            }
            continue;
        };
        match levels.get(child).copied() {
            Some(NEW) => {
                if path.len() >= limits.max_depth {
                    return over_at(graph, start, PickleBudget::Depth, limits.max_depth as u64);
                }
                open(view, child, levels, path);
            }
            Some(OPEN) => {
                let position = graph.containers.get(child).map_or(0, |container| container.position);
                return refuse(position, PickleFault::Cycle);
            }
            Some(level) => visit.add(level, sizes.get(child).copied().unwrap_or_default()),
            None => {}
        }
    }
    Ok(())
}

/// A container whose children are being visited.
struct Visit<'g> {
    view: View<'g>,
    container: usize,
    segments: Segments<'g>,
    edges: std::slice::Iter<'g, Id>,
    below: u32,
    size: u64,
}

impl Visit<'_> {
    /// The next child that is a container; others are weighed.
    fn next_container(&mut self) -> Option<usize> {
        loop {
            for child in self.edges.by_ref() {
                let node = self.view.graph.node(*child);
                if node.kind().is_container() {
                    return Some(node.payload());
                }
                self.size = self.size.saturating_add(self.view.weight(node));
            }
            match self.segments.next()? {
                Segment::Edges(edges) => self.edges = edges.iter(),
                Segment::Run(run) => {
                    let weight = u64::from(run.count).saturating_add(run.text / 16);
                    self.size = self.size.saturating_add(weight);
                }
            }
        }
    }

    fn add(&mut self, level: u32, size: u64) {
        self.below = self.below.max(level);
        self.size = self.size.saturating_add(size);
    }
}

fn open<'g>(view: View<'g>, index: usize, levels: &mut [u32], path: &mut Vec<Visit<'g>>) {
    if let Some(container) = view.graph.containers.get(index) {
        set(levels, index, OPEN);
        let (segments, edges) = (view.graph.segments(container), [].iter());
        path.push(Visit { view, container: index, segments, edges, below: 0, size: 1 });
    }
}

/// Checks that the keys of a dict or set can be hashed, in time, and are not repeated. That
/// text is hashed once for each reference to it is bounded by the expansion.
fn keys(view: View<'_>, id: Id, is_dict: bool, limits: &PickleLimits) -> Result<()> {
    let graph = view.graph;
    let Some(container) = graph.container(id) else { return Ok(()) };
    let children = graph.children(id);
    let mut colliding = 0usize;
    let mut texts: HashSet<&[u8]> = HashSet::new();
    let mut numbers: HashSet<i64> = HashSet::new();
    for key in children.step_by(if is_dict { 2 } else { 1 }) {
        let kind = graph.kind(key);
        if !is_hashable(graph, key) {
            return refuse(container.position, PickleFault::Unhashable { found: kind.text() });
        }
        let is_new = match kind {
            Kind::Text => texts.insert(view.text_bytes(key).unwrap_or_default()),
            Kind::Int => match view.value(key) {
                Value::Int(number) if number.unsigned_abs() < HASHED_TO_ITSELF => numbers.insert(number),
                _ => {
                    colliding = colliding.saturating_add(1);
                    true
                }
            },
            Kind::None | Kind::True | Kind::False | Kind::EmptyTuple | Kind::Bytes | Kind::Global => true,
            _ => {
                colliding = colliding.saturating_add(1);
                true
            }
        };
        if is_dict && !is_new {
            return refuse(container.position, PickleFault::DuplicateKey);
        }
        if colliding > limits.max_colliding_keys {
            return over(container, PickleBudget::CollidingKeys, limits.max_colliding_keys as u64);
        }
    }
    Ok(())
}

/// Python's hash of a smaller integer is the integer.
const HASHED_TO_ITSELF: u64 = (1 << 61) - 1;

/// Whether Python can hash a value: a tuple if all in it can be.
fn is_hashable(graph: &Graph, id: Id) -> bool {
    match graph.kind(id) {
        Kind::List | Kind::Dict | Kind::Set | Kind::ByteArray | Kind::Buffer | Kind::ReadOnlyBuffer => false,
        // Depth and expansion are bounded by now.
        Kind::Tuple => graph.children(id).all(|child| is_hashable(graph, child)),
        _ => true,
    }
}

fn over<T>(container: &Container, budget: PickleBudget, allowed: u64) -> Result<T> {
    refuse(container.position, PickleFault::Budget { budget, allowed })
}

fn over_at<T>(graph: &Graph, index: usize, budget: PickleBudget, allowed: u64) -> Result<T> {
    let position = graph.containers.get(index).map_or(0, |container| container.position);
    refuse(position, PickleFault::Budget { budget, allowed })
}

fn set<T>(values: &mut [T], index: usize, value: T) {
    if let Some(place) = values.get_mut(index) {
        *place = value;
    }
}

fn try_filled<T: Clone>(count: usize, value: T) -> Result<Vec<T>> {
    let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| ErrorKind::Memory { bytes })?;
    values.resize(count, value);
    Ok(values)
}
