//! Indexes of rows and labels of columns.

use std::num::NonZeroI64;
use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::*;
use arrow_frames::pickle::{self, Forms};
use arrow_frames::{Encoder, Target};
use serde_json::{Value, json};

use super::case::{Case, Column, Index, Level, PerVersion, Sent, Truth, VERSIONS, always, each};
use super::{Error, values};

const SECTION: &str = "Indexes and labels";
const PICKLED: &str = "Indexes, pickled";

/// All of them.
pub fn all() -> Result<Vec<Case>, Error> {
    let mut cases = by_metadata()?;
    cases.extend(labels()?);
    cases.push(undescribed()?);
    cases.extend(pickled()?);
    Ok(cases)
}

/// The index is what pandas' metadata says.
fn by_metadata() -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    for Key { name, array, class, dtype, numpy_type } in keys() {
        for index_name in [Some("id"), None] {
            let field = index_name.unwrap_or("__index_level_0__");
            let index = Index {
                class: class.clone(),
                levels: vec![Level { name: index_name, dtype: dtype.clone(), values: values::of(&array) }],
            };
            let entries = [entry(Some("a"), "a", "int64"), entry(index_name, field, numpy_type)];
            let metadata = metadata(json!([field]), &entries, json!([]));
            let columns: Vec<(&str, ArrayRef)> = vec![("a", numbers()), (field, array.clone())];
            let row = format!("index of {name}");
            let detail = if index_name.is_some() { "named" } else { "without a name" };
            cases.push(case(&row, detail, columns, Some(metadata), Truth { index: Some(index), ..a() })?);
        }
    }
    let index = |name| {
        let dtype = always("int64");
        let values = vec![json!(10), json!(12), json!(14), json!(16)];
        Index { class: always("RangeIndex"), levels: vec![Level { name, dtype, values }] }
    };
    for name in [Some("row"), None] {
        let range = json!({"kind": "range", "name": name, "start": 10, "stop": 18, "step": 2});
        let metadata = metadata(json!([range]), &[entry(Some("a"), "a", "int64")], json!([]));
        let detail = if name.is_some() { "named" } else { "without a name" };
        let truth = Truth { index: Some(index(name)), ..a() };
        cases.push(case("RangeIndex", detail, vec![("a", numbers())], Some(metadata), truth)?);
    }
    let levels =
        keys().into_iter().filter(|key| ["int64", "utf8", "timestamp[ns] in UTC"].contains(&key.name));
    let levels: Vec<Key> = levels.collect();
    let fields = ["int", "__index_level_1__", "when"];
    let names = [Some("int"), None, Some("when")];
    let mut entries = vec![entry(Some("a"), "a", "int64")];
    let mut columns: Vec<(&str, ArrayRef)> = vec![("a", numbers())];
    for ((key, field), name) in levels.iter().zip(fields).zip(names) {
        entries.push(entry(name, field, key.numpy_type));
        columns.push((field, key.array.clone()));
    }
    let levels = levels.iter().zip(names).map(|(key, name)| Level {
        name,
        dtype: key.dtype.clone(),
        values: values::of(&key.array),
    });
    let index = Index { class: always("MultiIndex"), levels: levels.collect() };
    let metadata = metadata(json!(fields), &entries, json!([]));
    cases.push(case(
        "MultiIndex",
        "of three levels",
        columns,
        Some(metadata),
        Truth { index: Some(index), ..a() },
    )?);
    Ok(cases)
}

/// Columns that somebody added to a dataframe whose metadata does not know of them.
fn undescribed() -> Result<Case, Error> {
    let words: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "", "ü"]));
    let missing: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some((1 << 53) + 1), None]));
    let metadata = metadata(json!([]), &[entry(Some("a"), "a", "int64")], json!([]));
    let columns = vec![("b", missing.clone()), ("a", numbers()), ("c", words.clone())];
    let nullable = Column { writeable: false, ..Column::new("b", always("Int64"), &missing) };
    let text = Column::new("c", each(["object", "object", "str"]), &words);
    let truth = Truth { columns: vec![nullable, numbered("a"), text], ..Truth::default() };
    case("columns without an entry in the metadata", "two of three", columns, Some(metadata), truth)
}

