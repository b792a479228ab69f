//! Replaces the entries of columns in the metadata's own text, so that what is put back
//! later is the same to the byte.

use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::CREATOR;

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

/// The metadata with what it said of these columns put back. `None` if this crate made
/// it: then there was none.
pub(crate) fn restore(text: &str, names: &[(&str, Option<String>)]) -> Option<String> {
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
    Some(restored().unwrap_or_else(|| text.to_owned()))
}

type Entries<'t> = HashMap<String, std::vec::IntoIter<&'t str>>;

/// The text of each column's entry, by the name of its field.
fn by_name(text: &str) -> Option<Entries<'_>> {
    let parts: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
    let columns: Vec<&RawValue> = serde_json::from_str(parts.get("columns")?.get()).ok()?;
    let mut entries: HashMap<String, Vec<&str>> = HashMap::new();
    for column in columns {
        let entry: Value = serde_json::from_str(column.get()).ok()?;
        // Old metadata has no field name.
        let name = entry.get("field_name").or_else(|| entry.get("name"))?;
        entries.entry(name.as_str().unwrap_or_default().to_owned()).or_default().push(column.get());
    }
    Some(entries.into_iter().map(|(name, entries)| (name, entries.into_iter())).collect())
}

/// An entry of the same name that says nothing of the type: readers in Python raise at a
/// true dtype where they find a column of nulls.
fn empty(entry: &str) -> String {
    let entry: Value = serde_json::from_str(entry).unwrap_or_default();
    let part = |key| entry.get(key).cloned().unwrap_or_default();
    json!({
        "name": part("name"),
        "field_name": part("field_name"),
        "pandas_type": "empty",
        "numpy_type": "object",
        "metadata": null,
    })
    .to_string()
}

/// The text with parts of it replaced.
fn splice(text: &str, replaced: &[(&str, String)]) -> Option<String> {
    let mut places = Vec::with_capacity(replaced.len());
    for (part, new) in replaced {
        let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
        places.push((start, start.checked_add(part.len())?, new));
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

#[cfg(test)]
mod tests {
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
        assert_eq!(restore(&hidden, &names).as_deref(), Some(TEXT));
    }

    #[test]
    fn text_that_is_not_pandas_metadata_stays_as_it_is() {
        for text in ["", "{", "[]", "{}", r#"{"columns": 3}"#, r#"{"columns": [4]}"#] {
            assert!(hide(text, &[("a", true)]).is_none(), "{text}");
            assert_eq!(restore(text, &[("a", Some("{}".to_owned()))]).as_deref(), Some(text));
        }
    }
}
