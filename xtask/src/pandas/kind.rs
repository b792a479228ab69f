//! A kind of column, in every shape.

use std::ops::RangeInclusive;

use arrow::array::cast::AsArray;
use arrow::array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_frames::pickle::Forms;
use arrow_frames::{Carriage, Encoder, Target};

use super::case::{Case, Column, PerVersion, Truth};
use super::{Error, values};

/// All versions, by number.
pub const ALL: RangeInclusive<usize> = 0..=2;

/// pandas 2 and later, which has other units of time than nanoseconds.
pub const FROM_2: RangeInclusive<usize> = 1..=2;

/// pandas 3, by number.
pub const FROM_3: RangeInclusive<usize> = 2..=2;

/// A kind of column and what every pandas must make of it.
pub struct Kind {
    section: &'static str,
    row: String,
    field: Field,
    /// Values without nulls, at least nine.
    sample: ArrayRef,
    forms: Forms,
    carriage: Option<Carriage>,
    dtype: PerVersion<String>,
    category_dtype: Option<PerVersion<String>>,
    refused: PerVersion<Option<String>>,
    /// Whether only values are refused: nulls and no rows are read.
    refuses_values: bool,
    shared: PerVersion<Vec<Part>>,
    writeable: bool,
    only: Option<Vec<(&'static str, ArrayRef)>>,
}

#[derive(Clone, Copy)]
struct Part {
    name: &'static str,
    with_nulls: bool,
}

impl Kind {
    /// A nullable column of these values, at least nine and none missing, which travels as the
    /// target decides.
    pub fn new(
        section: &'static str,
        row: impl Into<String>,
        sample: ArrayRef,
        dtype: PerVersion<String>,
    ) -> Kind {
        Kind {
            section,
            row: row.into(),
            field: Field::new("x", sample.data_type().clone(), true),
            sample,
            forms: Forms::default(),
            carriage: None,
            dtype,
            category_dtype: None,
            refused: Default::default(),
            refuses_values: false,
            shared: Default::default(),
            writeable: true,
            only: None,
        }
    }

    /// The name of its column, which tells it from other kinds of the same row.
    pub fn name(mut self, name: &str) -> Kind {
        self.field = self.field.with_name(name);
        self
    }

    /// Not nullable.
    pub fn required(mut self) -> Kind {
        self.field = self.field.with_nullable(false);
        self
    }

    /// Another field: an extension type, or ordered categories.
    pub fn field(mut self, field: Field) -> Kind {
        self.field = field;
        self
    }

    /// Travels so, whatever the target would decide.
    pub fn carried(mut self, carriage: Carriage) -> Kind {
        self.carriage = Some(carriage);
        self
    }

    /// In another form.
    pub fn forms(mut self, forms: Forms) -> Kind {
        self.forms = forms;
        self
    }

    /// The dtype of its categories.
    pub fn categories(mut self, dtype: PerVersion<String>) -> Kind {
        self.category_dtype = Some(dtype);
        self
    }

    /// That version refuses it, with an error that starts so.
    pub fn refused(mut self, version: usize, error: impl Into<String>) -> Kind {
        self.refused[version] = Some(error.into());
        self
    }

    /// That version refuses some of its values, the second one among them.
    pub fn refused_values(mut self, version: usize, error: &str) -> Kind {
        self.refuses_values = true;
        self.refused(version, error)
    }

    /// These versions share that part of the array with what was received.
    pub fn shared(mut self, versions: RangeInclusive<usize>, name: &'static str) -> Kind {
        self.shared[versions].iter_mut().for_each(|parts| parts.push(Part { name, with_nulls: true }));
        self
    }

    /// The same where no value is missing.
    pub fn shared_without_nulls(mut self, versions: RangeInclusive<usize>, name: &'static str) -> Kind {
        self.shared[versions].iter_mut().for_each(|parts| parts.push(Part { name, with_nulls: false }));
        self
    }

