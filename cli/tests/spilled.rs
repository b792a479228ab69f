//! Files that dask.distributed's workers spilled: ours, in whatever frames, and others'.

mod common;

use std::fs;
use std::path::Path;

use arrow_frames::{Frames, Target, pack, to_buffers};
use common::*;
use rmp::encode::{self, write_array_len, write_map_len, write_nil, write_sint, write_str, write_uint};
use serde_json::Value;

/// What distributed writes, with our keys in it or without.
struct Spilled {
    serializer: &'static str,
    type_name: &'static str,
    version: Option<i64>,
    lengths: Vec<i64>,
    /// Where our keys are: what a registered function returns, or beside it.
    in_sub_header: bool,
    wire_frames: Vec<Vec<u8>>,
    /// For each wire frame, a codec's name or none.
    codecs: Vec<&'static str>,
}

impl Spilled {
    /// A dataframe, each of its frames by itself.
    fn new(frames: &Frames) -> Spilled {
        let parts = std::iter::once(frames.header()).chain(frames.buffers());
        let wire_frames: Vec<_> = parts.map(|part| part.to_vec()).collect();
        Spilled {
            serializer: "dask",
            type_name: "pandas.DataFrame",
            version: Some(1),
            lengths: wire_frames.iter().map(|frame| frame.len() as i64).collect(),
            in_sub_header: true,
            codecs: vec![""; wire_frames.len()],
            wire_frames,
        }
    }

    /// The same bytes, cut anew at these places.
    fn cut_at(mut self, cuts: &[usize]) -> Spilled {
        let all = self.wire_frames.concat();
        let ends = cuts.iter().copied().chain([all.len()]);
        let mut start = 0;
        self.wire_frames = ends.map(|end| all[std::mem::replace(&mut start, end)..end].to_vec()).collect();
        self.codecs = vec![""; self.wire_frames.len()];
        self
    }

    fn compressed(mut self, frame: usize, codec: &'static str) -> Spilled {
        self.codecs[frame] = codec;
        self.wire_frames[frame] = b"compressed".to_vec();
        self
    }

    fn header(&self) -> Vec<u8> {
        let out = &mut Vec::new();
        let ours = if self.version.is_some() { 2 } else { 0 };
        let (beside, inside) = if self.in_sub_header { (0, ours) } else { (ours, 0) };
        write_map_len(out, 8 + beside).unwrap();
        write_str(out, "sub-header").unwrap();
        write_map_len(out, 1 + inside).unwrap();
        // Other classes have keys of any kind.
        write_sint(out, -7).unwrap();
        encode::write_ext_meta(out, 3, 5).unwrap();
        out.extend(b"ext");
        if self.in_sub_header {
            self.ours(out);
        }
        write_str(out, "type").unwrap();
        write_str(out, self.type_name).unwrap();
        write_str(out, "type-serialized").unwrap();
        encode::write_bin(out, b"\x80\x05N.").unwrap();
        if !self.in_sub_header {
            self.ours(out);
        }
        write_str(out, "serializer").unwrap();
        write_str(out, self.serializer).unwrap();
        for key in ["split-num-sub-frames", "split-offsets"] {
            write_str(out, key).unwrap();
            write_array_len(out, 1).unwrap();
            encode::write_f64(out, 0.5).unwrap();
        }
        write_str(out, "compression").unwrap();
        write_array_len(out, self.codecs.len() as u32).unwrap();
        for (index, codec) in self.codecs.iter().enumerate() {
            match *codec {
                "" if index % 2 == 0 => write_nil(out).unwrap(),
                "" => encode::write_bool(out, false).unwrap(),
                codec => write_str(out, codec).unwrap(),
            }
        }
        write_str(out, "count").unwrap();
        write_uint(out, self.wire_frames.len() as u64).unwrap();
        out.clone()
    }

