//! Random dataframes come back equal: random types up to four levels deep, random values,
//! slices, batches, options and forms. The run is the same each time, and proves at its end
//! that it met everything it is meant to meet.

mod common;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::cast::AsArray;
use arrow::array::{Array, ArrayData, ArrayRef, Int64Array, make_array};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Int64Type, IntervalUnit, Schema, UnionMode};
#[cfg(any(feature = "lz4", feature = "zstd"))]
use arrow_frames::Compression;
use arrow_frames::{
    Batch, Column, CopyReason, DataFrame, Decoder, Encoder, ErrorKind, Frames, Layout, MessageKind, Target,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use common::*;

/// Enough to meet each entry of [`expected`] many times, in a few seconds.
const CASES: u32 = 12_000;

#[test]
fn random_dataframes_come_back_equal() {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, b"the same dataframes on every run");
    let met = RefCell::new(Met::default());
    let result = TestRunner::new_with_rng(config, rng).run(&plan(), |plan| {
        check(&plan, &mut met.borrow_mut());
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let met = met.into_inner();
    met.print();
    let missed: Vec<_> =
        expected().into_iter().filter(|what| met.0.get(what).is_none_or(|n| *n < 10)).collect();
    assert!(missed.is_empty(), "hardly ever met: {missed:?}");
}

/// Everything that decides about one dataframe and its way.
#[derive(Debug, Clone)]
struct Plan {
    columns: Vec<ColumnPlan>,
    batches: Vec<BatchPlan>,
    metadata: BTreeMap<String, String>,
    compression: &'static str,
    deltas: bool,
    trim: bool,
    form: &'static str,
}

#[derive(Debug, Clone)]
struct ColumnPlan {
    field: Field,
    nulls: Nulls,
    seed: u64,
}

#[derive(Debug, Clone)]
struct BatchPlan {
    rows: usize,
    /// Rows in front of the slice and behind it.
    around: (usize, usize),
    /// Whether the values are those of the batch before, so that dictionaries stay.
    same: bool,
    /// Values that a top-level dictionary has by then.
    values: usize,
    metadata: BTreeMap<String, String>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let columns = vec(column(), 0..4);
    let batches = vec(batch(), 0..4);
    let options = (select(&["none", "lz4", "zstd"][..]), any::<bool>(), any::<bool>());
    let form = select(&["frames", "stream", "file", "pieces", "detached", "unaligned"][..]);
    (columns, batches, metadata(), options, form).prop_map(|(columns, batches, metadata, options, form)| {
        let (compression, deltas, trim) = options;
        Plan { columns, batches, metadata, compression, deltas, trim, form }
    })
}

fn column() -> impl Strategy<Value = ColumnPlan> {
    let nulls = select(&Nulls::ALL[..]);
    (child(data_type().boxed()), nulls, any::<u64>()).prop_map(|(field, nulls, seed)| {
        let nullable = nulls != Nulls::None || !may_be_required(field.data_type());
        let field = field.with_nullable(nullable);
        ColumnPlan { field, nulls, seed }
    })
}

fn batch() -> impl Strategy<Value = BatchPlan> {
    let rows = prop_oneof![3 => 0..70usize, 1 => Just(0usize), 1 => Just(1usize)];
    let around =
        prop_oneof![2 => Just((0, 0)), 1 => (0..20usize, 0..20usize), 1 => Just((8, 0)), 1 => Just((64, 3))];
    (rows, around, any::<bool>(), 1..9usize, metadata())
        .prop_map(|(rows, around, same, values, metadata)| BatchPlan { rows, around, same, values, metadata })
}

/// A field whose names, metadata and flags are anything.
fn child(data_type: BoxedStrategy<DataType>) -> impl Strategy<Value = Field> {
    let name = select(&["a", "b", "", "a name with spaces", "größe", "a.b/c", "列"][..]);
    (name, data_type, any::<bool>(), any::<bool>(), metadata()).prop_map(
        |(name, data_type, is_ordered, nullable, metadata)| {
            let nullable = nullable || !may_be_required(&data_type);
            Field::new(name, data_type, nullable).with_dict_is_ordered(is_ordered).with_metadata(metadata)
        },
    )
}

fn metadata() -> impl Strategy<Value = BTreeMap<String, String>> {
    let key = select(&["k", "", "ARROW:extension:name", "ß", "pandas"][..]).prop_map(str::to_owned);
    let value = select(&["v", "", "{\"a\": 1}", "日本"][..]).prop_map(str::to_owned);
    prop_oneof![3 => Just(BTreeMap::new()), 1 => proptest::collection::btree_map(key, value, 1..3)]
}

/// Any type, up to four levels deep; top-level columns of each flat type too.
fn data_type() -> impl Strategy<Value = DataType> {
    prop_oneof![1 => leaf().boxed(), 2 => nested().boxed()]
}

fn nested() -> impl Strategy<Value = DataType> {
    leaf().prop_recursive(3, 24, 3, |inner| {
        let one = || child(inner.clone()).prop_map(FieldRef::new);
        let required_key =
            leaf().prop_filter_map("a map's key is never null", |key| may_be_required(&key).then_some(key));
        let values = inner.clone().prop_map(|inner| match inner {
            DataType::Dictionary(..) => DataType::List(item(inner)),
            other => other,
        });
        let ends = select(&[DataType::Int16, DataType::Int32, DataType::Int64][..]);
        let ids = prop::sample::subsequence((0..=127i8).collect::<Vec<_>>(), 4).prop_shuffle();
        prop_oneof![
            one().prop_map(DataType::List),
            one().prop_map(DataType::LargeList),
            one().prop_map(DataType::ListView),
            one().prop_map(DataType::LargeListView),
            (one(), 0..4).prop_map(|(field, size)| DataType::FixedSizeList(field, size)),
            vec(one(), 0..4).prop_map(|fields| DataType::Struct(Fields::from(fields))),
            (required_key, inner.clone()).prop_map(|(key, value)| map(key, value, false)),
            inner.clone().prop_map(|value| map(DataType::Int32, value, true)),
            (vec(one(), 1..4), ids, any::<bool>()).prop_map(|(fields, ids, is_dense)| {
                let mode = if is_dense { UnionMode::Dense } else { UnionMode::Sparse };
                DataType::Union(ids.into_iter().zip(fields).collect(), mode)
            }),
            (select(&KEYS[..]), values).prop_map(|(key, value)| dictionary(key, value)),
            (ends, one()).prop_map(|(ends, values)| {
                DataType::RunEndEncoded(Arc::new(required("run_ends", ends)), values)
            }),
        ]
    })
}

fn leaf() -> impl Strategy<Value = DataType> {
    use DataType::*;
    let fixed = select(vec![
        Null,
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        Binary,
        LargeBinary,
        BinaryView,
        Utf8,
        LargeUtf8,
        Utf8View,
    ]);
    let unit = || select(UNITS.map(|(_, unit)| unit).to_vec());
    let zone = select(vec![None, Some("UTC"), Some("Europe/Paris"), Some("+05:30"), Some("")]);
    let interval = select(vec![IntervalUnit::YearMonth, IntervalUnit::DayTime, IntervalUnit::MonthDayNano]);
    prop_oneof![
        8 => fixed,
        1 => (unit(), zone).prop_map(|(unit, zone)| Timestamp(unit, zone.map(Into::into))),
        1 => unit().prop_map(Duration),
        1 => unit().prop_map(|unit| match unit {
            arrow::datatypes::TimeUnit::Second | arrow::datatypes::TimeUnit::Millisecond => Time32(unit),
            _ => Time64(unit),
        }),
        1 => interval.prop_map(Interval),
        1 => (0..40i32).prop_map(FixedSizeBinary),
        1 => prop_oneof![
            (1..=9u8, -9..9i8).prop_map(|(p, s)| Decimal32(p, s.min(p as i8))),
            (1..=18u8, -18..18i8).prop_map(|(p, s)| Decimal64(p, s.min(p as i8))),
            (1..=38u8, -38..38i8).prop_map(|(p, s)| Decimal128(p, s.min(p as i8))),
            (1..=76u8, -76..76i8).prop_map(|(p, s)| Decimal256(p, s.min(p as i8))),
        ],
    ]
}

/// Whether arrays of this type can be without nulls: a null type inside shows through.
fn may_be_required(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null => false,
        DataType::Union(fields, _) => fields.iter().all(|(_, field)| may_be_required(field.data_type())),
        DataType::Dictionary(_, values) => may_be_required(values),
        DataType::RunEndEncoded(_, values) => may_be_required(values.data_type()),
        _ => true,
    }
}

/// Encodes, carries and decodes one dataframe.
fn check(plan: &Plan, met: &mut Met) {
    let df = build(plan, met);
    let name = || format!("{plan:?}");
    let mut encoder =
        Encoder::new(Target::Arrow).with_dictionary_deltas(plan.deltas).with_trimmed_dictionaries(plan.trim);
    match plan.compression {
        #[cfg(feature = "lz4")]
        "lz4" => encoder = encoder.with_compression(Compression::Lz4),
        #[cfg(feature = "zstd")]
        "zstd" => encoder = encoder.with_compression(Compression::Zstd(1)),
        _ => {}
    }
    let frames = encoder.encode(&df).unwrap();
    met.meet(format!("compression: {}", plan.compression));
    met.meet(format!("deltas: {}", plan.deltas));
    met.meet(format!("trimmed: {}", plan.trim));
    met.meet(format!("batches: {}", plan.batches.len()));
    encoder.copies().iter().for_each(|copied| met.meet(format!("sender copies: {:?}", copied.reason)));
    for message in Layout::of_frames(&frames).messages {
        if let MessageKind::Dictionary { is_delta, .. } = message.kind {
            met.meet(format!("dictionary message, delta: {is_delta}"));
        }
    }

    let mut decoder = Decoder::new();
    let decoded = match plan.form {
        "frames" => decoder.decode(frames).unwrap(),
        "stream" => through_stream(&frames),
        "file" => match frames.file_form() {
            Ok(_) => through_file(&frames),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::DictionaryChanged { .. }), "{error}");
                assert!(df.batches().len() > 1);
                met.meet("a file refused a changed dictionary".into());
                return;
            }
        },
        "pieces" => {
            // Batch by batch there is no metadata of messages to carry.
            let batches = df.clone().into_record_batches().unwrap();
            let bare = DataFrame::try_from_batches(df.schema().clone(), batches).unwrap();
            assert_same(&bare, &through_pieces(&bare), &name);
            met.meet("form: pieces".into());
            return;
        }
        "detached" => df.detach().unwrap(),
        _ => {
            let shift = |(n, frame): (usize, &arrow_buffer::Buffer)| {
                let shift = n % 16;
                arrow_buffer::Buffer::from_slice_ref([&[0u8; 16][..shift], frame].concat()).slice(shift)
            };
            let buffers = frames.buffers().iter().enumerate().map(shift).collect();
            decoder.decode(Frames::new(frames.header().clone(), buffers)).unwrap()
        }
    };
    met.meet(format!("form: {}", plan.form));
    decoder.copies().iter().for_each(|copied| met.meet(format!("receiver copies: {:?}", copied.reason)));
    assert_same(&df, &decoded, &name);
    assert_valid(&decoded, &name);
}

