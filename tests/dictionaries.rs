//! Dictionaries of a stream: which are sent, when, and what readers make of them.

mod common;

use std::sync::Arc;

use arrow::array::cast::AsArray;
use arrow::array::{
    Array, ArrayRef, DictionaryArray, Int32Array, ListArray, RecordBatch, StringArray, StructArray,
    UInt8Array,
};
use arrow::datatypes::{
    ArrowDictionaryKeyType, DataType, Field, Int8Type, Int16Type, Int32Type, Schema, SchemaRef,
};
use arrow::ipc::reader::StreamReader;
use arrow_buffer::OffsetBuffer;
use arrow_frames::{
    CopyReason, DataFrame, Decoder, Encoder, ErrorKind, Frames, Layout, MessageKind, MessageLayout, Target,
    from_buffers,
};

use common::*;

/// A message of a header, as far as dictionaries are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Message {
    Schema,
    /// A dictionary of that id with so many values.
    Values(i64, u64),
    /// So many values more.
    Delta(i64, u64),
    Batch,
}
use Message::{Delta, Values};

#[test]
fn one_dictionary_precedes_the_batch() {
    let df = frame([text_column("a", &["x", "y"], &[1, 0, 1])]);
    assert_eq!(messages_of(&df), [Message::Schema, Values(0, 2), Message::Batch]);
}

/// Also where nothing is in it: some readers insist on one.
#[test]
fn a_dictionary_without_values_is_sent_too() {
    let values: ArrayRef = Arc::new(StringArray::new_null(0));
    for keys in [vec![], vec![None, None]] {
        let array: ArrayRef =
            Arc::new(DictionaryArray::<Int8Type>::new(keys.into_iter().collect(), values.clone()));
        let df = frame([(field("a", array.data_type().clone()), array)]);
        assert_eq!(messages_of(&df), [Message::Schema, Values(0, 0), Message::Batch]);
    }
}

/// Columns of one values buffer share one id, however deep they lie.
#[test]
fn columns_that_share_values_share_an_id() {
    let values = texts(&["x", "y", "z"]);
    let (a, b) = (keyed::<Int8Type>(&[0, 1], &values), keyed::<Int8Type>(&[2, 2], &values));
    let list =
        ListArray::new(item(b.data_type().clone()), OffsetBuffer::from_lengths([2, 0]), b.clone(), None);
    let columns = [
        (field("a", a.data_type().clone()), a.clone()),
        (field("b", b.data_type().clone()), b),
        (field("l", list.data_type().clone()), Arc::new(list)),
    ];
    assert_eq!(messages_of(&frame(columns.clone())), [Message::Schema, Values(0, 3), Message::Batch]);

    // Equal values of other memory, or of another type of keys, are another dictionary or not.
    let other = keyed::<Int8Type>(&[0, 1], &texts(&["x", "y", "z"]));
    let wide = keyed::<Int32Type>(&[0, 1], &values);
    let [a, ..] = columns;
    let columns =
        [a, (field("o", other.data_type().clone()), other), (field("w", wide.data_type().clone()), wide)];
    assert_eq!(messages_of(&frame(columns)), [Message::Schema, Values(0, 3), Values(1, 3), Message::Batch]);
}

/// A slice of the values is other values.
#[test]
fn slices_of_values_are_not_shared() {
    let values = texts(&["x", "y", "z"]);
    let columns = [values.slice(0, 2), values.slice(1, 2), values.slice(0, 3)].map(|values| {
        let array = keyed::<Int8Type>(&[1, 0], &values);
        (field("c", array.data_type().clone()), array)
    });
    assert_eq!(
        messages_of(&frame(columns)),
        [Message::Schema, Values(0, 2), Values(1, 2), Values(2, 3), Message::Batch]
    );
}

/// What is shared in one batch may differ in the next: then it is not shared.
#[test]
fn ids_are_shared_only_if_every_batch_allows_it() {
    let (same, other) = (texts(&["x", "y"]), texts(&["u", "v"]));
    let batch = |second: &ArrayRef| {
        let [a, b] = [&same, second].map(|values| keyed::<Int8Type>(&[0, 1], values));
        RecordBatch::try_from_iter([("a", a), ("b", b)]).unwrap()
    };
    let (first, second) = (batch(&same), batch(&other));
    let df = DataFrame::try_from_batches(first.schema(), vec![first, second]).unwrap();
    assert_eq!(
        messages_of(&df),
        [Message::Schema, Values(0, 2), Values(1, 2), Message::Batch, Values(1, 2), Message::Batch]
    );
}