    fn ours(&self, out: &mut Vec<u8>) {
        let Some(version) = self.version else { return };
        write_str(out, "arrow-frames").unwrap();
        write_sint(out, version).unwrap();
        write_str(out, "lengths").unwrap();
        write_array_len(out, self.lengths.len() as u32).unwrap();
        for length in &self.lengths {
            write_sint(out, *length).unwrap();
        }
    }

    fn bytes(&self) -> Vec<u8> {
        with_header(&self.header(), &self.wire_frames)
    }
}

#[test]
fn bytes_behind_it_are_not_sound() {
    let folder = Folder::new();
    let whole = Spilled::new(&to_buffers(&plain(), Target::Arrow).unwrap()).bytes();
    run(["verify".as_ref(), folder.write("whole", &whole).as_os_str()]).succeeds();
    let longer = folder.write("longer", [&whole[..], b"0123456789"].concat());
    let line = run(["verify".as_ref(), longer.as_os_str()]).fails_for(&longer);
    assert!(line.contains("10 bytes follow its end"), "{line}");
}

fn with_header(header: &[u8], wire_frames: &[Vec<u8>]) -> Vec<u8> {
    let frames: Vec<_> = std::iter::once(header).chain(wire_frames.iter().map(Vec::as_slice)).collect();
    pack(&frames).segments().flatten().copied().collect()
}

fn plain_frames() -> Frames {
    to_buffers(&plain(), Target::Arrow).unwrap()
}

/// The reason that all subcommands give for a file; what `inspect` prints of it as JSON.
#[track_caller]
fn refused(file: &Path, from: &[&str]) -> (String, Value) {
    let with = |command: &'static str| {
        let arguments = [command.as_ref(), "--json".as_ref(), file.as_os_str()];
        run(arguments.into_iter().chain(from.iter().map(AsRef::as_ref)))
    };
    let (inspected, verified) = (with("inspect"), with("verify"));
    let line = inspected.fails_for(file);
    assert_eq!(verified.fails_for(file), line);
    (line, serde_json::from_str(&inspected.stdout()).unwrap())
}

#[test]
fn ours_is_known_by_its_content_and_read() {
    let folder = Folder::new();
    let names = ["%28%27shuffle-p2p-1%27%2C%200%29", "('x', 0).csv", "x.frames", "x.arrow"];
    for (index, name) in names.into_iter().enumerate() {
        let mut spilled = Spilled::new(&plain_frames());
        spilled.in_sub_header = index % 2 == 0;
        let file = folder.write(name, spilled.bytes());
        let json = run(["verify".as_ref(), "--json".as_ref(), file.as_os_str()]).prints_json();
        assert_eq!((&json["rows"], &json["format"]), (&4.into(), &"dask.distributed spill file".into()));
        let text = run(["verify".as_ref(), file.as_os_str()]).succeeds();
        assert!(text.contains("sound: a dask.distributed spill file of 4 rows"), "{text}");
        let again = folder.join("again.arrows");
        run(["convert".as_ref(), file.as_os_str(), again.as_os_str()]).succeeds();
        assert_eq!(fs::read(again).unwrap(), stream(&plain()));
        run(["exchange".as_ref(), file.as_os_str()]).succeeds();
    }
    for df in [fancy(), opaque(), two_dictionaries()] {
        let bytes = Spilled::new(&to_buffers(&df, Target::Arrow).unwrap()).bytes();
        run_with_input(program(["verify", "-"]), &bytes).succeeds();
        run_with_input(program(["verify", "-", "--from", "dask"]), &bytes).succeeds();
    }
}