fn build(plan: &Plan, met: &mut Met) -> DataFrame {
    let fields: Vec<Field> = plan.columns.iter().map(|column| column.field.clone()).collect();
    fields.iter().for_each(|field| met.meet_field(field, 1));
    let schema = Schema::new_with_metadata(fields, plan.metadata.clone());
    let mut generation = 0;
    let mut batches = Vec::new();
    for batch in &plan.batches {
        generation += u64::from(!batch.same);
        let columns = plan.columns.iter().map(|column| {
            let rows = batch.around.0 + batch.rows + batch.around.1;
            // With the same seed and rows the values are equal, but not the same memory.
            let mut rng = Rng(column.seed.wrapping_add(generation));
            let array = make_array_of(column.field.data_type(), rows, column.nulls, &mut rng);
            let array = if batch.same { grown(&array, column, batch.values) } else { array };
            met.meet(format!("nulls: {:?}", column.nulls));
            Column::Native(array.slice(batch.around.0, batch.rows))
        });
        let columns = columns.collect();
        met.meet(match (batch.around, batch.rows) {
            (_, 0) => "rows: none".into(),
            ((0, 0), _) => "rows: all".into(),
            ((0, _), _) => "rows: from the start".into(),
            ((before, _), _) if before % 8 == 0 => "rows: from a whole byte on".into(),
            _ => "rows: from inside a byte on".into(),
        });
        batches.push(Batch::try_new(columns, batch.rows).unwrap().with_metadata(batch.metadata.clone()));
    }
    DataFrame::try_new(schema.into(), batches).unwrap().with_message_metadata(plan.metadata.clone())
}

