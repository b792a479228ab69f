//! `verify`: what is sound, and what is wrong where.

mod common;

use std::fs;

use arrow_frames::Compression;
use common::*;
use serde_json::Value;

/// The verdict of a file that is not sound, from its JSON; the plain form must agree.
fn fault(file: &std::path::Path) -> Value {
    let ran = run(["verify".as_ref(), "--json".as_ref(), file.as_os_str()]);
    let line = ran.fails_for(file);
    let json: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(json["sound"], false);
    let plain = run(["verify".as_ref(), file.as_os_str()]);
    assert_eq!(plain.fails_for(file), line);
    assert_eq!(plain.stdout(), "");
    let what = json["error"]["what"].as_str().unwrap();
    assert!(line.contains(what), "{line} is not {what}");
    json["error"].clone()
}

#[test]
fn sound_input_is_said_to_be() {
    let folder = Folder::new();
    for file in [folder.stream("a.arrows", &plain()), folder.file("a.arrow", &plain())] {
        let text = run(["verify".as_ref(), file.as_os_str()]).succeeds();
        assert!(text.contains("of 4 rows × 3 columns in 2 batches"), "{text}");
        let json = run(["verify".as_ref(), "--json".as_ref(), file.as_os_str()]).prints_json();
        assert_eq!(
            (&json["sound"], &json["rows"], &json["copied_bytes"]),
            (&true.into(), &4.into(), &0.into())
        );
    }
    for df in [fancy(), opaque(), two_dictionaries()] {
        run(["verify".as_ref(), folder.stream("b.arrows", &df).as_os_str()]).succeeds();
    }
    let piped = run_with_input(program(["verify", "-"]), &stream(&plain()));
    assert!(piped.succeeds().starts_with("-: sound: an Arrow IPC stream"));
}

#[test]
fn every_cut_is_found() {
    let folder = Folder::new();
    let whole = stream(&fancy());
    for length in (0..whole.len()).step_by(whole.len() / 40) {
        let file = folder.write("cut.arrows", &whole[..length]);
        let error = fault(&file);
        assert_eq!(error["fault"], "input");
    }
    // Between two messages, a stream looks complete but for its end marker.
    let no_end = folder.write("cut.arrows", &whole[..whole.len() - 8]);
    assert!(fault(&no_end)["what"].as_str().unwrap().contains("without the end-of-stream marker"));
}

#[test]
fn bytes_behind_the_end_are_counted_and_not_sound() {
    let folder = Folder::new();
    let whole = stream(&fancy());
    let tensor = stream_of(&arrow_frames::Tensor::from(vec![1i32, 2, 3]).to_frames().unwrap());
    for (trailing, follow) in [
        (&b"x"[..], "1 byte follows"),
        (b"\0\0\0\0\0\0\0\0", "8 bytes follow"),
        (&whole, &format!("{} bytes follow", grouped(whole.len()))),
        (&tensor, &format!("{} bytes follow", tensor.len())),
    ] {
        let bytes = [&whole[..], trailing].concat();
        let file = folder.write("longer.arrows", &bytes);
        let error = fault(&file);
        assert_eq!((&error["fault"], &error["byte"]), (&"input".into(), &whole.len().into()));
        let at = format!("{follow} its end at byte {}", grouped(whole.len()));
        assert!(error["what"].as_str().unwrap().starts_with(&at), "{error}");
        let json = run(["verify".as_ref(), "--json".as_ref(), file.as_os_str()]).stdout();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["trailing_bytes"], trailing.len());
        // A pipe is no other.
        assert!(run_with_input(program(["verify", "-"]), &bytes).fails_for("-").contains(follow));
        // What looks inside says it too, and gives no verdict on it.
        let json = run(["inspect".as_ref(), "--json".as_ref(), file.as_os_str()]).prints_json();
        assert_eq!(json["trailing_bytes"], trailing.len());
        let text = run(["inspect".as_ref(), file.as_os_str()]).succeeds();
        assert!(text.contains("behind its end, which no reader looks at"), "{text}");
        // Readers go by the end.
        let output = folder.join("out.arrows");
        run(["convert".as_ref(), file.as_os_str(), output.as_os_str()]).succeeds();
        assert_eq!(fs::read(output).unwrap(), whole);
    }
    let sound = folder.write("whole.arrows", &whole);
    let json = run(["verify".as_ref(), "--json".as_ref(), sound.as_os_str()]).prints_json();
    assert_eq!(json["trailing_bytes"], 0);
    // The end marker of old streams is shorter.
    let old = [&whole[..whole.len() - 8], &[0; 4]].concat();
    let ran = run(["verify".as_ref(), folder.write("old.arrows", &old).as_os_str()]);
    assert!(!ran.stderr().contains("follow"), "{}", ran.stderr());

    // The other forms say themselves where they end.
    let file = fs::read(folder.file("a.arrow", &plain())).unwrap();
    fault(&folder.write("longer.arrow", [&file[..], b"x"].concat()));
    let packed = folder.join("a.frames");
    run(["convert".as_ref(), sound.as_os_str(), packed.as_os_str()]).succeeds();
    fault(&folder.write("longer.frames", [&fs::read(packed).unwrap()[..], b"x"].concat()));
}

