//! Turns the columns that travel as pickles into opaque columns, before anything is encoded.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{ArrayRef, new_empty_array};
use arrow_schema::{Field, FieldRef, Fields, Metadata, Schema, SchemaRef};

use super::carriage::{Carriage, Target};
use super::unify;
use crate::copies::CopyBudget;
use crate::dataframe::{Batch, Column, DataFrame, OpaqueColumn};
use crate::error::{ErrorKind, Result};
use crate::nulls;
use crate::pandas;
use crate::pickle::{Forms, Pickler, dtype_name};
use crate::wire::opaque::{self, Mark};

/// What decides which columns are pickled, and how.
pub(super) struct Rules {
    pub target: Target,
    pub forms: Forms,
    /// The caller's own decision, by index and field.
    pub carriage: Option<Box<Choose>>,
}

/// Says how a column travels, by its index and field.
pub(super) type Choose = dyn Fn(usize, &Field) -> Carriage + Send + Sync;

/// Which columns of a schema are pickled, and the dtypes that they then have.
#[derive(Debug)]
pub(super) struct Plan {
    schema: SchemaRef,
    forms: Forms,
    /// The dtype of each column that is pickled.
    dtypes: Vec<Option<String>>,
    /// Whether the schema should say what pandas builds.
    describe: bool,
}

impl Rules {
    /// Decides by types alone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Inexact`] for a type that no form carries.
    pub(super) fn plan(&self, schema: &SchemaRef) -> Result<Plan> {
        let mut dtypes = Vec::with_capacity(schema.fields().len());
        for (index, field) in schema.fields().iter().enumerate() {
            dtypes.push(match self.of(index, field) {
                Carriage::Native => None,
                carriage => match dtype_name(field, self.forms) {
                    Ok(dtype) => Some(dtype),
                    Err(_) if carriage == Carriage::OpaqueOrNative => None,
                    Err(reason) => {
                        let column = field.name().clone();
                        return Err(ErrorKind::Inexact { column, reason }.into());
                    }
                },
            });
        }
        let describe = self.target == Target::Pandas;
        Ok(Plan { schema: schema.clone(), forms: self.forms, dtypes, describe })
    }

    /// The dataframe as it travels.
    pub(super) fn apply<'d>(&self, df: &'d DataFrame, copies: &mut CopyBudget) -> Result<Cow<'d, DataFrame>> {
        let mut plan = self.plan(df.schema())?;
        if plan.is_trivial() {
            return Ok(Cow::Borrowed(df));
        }
        let mut batches = Cow::Borrowed(df.batches());
        if batches.is_empty() && self.target == Target::Pandas {
            // The categories and zones of no rows are in the pickles of a batch.
            batches = Cow::Owned(plan.empty_batch().into_iter().collect());
        }
        for column in 0..plan.dtypes.len() {
            let Some(true) = plan.dtypes.get(column).map(Option::is_some) else { continue };
            let before = copies.clone();
            match plan.pickle_column(column, &batches, copies) {
                Ok(pickled) => {
                    for (batch, pickled) in batches.to_mut().iter_mut().zip(pickled) {
                        batch.replace_column(column, pickled);
                    }
                }
                Err(error) => {
                    let may_stay = df.schema().fields().get(column).map(|field| self.of(column, field));
                    if !matches!(error.kind(), ErrorKind::Inexact { .. })
                        || may_stay != Some(Carriage::OpaqueOrNative)
                    {
                        return Err(error);
                    }
                    *copies = before;
                    plan.stays_native(column);
                }
            }
        }
        let pickled = DataFrame::new_unchecked(plan.wire_schema()?, batches.into_owned());
        Ok(Cow::Owned(pickled.with_message_metadata(df.message_metadata().clone())))
    }

    fn of(&self, index: usize, field: &Field) -> Carriage {
        match &self.carriage {
            // What is opaque already stays so.
            _ if opaque::is_marked(field) => Carriage::Native,
            Some(choose) => choose(index, field),
            None => self.target.carriage(field),
        }
    }
}

impl Plan {
    /// Whether everything travels as it is.
    pub(super) fn is_trivial(&self) -> bool {
        !self.describe && self.dtypes.iter().all(Option::is_none)
    }

