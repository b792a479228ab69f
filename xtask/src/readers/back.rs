//! Reading what a reader wrote.

use std::fs;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema};
use arrow_frames::{DataFrame, ErrorKind, Frames, from_buffers};

use super::inputs::Truth;
use super::{truth, values};
use crate::conformance::peers::read_by_arrow;

/// What became of values on the way through a reader.
pub enum Back {
    /// They are equal. What is not: `as` another type, and what got lost of fields.
    Equal { types: Option<String>, lost: Option<&'static str> },
    /// It is refused, as it must be: the payload of an opaque column is gone, of which the
    /// reader knew nothing.
    PayloadLost,
    /// They are not; arrow-rs finds the same, or cannot read what was written either.
    Wrong(String),
    /// They are not, or cannot be read, and it is arrow-rs that says so.
    Fault(String),
}

/// Reads a stream or file, and compares.
pub fn read(path: &Path, is_file: bool, truth: &Truth) -> Result<Back, std::io::Error> {
    let bytes = fs::read(path)?;
    let frames = if is_file { Frames::from_file(bytes.clone()) } else { Frames::from_stream(bytes.clone()) };
    let read = frames.and_then(from_buffers);
    if let Err(error) = &read
        && matches!(error.kind(), ErrorKind::PayloadLost { .. })
        && truth.has_opaque
    {
        return Ok(Back::PayloadLost);
    }
    let ours = read
        .map_err(|error| error.to_string())
        .and_then(|df| Ok((df.schema().clone(), compare(&df, truth)?)));
    let difference = match ours {
        Ok((schema, Ok(()))) => {
            let (types, lost) = changes(&truth.schema, &schema);
            return Ok(Back::Equal { types, lost });
        }
        Ok((_, Err(difference))) => difference,
        Err(error) => error,
    };
    let theirs = read_by_arrow(&bytes, is_file).and_then(|(schema, batches)| {
        let df = DataFrame::try_from_batches(schema, batches).map_err(|error| error.to_string())?;
        compare(&df, truth)
    });
    Ok(match theirs {
        Ok(Ok(())) => Back::Fault(format!("{difference}; arrow-rs finds it equal")),
        Ok(Err(same)) if same == difference => Back::Wrong(difference),
        Ok(Err(other)) => Back::Fault(format!("{difference}; to arrow-rs: {other}")),
        Err(refused) => Back::Wrong(format!("{difference}; arrow-rs: {refused}")),
    })
}

/// The inner error is the first difference.
fn compare(df: &DataFrame, truth: &Truth) -> Result<Result<(), String>, String> {
    let names: Vec<&str> = df.schema().fields().iter().map(|field| field.name().as_str()).collect();
    let batches: Vec<RecordBatch> = df.clone().into_record_batches().map_err(|error| error.to_string())?;
    let found = truth::columns(df.num_columns(), &batches).to_string();
    Ok(values::compare(truth, &names, df.num_rows() as u64, &found))
}

/// The types that are others now, and what fields no longer say.
fn changes(before: &Schema, after: &Schema) -> (Option<String>, Option<&'static str>) {
    let pairs = || before.fields().iter().zip(after.fields());
    let mut types: Vec<String> = Vec::new();
    for (before_field, after_field) in pairs() {
        let (was, is) = (plain(before_field.data_type()), plain(after_field.data_type()));
        let text = if before.fields().len() == 1 { format!("as {is}") } else { format!("{was} as {is}") };
        if was != is && !types.contains(&text) {
            types.push(text);
        }
    }
    let (mut old, mut new) = (Vec::new(), Vec::new());
    pairs().for_each(|(before, after)| {
        says(before, &mut old);
        says(after, &mut new);
    });
    let same_shape = old.len() == new.len() && types.is_empty();
    let mut said = old.iter().zip(&new).filter(|_| same_shape);
    let lost = said.find_map(|(old, new)| match () {
        () if old.dict_is_ordered() != new.dict_is_ordered() => Some("its order"),
        () if old.metadata().iter().any(|(key, value)| new.metadata().get(key) != Some(value)) => {
            Some("its metadata")
        }
        () => None,
    });
    let with = if before.fields().len() == 1 { "" } else { "with " };
    ((!types.is_empty()).then(|| format!("{with}{}", types.join(", "))), lost)
}

/// A type without what does not change a value: the names of a list's and a map's fields,
/// whether children may be null, and metadata.
fn plain(data_type: &DataType) -> DataType {
    use DataType::*;
    let unnamed =
        |field: &FieldRef| -> FieldRef { Field::new_list_field(plain(field.data_type()), true).into() };
    let named = |field: &FieldRef| Field::new(field.name(), plain(field.data_type()), true);
    match data_type {
        List(field) => List(unnamed(field)),
        LargeList(field) => LargeList(unnamed(field)),
        ListView(field) => ListView(unnamed(field)),
        LargeListView(field) => LargeListView(unnamed(field)),
        FixedSizeList(field, size) => FixedSizeList(unnamed(field), *size),
        Struct(fields) => Struct(fields.iter().map(named).collect()),
        Map(entries, sorted) => {
            let children = match entries.data_type() {
                Struct(children) => children.iter().zip(["key", "value"]),
                _ => [].iter().zip(["key", "value"]),
            };
            let children: Fields =
                children.map(|(field, name)| (*unnamed(field)).clone().with_name(name)).collect();
            Map(Field::new("entries", Struct(children), true).into(), *sorted)
        }
        Union(fields, mode) => {
            Union(fields.iter().map(|(id, field)| (id, named(field).into())).collect(), *mode)
        }
        Dictionary(key, value) => Dictionary(key.clone(), plain(value).into()),
        RunEndEncoded(ends, field) => RunEndEncoded(unnamed(ends), unnamed(field)),
        other => other.clone(),
    }
}

/// The fields at any depth.
fn says<'a>(field: &'a Field, out: &mut Vec<&'a Field>) {
    use DataType::*;
    out.push(field);
    let mut inside = field.data_type();
    while let Dictionary(_, values) = inside {
        inside = values;
    }
    match inside {
        List(child) | LargeList(child) | ListView(child) | LargeListView(child) => says(child, out),
        FixedSizeList(child, _) | Map(child, _) | RunEndEncoded(_, child) => says(child, out),
        Struct(fields) => fields.iter().for_each(|field| says(field, out)),
        Union(fields, _) => fields.iter().for_each(|(_, field)| says(field, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: Field, after: Field) -> (Option<String>, Option<&'static str>) {
        changes(&Schema::new(vec![before]), &Schema::new(vec![after]))
    }

    #[test]
    fn another_type_is_told_but_not_another_name_inside() {
        let list = |name, nullable| DataType::List(Field::new(name, DataType::Int8, nullable).into());
        let of = |data_type| Field::new("a", data_type, true);
        assert_eq!(change(of(list("item", true)), of(list("element", false))), (None, None));
        let large = DataType::LargeList(Field::new_list_field(DataType::Int8, true).into());
        assert_eq!(change(of(list("item", true)), of(large)), (Some("as LargeList(Int8)".into()), None));
        let two = |data_type| Schema::new(vec![of(DataType::Int8), of(data_type)]);
        let told = changes(&two(DataType::Utf8), &two(DataType::Utf8View)).0;
        assert_eq!(told.as_deref(), Some("with Utf8 as Utf8View"));
    }

    #[test]
    fn what_a_field_no_longer_says_is_told() {
        let keys = DataType::Dictionary(DataType::Int8.into(), DataType::Utf8.into());
        let field = Field::new("a", keys, true);
        let ordered = field.clone().with_dict_is_ordered(true);
        let described = field.clone().with_metadata([("unit", "mm")]);
        let more = field.clone().with_metadata([("unit", "mm"), ("more", "")]);
        assert_eq!(change(ordered, field.clone()), (None, Some("its order")));
        assert_eq!(change(described.clone(), field), (None, Some("its metadata")));
        assert_eq!(change(described, more), (None, None));
    }
}