/// Columns may share values and differ in whether their order means something.
#[test]
fn shared_values_may_be_ordered_in_one_column_only() {
    let values = texts(&["low", "high"]);
    let array = keyed::<Int8Type>(&[0, 1], &values);
    let plain = field("plain", array.data_type().clone());
    let ordered = field("ordered", array.data_type().clone()).with_dict_is_ordered(true);
    let nested = |name: &str, inner: Field| {
        let list = ListArray::new(inner.into(), OffsetBuffer::from_lengths([1, 1]), array.clone(), None);
        (field(name, list.data_type().clone()), Arc::new(list) as ArrayRef)
    };
    let columns = [
        nested("list of ordered", ordered.clone()),
        nested("list of plain", plain.clone()),
        (plain, array.clone()),
        (ordered, array.clone()),
    ];
    check(&frame(columns));
}

/// Two dictionaries of structs share their values and differ in a flag inside them.
#[test]
fn shared_values_may_have_ordered_dictionaries_inside_in_one_column_only() {
    let inner = keyed::<Int8Type>(&[0, 1], &texts(&["low", "high"]));
    let columns = [true, false].map(|is_ordered| {
        let field_inside = field("d", inner.data_type().clone()).with_dict_is_ordered(is_ordered);
        let values: ArrayRef =
            Arc::new(StructArray::new(vec![field_inside].into(), vec![inner.clone()], None));
        let array = keyed::<Int16Type>(&[1, 0, 1], &values);
        (field("c", array.data_type().clone()), array)
    });
    check(&frame(columns));
}

/// The same memory read as two types is two dictionaries.
#[test]
fn the_same_buffer_as_another_type_is_not_shared() {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let dates = arrow::array::make_array(
        numbers.to_data().into_builder().data_type(DataType::Date32).build().unwrap(),
    );
    let columns = [numbers, dates].map(|values| {
        let array = keyed::<Int8Type>(&[1, 0], &values);
        (field("c", array.data_type().clone()), array)
    });
    assert_eq!(messages_of(&frame(columns)), [Message::Schema, Values(0, 3), Values(1, 3), Message::Batch]);
}

/// What the receiver has is not sent again: the same array, or equal values.
#[test]
fn an_unchanged_dictionary_is_not_sent_again() {
    let values = texts(&["x", "y"]);
    let mut stream = Stream::new(Encoder::new(Target::Arrow));
    assert_eq!(stream.send::<Int8Type>(&[0], &values), [Values(0, 2), Message::Batch]);
    assert_eq!(stream.send::<Int8Type>(&[1, 1], &values), [Message::Batch]);
    assert_eq!(stream.send::<Int8Type>(&[], &texts(&["x", "y"])), [Message::Batch]);
    stream.finish();
}

/// By default a changed dictionary replaces the old one: also one that has only grown.
#[test]
fn a_changed_dictionary_is_replaced() {
    let mut stream = Stream::new(Encoder::new(Target::Arrow));
    assert_eq!(stream.send::<Int8Type>(&[0, 1], &texts(&["x", "y"])), [Values(0, 2), Message::Batch]);
    assert_eq!(stream.send::<Int8Type>(&[2, 0], &texts(&["x", "y", "z"])), [Values(0, 3), Message::Batch]);
    assert_eq!(stream.send::<Int8Type>(&[0, 1], &texts(&["y", "x"])), [Values(0, 2), Message::Batch]);
    assert_eq!(stream.send::<Int8Type>(&[0], &texts(&["y"])), [Values(0, 1), Message::Batch]);
    assert_eq!(stream.send::<Int8Type>(&[], &texts(&[])), [Values(0, 0), Message::Batch]);
    assert_eq!(stream.send::<Int8Type>(&[0], &texts(&["y"])), [Values(0, 1), Message::Batch]);
    stream.finish();
}