#[test]
fn what_distributed_says_of_it_is_shown() {
    let folder = Folder::new();
    let spilled = Spilled::new(&plain_frames());
    let bytes = spilled.bytes();
    let file = folder.write("spilled", &bytes);
    let json = run(["inspect".as_ref(), "--json".as_ref(), file.as_os_str()]).prints_json();
    let spill = &json["spill"];
    assert_eq!((&spill["serializer"], &spill["type"]), (&"dask".into(), &"pandas.DataFrame".into()));
    assert_eq!((&spill["version"], &spill["lengths"]), (&1.into(), &spilled.lengths.clone().into()));
    let wire_frames = spill["wire_frames"].as_array().unwrap();
    assert_eq!(wire_frames.len(), spilled.wire_frames.len());
    for (shown, frame) in wire_frames.iter().zip(&spilled.wire_frames) {
        let position = shown["position"].as_u64().unwrap() as usize;
        assert_eq!(&bytes[position..position + frame.len()], frame.as_slice());
        assert_eq!(shown["compression"], Value::Null);
    }
    // The messages are those of the stream that the frames are.
    let stream = folder.stream("stream.arrows", &plain());
    let of_stream = run(["inspect".as_ref(), "--json".as_ref(), stream.as_os_str()]).prints_json();
    assert_eq!((&json["messages"], &json["schema"]), (&of_stream["messages"], &of_stream["schema"]));
    assert_eq!(of_stream["spill"], Value::Null);

    let text = run(["inspect".as_ref(), file.as_os_str()]).succeeds();
    let frames =
        format!("arrow-frames version 1, bytes of its header and {} frames: ", spilled.lengths.len() - 1);
    for part in ["serializer dask and type pandas.DataFrame", "none of them compressed", &frames, "float"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let followed = folder.write("followed", [&bytes[..], b"more"].concat());
    let text = run(["inspect".as_ref(), followed.as_os_str()]).succeeds();
    assert!(text.contains("4 bytes behind the last one"), "{text}");
}

#[test]
fn frames_are_ours_wherever_distributed_cut() {
    let folder = Folder::new();
    let all: usize = Spilled::new(&plain_frames()).wire_frames.iter().map(Vec::len).sum();
    for cuts in [&[][..], &[10], &[0, 100, 100, 101, all - 1], &[all]] {
        let file = folder.write("cut", Spilled::new(&plain_frames()).cut_at(cuts).bytes());
        let again = folder.join("again.arrows");
        run(["convert".as_ref(), file.as_os_str(), again.as_os_str()]).succeeds();
        assert_eq!(fs::read(again).unwrap(), stream(&plain()), "{cuts:?}");
        run(["inspect".as_ref(), file.as_os_str()]).succeeds();
    }
}

#[test]
fn compressed_wire_frames_are_named_and_not_read() {
    let folder = Folder::new();
    let spilled = Spilled::new(&plain_frames()).compressed(1, "lz4").compressed(3, "zstd");
    let file = folder.write("compressed", spilled.bytes());
    let (line, json) = refused(&file, &[]);
    let said = format!(
        "compressed 2 of its {} wire frames, which only it reads: 1 (lz4), 3 (zstd)",
        spilled.codecs.len()
    );
    assert!(line.contains(&said), "{line}");
    assert_eq!(json["spill"]["wire_frames"][1]["compression"], "lz4");
    assert_eq!(json["spill"]["lengths"], Value::from(spilled.lengths.clone()));
    // The Arrow header is plain, and says the rest.
    let columns = json["schema"]["columns"].as_array().unwrap();
    assert_eq!((&columns[1]["name"], &columns[1]["type"]), (&"text".into(), &"Utf8".into()));
    assert_eq!((&json["messages"][1]["rows"], &json["sound"]), (&3.into(), &false.into()));
    let text = run(["inspect".as_ref(), file.as_os_str()]).stdout();
    assert!(
        text.contains("2 of them compressed by dask.distributed") && text.contains("not read: "),
        "{text}"
    );
    let converted = run(["convert".as_ref(), file.as_os_str(), folder.join("out.arrows").as_os_str()]);
    assert!(converted.fails_for(&file).contains(&said));

    // It is not, or goes on in a frame that is not.
    let header = plain_frames().header().len();
    for spilled in [
        Spilled::new(&plain_frames()).compressed(0, "snappy"),
        Spilled::new(&plain_frames()).cut_at(&[header - 1]).compressed(1, "snappy"),
    ] {
        let (line, json) = refused(&folder.write("compressed", spilled.bytes()), &[]);
        assert!(line.contains("(snappy)"), "{line}");
        assert_eq!((&json["schema"], &json["spill"]["version"]), (&Value::Null, &1.into()));
    }
    // One frame holds the header and more.
    let spilled = Spilled::new(&plain_frames()).cut_at(&[header + 8]).compressed(1, "snappy");
    let (_, json) = refused(&folder.write("compressed", spilled.bytes()), &[]);
    assert_eq!(json["schema"]["columns"].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_not_ours_is_said_to_be_someone_elses() {
    let folder = Folder::new();
    let mut spilled = Spilled::new(&plain_frames());
    (spilled.version, spilled.type_name) = (None, "numpy.ndarray");
    let file = folder.write("ndarray-1", spilled.bytes());
    let (line, json) = refused(&file, &[]);
    assert!(
        line.ends_with("spilled it, and not as arrow-frames: serializer dask, type numpy.ndarray"),
        "{line}"
    );
    assert_eq!(json["spill"]["wire_frames"].as_array().unwrap().len(), spilled.wire_frames.len());
    // The pickle family has no type, a collection no serializer; nobody else's `lengths` are looked at.
    let header = |entries: &[(&str, &str)]| {
        let mut header = vec![0x80 + entries.len() as u8 + 1];
        for text in entries.iter().flat_map(|(key, value)| [key, value]) {
            write_str(&mut header, text).unwrap();
        }
        write_str(&mut header, "lengths").unwrap();
        write_nil(&mut header).unwrap();
        with_header(&header, &[b"\x80\x05K\x01.".to_vec()])
    };
    let file = folder.write("int-1", header(&[("serializer", "pickle\u{1b}")]));
    assert!(refused(&file, &[]).0.ends_with(r"serializer pickle\u{1b}, type unknown"));
    let file = folder.write("list-1", header(&[("type-serialized", "list")]));
    assert!(refused(&file, &[]).0.ends_with("serializer unknown, type list"));
}

#[test]
fn what_is_wrong_is_said_and_where() {
    let folder = Folder::new();
    let sound = || Spilled::new(&plain_frames());
    let changed = |change: &dyn Fn(&mut Spilled)| {
        let mut spilled = sound();
        change(&mut spilled);
        spilled.bytes()
    };
    let header = sound().header();
    let wire_frames = sound().wire_frames;
    let at = 8 + 8 * (1 + wire_frames.len());
    let only = |header: &[u8]| with_header(header, &[]);
    let key = |key: &str, value: &[u8]| {
        let mut header = vec![0x81];
        write_str(&mut header, key).unwrap();
        with_header(&[&header[..], value].concat(), &[])
    };
    let packed: Vec<u8> = plain_frames().packed().segments().flatten().copied().collect();
    let total: i64 = sound().lengths.iter().sum();
    for (bytes, said) in [
        (
            changed(&|s| s.version = Some(2)),
            "version 2 spilled it, and this program reads version 1".to_owned(),
        ),
        (changed(&|s| s.version = Some(-1)), "is negative".to_owned()),
        (changed(&|s| s.lengths.clear()), "has `arrow-frames` and no `lengths`".to_owned()),
        (
            changed(&|s| s.lengths[1] += 1),
            format!("name {} bytes of frames, and the wire frames have {total}", total + 1),
        ),
        (changed(&|s| s.lengths[1] = i64::MAX), "bytes of frames, and the wire frames have".to_owned()),
        (changed(&|s| s.lengths[1] = -5), "is negative".to_owned()),
        (changed(&|s| s.lengths.push(0)), "frames".to_owned()),
        (
            changed(&|s| (s.lengths[1], s.lengths[2]) = (s.lengths[1] + 1, s.lengths[2] - 1)),
            "frame".to_owned(),
        ),
        (changed(&|s| s.codecs.truncate(1)), format!("and there are {}", wire_frames.len())),
        (changed(&|s| s.codecs.push("lz4")), format!("is that of {} wire frames", wire_frames.len() + 1)),
        (with_header(&header[..40], &wire_frames), "it ends inside the value at byte".to_owned()),
        (
            with_header(&[&header[..], b"x"].concat(), &wire_frames),
            format!("1 bytes follow its map, at byte {}", at + header.len()),
        ),
        (key("arrow-frames", &[0xc0]), "the value at byte 30 is nil and should be an integer".to_owned()),
        (key("arrow-frames", &[1]), "has `arrow-frames` and no `lengths`".to_owned()),
        (key("compression", &[0x90]), "not as arrow-frames: serializer unknown, type unknown".to_owned()),
        (key("compression", &[0xdd, 0xff, 0xff, 0xff, 0xff]), "is that of 4294967295 wire frames".to_owned()),
        (key("x", &[0xc1]), "the byte at 19 starts no value".to_owned()),
        (key("x", &[0xdd, 0xff, 0xff, 0xff, 0xff]), "it ends inside the value at byte 24".to_owned()),
        (key("x", &[0xdf, 0xff, 0xff, 0xff, 0xff]), "it ends inside the value at byte 24".to_owned()),
        (key("x", &[0xc6, 0xff, 0xff, 0xff, 0xff]), "it ends inside the value at byte 19".to_owned()),
        (key("x", &[0xc9, 0xff, 0xff, 0xff, 0xff, 1]), "it ends inside the value at byte 19".to_owned()),
        (key("x", &[0x91; 1 << 20]), "it ends inside the value at byte".to_owned()),
        (
            key("sub-header", &b"\x81\xaasub-header".repeat(1 << 16)),
            "it ends inside the value at byte".to_owned(),
        ),
        (key("x", &[0; 9 << 20]), "more than 8388608".to_owned()),
        (only(b""), "header at byte 16 is empty".to_owned()),
        (only(b"\x93\x01\x02\x03"), "the value at byte 16 is an array and should be a map".to_owned()),
        (0u64.to_le_bytes().to_vec(), "header at byte 8 is empty".to_owned()),
        ([0xff; 16].to_vec(), "count and lengths of frames at byte 0".to_owned()),
        ((1u64 << 60).to_le_bytes().to_vec(), "count and lengths of frames at byte 0".to_owned()),
        (packed, "these are packed frames".to_owned()),
    ] {
        let file = folder.write("wrong", bytes);
        let (line, _) = refused(&file, &["--from", "dask"]);
        assert!(line.contains(&said), "{line}, not {said}");
    }
}

#[test]
fn cuts_and_damage_never_end_in_a_panic() {
    let folder = Folder::new();
    let whole = Spilled::new(&to_buffers(&two_dictionaries(), Target::Arrow).unwrap()).bytes();
    let inspect = |bytes: &[u8], from: &[&str]| {
        let file = folder.write("damaged", bytes);
        let ran =
            run(["inspect".as_ref(), file.as_os_str()].into_iter().chain(from.iter().map(AsRef::as_ref)));
        (ran, file)
    };
    for length in 0..whole.len() {
        let (ran, file) = inspect(&whole[..length], &["--from", "dask"]);
        ran.fails_for(&file);
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        let from: &[&str] = if at % 3 == 0 { &[] } else { &["--from", "dask"] };
        let (ran, file) = inspect(&bytes, from);
        if ran.0.status.code() != Some(0) {
            ran.fails_for(&file);
        }
    }
}

#[test]
fn they_are_read_and_not_written() {
    let folder = Folder::new();
    let file = folder.stream("a.arrows", &plain());
    let out = folder.join("out");
    let ran = run(["convert".as_ref(), file.as_os_str(), out.as_os_str(), "--to".as_ref(), "dask".as_ref()]);
    assert_eq!(ran.0.status.code(), Some(2));
    assert!(!out.exists());
}
