//! Dictionaries of a stream: which share an id, and what the receiver already has.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use crate::dataframe::{DataFrame, same_child_flags};
use crate::join::is_same_array;
use crate::wire::schema::WireSchema;

/// The values that the receiver has, by dictionary.
#[derive(Debug)]
pub(super) struct Dictionaries {
    deltas: bool,
    /// Of each dictionary in the schema's walk: which slot of `sent` it uses, and whether
    /// there are dictionaries inside its values.
    fields: Vec<(usize, bool)>,
    sent: Vec<Option<ArrayRef>>,
    before: Vec<(usize, Option<ArrayRef>)>,
}

/// What must be sent.
pub(super) struct Update {
    /// The values, or those that are new.
    pub values: ArrayRef,
    /// Whether they continue those that were sent before.
    pub is_delta: bool,
}

impl Dictionaries {
    pub(super) fn new(schema: &WireSchema, deltas: bool) -> Self {
        let fields: Vec<_> = schema.dictionaries.iter().map(|d| (d.id as usize, d.nested > 0)).collect();
        Dictionaries { deltas, sent: vec![None; fields.len()], fields, before: Vec::new() }
    }

    /// Starts to remember what `undo` takes back.
    pub(super) fn begin(&mut self) {
        self.before.clear();
    }

    /// Forgets what was sent since `begin`, because it never left.
    pub(super) fn undo(&mut self) {
        for (slot, values) in self.before.drain(..).rev() {
            self.sent[slot] = values;
        }
    }

    /// What to send so that the receiver has these values; `None` if it has them.
    pub(super) fn update(&mut self, index: usize, values: &ArrayRef) -> Option<Update> {
        let (slot, is_nested) = self.fields[index];
        let whole = Update { values: values.clone(), is_delta: false };
        let update = match &self.sent[slot] {
            None => whole,
            Some(sent) if is_same_array(sent, values) => return None,
            // Equal values around other inner dictionaries would be read through those.
            Some(_) if is_nested => whole,
            Some(sent) if sent.len() <= values.len() && starts_with(values, sent) => {
                if sent.len() == values.len() {
                    return None;
                }
                if self.deltas {
                    let new = values.slice(sent.len(), values.len() - sent.len());
                    Update { values: new, is_delta: true }
                } else {
                    whole
                }
            }
            Some(_) => whole,
        };
        let before = self.sent[slot].replace(values.clone());
        self.before.push((slot, before));
        Some(update)
    }
}

/// Gives dictionaries that are the same array in every batch the same id.
pub(super) fn share_ids(schema: &mut WireSchema, df: &DataFrame) {
    let count = schema.dictionaries.len();
    if count < 2 {
        return;
    }
    let mut by_batch = Vec::with_capacity(df.batches().len());
    for batch in df.batches() {
        let mut values = Vec::with_capacity(count);
        for array in batch.columns().iter().filter_map(|column| column.as_native()) {
            collect(array.as_ref(), &mut values);
        }
        by_batch.push(values);
    }
    if by_batch.is_empty() {
        return;
    }
    let mut first_at: HashMap<Vec<usize>, Vec<usize>> = HashMap::new();
    for index in 0..count {
        let place = by_batch.iter().map(|values| address(&values[index].to_data())).collect();
        let candidates = first_at.entry(place).or_default();
        let field = &schema.dictionaries[index];
        let shared = candidates.iter().copied().find(|&earlier| {
            let value_type = &schema.dictionaries[earlier].value_type;
            // The values are decoded as the first field's; `==` overlooks ordered flags in them.
            value_type == &field.value_type
                && same_child_flags(value_type, &field.value_type)
                && by_batch.iter().all(|values| is_same_array(&values[earlier], &values[index]))
        });
        match shared {
            Some(earlier) => schema.dictionaries[index].id = schema.dictionaries[earlier].id,
            None => candidates.push(index),
        }
    }
}

/// Where an array's first buffer lies: what two arrays of the same memory have in common.
fn address(data: &ArrayData) -> usize {
    match (data.buffers().first(), data.child_data().first()) {
        (Some(buffer), _) => buffer.as_ptr() as usize,
        (None, Some(child)) => address(child),
        (None, None) => 0,
    }
}

/// The values of every dictionary in an array, in the order of the schema's walk.
fn collect(array: &dyn Array, out: &mut Vec<ArrayRef>) {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let values = array.as_any_dictionary().values();
            out.push(values.clone());
            collect(values.as_ref(), out);
        }
        DataType::List(_) => collect(array.as_list::<i32>().values(), out),
        DataType::LargeList(_) => collect(array.as_list::<i64>().values(), out),
        DataType::ListView(_) => collect(array.as_list_view::<i32>().values(), out),
        DataType::LargeListView(_) => collect(array.as_list_view::<i64>().values(), out),
        DataType::FixedSizeList(..) => collect(array.as_fixed_size_list().values(), out),
        DataType::Map(..) => collect(array.as_map().entries(), out),
        DataType::Struct(_) => array.as_struct().columns().iter().for_each(|c| collect(c, out)),
        DataType::Union(fields, _) => {
            fields.iter().for_each(|(id, _)| collect(array.as_union().child(id), out));
        }
        DataType::RunEndEncoded(..) => {
            if let Some(values) = super::walk::run_values(array) {
                collect(values.as_ref(), out);
            }
        }
        _ => {}
    }
}

fn starts_with(values: &ArrayRef, prefix: &ArrayRef) -> bool {
    values.slice(0, prefix.len()).to_data() == prefix.to_data()
}