/// With deltas, one that has grown is continued; anything else replaces it.
#[test]
fn a_dictionary_that_has_grown_is_continued_with_deltas() {
    let mut stream = Stream::new(Encoder::new(Target::Arrow).with_dictionary_deltas(true));
    assert_eq!(stream.send::<Int8Type>(&[0, 1], &texts(&["x", "y"])), [Values(0, 2), Message::Batch]);
    assert_eq!(stream.send::<Int8Type>(&[2, 0], &texts(&["x", "y", "z"])), [Delta(0, 1), Message::Batch]);
    assert_eq!(stream.send::<Int8Type>(&[2, 0], &texts(&["x", "y", "z"])), [Message::Batch]);
    let grown = texts(&["x", "y", "z", "", "v"]);
    assert_eq!(stream.send::<Int8Type>(&[4, 3, 2], &grown), [Delta(0, 2), Message::Batch]);
    assert_eq!(
        stream.send::<Int8Type>(&[0], &texts(&["x", "Y", "z", "", "v"])),
        [Values(0, 5), Message::Batch]
    );
    assert_eq!(stream.send::<Int8Type>(&[0], &texts(&["x", "Y"])), [Values(0, 2), Message::Batch]);
    stream.finish();
}

/// Growth in several batches of one dataframe: deltas there too.
#[test]
fn deltas_of_a_dataframe_of_several_batches() {
    let steps: Vec<Vec<&str>> = vec![vec!["x"], vec!["x", "y"], vec!["x", "y", "z"]];
    let batches: Vec<RecordBatch> = steps
        .iter()
        .map(|step| {
            let keys: Vec<i32> = (0..step.len() as i32).rev().collect();
            RecordBatch::try_from_iter([("a", keyed::<Int8Type>(&keys, &texts(step)))]).unwrap()
        })
        .collect();
    let df = DataFrame::try_from_batches(batches[0].schema(), batches).unwrap();
    check(&df);
    let mut encoder = Encoder::new(Target::Arrow).with_dictionary_deltas(true);
    let frames = encoder.encode(&df).unwrap();
    assert_eq!(
        messages(&frames),
        [
            Message::Schema,
            Values(0, 1),
            Message::Batch,
            Delta(0, 1),
            Message::Batch,
            Delta(0, 1),
            Message::Batch
        ]
    );
    check_frames(&df, &frames);
    // The file form can hold deltas; but a file is read with all of them at once.
    assert_same(&df, &through_file(&frames), &|| "deltas in a file".into());
}

/// Values of every type can be continued, also with nulls among them.
#[test]
fn deltas_of_every_type() {
    let mut count = 0;
    for case in cases() {
        let (_, values) = make(&case.field, 30, Nulls::Some);
        if case.name.contains("dictionary") {
            continue;
        }
        let mut stream = Stream::new(Encoder::new(Target::Arrow).with_dictionary_deltas(true));
        for (length, expected) in [(10, Values(0, 10)), (11, Delta(0, 1)), (30, Delta(0, 19))] {
            let keys: Vec<i32> = (0..length).rev().collect();
            let sent = stream.send::<Int16Type>(&keys, &values.slice(0, length as usize));
            assert_eq!(sent, [expected, Message::Batch], "{}", case.name);
        }
        let (df, frames) = stream.end();
        assert_same(&df, &from_buffers(frames).unwrap(), &|| case.name.clone());
        count += 1;
    }
    assert_eq!(count, cases().iter().filter(|case| !case.name.contains("dictionary")).count());
    assert!(count > 70);
}

/// The dictionary inside a dictionary comes first, since the outer one needs it.
#[test]
fn inner_dictionaries_come_before_outer_ones() {
    let inner = keyed::<Int8Type>(&[0, 1, 0], &texts(&["x", "y"]));
    let pair = StructArray::new(
        vec![field("d", inner.data_type().clone()), field("e", inner.data_type().clone())].into(),
        vec![inner.clone(), keyed::<Int8Type>(&[0, 0, 0], &texts(&["z"]))],
        None,
    );
    let outer = keyed::<Int16Type>(&[2, 1], &(Arc::new(pair) as ArrayRef));
    let df = frame([(field("a", outer.data_type().clone()), outer)]);
    assert_eq!(messages_of(&df), [Message::Schema, Values(1, 2), Values(2, 1), Values(0, 3), Message::Batch]);
}

