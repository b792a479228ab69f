//! `inspect`: what lies where.

mod common;

use std::fs;
use std::path::Path;

use common::*;
use serde_json::Value;

fn inspect(file: &Path) -> Value {
    run(["inspect".as_ref(), "--json".as_ref(), file.as_os_str()]).prints_json()
}

#[test]
fn the_document_says_where_each_buffer_lies() {
    let folder = Folder::new();
    for file in [folder.stream("a.arrows", &plain()), folder.file("a.arrow", &plain())] {
        let json = inspect(&file);
        let bytes = fs::read(&file).unwrap();
        assert_eq!((&json["sound"], &json["finished"]), (&true.into(), &true.into()));
        assert_eq!(json["bytes"], bytes.len());
        let messages = json["messages"].as_array().unwrap();
        let batch = messages.iter().find(|message| message["kind"] == "batch").unwrap();
        assert_eq!((&batch["rows"], &batch["compression"]), (&3.into(), &Value::Null));
        let buffers = batch["buffers"].as_array().unwrap();
        let text = buffers.iter().find(|b| b["column"] == 1 && b["part"] == "values").unwrap();
        let at = text["position"].as_u64().unwrap() as usize;
        let length = text["length"].as_u64().unwrap() as usize;
        assert_eq!(&bytes[at..at + length], "agröße".as_bytes());
        assert_eq!(text["padding"], 64 - length);
        // Bodies lie at multiples of 64, in a file and in a stream.
        for buffer in buffers.iter().filter(|buffer| buffer["length"] != 0) {
            assert!(buffer["alignment"].as_u64().unwrap() >= 64, "{buffer}");
        }
    }
}

#[test]
fn columns_messages_and_metadata_are_listed() {
    let folder = Folder::new();
    let json = inspect(&folder.stream("fancy.arrows", &fancy()));
    let columns = json["schema"]["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 5);
    assert_eq!((&columns[0]["name"], &columns[0]["metadata"]["unit"]), (&"list".into(), &"m".into()));
    assert_eq!((&columns[1]["ordered"], &columns[1]["frames"]), (&true.into(), &4.into()));
    assert_eq!(json["schema"]["metadata"]["origin"], "test");
    let kinds: Vec<_> = json["messages"].as_array().unwrap().iter().map(|m| &m["kind"]).collect();
    assert_eq!(kinds, ["schema", "dictionary", "batch"]);
    assert_eq!(json["messages"][2]["metadata"]["part"], "1");

    let json = inspect(&folder.stream("opaque.arrows", &opaque()));
    assert_eq!(json["schema"]["columns"][1]["opaque"], "period[D]");
    assert_eq!(json["schema"]["columns"][1]["frames"], 2);
}

#[test]
fn nothing_that_a_terminal_acts_on_is_printed() {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StructArray};
    use arrow_schema::{DataType, Field, Schema, TimeUnit};
    use std::sync::Arc;

    const EVIL: &str =
        "a\u{1b}[31m\u{7f}\u{85}\u{9b}2J\u{61c}\u{200f}\u{2028}\u{202a}\u{202e}\u{2066}\u{2069}\r\u{8}z";
    let is_evil = |char: char| char != '\n' && EVIL.contains(char) && !char.is_ascii_graphic();
    let folder = Folder::new();
    let metadata = || arrow_schema::Metadata::from_iter([(EVIL.to_owned(), EVIL.to_owned())]);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let inner = Arc::new(Field::new(EVIL, DataType::Int64, true));
    let columns: Vec<ArrayRef> = vec![
        numbers.clone(),
        Arc::new(StructArray::from(vec![(inner, numbers)])),
        Arc::new(arrow_array::TimestampNanosecondArray::from(vec![1, 2]).with_timezone(EVIL)),
    ];
    let fields = [("plain", 0), (EVIL, 1), ("zoned", 2)]
        .map(|(name, index)| Field::new(name, columns[index].data_type().clone(), true));
    let fields = fields.map(|field| field.with_metadata(metadata()));
    let schema = Schema::new_with_metadata(fields.to_vec(), metadata());
    assert!(matches!(schema.field(2).data_type(), DataType::Timestamp(TimeUnit::Nanosecond, Some(_))));
    let df = RecordBatch::try_new(schema.into(), columns).unwrap().into();
    let good = folder.stream("good.arrows", &df);
    let mut bytes = fs::read(&good).unwrap();
    bytes.truncate(bytes.len() - 8);
    let cut = folder.write(&format!("{EVIL}.arrows"), &bytes);
    let missing = folder.join(&format!("{EVIL}.csv"));
    for file in [&good, &cut, &missing] {
        for command in ["inspect", "verify", "exchange"] {
            for options in [&[][..], &["--json"]] {
                let arguments = std::iter::once(&command).chain(options).map(std::ffi::OsStr::new);
                let ran = run(arguments.chain([file.as_os_str()]));
                for said in [ran.stdout(), ran.stderr()] {
                    assert!(!said.contains(is_evil), "{command} {options:?}: {said:?}");
                }
                if let (["--json"], Ok(json)) = (options, serde_json::from_str::<Value>(&ran.stdout()))
                    && command == "inspect"
                {
                    assert_eq!(json["schema"]["columns"][1]["name"], EVIL);
                    assert_eq!(json["schema"]["metadata"][EVIL], EVIL);
                }
            }
        }
    }
    // Nor what a shell has made of a pattern.
    for arguments in [vec![format!("--{EVIL}")], vec!["inspect".to_owned(), format!("--{EVIL}")]] {
        let ran = run(arguments);
        assert_eq!(ran.0.status.code(), Some(2));
        assert!(!ran.stderr().contains(is_evil) && ran.stderr().contains("\\u{9b}"), "{:?}", ran.stderr());
    }
}

