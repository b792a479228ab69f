//! Categoricals: every type of categories, every width of keys, ordered or not.

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, TimeUnit};
use arrow_frames::pickle::{Forms, TextForm, ZonedForm};

use super::super::case::{PerVersion, always, each};
use super::super::kind::{ALL, Kind, with_nulls};
use super::{Error, WORDS, counted};

const SECTION: &str = "Categoricals";

const KEYS: [DataType; 8] = [
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
];

pub fn all() -> Result<Vec<Vec<Kind>>, Error> {
    let mut groups = Vec::new();
    for categories in categories()? {
        // pandas chooses int8 for so few categories, and makes it of any other width.
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for key in KEYS {
            for is_ordered in [false, true] {
                let is_own = key == DataType::Int8;
                let row = format!("{}, {} keys", categories.name, if is_own { "int8" } else { "other" });
                let sample = dictionary(&key, &[3, 0, 5, 1, 8, 2, 2, 7, 4, 0], &categories.values)?;
                let kind =
                    kind(row, &key, sample, is_ordered, categories.dtype.clone()).forms(categories.forms);
                match is_own {
                    true => own.push(kind.shared(ALL, "codes")),
                    false => others.push(kind),
                }
            }
        }
        groups.extend([own, others]);
    }
    groups.extend(widths()?.into_iter().map(|kind| vec![kind]));
    groups.push(without_categories()?);
    Ok(groups)
}

/// As many categories as fit each width that pandas chooses among, and one more.
fn widths() -> Result<Vec<Kind>, Error> {
    let mut kinds = Vec::new();
    for (count, own) in
        [(126, DataType::Int8), (127, DataType::Int16), (32_766, DataType::Int16), (32_767, DataType::Int32)]
    {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
        for key in [DataType::Int8, DataType::Int16, DataType::Int32] {
            if key == DataType::Int8 && count > 127 {
                continue;
            }
            let sample = dictionary(&key, &[0, 1, count - 1, 2, 3, 4, count - 2, 5, 6], &values)?;
            let row = format!("{count} int64 categories, {} keys", key.to_string().to_lowercase());
            let shapes =
                vec![("no nulls", sample.clone()), ("some nulls", with_nulls(&sample, |row| row % 3 == 1)?)];
            let kind = kind(row, &key, sample, false, always("int64")).only(shapes);
            kinds.push(if key == own { kind.shared(ALL, "codes") } else { kind });
        }
    }
    Ok(kinds)
}

fn without_categories() -> Result<Vec<Kind>, Error> {
    let mut kinds = Vec::new();
    for key in KEYS {
        let data_type = DataType::Dictionary(key.clone().into(), DataType::Utf8.into());
        let nulls = new_null_array(&data_type, 5);
        let shapes =
            vec![("all null", nulls.clone()), ("empty", nulls.slice(0, 0)), ("one row", nulls.slice(2, 1))];
        let dtype = each(["object", "object", "str"]);
        kinds.push(kind("no categories".to_owned(), &key, nulls, false, dtype).only(shapes));
    }
    Ok(kinds)
}

fn kind(row: String, key: &DataType, sample: ArrayRef, is_ordered: bool, dtype: PerVersion<String>) -> Kind {
    let name = format!("{key}{}", if is_ordered { ", ordered" } else { "" });
    let field = Field::new(name, sample.data_type().clone(), true).with_dict_is_ordered(is_ordered);
    Kind::new(SECTION, row, sample, always("category")).field(field).categories(dtype)
}

fn dictionary(key: &DataType, keys: &[i64], values: &ArrayRef) -> Result<ArrayRef, Error> {
    let data_type = DataType::Dictionary(key.clone().into(), values.data_type().clone().into());
    // Of few categories each is used more often.
    let keys = keys.iter().map(|key| key % values.len() as i64);
    let keys = cast(&Int64Array::from_iter_values(keys), key)?;
    let data = ArrayData::builder(data_type).len(keys.len()).add_buffer(keys.to_data().buffers()[0].clone());
    Ok(make_array(data.add_child_data(values.to_data()).build()?))
}

struct Categories {
    name: String,
    values: ArrayRef,
    /// The dtype of the index that they are. That of pandas before 2 has 64 bits if it is of
    /// numbers, and nanoseconds if it is of moments.
    dtype: PerVersion<String>,
    forms: Forms,
}

fn categories() -> Result<Vec<Categories>, Error> {
    let mut all = text();
    all.extend(numbers()?);
    all.extend(moments()?);
    all.extend(objects()?);
    Ok(all)
}