/// A change inside a nested dictionary is sent with what is around it; equal outer values
/// would otherwise be read through the new inner ones.
#[test]
fn a_change_of_an_inner_dictionary_is_a_change_of_the_outer_one() {
    let outer = |keys: &[i32], inner: &[&str]| -> ArrayRef {
        let inner = keyed::<Int8Type>(keys, &texts(inner));
        let values = StructArray::new(vec![field("d", inner.data_type().clone())].into(), vec![inner], None);
        Arc::new(values)
    };
    for deltas in [false, true] {
        let mut stream = Stream::new(Encoder::new(Target::Arrow).with_dictionary_deltas(deltas));
        let first = outer(&[0, 1], &["x", "y"]);
        assert_eq!(stream.send::<Int8Type>(&[1], &first), [Values(1, 2), Values(0, 2), Message::Batch]);
        assert_eq!(stream.send::<Int8Type>(&[0], &first), [Message::Batch]);
        // The same inner keys with other inner values, and the other way round.
        let second = outer(&[0, 1], &["y", "x"]);
        assert_eq!(stream.send::<Int8Type>(&[0], &second), [Values(1, 2), Values(0, 2), Message::Batch]);
        let third = outer(&[1, 0], &["y", "x"]);
        let sent = stream.send::<Int8Type>(&[0, 1], &third);
        assert!(sent.contains(&Values(0, 2)), "{sent:?}");
        // Equal to the last one, but of other inner values.
        let fourth = outer(&[0, 1], &["x", "y"]);
        let sent = stream.send::<Int8Type>(&[0, 1], &fourth);
        assert!(sent.contains(&Values(0, 2)), "{sent:?}");
        stream.finish();
    }
}

/// The flag of a dictionary-encoded field survives, at every depth and by every form.
#[test]
fn the_ordered_flag_survives() {
    for case in ["ordered_dictionary", "list_of_ordered_dictionary", "dictionary_of_ordered_in_struct"] {
        for rows in [0, 20] {
            let (field, array) = make(&case_field(case), rows, Nulls::Some);
            let df = one_column(&field, &array);
            check(&df);
            let decoded = from_buffers(Encoder::new(Target::Arrow).encode(&df).unwrap()).unwrap();
            let ordered = signature(decoded.schema()).iter().filter(|f| f.ordered == Some(true)).count();
            assert_eq!(ordered, 1, "{case}");
        }
    }
}

/// Two batches that differ only in the flag are of two schemas.
#[test]
fn the_ordered_flag_is_part_of_the_schema() {
    let (field, array) = make(&case_field("dictionary_int8"), 3, Nulls::Some);
    let ordered = Arc::new(field.as_ref().clone().with_dict_is_ordered(true));
    let [plain, ordered] =
        [field, ordered].map(|field| one_column(&field, &array).into_record_batch().unwrap());
    assert_eq!(plain.schema(), ordered.schema(), "Arrow tells them apart now: drop this test");
    let mut encoder = Encoder::new(Target::Arrow);
    encoder.start(&plain.schema()).unwrap();
    let mismatch = |error: arrow_frames::Error| matches!(error.kind(), ErrorKind::SchemaMismatch { .. });
    assert!(mismatch(encoder.encode_batch(&ordered).unwrap_err()));
    assert!(mismatch(DataFrame::try_from_batches(plain.schema(), vec![plain, ordered]).unwrap_err()));
}

/// Readers must do without a dictionary whose values nobody uses yet: none has come, it comes
/// late, or it never does.
#[test]
fn a_dictionary_may_be_missing_while_all_is_null() {
    let values = texts(&["x", "y"]);
    let nulls: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(vec![None, None].into(), values.clone()));
    let batch =
        |array: &ArrayRef| RecordBatch::try_from_iter_with_nullable([("a", array.clone(), true)]).unwrap();
    let used = keyed::<Int8Type>(&[1, 0], &values);
    let mut encoder = Encoder::new(Target::Arrow);
    let mut encode = |array: &ArrayRef| {
        let start = encoder.start(&batch(array).schema()).unwrap();
        (start, encoder.encode_batch(&batch(array)).unwrap())
    };
    let (start, all_null) = encode(&nulls);
    let all_null = without_dictionaries(&start, all_null);
    let (_, late) = encode(&used);
    let missing = without_dictionaries(&start, late.clone());

    let mut decoder = Decoder::new();
    decoder.decode(start.clone()).unwrap();
    let decoded = decoder.decode(all_null).unwrap();
    assert_same_array(&nulls, decoded.batches()[0].column(0).unwrap().as_native().unwrap(), &|| {
        "no values".into()
    });
    let decoded = decoder.decode(late).unwrap();
    assert_same_array(&used, decoded.batches()[0].column(0).unwrap().as_native().unwrap(), &|| "late".into());

    // Where a value is asked for, it must have come.
    let mut decoder = Decoder::new();
    decoder.decode(start).unwrap();
    let error = decoder.decode(missing).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::DictionaryMissing { column, id: 0 } if column == "a"),
        "{error}"
    );
}

