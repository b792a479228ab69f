//! Schemas: from and to their flatbuffer, and the dictionaries in them.

use std::sync::Arc;

use arrow_ipc::convert::{metadata_to_fb, try_fb_to_schema};
use arrow_ipc::{self as ipc, Endianness};
use arrow_schema::{ArrowError, DataType, Field, IntervalUnit, SchemaRef, TimeUnit, UnionMode};
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, UnionWIPOffset, Vector, WIPOffset};

use crate::error::{ErrorKind, Result};
use crate::limits::Limits;

/// A schema and, depth first, the dictionaries of its fields.
#[derive(Debug, Clone)]
pub(crate) struct WireSchema {
    /// The schema.
    pub schema: SchemaRef,
    /// A dictionary per dictionary-encoded field, in the order of a depth-first walk.
    pub dictionaries: Vec<DictionaryField>,
}

/// A dictionary-encoded field.
#[derive(Debug, Clone)]
pub(crate) struct DictionaryField {
    /// The id that ties it to its DictionaryBatches.
    pub id: i64,
    /// The type of its values.
    pub value_type: DataType,
    /// The top-level column it belongs to.
    pub column: usize,
    /// How many dictionaries lie inside its values; they follow it in the walk.
    pub nested: usize,
    /// Whether the order of the values means something.
    pub ordered: bool,
}

impl WireSchema {
    /// A schema whose dictionaries are numbered in the order of the walk.
    pub(crate) fn new(schema: SchemaRef) -> Result<Self> {
        let mut dictionaries = Vec::new();
        for (column, field) in schema.fields().iter().enumerate() {
            collect_field(field, column, field.name(), &mut dictionaries)?;
        }
        for (id, dictionary) in (0..).zip(&mut dictionaries) {
            dictionary.id = id;
        }
        Ok(WireSchema { schema, dictionaries })
    }

    /// Reads a schema, checking what arrow-ipc's conversion takes on trust.
    pub(crate) fn read(fb: ipc::Schema<'_>, limits: &Limits) -> Result<Self> {
        if fb.endianness() != Endianness::Little {
            return Err(ErrorKind::BigEndian.into());
        }
        let mut ids = Vec::new();
        for field in fb.fields().into_iter().flatten() {
            let name = field.name().unwrap_or_default();
            check_field(field, name, 1, limits, &mut ids)?;
        }
        let schema =
            try_fb_to_schema(fb).map_err(|source| ErrorKind::BadType { column: String::new(), source })?;
        let mut schema = WireSchema::new(Arc::new(schema))?;
        for (dictionary, id) in schema.dictionaries.iter_mut().zip(ids) {
            dictionary.id = id;
        }
        Ok(schema)
    }

    /// The name of a top-level column, for errors.
    pub(crate) fn column_name(&self, column: usize) -> &str {
        self.schema.fields().get(column).map(|f| f.name().as_str()).unwrap_or_default()
    }

    /// Writes the schema's table.
    pub(crate) fn write<'a>(&self, fbb: &mut FlatBufferBuilder<'a>) -> WIPOffset<ipc::Schema<'a>> {
        let mut writer = Writer { fbb, ids: self.dictionaries.iter().map(|d| d.id) };
        let fields: Vec<_> = self.schema.fields().iter().map(|f| writer.field(f)).collect();
        let fields = fbb.create_vector(&fields);
        let metadata = self.schema.metadata();
        let metadata = (!metadata.is_empty()).then(|| metadata_to_fb(fbb, metadata));
        let mut schema = ipc::SchemaBuilder::new(fbb);
        schema.add_endianness(Endianness::Little);
        schema.add_fields(fields);
        if let Some(metadata) = metadata {
            schema.add_custom_metadata(metadata);
        }
        schema.finish()
    }
}

/// Adds the dictionaries of a field and of the fields inside it.
fn collect_field(field: &Field, column: usize, name: &str, out: &mut Vec<DictionaryField>) -> Result<()> {
    let DataType::Dictionary(_, value_type) = field.data_type() else {
        return collect_children(field.data_type(), column, name, out);
    };
    if matches!(**value_type, DataType::Dictionary(..)) {
        return Err(ErrorKind::DictionaryOfDictionary { column: name.to_owned() }.into());
    }
    let index = out.len();
    out.push(DictionaryField {
        id: 0,
        value_type: (**value_type).clone(),
        column,
        nested: 0,
        ordered: field.dict_is_ordered().unwrap_or(false),
    });
    collect_children(value_type, column, name, out)?;
    let nested = out.len().saturating_sub(index).saturating_sub(1);
    if let Some(dictionary) = out.get_mut(index) {
        dictionary.nested = nested;
    }
    Ok(())
}