fn text() -> Vec<Categories> {
    let words = || WORDS[..9].iter();
    let utf8: ArrayRef = Arc::new(StringArray::from_iter_values(words()));
    let large: ArrayRef = Arc::new(LargeStringArray::from_iter_values(words()));
    let views: ArrayRef = Arc::new(StringViewArray::from_iter_values(words()));
    let default = || each(["object", "object", "str"]);
    let cases = [
        ("utf8", &utf8, default(), TextForm::Default),
        ("large utf8", &large, default(), TextForm::Default),
        ("utf8 view", &views, default(), TextForm::Default),
        ("utf8 as object", &utf8, always("object"), TextForm::Object),
        ("utf8 as string[python]", &utf8, always("string[python]"), TextForm::StringPython),
        ("utf8 as string[pyarrow]", &utf8, always("string[pyarrow]"), TextForm::StringPyarrow),
    ];
    let categories = cases.into_iter().map(|(name, values, dtype, text)| Categories {
        forms: Forms { text, ..Forms::default() },
        ..Categories::new(name, values.clone(), dtype)
    });
    categories.collect()
}

fn numbers() -> Result<Vec<Categories>, Error> {
    let mut all = Vec::new();
    for (name, before_2) in [
        ("int8", "int64"),
        ("int16", "int64"),
        ("int32", "int64"),
        ("int64", "int64"),
        ("uint8", "uint64"),
        ("uint16", "uint64"),
        ("uint32", "uint64"),
        ("uint64", "uint64"),
        ("float32", "float64"),
        ("float64", "float64"),
    ] {
        let data_type: DataType = match name {
            "float32" => DataType::Float32,
            "float64" => DataType::Float64,
            integer => integer.replace("uint", "UInt").replace("int", "Int").parse()?,
        };
        let above = if name.starts_with('u') { 7 } else { 0 };
        let values = cast(&Int64Array::from_iter_values(SOME.map(|number| number + above)), &data_type)?;
        all.push(Categories::new(name, values, each([before_2, name, name])));
    }
    all.push(Categories::new("bool", Arc::new(BooleanArray::from(vec![true, false])), always("bool")));
    Ok(all)
}

fn moments() -> Result<Vec<Categories>, Error> {
    let mut all = Vec::new();
    for (unit, name) in [(TimeUnit::Nanosecond, "ns"), (TimeUnit::Second, "s")] {
        let zone = Some("Europe/Paris".into());
        for (arrow, before_2, own, data_type) in [
            ("timestamp[U]", "datetime64[ns]", "datetime64[U]", DataType::Timestamp(unit, None)),
            ("duration[U]", "timedelta64[ns]", "timedelta64[U]", DataType::Duration(unit)),
            (
                "timestamp[U] in Europe/Paris",
                "datetime64[ns, Europe/Paris]",
                "datetime64[U, Europe/Paris]",
                DataType::Timestamp(unit, zone),
            ),
        ] {
            let own = own.replace('U', name);
            let values = counted(&SOME, &data_type)?;
            let categories = Categories::new(&arrow.replace('U', name), values, each([before_2, &own, &own]));
            let forms = Forms { zoned: ZonedForm::AnyPandas, ..Forms::default() };
            all.push(Categories { forms, ..categories });
        }
    }
    Ok(all)
}

fn objects() -> Result<Vec<Categories>, Error> {
    let days = [0, 1, -1, 18_262, 5, 6, 7, -719_162, 2_932_896];
    let seconds = [0, 1, 86_399, 3_600, 60, 61, 7, 8, 9];
    let decimals = Decimal128Array::from_iter_values(SOME.map(i128::from)).with_precision_and_scale(12, 2)?;
    let binary = BinaryArray::from_iter_values(WORDS[..9].iter().map(|word| word.as_bytes()));
    let fixed = FixedSizeBinaryArray::try_from_iter(SOME.iter().map(|number: &i64| number.to_be_bytes()))?;
    let all: [(&str, ArrayRef); 5] = [
        ("date32", counted(&days, &DataType::Date32)?),
        ("time32[s]", counted(&seconds, &DataType::Time32(TimeUnit::Second))?),
        ("decimal128", Arc::new(decimals)),
        ("binary", Arc::new(binary)),
        ("fixed-size binary", Arc::new(fixed)),
    ];
    Ok(all.map(|(name, values)| Categories::new(name, values, always("object"))).into())
}

const SOME: [i64; 9] = [5, 1, 0, -7, 100, 2, 3, 4, 90];

impl Categories {
    fn new(name: &str, values: ArrayRef, dtype: PerVersion<String>) -> Categories {
        Categories { name: name.to_owned(), values, dtype, forms: Forms::default() }
    }
}
