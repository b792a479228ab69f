//! Whole dataframes: several batches, compressed ones, indexes and labels.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::*;
use arrow::datatypes::*;
use arrow_frames::pickle::{Forms, ZonedForm};
use arrow_frames::{Carriage, Compression, DataFrame, Encoder, Target};
use serde_json::Value;

use super::case::{Case, Column, PerVersion, Sent, Truth, VERSIONS, always, each, stream};
use super::{Error, values};

/// The rows of each batch.
const BATCHES: [Range<usize>; 3] = [0..5, 5..5, 5..9];

/// The table of these cases.
pub const SECTION: &str = "Several batches, compressed bodies";

/// The row of the dataframe that `sample` is.
pub const SEVERAL: &str = "several batches";

/// All of them.
pub fn all() -> Result<Vec<Case>, Error> {
    let (df, truth) = wide(&BATCHES)?;
    let mut cases = vec![
        encode(SEVERAL, "plain", plain(), &df, &truth)?,
        encode(SEVERAL, "LZ4", plain().with_compression(Compression::Lz4), &df, &truth)?,
        encode(SEVERAL, "ZSTD", plain().with_compression(Compression::Zstd(1)), &df, &truth)?,
    ];
    for (shape, batches) in [("some nulls", 0..9), ("empty", 3..3), ("one row", 6..7)] {
        let (df, truth) = wide(std::slice::from_ref(&batches))?;
        for (row, compression) in [("LZ4", Compression::Lz4), ("ZSTD", Compression::Zstd(1))] {
            let encoder = plain().with_compression(compression);
            cases.push(encode(&format!("compressed with {row}"), shape, encoder, &df, &truth)?);
        }
    }
    let (df, mut truth) = wide(std::slice::from_ref(&(3..3)))?;
    // Categories come with batches.
    for (_, categories, _) in truth.columns.iter_mut().filter_map(|column| column.categories.as_mut()) {
        categories.clear();
    }
    let without = DataFrame::try_new(df.schema().clone(), Vec::new())?;
    cases.push(encode("no batch", "encoded at once", plain(), &without, &truth)?);
    cases.push(streamed("no batch", "encoded in pieces", &without, truth)?);
    let (df, truth) = wide(&BATCHES)?;
    cases.push(streamed("several batches, encoded one by one", "plain", &df, truth)?);
    let (df, mut truth) = graded()?;
    cases.push(encode("ordered categories that continue each other", "plain", plain(), &df, &truth)?);
    // What the encoder has sent it cannot add to, and pandas does not join such by itself.
    truth.refused = VERSIONS.map(|_| Some("TypeError: to union ordered Categoricals".to_owned()));
    cases.push(streamed("such categories, encoded one by one", "plain", &df, truth)?);
    Ok(cases)
}

/// A dataframe of three batches, the second one without rows.
pub fn sample() -> Result<DataFrame, Error> {
    Ok(wide(&BATCHES)?.0)
}

/// The values of its columns by name; of those that travel as pickles there are none.
pub fn native_values() -> Result<BTreeMap<String, Option<Vec<Value>>>, Error> {
    let (df, truth) = wide(&BATCHES)?;
    let columns = df.schema().fields().iter().zip(truth.columns).map(|(field, column)| {
        let is_native = Target::Pandas.carriage(field) == Carriage::Native;
        (field.name().clone(), is_native.then_some(column.values))
    });
    Ok(columns.collect())
}

/// An encoder whose streams any version of pandas reads.
pub fn plain() -> Encoder {
    let forms = Forms { zoned: ZonedForm::AnyPandas, ..Forms::default() };
    Encoder::new(Target::Pandas).with_forms(forms)
}

fn encode(
    row: &str,
    detail: &str,
    mut encoder: Encoder,
    df: &DataFrame,
    truth: &Truth,
) -> Result<Case, Error> {
    Case::encode((SECTION, row, detail), &mut encoder, df, truth.clone())
}

/// A stream whose batches the encoder sees one after the other.
fn streamed(row: &str, detail: &str, df: &DataFrame, truth: Truth) -> Result<Case, Error> {
    let mut encoder = plain();
    let mut bytes = stream(&encoder.start(df.schema())?)?;
    for batch in df.clone().into_record_batches()? {
        bytes.extend(stream(&encoder.encode_batch(&batch)?)?);
    }
    bytes.extend(stream(&encoder.finish()?)?);
    Case::new((SECTION, row, detail), Sent::Stream(bytes), truth)
}

/// An ordered categorical, each batch of which has the categories of those before it and more.
fn graded() -> Result<(DataFrame, Truth), Error> {
    let grades = ["bad", "fair", "good", "best"];
    let batches =
        [(2, vec![Some(1), Some(0)]), (3, vec![None, Some(2)]), (3, vec![]), (4, vec![Some(0), Some(3)])];
    let data_type = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
    let field = Field::new("grade", data_type, true).with_dict_is_ordered(true);
    let schema: SchemaRef = Schema::new(vec![field]).into();
    let mut column = Column::new("grade", always("category"), &NullArray::new(0));
    let mut made = Vec::new();
    for (known, keys) in batches {
        let values: ArrayRef = Arc::new(StringArray::from(grades[..known].to_vec()));
        let array: ArrayRef = Arc::new(DictionaryArray::new(Int8Array::from(keys), values));
        column.values.extend(values::of(&array));
        made.push(RecordBatch::try_new(schema.clone(), vec![array])?);
    }
    let categories = grades.map(|grade| values::tagged("s", grade)).into();
    column.categories = Some((each(["object", "object", "str"]), categories, true));
    Ok((DataFrame::try_from_batches(schema, made)?, Truth::of(column)))
}