/// A count as the program writes it.
fn grouped(number: usize) -> String {
    assert!((1_000..1_000_000).contains(&number), "{number}");
    format!("{},{:03}", number / 1_000, number % 1_000)
}

#[test]
fn a_bad_value_has_message_column_buffer_and_byte() {
    let folder = Folder::new();
    let (bytes, at) = bad_text();
    let error = fault(&folder.write("bad.arrows", &bytes));
    assert_eq!((&error["column"], &error["row"]), (&"text".into(), &2.into()));
    assert_eq!((&error["message"], &error["kind"]), (&1.into(), &"record batch".into()));
    // Behind the number column's two buffers: validity, offsets, values.
    assert_eq!((&error["buffer"], &error["part"]), (&4.into(), &"values".into()));
    // The buffer starts with the text of the first row.
    assert_eq!(error["byte"], at as u64 - 1);

    // The same in a file.
    let file = folder.file("good.arrow", &plain());
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.windows("größe".len()).position(|window| window == "größe".as_bytes()).unwrap();
    bytes[at + 2] = 0xff;
    let error = fault(&folder.write("bad.arrow", &bytes));
    assert_eq!((&error["column"], &error["byte"]), (&"text".into(), &(at as u64 - 1).into()));
}

#[test]
fn damage_is_an_error_or_no_damage() {
    let folder = Folder::new();
    let whole = stream(&fancy());
    for at in (0..whole.len()).step_by(37) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        let file = folder.write("flipped.arrows", &bytes);
        let ran = run(["verify".as_ref(), file.as_os_str()]);
        if ran.0.status.code() != Some(0) {
            ran.fails_for(&file);
        }
    }
}

#[test]
fn limits_are_kept() {
    let folder = Folder::new();
    let file = folder.stream("a.arrows", &plain());
    let file = file.to_str().unwrap();
    assert!(run(["verify", "--limit-bytes", "64", file]).fails_for(file).contains("max_body_bytes"));
    run(["verify", "--limit-bytes", "1000000", file]).succeeds();

    let frames = frames_with(&plain(), |encoder| encoder.with_compression(Compression::Lz4));
    let packed = folder.write("lz4.arrows", stream_of(&frames));
    let packed = packed.to_str().unwrap();
    let text = run(["verify", packed]).succeeds();
    assert!(text.contains("decompression"), "{text}");
    let line = run(["verify", "--max-copied-bytes", "0", packed]).fails_for(packed);
    assert!(line.contains("needs a copy (decompression)"), "{line}");
    run(["verify", "--max-copied-bytes", "0", file]).succeeds();
}

#[test]
fn other_formats_are_refused() {
    let line = run(["verify".as_ref(), flights().as_os_str()]).fails_for(flights());
    assert!(line.contains("not Arrow IPC"), "{line}");
    assert_eq!(run(["verify", "--limit-bytes", "many", "a"]).0.status.code(), Some(2));
    run(["verify", "missing.arrows"]).fails_for("missing.arrows");
}
