//! What a pickle holds, in one line.

use super::allow::Name;
use super::arrays::form::Form;
use super::arrays::numpy::Numpy;
use super::graph::Id;
use super::view::{Value, View};

/// Kinds of values that are named.
const SHOWN: usize = 5;

/// One line for a value.
pub(super) fn describe(view: View<'_>, id: Id) -> String {
    match view.value(id) {
        Value::List | Value::Tuple | Value::Set | Value::Dict => collection(view, id),
        Value::Call(_) | Value::New(_) => call(view, id),
        _ => view.shown(id),
    }
}

fn call(view: View<'_>, id: Id) -> String {
    let name = view.kind_text(id);
    match Form::of(view, id) {
        Ok(Form::Numpy(Numpy::Objects(list))) => {
            let count = view.graph.children(list).len();
            format!("an object array of {count} values{}", kinds(view, list, 1))
        }
        Ok(Form::Numpy(Numpy::Numbers(numbers))) => format!("{name} of {} values", numbers.length),
        Ok(Form::Categorical(codes, ..)) => format!("a categorical of {} values", codes.length),
        Ok(Form::Zoned(values, _, zone)) => format!("{} datetimes in {}", values.length, zone.text()),
        Ok(Form::Strings(list)) => format!("{} strings", view.graph.children(list).len()),
        Ok(Form::Period(ordinals, frequency)) => format!("{} periods of {frequency}", ordinals.length),
        Ok(Form::Masked(values, _)) => format!("{name} of {} values", values.length),
        _ => name.to_owned(),
    }
}

fn collection(view: View<'_>, id: Id) -> String {
    let is_dict = view.value(id) == Value::Dict;
    let per_value = if is_dict { 2 } else { 1 };
    let count = view.graph.children(id).step_by(per_value).count();
    let kind = view.kind_text(id);
    format!("a {kind} of {count} values{}", kinds(view, id, per_value))
}

/// The kinds of values in a container, in the order in which they come first.
fn kinds(view: View<'_>, id: Id, per_value: usize) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    for value in view.graph.children(id).skip(per_value.saturating_sub(1)).step_by(per_value) {
        let kind = match view.value(value) {
            Value::Call(Name::Decimal) => "Decimal",
            _ => view.kind_text(value),
        };
        if kinds.contains(&kind) {
            continue;
        }
        if kinds.len() == SHOWN {
            kinds.push("…");
            break;
        }
        kinds.push(kind);
    }
    if kinds.is_empty() { String::new() } else { format!(": {}", kinds.join(", ")) }
}