/// An array keeps the values that it was decoded with, whatever comes later.
#[test]
fn replaced_values_stay_with_the_arrays_that_use_them() {
    let mut encoder = Encoder::new(Target::Arrow);
    let mut decoder = Decoder::new();
    let batches = [["x", "y"], ["u", "v"], ["y", "x"]].map(|values| {
        RecordBatch::try_from_iter([("a", keyed::<Int8Type>(&[0, 1], &texts(&values)))]).unwrap()
    });
    decoder.decode(encoder.start(&batches[0].schema()).unwrap()).unwrap();
    let decode =
        |batch| decoder.decode(encoder.encode_batch(batch).unwrap()).unwrap().into_record_batch().unwrap();
    let decoded: Vec<RecordBatch> = batches.iter().map(decode).collect();
    assert_eq!(decoded, batches);
    // One dataframe of them too.
    check(&DataFrame::try_from_batches(batches[0].schema(), batches.to_vec()).unwrap());
}

/// A file holds one dictionary per column: what changes is refused, and the stream has it.
#[test]
fn the_file_form_refuses_a_changed_dictionary() {
    let batches = [["x", "y"], ["u", "v"]].map(|values| {
        RecordBatch::try_from_iter([("a", keyed::<Int8Type>(&[0, 1], &texts(&values)))]).unwrap()
    });
    let df = DataFrame::try_from_batches(batches[0].schema(), batches.to_vec()).unwrap();
    let frames = Encoder::new(Target::Arrow).encode(&df).unwrap();
    let error = frames.file_form().unwrap_err();
    // Schema, dictionary, batch, dictionary.
    assert!(matches!(error.kind(), ErrorKind::DictionaryChanged { id: 0, message: 3 }), "{error}");
    assert_same(&df, &through_stream(&frames), &|| "stream".into());
    // The same dictionary in both is none that changes.
    let same = DataFrame::try_from_batches(batches[0].schema(), vec![batches[0].clone(); 2]).unwrap();
    assert_same(&same, &through_file(&Encoder::new(Target::Arrow).encode(&same).unwrap()), &|| "file".into());
}

/// After an error the receiver knows what it knew before: what the failed call would have
/// sent is sent by the next one.
#[test]
fn an_error_leaves_the_stream_as_it_was() {
    let first = (texts(&["x", "y"]), UInt8Array::from(vec![1, 2]));
    let second = (texts(&["x", "y", "z"]), UInt8Array::from(vec![3, 4]));
    // The last column fails, so that the dictionaries before it were already noted.
    let batch = |(values, numbers): &(ArrayRef, UInt8Array), is_sliced: bool| {
        let texts: StringArray = (0..200).map(|n| Some(format!("text {n}"))).collect();
        let last = if is_sliced { texts.slice(150, 2) } else { texts.slice(0, 2) };
        let inner = keyed::<Int8Type>(&[1, 0], values);
        let around =
            StructArray::new(vec![field("d", inner.data_type().clone())].into(), vec![inner.clone()], None);
        RecordBatch::try_from_iter([
            ("d", inner),
            ("outer", keyed::<Int8Type>(&[0, 1], &(Arc::new(around) as ArrayRef))),
            ("n", Arc::new(numbers.clone()) as ArrayRef),
            ("s", Arc::new(last) as ArrayRef),
        ])
        .unwrap()
    };
    let [sliced_first, first, sliced_second, second] =
        [(&first, true), (&first, false), (&second, true), (&second, false)]
            .map(|(of, sliced)| batch(of, sliced));
    for deltas in [false, true] {
        let mut encoder = Encoder::new(Target::Arrow).with_dictionary_deltas(deltas).with_max_copied_bytes(0);
        let mut stream = vec![encoder.start(&first.schema()).unwrap()];
        let refused = |encoder: &mut Encoder, batch| {
            let error = encoder.encode_batch(batch).unwrap_err();
            let is_copy = matches!(error.kind(), ErrorKind::CopyLimit { reason: CopyReason::Rebased, .. });
            assert!(is_copy, "{error}");
        };
        refused(&mut encoder, &sliced_first);
        stream.push(encoder.encode_batch(&first).unwrap());
        refused(&mut encoder, &sliced_second);
        refused(&mut encoder, &sliced_second);
        stream.push(encoder.encode_batch(&first).unwrap());
        refused(&mut encoder, &sliced_second);
        stream.push(encoder.encode_batch(&second).unwrap());
        stream.push(encoder.finish().unwrap());

        let counts = (0..stream.len()).map(|piece| {
            let new = messages_after(&stream[..piece], &stream[piece]);
            new.iter().filter(|message| matches!(message, Values(..) | Delta(..))).count()
        });
        assert_eq!(counts.collect::<Vec<_>>(), [0, 3, 0, 3, 0], "deltas: {deltas}");
        let expected = vec![first.clone(), first.clone(), second.clone()];
        let df = DataFrame::try_from_batches(first.schema(), expected).unwrap();
        check_frames(&df, &joined(stream));
    }
}