fn collect_children(
    data_type: &DataType,
    column: usize,
    name: &str,
    out: &mut Vec<DictionaryField>,
) -> Result<()> {
    use DataType::*;
    match data_type {
        List(child) | LargeList(child) | ListView(child) | LargeListView(child) | Map(child, _) => {
            collect_field(child, column, name, out)
        }
        FixedSizeList(child, _) | RunEndEncoded(_, child) => collect_field(child, column, name, out),
        Struct(children) => children.iter().try_for_each(|c| collect_field(c, column, name, out)),
        Union(children, _) => children.iter().try_for_each(|(_, c)| collect_field(c, column, name, out)),
        _ => Ok(()),
    }
}

/// Checks a field's numbers and depth, and collects the ids of its dictionaries.
fn check_field(
    field: ipc::Field<'_>,
    column: &str,
    depth: usize,
    limits: &Limits,
    ids: &mut Vec<i64>,
) -> Result<()> {
    let bad = |reason: String| {
        let source = ArrowError::SchemaError(reason);
        ErrorKind::BadType { column: column.to_owned(), source }
    };
    if depth > limits.max_depth {
        let (requested, allowed) = (depth as u64, limits.max_depth as u64);
        return Err(ErrorKind::Limit { limit: "max_depth", requested, allowed }.into());
    }
    if let Some(dictionary) = field.dictionary() {
        ids.push(dictionary.id());
    }
    let children = field.children();
    let count = children.map(|c| c.len()).unwrap_or_default();
    let expected = match field.type_type() {
        ipc::Type::FixedSizeBinary => {
            let width = field.type_as_fixed_size_binary().map(|t| t.byteWidth()).unwrap_or(-1);
            if width < 0 {
                return Err(bad(format!("fixed-size binary of width {width}")).into());
            }
            0
        }
        ipc::Type::FixedSizeList => {
            let size = field.type_as_fixed_size_list().map(|t| t.listSize()).unwrap_or(-1);
            if size < 0 {
                return Err(bad(format!("fixed-size list of size {size}")).into());
            }
            1
        }
        ipc::Type::Decimal => {
            let (precision, width) =
                field.type_as_decimal().map(|t| (t.precision(), t.bitWidth())).unwrap_or_default();
            let digits = match width {
                32 => 9,
                64 => 18,
                128 => 38,
                _ => 76,
            };
            if !(1..=digits).contains(&precision) {
                return Err(bad(format!("decimal{width} of precision {precision}")).into());
            }
            0
        }
        ipc::Type::Union => {
            let ids = field.type_as_union().and_then(|u| u.typeIds());
            let ids_count = ids.map(|ids| ids.len()).unwrap_or(count);
            let outside = ids.into_iter().flatten().find(|id| i8::try_from(*id).unwrap_or(-1) < 0);
            if ids_count != count || outside.is_some() || count > 128 {
                return Err(bad(format!("union of {count} fields and {ids_count} type ids in 0..128")).into());
            }
            count
        }
        ipc::Type::Map => {
            let entries = children.and_then(|c| (c.len() == 1).then(|| c.get(0)));
            let is_pair = entries.is_some_and(|entries| {
                entries.type_type() == ipc::Type::Struct_
                    && entries.dictionary().is_none()
                    && !entries.nullable()
                    && entries.children().is_some_and(|c| c.len() == 2 && !c.get(0).nullable())
            });
            if !is_pair {
                let reason =
                    "map whose entries are not a non-nullable struct of a non-nullable key and a value";
                return Err(bad(reason.into()).into());
            }
            1
        }
        ipc::Type::RunEndEncoded => {
            let ends = children.and_then(|c| (c.len() == 2).then(|| c.get(0)));
            let ends =
                ends.filter(|f| f.dictionary().is_none() && !f.nullable()).and_then(|f| f.type_as_int());
            if !ends.is_some_and(|int| int.is_signed() && matches!(int.bitWidth(), 16 | 32 | 64)) {
                return Err(bad("run ends must be non-nullable and of 16, 32 or 64 bits".into()).into());
            }
            2
        }
        ipc::Type::List | ipc::Type::LargeList | ipc::Type::ListView | ipc::Type::LargeListView => 1,
        ipc::Type::Struct_ => count,
        _ => 0,
    };
    if count != expected {
        return Err(bad(format!("{count} child fields where the type has {expected}")).into());
    }
    let depth = depth.saturating_add(1);
    children.into_iter().flatten().try_for_each(|child| check_field(child, column, depth, limits, ids))
}