/// Labels that are not text, or not one of each.
fn labels() -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    let column = |label: Value| Column { label, ..numbered("") };

    let entries = [entry(Some("7"), "7", "int64"), entry(Some("-1"), "-1", "int64")];
    let int64 = json!([{"name": null, "field_name": null, "pandas_type": "int64", "numpy_type": "int64", "metadata": null}]);
    let labels = Level { name: None, dtype: always("int64"), values: vec![json!(7), json!(-1)] };
    let truth = Truth {
        columns: vec![column(json!(7)), column(json!(-1))],
        labels: Some(Index { class: each(["Int64Index", "Index", "Index"]), levels: vec![labels] }),
        ..Truth::default()
    };
    let columns = vec![("7", numbers()), ("-1", numbers())];
    cases.push(case(
        "integer labels",
        "7 and -1",
        columns,
        Some(metadata(json!([]), &entries, int64)),
        truth,
    )?);

    let names = ["('a', 'x')", "('a', 'y')"];
    let level = |name: &str| json!({"name": name, "field_name": name, "pandas_type": "unicode", "numpy_type": "object", "metadata": {"encoding": "UTF-8"}});
    let entries = names.map(|name| entry(Some(name), name, "int64"));
    let text = each(["object", "object", "str"]);
    let levels = vec![
        Level { name: Some("top"), dtype: text.clone(), values: vec!["s:a".into(), "s:a".into()] },
        Level { name: Some("low"), dtype: text.clone(), values: vec!["s:x".into(), "s:y".into()] },
    ];
    let truth = Truth {
        columns: names.map(|name| column(name.into())).into(),
        labels: Some(Index { class: always("MultiIndex"), levels }),
        ..Truth::default()
    };
    let metadata = metadata(json!([]), &entries, json!([level("top"), level("low")]));
    let columns = names.map(|name| (name, numbers())).into();
    cases.push(case("labels of two levels", "two columns", columns, Some(metadata), truth)?);

    let words: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "", "ü"]));
    let twice = vec![
        ("a", numbers()),
        ("a", words.clone()),
        ("", numbers()),
        ("ü\0", words.clone()),
        ("a", words.clone()),
    ];
    let dtypes = twice.iter().map(|(name, array)| match array.data_type() {
        DataType::Int64 => Column { writeable: false, ..Column::new(name, always("Int64"), array) },
        _ => Column::new(name, text.clone(), array),
    });
    let truth = Truth { columns: dtypes.collect(), ..Truth::default() };
    cases.push(case(
        "labels that are empty, not ASCII or there three times",
        "five columns",
        twice,
        None,
        truth,
    )?);
    Ok(cases)
}

/// Indexes that the functions of `pickle` make.
fn pickled() -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    for Key { name, array, class, dtype, .. } in keys() {
        for index_name in [Some("id"), None] {
            let field = Field::new("x", array.data_type().clone(), false);
            let buffers = pickle::index(&array, &field, Forms::default(), index_name)?;
            let level = Level { name: index_name, dtype: dtype.clone(), values: values::of(&array) };
            let index = Index { class: class.clone(), levels: vec![level] };
            let truth = Truth { index: Some(index), ..Truth::default() };
            let detail = if index_name.is_some() { "named" } else { "without a name" };
            cases.push(Case::new(
                (PICKLED, &format!("Index of {name}"), detail),
                Sent::Pickle(buffers),
                truth,
            )?);
        }
    }
    for (start, stop, step, name) in [(0, 4, 1, None), (10, -2, -3, Some("row")), (5, 5, 1, Some(""))] {
        let values = (0..4).map(|n| start + n * step).take_while(|value| (stop - value) * step > 0);
        let level = Level { name, dtype: always("int64"), values: values.map(Value::from).collect() };
        let index = Index { class: always("RangeIndex"), levels: vec![level] };
        let truth = Truth { index: Some(index), ..Truth::default() };
        let nonzero = NonZeroI64::new(step).ok_or("a step of 0")?;
        let sent = Sent::Pickle(pickle::range_index(start, stop, nonzero, name));
        cases.push(Case::new((PICKLED, "RangeIndex", &format!("{start} to {stop} by {step}")), sent, truth)?);
    }
    let levels: Vec<Key> = keys()
        .into_iter()
        .filter(|key| ["int64", "utf8", "timestamp[ns] in UTC"].contains(&key.name))
        .collect();
    let codes: [Vec<i8>; 3] = [vec![0, 1, 3, 3, 2], vec![0, 0, 1, -1, 1], vec![3, 2, 1, 0, 0]];
    let key = |code: &i8| (*code >= 0).then_some(*code);
    let arrays: Vec<DictionaryArray<Int8Type>> = levels
        .iter()
        .zip(&codes)
        .map(|(level, codes)| DictionaryArray::new(codes.iter().map(key).collect(), level.array.clone()))
        .collect();
    let fields: Vec<Field> =
        arrays.iter().map(|array| Field::new("x", array.data_type().clone(), true)).collect();
    let names = [Some("int"), None, Some("when")];
    let pairs: Vec<(&dyn Array, &Field)> =
        arrays.iter().zip(&fields).map(|(array, field)| (array as &dyn Array, field)).collect();
    let buffers = pickle::multi_index(&pairs, Forms::default(), &names)?;
    let levels = levels.iter().zip(&codes).zip(names).map(|((key, codes), name)| {
        let all = values::of(&key.array);
        let value = |code: &i8| usize::try_from(*code).map_or(Value::Null, |code| all[code].clone());
        Level { name, dtype: key.dtype.clone(), values: codes.iter().map(value).collect() }
    });
    let index = Index { class: always("MultiIndex"), levels: levels.collect() };
    let truth = Truth { index: Some(index), ..Truth::default() };
    cases.push(Case::new((PICKLED, "MultiIndex", "of three levels"), Sent::Pickle(buffers), truth)?);
    Ok(cases)
}