/// A top-level dictionary with the first so many of values that do not depend on the batch.
fn grown(array: &ArrayRef, column: &ColumnPlan, count: usize) -> ArrayRef {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return array.clone() };
    let nulls = if column.nulls == Nulls::None { Nulls::None } else { Nulls::Some };
    let value_type = dictionary.values().data_type();
    let values = make_array_of(value_type, 10, nulls, &mut Rng(column.seed)).slice(0, count);
    let keys = arrow::compute::cast(dictionary.keys(), &DataType::Int64).unwrap();
    let keys: Int64Array = keys.as_primitive::<Int64Type>().unary(|key| key % count as i64);
    let keys = arrow::compute::cast(&keys, dictionary.keys().data_type()).unwrap().to_data();
    let data = ArrayData::builder(array.data_type().clone())
        .len(keys.len())
        .nulls(keys.nulls().cloned())
        .offset(keys.offset())
        .add_buffer(keys.buffers()[0].clone())
        .add_child_data(values.to_data());
    make_array(data.build().unwrap())
}

/// How often each thing was met.
#[derive(Debug, Default)]
struct Met(BTreeMap<String, usize>);

impl Met {
    fn meet(&mut self, what: String) {
        *self.0.entry(what).or_default() += 1;
    }

    fn meet_field(&mut self, field: &Field, level: usize) {
        use DataType::*;
        self.meet(format!("level: {level}"));
        self.meet(type_at(field.data_type(), level > 1));
        self.meet(format!("nullable: {}", field.is_nullable()));
        if let Some(is_ordered) = field.dict_is_ordered() {
            self.meet(format!("ordered: {is_ordered}"));
        }
        match field.data_type() {
            List(child) | LargeList(child) | ListView(child) | LargeListView(child) => {
                self.meet_field(child, level + 1);
            }
            FixedSizeList(child, size) => {
                self.meet(format!("fixed-size list of none: {}", *size == 0));
                self.meet_field(child, level + 1);
            }
            Map(child, sorted) => {
                self.meet(format!("sorted map: {sorted}"));
                let Struct(fields) = child.data_type() else { unreachable!() };
                fields.iter().for_each(|field| self.meet_field(field, level + 1));
            }
            Struct(fields) => {
                self.meet(format!("empty struct: {}", fields.is_empty()));
                fields.iter().for_each(|field| self.meet_field(field, level + 1));
            }
            Union(fields, _) => fields.iter().for_each(|(_, field)| self.meet_field(field, level + 1)),
            RunEndEncoded(ends, values) => {
                self.meet(format!("run ends: {}", ends.data_type()));
                self.meet_field(values, level + 1);
            }
            Dictionary(key, values) => {
                self.meet(format!("keys: {key}"));
                let inside = Field::new("", values.as_ref().clone(), true);
                self.meet(format!("dictionary of: {}", family(values)));
                self.meet_field(&inside, level + 1);
            }
            Timestamp(_, zone) => self.meet(format!("zone: {}", zone.is_some())),
            _ => {}
        }
    }

