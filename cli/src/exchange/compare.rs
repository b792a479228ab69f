//! Compares two dataframes value for value, and says what differs first.

use std::fmt;

use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_frames::{Batch, Column, DataFrame, OpaqueColumn};
use arrow_schema::{DataType, Field};

use crate::text;
use crate::utc::utc;

/// The first difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The column that differs; `None` if it is the dataframe as a whole.
    column: Option<String>,
    /// The row of the dataframe.
    row: Option<usize>,
    what: String,
}

/// What of the dataframes is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All.
    All,
    /// All but the metadata of messages, which arrow-ipc does not hand out.
    WithoutMessages,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(column) = &self.column {
            write!(f, "column {column:?}")?;
            if let Some(row) = self.row {
                write!(f, ", row {}", text::count(row))?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.what)
    }
}

/// The first difference between what a dataframe should be and what it is.
///
/// Values are compared by their bits, so NaN equals itself and 0.0 is not −0.0; dictionary
/// and run-end columns by what they show. Batches must be the same too.
pub fn difference(expected: &DataFrame, found: &DataFrame, scope: Scope) -> Option<Difference> {
    schemas(expected, found).or_else(|| {
        if scope == Scope::All && expected.message_metadata() != found.message_metadata() {
            return Some(whole("the metadata of the schema's message differs"));
        }
        let (left, right) = (expected.batches(), found.batches());
        if left.len() != right.len() {
            return Some(whole(format_args!("{} batches became {}", left.len(), right.len())));
        }
        let mut row = 0;
        left.iter().zip(right).enumerate().find_map(|(index, (left, right))| {
            let difference = batches(expected, index, row, left, right, scope);
            row += left.num_rows();
            difference
        })
    })
}

fn schemas(expected: &DataFrame, found: &DataFrame) -> Option<Difference> {
    let (left, right) = (expected.schema(), found.schema());
    if left.fields().len() != right.fields().len() {
        let (left, right) = (left.fields().len(), right.fields().len());
        return Some(whole(format_args!("{left} columns became {right}")));
    }
    let fields = left.fields().iter().zip(right.fields());
    fields.into_iter().find_map(|(left, right)| fields_differ(left, right)).or_else(|| {
        (left.metadata() != right.metadata()).then(|| whole("the metadata of the schema differs"))
    })
}

fn fields_differ(left: &Field, right: &Field) -> Option<Difference> {
    let what = if left.name() != right.name() {
        format!("its name became {:?}", right.name())
    } else if left.data_type() != right.data_type() {
        format!("its type {} became {}", left.data_type(), right.data_type())
    } else if left.is_nullable() != right.is_nullable() {
        format!("its nullability became {}", right.is_nullable())
    } else if left.metadata() != right.metadata() {
        "its metadata differs".to_owned()
    } else if !same_order_flags(left, right) {
        // `Field ==` does not look at this flag.
        "the ordered flag of its dictionary differs".to_owned()
    } else {
        return None;
    };
    Some(Difference { column: Some(left.name().clone()), row: None, what })
}

/// Whether two fields of one type agree on which of their dictionaries are ordered.
fn same_order_flags(left: &Field, right: &Field) -> bool {
    left.dict_is_ordered() == right.dict_is_ordered()
        && same_order_flags_inside(left.data_type(), right.data_type())
}

fn same_order_flags_inside(left: &DataType, right: &DataType) -> bool {
    use DataType::*;
    match (left, right) {
        (List(left), List(right))
        | (LargeList(left), LargeList(right))
        | (ListView(left), ListView(right))
        | (LargeListView(left), LargeListView(right))
        | (FixedSizeList(left, _), FixedSizeList(right, _))
        | (Map(left, _), Map(right, _))
        | (RunEndEncoded(_, left), RunEndEncoded(_, right)) => same_order_flags(left, right),
        (Struct(left), Struct(right)) => left.iter().zip(right).all(|(l, r)| same_order_flags(l, r)),
        (Union(left, _), Union(right, _)) => {
            left.iter().zip(right.iter()).all(|((_, l), (_, r))| same_order_flags(l, r))
        }
        (Dictionary(_, left), Dictionary(_, right)) => same_order_flags_inside(left, right),
        _ => true,
    }
}