    /// The schema of the dataframe before anything is pickled.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The schema that travels.
    pub(super) fn wire_schema(&self) -> Result<SchemaRef> {
        if self.is_trivial() {
            return Ok(self.schema.clone());
        }
        let fields = self.schema.fields();
        let mut metadata = self.schema.metadata().clone();
        let hidden = metadata.get(pandas::KEY).and_then(|text| {
            let names = self.names().map(|(field, is_pickled)| (field.name().as_str(), is_pickled));
            pandas::hide(text, &names.collect::<Vec<_>>())
        });
        let originals = match hidden {
            Some((text, originals)) => {
                metadata.insert(pandas::KEY.to_owned(), text);
                originals
            }
            None => vec![None; fields.len()],
        };
        if self.describe {
            let described = self.names().map(|(f, is_pickled)| (f, is_pickled || opaque::is_marked(f)));
            let described = match metadata.get(pandas::KEY) {
                Some(text) => pandas::complete(text, described),
                None => Some(pandas::describe(described)),
            };
            metadata.extend(described.map(|text| (pandas::KEY.to_owned(), text)));
        }
        let mark = |((field, dtype), pandas): ((&FieldRef, &Option<String>), Option<String>)| {
            let Some(dtype) = dtype else { return Ok(field.clone()) };
            let mark = Mark {
                type_name: dtype.clone(),
                vendor_name: "pandas".to_owned(),
                field: Some(field.as_ref().clone()),
                pandas,
            };
            mark.field(field.name()).map(Arc::new)
        };
        let fields = fields.iter().zip(&self.dtypes).zip(originals).map(mark).collect::<Result<Fields>>()?;
        Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
    }

    /// The columns of a batch as they travel.
    pub(super) fn columns(&self, batch: &Batch, copies: &mut CopyBudget) -> Result<Vec<Column>> {
        let columns = batch.columns().iter().zip(self.schema.fields()).zip(&self.dtypes).enumerate();
        let travelling = |(index, ((column, field), dtype)): (
            usize,
            ((&Column, &FieldRef), &Option<String>),
        )| match (column, dtype) {
            (Column::Native(array), Some(dtype)) => self.pickle(index, array, field, dtype, copies),
            _ => Ok(column.clone()),
        };
        columns.map(travelling).collect()
    }

    /// A batch of no rows, unless a column has only its sender's pickles.
    pub(super) fn empty_batch(&self) -> Option<Batch> {
        if self.schema.fields().iter().any(|field| opaque::is_marked(field)) {
            return None;
        }
        let empty = |field: &FieldRef| Column::Native(new_empty_array(field.data_type()));
        let columns = self.schema.fields().iter().map(empty).collect();
        Some(Batch::new_unchecked(columns, 0, Metadata::new()))
    }

    fn pickle_column(
        &self,
        column: usize,
        batches: &[Batch],
        copies: &mut CopyBudget,
    ) -> Result<Vec<Column>> {
        let (Some(field), Some(Some(dtype))) = (self.schema.fields().get(column), self.dtypes.get(column))
        else {
            return Ok(Vec::new());
        };
        let arrays: Option<Vec<ArrayRef>> =
            batches.iter().map(|batch| batch.column(column)?.as_native().cloned()).collect();
        let Some(arrays) = arrays else {
            return Err(ErrorKind::PayloadLost { column: field.name().clone() }.into());
        };
        let arrays = unify::categories(arrays, column, field, copies)?;
        arrays.iter().map(|array| self.pickle(column, array, field, dtype, copies)).collect()
    }

    fn pickle(
        &self,
        index: usize,
        array: &ArrayRef,
        field: &Field,
        dtype: &str,
        copies: &mut CopyBudget,
    ) -> Result<Column> {
        nulls::check_column(field, array)?;
        let mut claim = |reason, bytes| copies.claim(index, field.name(), reason, bytes);
        let buffers = Pickler::new(self.forms, field.name(), &mut claim).pickle(array, field)?;
        Ok(Column::Opaque(OpaqueColumn::new(dtype, array.len(), buffers)))
    }

    fn stays_native(&mut self, column: usize) {
        if let Some(dtype) = self.dtypes.get_mut(column) {
            *dtype = None;
        }
    }

    fn names(&self) -> impl Iterator<Item = (&Field, bool)> {
        self.schema.fields().iter().zip(&self.dtypes).map(|(field, dtype)| (field.as_ref(), dtype.is_some()))
    }
}