#[test]
fn the_report_has_a_picture() {
    let folder = Folder::new();
    let arrow = folder.join("flights.arrow");
    run(["convert".as_ref(), flights().as_os_str(), arrow.as_os_str()]).succeeds();
    let text = run(["inspect".as_ref(), arrow.as_os_str()]).succeeds();
    let bar = text.lines().find(|line| line.starts_with('█') && !line.contains(' ')).unwrap();
    assert_eq!(bar.chars().count(), 100);
    for part in ["carrier", "dictionary 0", "60,000", "validity bitmap", "█ 0 year 3.9 %"] {
        assert!(text.contains(part), "{part}");
    }
    assert!(text.ends_with("sound: it decodes, and every value is valid\n"));
}

#[test]
fn damaged_input_is_shown_as_far_as_it_is_sound() {
    let folder = Folder::new();
    let whole = stream(&fancy());
    let batch = inspect(&folder.write("whole.arrows", &whole))["messages"][2].clone();
    let body = batch["position"].as_u64().unwrap() + batch["metadata_bytes"].as_u64().unwrap();
    let cut = folder.write("cut.arrows", &whole[..body as usize + 10]);
    let ran = run(["inspect".as_ref(), "--json".as_ref(), cut.as_os_str()]);
    ran.fails_for(&cut);
    let json: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(json["messages"].as_array().unwrap().len(), 3);
    assert!(json["error"].as_str().unwrap().contains("ends early"), "{json}");
    let text = run(["inspect".as_ref(), cut.as_os_str()]).stdout();
    assert!(text.contains("level") && text.contains("not sound"), "{text}");

    // A file without its end: the stream inside it is still there.
    let bytes = fs::read(folder.file("whole.arrow", &fancy())).unwrap();
    let cut = folder.write("cut.arrow", &bytes[..bytes.len() - 100]);
    let ran = run(["inspect".as_ref(), "--json".as_ref(), cut.as_os_str()]);
    ran.fails_for(&cut);
    let json: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(json["messages"].as_array().unwrap().len(), 3);
    let position = json["messages"][1]["position"].as_u64().unwrap() as usize;
    assert_eq!(bytes[position..position + 4], [0xff; 4]);

    // Values that are wrong in a layout that is right.
    let file = folder.write("text.arrows", bad_text().0);
    let ran = run(["inspect".as_ref(), file.as_os_str()]);
    assert!(ran.fails_for(&file).contains("not UTF-8"));
    assert!(ran.stdout().contains("record batch"));
}

#[test]
fn damage_never_ends_in_a_panic() {
    let folder = Folder::new();
    let whole = stream(&fancy());
    for at in (0..whole.len()).step_by(29) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x81;
        let file = folder.write("flipped.arrows", &bytes);
        let ran = run(["inspect".as_ref(), file.as_os_str()]);
        if ran.0.status.code() != Some(0) {
            ran.fails_for(&file);
        }
    }
    for bytes in [&b""[..], b"ARROW1", b"\xff\xff\xff\xff", b"ARROW1\0\0\xff\xff\xff\xff\x10\0\0\0"] {
        let file = folder.write("odd.arrows", bytes);
        run(["inspect".as_ref(), file.as_os_str()]).fails_for(&file);
    }
}

#[test]
fn stdin_and_a_closed_stdout() {
    let piped = run_with_input(program(["inspect", "--json", "-"]), &stream(&plain()));
    assert_eq!(piped.prints_json()["format"], "stream");
    let folder = Folder::new();
    let file = folder.stream("a.arrows", &plain());
    let command = program(["inspect".as_ref(), file.as_os_str()]);
    assert_eq!(run_into_closed_pipe(command), (Some(0), String::new()));
}