fn batches(
    df: &DataFrame,
    index: usize,
    first_row: usize,
    left: &Batch,
    right: &Batch,
    scope: Scope,
) -> Option<Difference> {
    if left.num_rows() != right.num_rows() {
        let (left, right) = (text::count(left.num_rows()), text::count(right.num_rows()));
        return Some(whole(format_args!("{left} rows of batch {index} became {right}")));
    }
    if scope == Scope::All && left.metadata() != right.metadata() {
        return Some(whole(format_args!("the metadata of batch {index} differs")));
    }
    let columns = left.columns().iter().zip(right.columns()).zip(df.schema().fields());
    columns.into_iter().find_map(|((left, right), field)| {
        let (row, what) = match (left, right) {
            (Column::Native(left), Column::Native(right)) => {
                let (row, what) = arrays_differ(left, right)?;
                (Some(first_row + row), what)
            }
            (Column::Opaque(left), Column::Opaque(right)) => (None, opaque_differ(left, right)?),
            _ => (None, "it became another kind of column".to_owned()),
        };
        Some(Difference { column: Some(field.name().clone()), row, what })
    })
}

/// The first row in which two arrays of one type and length differ, and how.
fn arrays_differ(left: &ArrayRef, right: &ArrayRef) -> Option<(usize, String)> {
    let same = |rows: usize| left.slice(0, rows).to_data() == right.slice(0, rows).to_data();
    if same(left.len()) {
        return None;
    }
    // The first `equal` rows are the same, the first `unequal` are not.
    let (mut equal, mut unequal) = (0, left.len());
    while unequal - equal > 1 {
        let middle = equal + (unequal - equal) / 2;
        if same(middle) {
            equal = middle;
        } else {
            unequal = middle;
        }
    }
    Some((equal, format!("{} became {}", shown(left, equal), shown(right, equal))))
}

fn opaque_differ(left: &OpaqueColumn, right: &OpaqueColumn) -> Option<String> {
    let same_bytes = left.buffers().len() == right.buffers().len()
        && left.buffers().iter().zip(right.buffers()).all(|(l, r)| l.as_slice() == r.as_slice());
    if left.type_name() != right.type_name() {
        Some(format!("its type {:?} became {:?}", left.type_name(), right.type_name()))
    } else if !same_bytes {
        Some("its pickle differs".to_owned())
    } else {
        None
    }
}

/// A value as text.
fn shown(array: &ArrayRef, row: usize) -> String {
    /// Enough to recognise a value by.
    const WIDTH: usize = 40;
    let options = FormatOptions::default().with_null("null");
    let array = utc(array);
    let text = ArrayFormatter::try_new(&array, &options).and_then(|f| f.value(row).try_to_string());
    text.map_or_else(|_| "a value".to_owned(), |text| text::shortened(&text, WIDTH))
}