/// A failed encode of a whole dataframe does not touch a stream that was started before.
#[test]
fn a_failed_dataframe_leaves_the_stream_as_it_was() {
    let mut stream = Stream::new(Encoder::new(Target::Arrow));
    let values = texts(&["x", "y"]);
    stream.send::<Int8Type>(&[0], &values);
    let inner = keyed::<Int8Type>(&[0], &values);
    let outer: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(vec![0].into(), inner));
    let df = frame([(field("d", outer.data_type().clone()), outer)]);
    assert!(stream.encoder.encode(&df).is_err());
    assert_eq!(stream.send::<Int8Type>(&[1], &values), [Message::Batch]);
    stream.finish();
}

/// The reference reader reads dictionaries of every type that it supports, in every place.
#[test]
fn arrow_ipc_reads_every_dictionary() {
    let mut count = 0;
    for case in cases() {
        let holds_dictionary = case.name.contains("dictionary");
        for (nest, put_in) in NESTS.into_iter().filter(|(nest, _)| holds_dictionary || *nest == "dictionary")
        {
            let (field, array) = make(&case.field, 40, Nulls::Some);
            let (field, array) = put_in(&field, &array);
            let df = one_column(&field, &array);
            let Ok(frames) = Encoder::new(Target::Arrow).encode(&df) else {
                assert!(nest == "dictionary" && holds_dictionary, "{} in {nest}", case.name);
                continue;
            };
            let batches = read_by_arrow_ipc(&frames);
            let expected = df.into_record_batches().unwrap();
            assert_eq!(batches, expected, "{} in {nest}", case.name);
            count += 1;
        }
    }
    println!("{count} dictionaries");
    let cases = cases();
    let with_dictionaries = cases.iter().filter(|case| case.name.contains("dictionary")).count();
    let top_level =
        cases.iter().filter(|case| matches!(case.field.data_type(), DataType::Dictionary(..))).count();
    let expected = NESTS.len() * with_dictionaries - top_level + (cases.len() - with_dictionaries);
    assert_eq!(count, expected, "dictionaries have vanished");
}

/// A stream of one dictionary-encoded column, read along by both readers.
struct Stream {
    encoder: Encoder,
    schema: Option<SchemaRef>,
    sent: Vec<Frames>,
    batches: Vec<RecordBatch>,
}

impl Stream {
    fn new(encoder: Encoder) -> Self {
        Stream { encoder, schema: None, sent: vec![], batches: vec![] }
    }

    /// Sends a batch; the messages that this takes.
    fn send<K: ArrowDictionaryKeyType>(&mut self, keys: &[i32], values: &ArrayRef) -> Vec<Message> {
        let array = keyed::<K>(keys, values);
        let schema = self.schema.get_or_insert_with(|| {
            let schema: SchemaRef = Schema::new(vec![field("d", array.data_type().clone())]).into();
            self.sent.push(self.encoder.start(&schema).unwrap());
            schema
        });
        let batch = RecordBatch::try_new(schema.clone(), vec![array]).unwrap();
        let frames = self.encoder.encode_batch(&batch).unwrap();
        let new = messages_after(&self.sent, &frames);
        self.sent.push(frames);
        self.batches.push(batch);
        new
    }

    /// The dataframe and all that was sent of it.
    fn end(mut self) -> (DataFrame, Frames) {
        self.sent.push(self.encoder.finish().unwrap());
        let df = DataFrame::try_from_batches(self.schema.unwrap(), self.batches).unwrap();
        (df, joined(self.sent))
    }

