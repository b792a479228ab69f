//! `.frames`: the header and the frames in one blob, as dask.distributed packs them.

mod common;

use std::fs;
use std::path::Path;

use arrow_buffer::Buffer;
use arrow_frames::{Frames, unpack};
use common::*;

fn convert(input: &Path, output: &Path) -> Ran {
    run(["convert".as_ref(), input.as_os_str(), output.as_os_str()])
}

#[test]
fn it_comes_back_as_it_went() {
    let folder = Folder::new();
    for (index, df) in [plain(), fancy(), two_dictionaries(), opaque()].iter().enumerate() {
        let start = folder.stream("start.arrows", df);
        let (packed, again) = (folder.join("a.frames"), folder.join("again.arrows"));
        convert(&start, &packed).succeeds();
        convert(&packed, &again).succeeds();
        assert_eq!(fs::read(&start).unwrap(), fs::read(&again).unwrap(), "sample {index}");
        let blob = Buffer::from_vec(fs::read(&packed).unwrap());
        let frames = Frames::from_packed(blob.clone()).unwrap();
        assert_eq!(unpack(blob.clone()).unwrap().len(), frames.buffers().len() + 1);
        // Where the blob lies at a multiple of 64, so does every frame.
        for frame in frames.buffers() {
            assert_eq!((frame.as_ptr() as usize - blob.as_ptr() as usize) % 64, 0);
        }
    }
}

#[test]
fn it_is_inspected_and_verified() {
    let folder = Folder::new();
    let packed = folder.join("flights.frames");
    convert(&flights(), &packed).succeeds();
    let text = run(["inspect".as_ref(), packed.as_os_str()]).succeeds();
    assert!(text.contains("blob of packed frames") && text.contains("carrier"), "{text}");
    let json = run(["verify".as_ref(), "--json".as_ref(), packed.as_os_str()]).prints_json();
    assert_eq!(json["format"], "blob of packed frames");
    assert_eq!(json["rows"], 60_000);
    let json = run(["inspect".as_ref(), "--json".as_ref(), packed.as_os_str()]).prints_json();
    assert_eq!(json["error"], serde_json::Value::Null);
    run(["exchange".as_ref(), packed.as_os_str()]).succeeds();
    // Nothing in its first bytes says what it is.
    let verify = program(["verify", "-", "--from", "frames"]);
    assert!(run_with_input(verify, &fs::read(&packed).unwrap()).succeeds().contains("sound"));
}

#[test]
fn what_is_cut_or_damaged_ends_with_one_line() {
    let folder = Folder::new();
    let packed = folder.join("a.frames");
    convert(&folder.stream("a.arrows", &plain()), &packed).succeeds();
    let whole = fs::read(&packed).unwrap();
    for (bytes, said) in [
        (whole[..5].to_vec(), "count and lengths of frames at byte 0 needs 8 bytes, 5 are there"),
        (whole[..whole.len() - 1].to_vec(), "packed frame at byte"),
        ([&[0xff; 8][..], &whole[8..]].concat(), "count and lengths of frames"),
        (b"".to_vec(), "count and lengths of frames"),
    ] {
        let file = folder.write("damaged.frames", bytes);
        for command in ["inspect", "verify"] {
            let line = run([command.as_ref(), file.as_os_str()]).fails_for(&file);
            assert!(line.contains(said), "{command}: {line}");
        }
        let line = convert(&file, &folder.join("out.arrows")).fails_for(&file);
        assert!(line.contains(said), "{line}");
    }
}