/// Values that an index can have.
struct Key {
    name: &'static str,
    array: ArrayRef,
    class: PerVersion<String>,
    dtype: PerVersion<String>,
    /// As pandas' metadata says it.
    numpy_type: &'static str,
}

fn keys() -> Vec<Key> {
    let zoned =
        TimestampNanosecondArray::from(vec![0, 5, 1_700_000_000_000_000_000, -1]).with_timezone("UTC");
    let categories: DictionaryArray<Int8Type> = ["lo", "hi", "lo", "mid"].into_iter().collect();
    let key = |name, array, class: [&str; 3], dtype, numpy_type| Key {
        name,
        array,
        class: each(class),
        dtype,
        numpy_type,
    };
    let index = ["Index"; 3];
    vec![
        key(
            "int64",
            Arc::new(Int64Array::from(vec![7, -1, i64::MAX, 0])),
            ["Int64Index", "Index", "Index"],
            always("int64"),
            "int64",
        ),
        key(
            "uint8",
            Arc::new(UInt8Array::from(vec![7, 1, 255, 0])),
            ["UInt64Index", "Index", "Index"],
            each(["uint64", "uint8", "uint8"]),
            "uint8",
        ),
        key(
            "float64",
            Arc::new(Float64Array::from(vec![0.5, -0.0, f64::NAN, 1e300])),
            ["Float64Index", "Index", "Index"],
            always("float64"),
            "float64",
        ),
        key(
            "timestamp[us]",
            Arc::new(TimestampMicrosecondArray::from(vec![7, -1, 0, 86_400])),
            ["DatetimeIndex"; 3],
            each(["datetime64[ns]", "datetime64[us]", "datetime64[us]"]),
            "datetime64[us]",
        ),
        key(
            "duration[ns]",
            Arc::new(DurationNanosecondArray::from(vec![7, -1, 0, 86_400])),
            ["TimedeltaIndex"; 3],
            always("timedelta64[ns]"),
            "timedelta64[ns]",
        ),
        key(
            "timestamp[ns] in UTC",
            Arc::new(zoned),
            ["DatetimeIndex"; 3],
            always("datetime64[ns, UTC]"),
            "datetime64[ns, UTC]",
        ),
        key(
            "utf8",
            Arc::new(StringArray::from(vec!["b", "", "ü", "a\0b"])),
            index,
            each(["object", "object", "str"]),
            "object",
        ),
        key("dictionary", Arc::new(categories), ["CategoricalIndex"; 3], always("category"), "int8"),
    ]
}

fn numbers() -> ArrayRef {
    Arc::new(Int64Array::from(vec![1, 2, 3, 4]))
}

/// The dataframe of the column "a".
fn a() -> Truth {
    Truth::of(numbered("a"))
}

/// A column of `numbers` of that label, which pandas' metadata calls int64.
fn numbered(label: &str) -> Column {
    let shared = VERSIONS.map(|_| vec!["values"]);
    Column { shared, writeable: false, ..Column::new(label, always("int64"), &numbers()) }
}

fn case(
    row: &str,
    detail: &str,
    columns: Vec<(&str, ArrayRef)>,
    metadata: Option<String>,
    truth: Truth,
) -> Result<Case, Error> {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let metadata = metadata.map(|text| ("pandas".to_owned(), text));
    let schema =
        Schema::new_with_metadata(fields, metadata.into_iter().collect::<std::collections::HashMap<_, _>>());
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let df = RecordBatch::try_new(schema.into(), arrays)?.into();
    Case::encode((SECTION, row, detail), &mut Encoder::new(Target::Pandas), &df, truth)
}

/// pandas' metadata, as pyarrow writes it.
fn metadata(index_columns: Value, columns: &[Value], column_indexes: Value) -> String {
    json!({
        "index_columns": index_columns,
        "column_indexes": column_indexes,
        "columns": columns,
        "creator": {"library": "pyarrow", "version": "26.0.1"},
        "pandas_version": "3.1.1",
    })
    .to_string()
}

fn entry(name: Option<&str>, field: &str, numpy_type: &str) -> Value {
    json!({"name": name, "field_name": field, "pandas_type": "?", "numpy_type": numpy_type, "metadata": null})
}