    /// Reads all that was sent, at once and by arrow-ipc.
    fn finish(self) {
        let (df, frames) = self.end();
        check_frames(&df, &frames);
    }
}

/// Checks every form and both readers.
#[track_caller]
fn check(df: &DataFrame) {
    let frames = Encoder::new(Target::Arrow).encode(df).unwrap();
    check_frames(df, &frames);
    assert_same(df, &through_pieces(df), &|| "pieces".into());
    assert_same(df, &df.detach().unwrap(), &|| "detached".into());
}

/// Checks both readers.
#[track_caller]
fn check_frames(df: &DataFrame, frames: &Frames) {
    assert_same(df, &from_buffers(frames.clone()).unwrap(), &|| "frames".into());
    assert_same(df, &through_stream(frames), &|| "stream".into());
    let expected = df.clone().into_record_batches().unwrap();
    assert_eq!(read_by_arrow_ipc(frames), expected, "arrow-ipc reads something else");
}

fn read_by_arrow_ipc(frames: &Frames) -> Vec<RecordBatch> {
    let stream: Vec<u8> = frames.segments().unwrap().flatten().copied().collect();
    StreamReader::try_new(stream.as_slice(), None).unwrap().collect::<Result<_, _>>().unwrap()
}

fn messages_of(df: &DataFrame) -> Vec<Message> {
    check(df);
    messages(&Encoder::new(Target::Arrow).encode(df).unwrap())
}

fn messages(frames: &Frames) -> Vec<Message> {
    let layout = Layout::of_frames(frames);
    let kind = |message: &MessageLayout| match message.kind {
        MessageKind::Schema => Message::Schema,
        MessageKind::Dictionary { id, is_delta: false } => Values(id, message.rows),
        MessageKind::Dictionary { id, is_delta: true } => Delta(id, message.rows),
        MessageKind::Batch => Message::Batch,
        other => panic!("{other:?}"),
    };
    layout.messages.iter().map(kind).collect()
}

/// The messages of the next piece of a stream.
fn messages_after(before: &[Frames], piece: &Frames) -> Vec<Message> {
    let all = [before, std::slice::from_ref(piece)].concat();
    messages(&joined(all)).split_off(messages(&joined(before.to_vec())).len())
}

/// One stream of its pieces.
fn joined(pieces: Vec<Frames>) -> Frames {
    let (mut header, mut buffers) = (Vec::new(), Vec::new());
    for (head, frames) in pieces.into_iter().map(Frames::into_parts) {
        header.extend_from_slice(&head);
        buffers.extend(frames);
    }
    Frames::new(header, buffers)
}

/// The batch of a piece that follows `start`, without the dictionaries in front of it.
fn without_dictionaries(start: &Frames, piece: Frames) -> Frames {
    let layout = Layout::of_frames(&joined(vec![start.clone(), piece.clone()]));
    let [_, dictionaries @ .., batch] = &layout.messages[..] else { panic!("no batch") };
    assert!(!dictionaries.is_empty() && batch.kind == MessageKind::Batch);
    let count = |message: &MessageLayout| message.buffers.iter().filter(|b| b.length > 0).count();
    let before = dictionaries.iter().map(count).sum();
    let header = piece.header().slice(batch.position as usize - start.header().len());
    Frames::new(header, piece.buffers()[before..].to_vec())
}

fn case_field(name: &str) -> Field {
    case(name).field.as_ref().clone()
}

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn keyed<K: ArrowDictionaryKeyType>(keys: &[i32], values: &ArrayRef) -> ArrayRef {
    let keys = Int32Array::from(keys.to_vec());
    let keys = arrow::compute::cast(&keys, &K::DATA_TYPE).unwrap();
    Arc::new(DictionaryArray::<K>::new(keys.as_primitive::<K>().clone(), values.clone()))
}

fn text_column(name: &str, values: &[&str], keys: &[i32]) -> (Field, ArrayRef) {
    let array = keyed::<Int8Type>(keys, &texts(values));
    (field(name, array.data_type().clone()), array)
}

fn frame<const N: usize>(columns: [(Field, ArrayRef); N]) -> DataFrame {
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    RecordBatch::try_new(Schema::new(fields).into(), columns).unwrap().into()
}