fn whole(what: impl fmt::Display) -> Difference {
    Difference { column: None, row: None, what: what.to_string() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{
        ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    };
    use arrow_schema::Schema;

    use super::*;

    fn frame(fields: Vec<Field>, batches: Vec<Vec<ArrayRef>>) -> DataFrame {
        let schema = Arc::new(Schema::new(fields));
        let batches = batches.into_iter().map(|b| RecordBatch::try_new(schema.clone(), b).unwrap()).collect();
        DataFrame::try_from_batches(schema, batches).unwrap()
    }

    fn ints(batches: &[&[i64]]) -> DataFrame {
        let array = |values: &&[i64]| vec![Arc::new(Int64Array::from(values.to_vec())) as ArrayRef];
        frame(vec![Field::new("a", DataType::Int64, true)], batches.iter().map(array).collect())
    }

    fn diff(expected: &DataFrame, found: &DataFrame) -> Option<String> {
        difference(expected, found, Scope::All).map(|difference| difference.to_string())
    }

    #[test]
    fn equal_frames_have_none() {
        assert_eq!(diff(&ints(&[&[1, 2], &[3]]), &ints(&[&[1, 2], &[3]])), None);
        assert_eq!(diff(&ints(&[]), &ints(&[])), None);
        let nan = || {
            let values = vec![Some(f64::NAN), None, Some(-0.0)];
            let array: ArrayRef = Arc::new(Float64Array::from(values));
            frame(vec![Field::new("x", DataType::Float64, true)], vec![vec![array]])
        };
        assert_eq!(diff(&nan(), &nan()), None);
    }

    #[test]
    fn the_first_row_is_named() {
        let left: Vec<i64> = (0..1_000).collect();
        for row in [0, 1, 499, 998, 999] {
            let mut right = left.clone();
            right[row..].fill(-5);
            let said = diff(&ints(&[&[7], &left]), &ints(&[&[7], &right])).unwrap();
            let at = text::count(row + 1);
            assert_eq!(said, format!("column \"a\", row {at}: {row} became -5"));
        }
    }

    #[test]
    fn null_is_not_nan() {
        let of = |value: Option<f64>| {
            let array: ArrayRef = Arc::new(Float64Array::from(vec![value]));
            frame(vec![Field::new("x", DataType::Float64, true)], vec![vec![array]])
        };
        let said = diff(&of(None), &of(Some(f64::NAN))).unwrap();
        assert_eq!(said, "column \"x\", row 0: null became NaN");
        let said = diff(&of(Some(0.0)), &of(Some(-0.0))).unwrap();
        assert_eq!(said, "column \"x\", row 0: 0.0 became -0.0");
    }

    #[test]
    fn batches_count() {
        assert_eq!(diff(&ints(&[&[1], &[2]]), &ints(&[&[1, 2]])).unwrap(), "2 batches became 1");
        assert_eq!(
            diff(&ints(&[&[1], &[2, 3]]), &ints(&[&[1, 2], &[3]])).unwrap(),
            "1 rows of batch 0 became 2"
        );
    }

    #[test]
    fn fields_count() {
        let of = |field: Field| frame(vec![field], vec![]);
        let plain = || Field::new("a", DataType::Int32, true);
        let cases = [
            (Field::new("b", DataType::Int32, true), "its name became \"b\""),
            (Field::new("a", DataType::Int64, true), "its type Int32 became Int64"),
            (Field::new("a", DataType::Int32, false), "its nullability became false"),
            (plain().with_metadata([("unit", "m")]), "its metadata differs"),
        ];
        for (changed, what) in cases {
            let said = diff(&of(plain()), &of(changed)).unwrap();
            assert_eq!(said, format!("column \"a\": {what}"));
        }
    }

    #[test]
    fn ordered_flags_count_wherever_they_are() {
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let of = |ordered: bool| Field::new("a", dictionary.clone(), true).with_dict_is_ordered(ordered);
        let list = |field: Field| Field::new("a", DataType::List(Arc::new(field)), true);
        for wrap in [|field| field, list as fn(Field) -> Field] {
            let (left, right) = (frame(vec![wrap(of(false))], vec![]), frame(vec![wrap(of(true))], vec![]));
            assert_eq!(diff(&left, &left), None);
            let said = diff(&left, &right).unwrap();
            assert_eq!(said, "column \"a\": the ordered flag of its dictionary differs");
        }
    }

    #[test]
    fn dictionaries_are_compared_by_what_they_show() {
        let of = |keys: Vec<i32>, values: Vec<&str>| {
            let values: ArrayRef = Arc::new(StringArray::from(values));
            let array: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(Int32Array::from(keys), values));
            frame(vec![Field::new("d", array.data_type().clone(), true)], vec![vec![array]])
        };
        assert_eq!(diff(&of(vec![0, 1], vec!["x", "y"]), &of(vec![1, 0], vec!["y", "x"])), None);
        let said = diff(&of(vec![0, 1], vec!["x", "y"]), &of(vec![0, 0], vec!["x", "y"])).unwrap();
        assert_eq!(said, "column \"d\", row 1: y became x");
    }
}
