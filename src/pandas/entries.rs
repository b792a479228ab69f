//! Replaces the entries of columns in the metadata's own text, so that what is put back
//! later is the same to the byte.

use std::collections::{BTreeMap, HashMap};

use arrow_schema::Field;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{CREATOR, describe};

/// The key in an entry that this crate has added to others' metadata.
const ADDED: &str = "creator";

/// The metadata with these columns described as empty, and what it said of each.
///
/// Columns are named in the order of the schema: of several columns of one name, the
/// first has the first entry. `None` if it is not pandas' metadata.
pub(crate) fn hide(text: &str, names: &[(&str, bool)]) -> Option<(String, Vec<Option<String>>)> {
    let mut entries = by_name(text)?;
    let mut replaced = Vec::new();
    let mut originals = Vec::with_capacity(names.len());
    for (name, is_hidden) in names {
        let entry = entries.get_mut(*name).and_then(Iterator::next);
        originals.push(entry.filter(|_| *is_hidden).map(|entry| {
            replaced.push((entry, empty(entry)));
            entry.to_owned()
        }));
    }
    Some((splice(text, &replaced)?, originals))
}

/// The metadata with an entry for each of these columns, the flag of which says whether it is
/// opaque. `None` if nothing is missing, or if it is not pandas' metadata.
///
/// A reader would otherwise have to guess what to build of a column that somebody added and did
/// not describe.
pub(crate) fn complete<'f>(text: &str, fields: impl Iterator<Item = (&'f Field, bool)>) -> Option<String> {
    let mut entries = by_name(text)?;
    let mut added = String::new();
    for (field, is_opaque) in fields {
        if entries.get_mut(field.name()).and_then(Iterator::next).is_none() {
            let mut entry = describe::entry(field, is_opaque);
            entry[ADDED] = CREATOR.into();
            added.push_str(&format!(", {entry}"));
        }
    }
    let columns = columns(text)?;
    match columns.last() {
        _ if added.is_empty() => None,
        Some(last) => splice(text, &[(last.get(), format!("{}{added}", last.get()))]),
        None => {
            let list = list(text)?;
            let entries = added.get(2..)?;
            splice(text, &[(list, format!("[{entries}{}", list.get(1..)?))])
        }
    }
}

/// The metadata without the entries that [`complete`] has added.
fn without_added(text: &str) -> Option<String> {
    let is_added = |entry: &&RawValue| {
        let entry: Option<Value> = serde_json::from_str(entry.get()).ok();
        entry.is_some_and(|entry| entry.get(ADDED).is_some_and(|creator| creator == CREATOR))
    };
    let columns = columns(text)?;
    let kept = columns.iter().rposition(|entry| !is_added(entry));
    let last = columns.last()?.get();
    let start = match kept {
        Some(kept) if kept.checked_add(1)? == columns.len() => return None,
        Some(kept) => end_of(text, columns.get(kept)?.get())?,
        None => offset(text, list(text)?)?.checked_add(1)?,
    };
    Some(format!("{}{}", text.get(..start)?, text.get(end_of(text, last)?..)?))
}

/// The metadata with what it said of these columns put back. `None` if this crate made
/// it: then there was none.
///
/// Entries that [`complete`] has added are dropped if so asked.
pub(crate) fn restore(text: &str, names: &[(&str, Option<String>)], drop_added: bool) -> Option<String> {
    let json: Option<Value> = serde_json::from_str(text).ok();
    let creator = json.as_ref().and_then(|json| json.get("creator")?.get("library")?.as_str());
    if creator == Some(CREATOR) {
        return None;
    }
    let restored = || {
        let mut entries = by_name(text)?;
        let mut replaced = Vec::new();
        for (name, original) in names {
            let entry = entries.get_mut(*name).and_then(Iterator::next);
            replaced.extend(entry.zip(original.clone()));
        }
        splice(text, &replaced)
    };
    let restored = restored().unwrap_or_else(|| text.to_owned());
    Some(if drop_added { without_added(&restored).unwrap_or(restored) } else { restored })
}

type Entries<'t> = HashMap<String, std::vec::IntoIter<&'t str>>;

/// The text of each column's entry, by the name of its field.
fn by_name(text: &str) -> Option<Entries<'_>> {
    let mut entries: HashMap<String, Vec<&str>> = HashMap::new();
    for column in columns(text)? {
        let entry: Value = serde_json::from_str(column.get()).ok()?;
        // Old metadata has no field name.
        let name = entry.get("field_name").or_else(|| entry.get("name"))?;
        entries.entry(name.as_str().unwrap_or_default().to_owned()).or_default().push(column.get());
    }
    Some(entries.into_iter().map(|(name, entries)| (name, entries.into_iter())).collect())
}

/// The text of the list of entries.
fn list(text: &str) -> Option<&str> {
    let parts: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    parts.get("columns").map(|list| list.get())
}

fn columns(text: &str) -> Option<Vec<&RawValue>> {
    serde_json::from_str(list(text)?).ok()
}