    fn print(&self) {
        println!("{:>7}  what", "times");
        self.0.iter().for_each(|(what, times)| println!("{times:>7}  {what}"));
    }
}

/// The type without its parameters, and where it was met.
fn type_at(data_type: &DataType, is_nested: bool) -> String {
    let name = data_type.to_string();
    let name = match data_type {
        DataType::Union(_, mode) => format!("Union {mode:?}"),
        DataType::Timestamp(unit, _) => format!("Timestamp {unit:?}"),
        DataType::Interval(unit) => format!("Interval {unit:?}"),
        _ => name.split(['(', '<', ' ']).next().unwrap_or_default().to_owned(),
    };
    format!("type: {name}, {}", if is_nested { "nested" } else { "top level" })
}

/// The layout of a type, roughly.
fn family(data_type: &DataType) -> &'static str {
    use DataType::*;
    match data_type {
        Utf8 | LargeUtf8 | Binary | LargeBinary => "texts",
        Utf8View | BinaryView => "views",
        List(_) | LargeList(_) | Map(..) | FixedSizeList(..) => "lists",
        ListView(_) | LargeListView(_) => "list-views",
        Struct(_) => "structs",
        Union(..) => "unions",
        RunEndEncoded(..) => "runs",
        Null => "nulls",
        _ => "numbers",
    }
}

