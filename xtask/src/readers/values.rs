//! Comparing what was found with what is true.

use serde_json::Value;

use super::inputs::Truth;

/// The first difference.
pub fn compare(truth: &Truth, names: &[&str], rows: u64, values: &str) -> Result<(), String> {
    let expected: Vec<&str> = truth.schema.fields().iter().map(|field| field.name().as_str()).collect();
    if expected != names {
        return Err(format!("columns {expected:?} as {names:?}"));
    }
    if rows != truth.rows as u64 {
        return Err(format!("{} rows as {rows}", truth.rows));
    }
    // Equal text is equal values, and parsing it takes longer than everything else.
    if values == truth.values {
        return Ok(());
    }
    let parse = |text: &str| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
    first_difference(&parse(&truth.values)?, &parse(values)?)
}

fn first_difference(expected: &Value, found: &Value) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    if let (Value::Array(expected), Value::Array(found)) = (expected, found)
        && expected.len() == found.len()
    {
        return expected
            .iter()
            .zip(found)
            .try_for_each(|(expected, found)| first_difference(expected, found));
    }
    Err(format!("{} as {}", shown(expected), shown(found)))
}

/// A value that fits a line.
fn shown(value: &Value) -> String {
    const MOST: usize = 40;
    let text = value.to_string();
    if text.chars().count() <= MOST { text } else { text.chars().take(MOST).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_difference_is_named() {
        let expected = json!([["1", null], ["a", ["b"]]]);
        assert_eq!(first_difference(&expected, &expected), Ok(()));
        let found = json!([["1", null], ["a", ["c"]]]);
        assert_eq!(first_difference(&expected, &found), Err(r#""b" as "c""#.to_owned()));
        assert_eq!(first_difference(&json!([null]), &json!(["0"])), Err(r#"null as "0""#.to_owned()));
        assert_eq!(first_difference(&json!([]), &json!(["0"])), Err(r#"[] as ["0"]"#.to_owned()));
    }
}