    /// What is shared cannot be written to, also where the received buffer can.
    pub fn read_only(mut self) -> Kind {
        self.writeable = false;
        self
    }

    /// Only these shapes.
    pub fn only(mut self, shapes: Vec<(&'static str, ArrayRef)>) -> Kind {
        self.only = Some(shapes);
        self
    }

    fn column(&self, array: &ArrayRef) -> Column {
        let mut column = Column::new(self.field.name(), self.dtype.clone(), array);
        if let (Some(dtype), Some(dictionary)) = (&self.category_dtype, array.as_any_dictionary_opt()) {
            let is_ordered = self.field.dict_is_ordered().unwrap_or(false);
            column.categories = Some((dtype.clone(), values::of(dictionary.values()), is_ordered));
        }
        let has_nulls = array.logical_null_count() > 0;
        column.shared = self.shared.clone().map(|parts| {
            let promised = parts.iter().filter(|part| part.with_nulls || !has_nulls);
            promised.map(|part| part.name).collect()
        });
        column.writeable = self.writeable;
        column
    }

    /// The sample with nulls here and there, or in other lengths.
    fn shapes(&self) -> Result<Vec<(&'static str, ArrayRef)>, Error> {
        if let Some(shapes) = &self.only {
            return Ok(shapes.clone());
        }
        let sample = &self.sample;
        let rows = sample.len();
        let mut shapes = vec![
            ("no nulls", sample.clone()),
            ("empty", sample.slice(0, 0)),
            ("one row", sample.slice(1, 1)),
            ("sliced", sample.slice(3, rows - 5)),
        ];
        // A union says null only by its children.
        if self.field.is_nullable() && !matches!(sample.data_type(), DataType::Union(..)) {
            let some = with_nulls(sample, |row| row % 3 == 1)?;
            shapes.push(("sliced, some nulls", some.slice(3, rows - 5)));
            shapes.push(("some nulls", some));
            shapes.push(("all null", with_nulls(sample, |_| true)?));
        }
        Ok(shapes)
    }
}

/// One case per shape of kinds of one row, each of which is a column of every dataframe.
pub fn cases(kinds: &[Kind]) -> Result<Vec<Case>, Error> {
    let Some(first) = kinds.first() else { return Ok(Vec::new()) };
    let mut encoder = Encoder::new(Target::Pandas).with_forms(first.forms);
    if let Some(carriage) = first.carriage {
        encoder = encoder.with_carriage(move |_, _| carriage);
    }
    let shapes = kinds.iter().map(Kind::shapes).collect::<Result<Vec<_>, _>>()?;
    let schema: SchemaRef =
        Schema::new(kinds.iter().map(|kind| kind.field.clone()).collect::<Vec<_>>()).into();
    let names = shapes.first().into_iter().flatten().map(|(name, _)| *name);
    let cases = names.enumerate().map(|(number, shape)| {
        let arrays: Vec<ArrayRef> = shapes.iter().map(|shapes| shapes[number].1.clone()).collect();
        let columns = kinds.iter().zip(&arrays).map(|(kind, array)| kind.column(array)).collect();
        let has_values = arrays.iter().any(|array| array.len() > array.logical_null_count());
        let refused =
            first.refused.clone().map(|error| error.filter(|_| has_values || !first.refuses_values));
        let truth = Truth { columns, refused, ..Truth::default() };
        let df = RecordBatch::try_new(schema.clone(), arrays)?.into();
        Case::encode((first.section, &first.row, shape), &mut encoder, &df, truth)
    });
    cases.collect()
}

/// The array with nulls in some rows.
pub fn with_nulls(array: &ArrayRef, is_null: impl Fn(usize) -> bool) -> Result<ArrayRef, Error> {
    let rows = (0..array.len()).map(|row| (!is_null(row)).then_some(row as u64));
    Ok(take(array, &rows.collect::<UInt64Array>(), None)?)
}