/// What the run has to meet.
fn expected() -> Vec<String> {
    let mut expected = Vec::new();
    let mut add =
        |what: &str, values: &[&str]| expected.extend(values.iter().map(|value| format!("{what}: {value}")));
    add("level", &["1", "2", "3", "4"]);
    add("batches", &["0", "1", "2", "3"]);
    add("nulls", &["None", "Some", "All"]);
    add("rows", &["none", "all", "from the start", "from a whole byte on", "from inside a byte on"]);
    add("compression", &["none", "lz4", "zstd"]);
    add("form", &["frames", "stream", "file", "pieces", "detached", "unaligned"]);
    add(
        "dictionary of",
        &["texts", "views", "lists", "list-views", "structs", "unions", "runs", "nulls", "numbers"],
    );
    add("run ends", &["Int16", "Int32", "Int64"]);
    add("keys", &KEYS.map(|key| key.to_string()).each_ref().map(String::as_str));
    for what in [
        "deltas",
        "trimmed",
        "ordered",
        "nullable",
        "sorted map",
        "empty struct",
        "fixed-size list of none",
        "zone",
        "dictionary message, delta",
    ] {
        add(what, &["true", "false"]);
    }
    let reasons = [CopyReason::BitOffset, CopyReason::Rebased, CopyReason::Compacted, CopyReason::Dictionary];
    reasons.iter().for_each(|reason| add("sender copies", &[&format!("{reason:?}")]));
    let reasons = [CopyReason::Misaligned, CopyReason::Dictionary];
    reasons.iter().for_each(|reason| add("receiver copies", &[&format!("{reason:?}")]));
    if cfg!(any(feature = "lz4", feature = "zstd")) {
        add("sender copies", &["Compressed"]);
        add("receiver copies", &["Decompressed"]);
    }
    // Every type of the list that the other tests go through.
    for case in cases() {
        expected.extend([false, true].map(|is_nested| type_at(case.field.data_type(), is_nested)));
    }
    expected.push("a file refused a changed dictionary".into());
    expected.sort();
    expected.dedup();
    expected
}