/// Writes fields, handing out the dictionaries' ids in the order of the walk.
struct Writer<'f, 'a, I> {
    fbb: &'f mut FlatBufferBuilder<'a>,
    ids: I,
}

type Children<'a> = WIPOffset<Vector<'a, ForwardsUOffset<ipc::Field<'a>>>>;

impl<'a, I: Iterator<Item = i64>> Writer<'_, 'a, I> {
    fn field(&mut self, field: &Field) -> WIPOffset<ipc::Field<'a>> {
        let (dictionary, data_type) = match field.data_type() {
            DataType::Dictionary(key, value) => {
                let ordered = field.dict_is_ordered().unwrap_or(false);
                (Some(self.dictionary(key, ordered)), value.as_ref())
            }
            data_type => (None, data_type),
        };
        let children = self.children(data_type);
        let (type_type, type_) = self.data_type(data_type);
        let name = self.fbb.create_string(field.name());
        let metadata = field.metadata();
        let metadata = (!metadata.is_empty()).then(|| metadata_to_fb(self.fbb, metadata));
        let mut builder = ipc::FieldBuilder::new(self.fbb);
        builder.add_name(name);
        builder.add_nullable(field.is_nullable());
        builder.add_type_type(type_type);
        builder.add_type_(type_);
        builder.add_children(children);
        if let Some(dictionary) = dictionary {
            builder.add_dictionary(dictionary);
        }
        if let Some(metadata) = metadata {
            builder.add_custom_metadata(metadata);
        }
        builder.finish()
    }

    fn dictionary(&mut self, key: &DataType, ordered: bool) -> WIPOffset<ipc::DictionaryEncoding<'a>> {
        let id = self.ids.next().unwrap_or_default();
        let index_type = self.int(key);
        let mut builder = ipc::DictionaryEncodingBuilder::new(self.fbb);
        builder.add_id(id);
        builder.add_indexType(index_type);
        builder.add_isOrdered(ordered);
        builder.finish()
    }

    /// The child fields: an empty vector, never none, since some readers insist on one.
    fn children(&mut self, data_type: &DataType) -> Children<'a> {
        use DataType::*;
        let children: Vec<_> = match data_type {
            List(child)
            | LargeList(child)
            | ListView(child)
            | LargeListView(child)
            | FixedSizeList(child, _)
            | Map(child, _) => vec![self.field(child)],
            Struct(children) => children.iter().map(|child| self.field(child)).collect(),
            Union(children, _) => children.iter().map(|(_, child)| self.field(child)).collect(),
            RunEndEncoded(ends, values) => vec![self.field(ends), self.field(values)],
            _ => Vec::new(),
        };
        self.fbb.create_vector(&children)
    }

    fn int(&mut self, data_type: &DataType) -> WIPOffset<ipc::Int<'a>> {
        use DataType::*;
        let (bits, signed) = match data_type {
            Int8 => (8, true),
            Int16 => (16, true),
            Int32 => (32, true),
            UInt8 => (8, false),
            UInt16 => (16, false),
            UInt32 => (32, false),
            UInt64 => (64, false),
            _ => (64, true),
        };
        ipc::Int::create(self.fbb, &ipc::IntArgs { bitWidth: bits, is_signed: signed })
    }

    fn data_type(&mut self, data_type: &DataType) -> (ipc::Type, WIPOffset<UnionWIPOffset>) {
        use DataType::*;
        let fbb = &mut *self.fbb;
        macro_rules! plain {
            ($kind:ident, $table:ident, $args:ident) => {
                (ipc::Type::$kind, ipc::$table::create(fbb, &ipc::$args {}).as_union_value())
            };
        }
        macro_rules! table {
            ($kind:ident, $table:ident, $args:expr) => {
                (ipc::Type::$kind, ipc::$table::create(fbb, &$args).as_union_value())
            };
        }
        let decimal = |fbb: &mut FlatBufferBuilder<'a>, precision: u8, scale: i8, bits| {
            let args = ipc::DecimalArgs { precision: precision.into(), scale: scale.into(), bitWidth: bits };
            (ipc::Type::Decimal, ipc::Decimal::create(fbb, &args).as_union_value())
        };
        match data_type {
            Null => plain!(Null, Null, NullArgs),
            Boolean => plain!(Bool, Bool, BoolArgs),
            Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => {
                (ipc::Type::Int, self.int(data_type).as_union_value())
            }
            Float16 => table!(
                FloatingPoint,
                FloatingPoint,
                ipc::FloatingPointArgs { precision: ipc::Precision::HALF }
            ),
            Float32 => table!(
                FloatingPoint,
                FloatingPoint,
                ipc::FloatingPointArgs { precision: ipc::Precision::SINGLE }
            ),
            Float64 => table!(
                FloatingPoint,
                FloatingPoint,
                ipc::FloatingPointArgs { precision: ipc::Precision::DOUBLE }
            ),
            Decimal32(precision, scale) => decimal(fbb, *precision, *scale, 32),
            Decimal64(precision, scale) => decimal(fbb, *precision, *scale, 64),
            Decimal128(precision, scale) => decimal(fbb, *precision, *scale, 128),
            Decimal256(precision, scale) => decimal(fbb, *precision, *scale, 256),
            Date32 => table!(Date, Date, ipc::DateArgs { unit: ipc::DateUnit::DAY }),
            Date64 => table!(Date, Date, ipc::DateArgs { unit: ipc::DateUnit::MILLISECOND }),
            Time32(unit) => table!(Time, Time, ipc::TimeArgs { unit: time_unit(unit), bitWidth: 32 }),
            Time64(unit) => table!(Time, Time, ipc::TimeArgs { unit: time_unit(unit), bitWidth: 64 }),
            Timestamp(unit, zone) => {
                let timezone = zone.as_ref().map(|zone| fbb.create_string(zone));
                table!(Timestamp, Timestamp, ipc::TimestampArgs { unit: time_unit(unit), timezone })
            }
            Duration(unit) => table!(Duration, Duration, ipc::DurationArgs { unit: time_unit(unit) }),
            Interval(unit) => {
                let unit = match unit {
                    IntervalUnit::YearMonth => ipc::IntervalUnit::YEAR_MONTH,
                    IntervalUnit::DayTime => ipc::IntervalUnit::DAY_TIME,
                    IntervalUnit::MonthDayNano => ipc::IntervalUnit::MONTH_DAY_NANO,
                };
                table!(Interval, Interval, ipc::IntervalArgs { unit })
            }
            Binary => plain!(Binary, Binary, BinaryArgs),
            LargeBinary => plain!(LargeBinary, LargeBinary, LargeBinaryArgs),
            BinaryView => plain!(BinaryView, BinaryView, BinaryViewArgs),
            FixedSizeBinary(width) => {
                table!(FixedSizeBinary, FixedSizeBinary, ipc::FixedSizeBinaryArgs { byteWidth: *width })
            }
            Utf8 => plain!(Utf8, Utf8, Utf8Args),
            LargeUtf8 => plain!(LargeUtf8, LargeUtf8, LargeUtf8Args),
            Utf8View => plain!(Utf8View, Utf8View, Utf8ViewArgs),
            List(_) => plain!(List, List, ListArgs),
            LargeList(_) => plain!(LargeList, LargeList, LargeListArgs),
            ListView(_) => plain!(ListView, ListView, ListViewArgs),
            LargeListView(_) => plain!(LargeListView, LargeListView, LargeListViewArgs),
            FixedSizeList(_, size) => {
                table!(FixedSizeList, FixedSizeList, ipc::FixedSizeListArgs { listSize: *size })
            }
            Struct(_) => plain!(Struct_, Struct_, Struct_Args),
            Map(_, sorted) => table!(Map, Map, ipc::MapArgs { keysSorted: *sorted }),
            Union(fields, mode) => {
                let ids: Vec<i32> = fields.iter().map(|(id, _)| id.into()).collect();
                let type_ids = Some(fbb.create_vector(&ids));
                let mode = match mode {
                    UnionMode::Sparse => ipc::UnionMode::Sparse,
                    UnionMode::Dense => ipc::UnionMode::Dense,
                };
                table!(Union, Union, ipc::UnionArgs { mode, typeIds: type_ids })
            }
            RunEndEncoded(..) => plain!(RunEndEncoded, RunEndEncoded, RunEndEncodedArgs),
            // A field's dictionary is taken off before, and a dictionary of a dictionary
            // was refused by `WireSchema::new`.
            Dictionary(_, value) => self.data_type(value),
        }
    }
}

fn time_unit(unit: &TimeUnit) -> ipc::TimeUnit {
    match unit {
        TimeUnit::Second => ipc::TimeUnit::SECOND,
        TimeUnit::Millisecond => ipc::TimeUnit::MILLISECOND,
        TimeUnit::Microsecond => ipc::TimeUnit::MICROSECOND,
        TimeUnit::Nanosecond => ipc::TimeUnit::NANOSECOND,
    }
}
