//! The dictionaries that have come, by id.

use std::collections::{BTreeMap, HashMap};

use arrow_array::ArrayRef;

use crate::copies::CopyBudget;
use crate::error::{ErrorKind, Result};
use crate::join::Join;
use crate::limits::Limits;
use crate::wire::schema::{DictionaryField, WireSchema};

/// The current values of each dictionary. An array that was decoded keeps the values it
/// was decoded with, whatever comes later.
#[derive(Debug)]
pub(super) struct Dictionaries {
    /// By id, the first field that uses it, and whether any wanted column does.
    fields: HashMap<i64, (usize, bool)>,
    values: HashMap<i64, ArrayRef>,
    /// By id, values and the deltas behind them that are not joined yet.
    pending: BTreeMap<i64, Vec<ArrayRef>>,
    /// By id, what is kept of a dictionary beyond the frames that it came in, in bytes.
    kept: HashMap<i64, u64>,
    /// The sum of those.
    total: u64,
}

/// What values cost to keep, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// What was made of the input for them: decompressed buffers.
    pub made: u64,
    /// What they are themselves: a delta that waits to be joined.
    pub waiting: u64,
}

impl Dictionaries {
    /// No values yet. Fields that share an id must agree on what its values are.
    pub(super) fn new(wire: &WireSchema, wanted: &[bool]) -> Result<Self> {
        let mut fields = HashMap::new();
        for (index, field) in wire.dictionaries.iter().enumerate() {
            let (first, is_wanted) = fields.entry(field.id).or_insert((index, false));
            *is_wanted |= wanted.get(field.column) == Some(&true);
            if !is_same(wire, *first, index) {
                return Err(ErrorKind::DictionaryId { id: field.id }.into());
            }
        }
        Ok(Dictionaries {
            fields,
            values: HashMap::new(),
            pending: BTreeMap::new(),
            kept: HashMap::new(),
            total: 0,
        })
    }

    /// The place in the schema's walk of a dictionary's first field, and whether the
    /// dictionary is wanted.
    pub(super) fn find(&self, id: i64) -> Option<(usize, bool)> {
        self.fields.get(&id).copied()
    }

    /// The values that have come for this id, as of the last `join_deltas`.
    pub(super) fn get(&self, id: i64) -> Option<&ArrayRef> {
        self.values.get(&id)
    }

    /// Takes new values: in place of the old ones, or behind them.
    pub(super) fn insert(&mut self, id: i64, values: ArrayRef, is_delta: bool, cost: Cost) {
        let Some(before) = self.values.get(&id).filter(|_| is_delta) else {
            self.pending.remove(&id);
            self.values.insert(id, values);
            self.keep(id, cost.made);
            return;
        };
        self.pending.entry(id).or_insert_with(|| vec![before.clone()]).push(values);
        let so_far = self.kept.get(&id).copied().unwrap_or_default();
        self.keep(id, so_far.saturating_add(cost.made).saturating_add(cost.waiting));
    }

    /// What is kept for later calls beyond the frames that it came in, in bytes.
    pub(super) fn kept(&self) -> u64 {
        self.total
    }

    fn keep(&mut self, id: i64, bytes: u64) {
        let before = if bytes == 0 { self.kept.remove(&id) } else { self.kept.insert(id, bytes) };
        self.total = self.total.saturating_sub(before.unwrap_or_default()).saturating_add(bytes);
    }

    /// Joins deltas to what they continue, before something is read that may use them: many
    /// deltas in a row are copied once.
    pub(super) fn join_deltas(
        &mut self,
        wire: &WireSchema,
        limits: &Limits,
        copies: &mut CopyBudget,
    ) -> Result<()> {
        while let Some((id, parts)) = self.pending.pop_first() {
            let field = self.find(id).and_then(|(index, _)| wire.dictionaries.get(index));
            let column = field.map(|field| field.column).unwrap_or_default();
            let name = wire.column_name(column);
            let max_rows_without_bytes = limits.max_rows_without_bytes;
            let before = copies.expanded();
            let join = &mut Join { copies: &mut *copies, column, name, max_rows_without_bytes };
            let values = join.arrays(&parts)?;
            self.values.insert(id, values);
            // The parts are gone, unless all but one of them were empty.
            let joined = copies.expanded().saturating_sub(before);
            if joined > 0 {
                self.keep(id, joined);
            }
        }
        Ok(())
    }
}

/// Whether two fields' dictionaries have values of the same type, with the same
/// dictionaries inside.
fn is_same(wire: &WireSchema, a: usize, b: usize) -> bool {
    let (Some(first), Some(second)) = (wire.dictionaries.get(a), wire.dictionaries.get(b)) else {
        return false;
    };
    let ids = |start: usize, field: &DictionaryField| -> Vec<i64> {
        wire.dictionaries.iter().skip(start).take(field.nested.saturating_add(1)).map(|d| d.id).collect()
    };
    a == b || (first.value_type == second.value_type && ids(a, first) == ids(b, second))
}