/// A column of many kinds, cut into batches. Each batch has a dictionary of its own.
fn wide(batches: &[Range<usize>]) -> Result<(DataFrame, Truth), Error> {
    let rows = |batch: &Range<usize>| batch.clone().map(|n| n as i64);
    let is_there = |n: i64| n % 4 != 2;
    let words = ["lo", "mid", "", "hi", "Zürich", "a\0b", "日本語", "x", "more than the twelve bytes"];
    let all: ArrayRef = Arc::new(StringArray::from(words.to_vec()));
    let arrays_of = |batch: &Range<usize>| -> Vec<ArrayRef> {
        let some = |n: i64| is_there(n).then_some(n);
        let text = || batch.clone().map(|n| is_there(n as i64).then_some(words[n]));
        let moments = || rows(batch).map(|n| is_there(n).then_some(1_700_000_000 + n * 1_000_000));
        vec![
            Arc::new(Int64Array::from_iter_values(rows(batch).map(|n| n + (1 << 60)))),
            Arc::new(Int64Array::from_iter(rows(batch).map(|n| some(n + (1 << 60))))),
            Arc::new(BooleanArray::from_iter(rows(batch).map(|n| some(n).map(|n| n % 3 == 0)))),
            Arc::new(Float64Array::from_iter(
                rows(batch).map(|n| some(n).map(|n| if n == 3 { f64::NAN } else { -0.5 * n as f64 })),
            )),
            Arc::new(TimestampMicrosecondArray::from_iter(moments())),
            Arc::new(TimestampNanosecondArray::from_iter(moments()).with_timezone("Europe/Paris")),
            Arc::new(TimestampSecondArray::from_iter(moments()).with_timezone("+05:30")),
            Arc::new(StringArray::from_iter(text())),
            Arc::new(StringViewArray::from_iter(text())),
            Arc::new(text().collect::<DictionaryArray<Int8Type>>()),
            Arc::new(DictionaryArray::<Int8Type>::new(
                rows(batch).map(|n| some(n).map(|n| n as i8)).collect(),
                all.clone(),
            )),
            Arc::new(Date32Array::from_iter(rows(batch).map(some).map(|n| n.map(|n| n as i32 * 1_000)))),
            Arc::new(BinaryArray::from_iter(text().map(|text| text.map(str::as_bytes)))),
        ]
    };
    let fields = vec![
        Field::new("int64", DataType::Int64, false),
        Field::new("nullable", DataType::Int64, true),
        Field::new("boolean", DataType::Boolean, true),
        Field::new("float", DataType::Float64, true),
        Field::new("naive", DataType::Timestamp(TimeUnit::Microsecond, None), true),
        Field::new("Paris", DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Paris".into())), true),
        Field::new("offset", DataType::Timestamp(TimeUnit::Second, Some("+05:30".into())), true),
        Field::new("utf8", DataType::Utf8, true),
        Field::new("view", DataType::Utf8View, true),
        Field::new("category", DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into()), true),
        Field::new("ordered", DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into()), true)
            .with_dict_is_ordered(true),
        Field::new("date32", DataType::Date32, true),
        Field::new("binary", DataType::Binary, true),
    ];
    let dtypes: [PerVersion<String>; 13] = [
        always("int64"),
        always("Int64"),
        always("boolean"),
        always("Float64"),
        each(["datetime64[ns]", "datetime64[us]", "datetime64[us]"]),
        always("datetime64[ns, Europe/Paris]"),
        each(["datetime64[ns, UTC+05:30]", "datetime64[s, UTC+05:30]", "datetime64[s, UTC+05:30]"]),
        each(["object", "object", "str"]),
        each(["object", "object", "str"]),
        always("category"),
        always("category"),
        each(["object", "date32[day][pyarrow]", "date32[day][pyarrow]"]),
        each(["object", "binary[pyarrow]", "binary[pyarrow]"]),
    ];
    let arrays: Vec<Vec<ArrayRef>> = batches.iter().map(arrays_of).collect();
    let columns = fields.iter().zip(dtypes).enumerate().map(|(number, (field, dtype))| {
        let mut column = Column::new(field.name(), dtype, &NullArray::new(0));
        column.values = arrays.iter().flat_map(|arrays| values::of(&arrays[number])).collect();
        column.has_nulls = column.values.contains(&Value::Null);
        if field.dict_is_ordered() == Some(true) {
            column.categories = Some((each(["object", "object", "str"]), values::of(&all), true));
        } else if let DataType::Dictionary(..) = field.data_type() {
            // Those of the first batch, then those that come with each one.
            let mut categories: Vec<Value> = Vec::new();
            for value in column.values.iter().filter(|value| !value.is_null()) {
                if !categories.contains(value) {
                    categories.push(value.clone());
                }
            }
            column.categories = Some((each(["object", "object", "str"]), categories, false));
        }
        column
    });
    let truth = Truth { columns: columns.collect(), ..Truth::default() };
    let schema: SchemaRef = Schema::new(fields).into();
    let batches = arrays.into_iter().map(|arrays| RecordBatch::try_new(schema.clone(), arrays));
    Ok((DataFrame::try_from_batches(schema.clone(), batches.collect::<Result<_, _>>()?)?, truth))
}