/// An entry of the same name that says nothing of the type: readers in Python raise at a
/// true dtype where they find a column of nulls.
fn empty(entry: &str) -> String {
    let entry: Value = serde_json::from_str(entry).unwrap_or_default();
    let mut empty = json!({ "pandas_type": "empty", "numpy_type": "object", "metadata": null });
    // Old metadata has no field name, and with `null` for one the entry would not be found again.
    for key in ["name", "field_name"] {
        if let Some(part) = entry.get(key) {
            empty[key] = part.clone();
        }
    }
    empty.to_string()
}

/// The text with parts of it replaced.
fn splice(text: &str, replaced: &[(&str, String)]) -> Option<String> {
    let mut places = Vec::with_capacity(replaced.len());
    for (part, new) in replaced {
        places.push((offset(text, part)?, end_of(text, part)?, new));
    }
    places.sort_unstable();
    let mut spliced = String::with_capacity(text.len());
    let mut position = 0;
    for (start, end, new) in places {
        spliced.push_str(text.get(position..start)?);
        spliced.push_str(new);
        position = end;
    }
    spliced.push_str(text.get(position..)?);
    Some(spliced)
}

/// Where a part of the text starts in it.
fn offset(text: &str, part: &str) -> Option<usize> {
    (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)
}

fn end_of(text: &str, part: &str) -> Option<usize> {
    offset(text, part)?.checked_add(part.len())
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;

    const TEXT: &str = r#"{"index_columns": ["__index_level_0__"], "columns": [{"name": "a", "field_name": "a", "pandas_type": "categorical", "numpy_type": "int8", "metadata": {"num_categories": 3, "ordered": false}},  {"name": null,"field_name": "__index_level_0__", "pandas_type": "unicode", "numpy_type": "object", "metadata": null}, {"name": "a", "field_name": "a", "pandas_type": "int64", "numpy_type": "int64", "metadata": null}], "creator": {"library": "pyarrow", "version": "26.0.1"}, "pandas_version": "3.1.1"}"#;

    #[test]
    fn what_was_hidden_is_put_back_to_the_byte() {
        let (hidden, originals) =
            hide(TEXT, &[("a", true), ("__index_level_0__", true), ("a", false)]).unwrap();
        let json: Value = serde_json::from_str(&hidden).unwrap();
        assert_eq!(json["columns"][0]["pandas_type"], "empty");
        assert_eq!(json["columns"][1]["numpy_type"], "object");
        assert_eq!(json["columns"][1]["name"], Value::Null);
        assert_eq!(json["columns"][2]["numpy_type"], "int64");
        assert!(originals[0].as_ref().unwrap().contains("num_categories"));
        let names = [
            ("a", originals[0].clone()),
            ("__index_level_0__", originals[1].clone()),
            ("a", originals[2].clone()),
        ];
        assert_eq!(restore(&hidden, &names, true).as_deref(), Some(TEXT));
    }

    #[test]
    fn text_that_is_not_pandas_metadata_stays_as_it_is() {
        for text in ["", "{", "[]", "{}", r#"{"columns": 3}"#, r#"{"columns": [4]}"#] {
            assert!(hide(text, &[("a", true)]).is_none(), "{text}");
            assert_eq!(restore(text, &[("a", Some("{}".to_owned()))], true).as_deref(), Some(text));
        }
    }

    #[test]
    fn entries_that_are_missing_are_added_and_taken_away_again() {
        let field = |name: &str| Field::new(name, DataType::Int32, true);
        let fields = ["a", "b", "__index_level_0__", "a", "a"].map(field);
        let missing = || fields.iter().zip([false, true, false, false, true]);
        let empty = r#"{ "columns" :[ ] , "index_columns": []}"#;
        let spaced = r#"{"columns":[{"name":"b","field_name":"b"} ] }"#;
        for (text, count) in [(TEXT, 2), (empty, 5), (spaced, 4)] {
            let completed = complete(text, missing()).unwrap();
            assert_eq!(complete(&completed, missing()), None);
            let json: Value = serde_json::from_str(&completed).unwrap();
            let columns = json["columns"].as_array().unwrap();
            let added = columns.iter().filter(|entry| entry["creator"] == CREATOR);
            let added: Vec<_> = added.map(|e| (e["field_name"].clone(), e["numpy_type"].clone())).collect();
            assert_eq!(added.len(), count, "{completed}");
            assert_eq!(added[count - 1], ("a".into(), "object".into()));
            assert_eq!(added[count - 2].1, if count == 2 { "object" } else { "Int32" });
            let names = fields.iter().map(|field| (field.name().as_str(), None)).collect::<Vec<_>>();
            assert_eq!(restore(&completed, &names, false).as_ref(), Some(&completed));
            assert_eq!(restore(&completed, &names, true).as_deref(), Some(text));
        }
        assert_eq!(complete("{}", missing()), None);
    }
}
