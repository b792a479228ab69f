//! `exchange` from end to end: two processes, real sockets.

mod common;

use std::fs;
use std::path::Path;

use common::*;
use serde_json::Value;

/// The transports of this system.
#[cfg(unix)]
const TRANSPORTS: [&str; 2] = ["uds", "tcp"];
#[cfg(not(unix))]
const TRANSPORTS: [&str; 1] = ["tcp"];

fn exchange(file: &Path, options: &[&str]) -> Value {
    run(["exchange", "--json", file.to_str().unwrap()].iter().chain(options)).prints_json()
}

#[track_caller]
fn is_equal(json: &Value, rows: u64, columns: usize) {
    assert_eq!(json["equal"], true);
    assert_eq!(json["difference"], Value::Null);
    assert_eq!(json["rows"], rows);
    assert_eq!(json["columns"].as_array().unwrap().len(), columns);
    for key in ["encode_ns", "send_ns", "receive_ns", "decode_ns", "total_ns"] {
        assert!(json["arrow_frames"][key].as_u64().is_some(), "{key}");
    }
}

#[test]
fn flights_arrive_writable() {
    for transport in TRANSPORTS {
        let json = exchange(&flights(), &["--transport", transport, "--writable"]);
        is_equal(&json, 60_000, 19);
        // Every frame was received where arrow can change it.
        assert_eq!(json["copied_bytes"]["encode"], 0);
        assert_eq!(json["copied_bytes"]["decode"], 0);
    }
    let file = flights();
    let options = ["exchange", file.to_str().unwrap(), "--writable", "--compress", "lz4"];
    assert_eq!(run(options).0.status.code(), Some(2));
}

#[test]
fn flights_arrive_equal_and_uncopied() {
    for transport in TRANSPORTS {
        let json = exchange(&flights(), &["--transport", transport]);
        is_equal(&json, 60_000, 19);
        assert_eq!(json["transport"], transport);
        assert_eq!(json["copied_bytes"]["encode"], 0);
        assert_eq!(json["copied_bytes"]["decode"], 0);
        assert_eq!(json["arrow_ipc"]["equal"], true);
        assert!(json["arrow_ipc"]["total_ns"].as_u64().unwrap() > 0);
        // The frames of the columns are all frames.
        let sum = |key: &str| {
            json["columns"].as_array().unwrap().iter().map(|c| c[key].as_u64().unwrap()).sum::<u64>()
        };
        assert_eq!(json["frames"], sum("frames"));
        assert_eq!(json["frame_bytes"], sum("bytes"));
    }
}

#[test]
fn the_table_names_every_column_and_the_verdict() {
    let text = run(["exchange".as_ref(), flights().as_os_str()]).succeeds();
    for name in ["year", "carrier", "tailnum", "time_hour", "arrow-frames", "arrow-ipc", "end to end"] {
        assert!(text.contains(name), "{name}");
    }
    let verdict = "equal: the second process rebuilt 60,000 rows × 19 columns value for value";
    assert_eq!(text.lines().last().unwrap(), verdict);
    // No terminal, so no colour and no progress.
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn every_format_is_read() {
    let folder = Folder::new();
    let files = [
        folder.parquet("a.parquet", &plain()),
        folder.write("b.csv", "number,text\n1,a\n2,\n3,größe\n4,\"b, c\"\n"),
        folder.file("c.arrow", &plain()),
        folder.file("d.feather", &plain()),
        folder.stream("e.arrows", &plain()),
        folder.stream("f.stream", &plain()),
        // Many programs write streams under this name.
        folder.stream("g.arrow", &plain()),
        // Without a name that tells, the first bytes do.
        folder.parquet("h", &plain()),
    ];
    for file in files {
        let json = exchange(&file, &[]);
        let columns = if file.extension().is_some_and(|e| e == "csv") { 2 } else { 3 };
        is_equal(&json, 4, columns);
    }
}

#[test]
fn every_kind_of_column_arrives() {
    let folder = Folder::new();
    let fancy_file = folder.stream("fancy.arrows", &fancy());
    for transport in TRANSPORTS {
        for options in [&["--transport", transport][..], &["--compress", "lz4"], &["--compress", "zstd"]] {
            is_equal(&exchange(&fancy_file, options), 3, 5);
        }
    }
    is_equal(&exchange(&folder.stream("d.arrows", &two_dictionaries()), &[]), 5, 1);
    is_equal(&exchange(&folder.stream("none.arrows", &plain().project(&[]).unwrap()), &[]), 4, 0);
    is_equal(&exchange(&folder.write("header.csv", "a,b\n"), &[]), 0, 2);
}

#[test]
fn compression_is_a_copy_of_each_column() {
    let json = exchange(&flights(), &["--compress", "zstd"]);
    is_equal(&json, 60_000, 19);
    assert_eq!(json["compression"], "zstd");
    for column in json["columns"].as_array().unwrap() {
        assert_eq!(column["copied"]["encode"][0]["reason"], "compression", "{column}");
        assert_eq!(column["copied"]["decode"][0]["reason"], "decompression", "{column}");
    }
}

#[test]
fn a_pickled_column_arrives_where_arrow_ipc_gives_up() {
    let folder = Folder::new();
    let json = exchange(&folder.stream("opaque.arrows", &opaque()), &[]);
    is_equal(&json, 2, 2);
    let when = &json["columns"][1];
    assert_eq!(
        (&when["kind"], &when["type"], &when["frames"]),
        (&"opaque".into(), &"period[D]".into(), &2.into())
    );
    let why = json["arrow_ipc"]["error"].as_str().unwrap();
    assert!(why.contains("\"when\" is opaque"), "{why}");
}

#[test]
fn flights_for_pandas_arrive_equal() {
    let json = exchange(&flights(), &["--target", "pandas"]);
    is_equal(&json, 60_000, 19);
    assert_eq!(json["target"], "pandas");
    let opaque = [
        ("carrier", "category"),
        ("tailnum", "str"),
        ("origin", "category"),
        ("dest", "category"),
        ("time_hour", "datetime64[ns, America/New_York]"),
    ];
    for column in json["columns"].as_array().unwrap() {
        let name = column["name"].as_str().unwrap();
        let Some((_, type_name)) = opaque.iter().find(|(opaque, _)| *opaque == name) else {
            assert_eq!(column["kind"], "native", "{name}");
            continue;
        };
        assert_eq!((&column["kind"], &column["type"]), (&"opaque".into(), &(*type_name).into()), "{name}");
        assert!(column["frames"].as_u64().unwrap() >= 2, "{name}: a pickle and its buffers");
        // None of them has nulls but the tail number, whose bitmap starts at a byte.
        assert_eq!(column["copied"]["encode"].as_array().unwrap().len(), 0, "{column}");
        assert_eq!(column["copied"]["decode"].as_array().unwrap().len(), 0, "{column}");
    }
    let text = run(["exchange", "--target", "pandas", flights().to_str().unwrap()]).succeeds();
    assert!(text.contains("for pandas") && text.contains("opaque"), "{text}");
}

#[test]
fn bad_data_is_one_line_that_names_the_file() {
    let folder = Folder::new();
    let real = fs::read(flights()).unwrap();
    let stream = stream(&plain());
    let mut garbage: Vec<u8> = (0..5_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    garbage[0] = 0;
    let files = [
        folder.write("empty.parquet", ""),
        folder.write("cut.parquet", &real[..real.len() / 2]),
        folder.write("garbage.parquet", &garbage),
        folder.write("cut.arrows", &stream[..stream.len() / 2]),
        folder.write("no-end.arrows", &stream[..stream.len() - 8]),
        folder.write("empty.arrows", ""),
        folder.write("garbage.arrows", &garbage),
        folder.write("garbage.arrow", &garbage),
        folder.write("text.arrows", bad_text().0),
        folder.write("old.feather", "FEA1 and more, FEA1"),
        folder.write("garbage.csv", &garbage),
        folder.write("ragged.csv", "a,b\n1,2\n3\n"),
        folder.write("unknown", &garbage),
        folder.join("missing.csv"),
        folder.path().to_owned(),
    ];
    for file in files {
        run(["exchange".as_ref(), file.as_os_str()]).fails_for(&file);
        run(["exchange".as_ref(), "--json".as_ref(), file.as_os_str()]).fails_for(&file);
    }
}

#[test]
fn a_damaged_page_is_an_error_and_no_panic() {
    let folder = Folder::new();
    let real = fs::read(flights()).unwrap();
    // All over the file, so that headers, pages and metadata are hit.
    for hit in 0..40 {
        let mut bytes = real.clone();
        let start = 4 + hit * (real.len() - 100) / 40;
        bytes[start..start + 64].fill(0xff);
        let file = folder.write("damaged.parquet", &bytes);
        let ran = run(["exchange".as_ref(), "--json".as_ref(), file.as_os_str()]);
        // Damage that Parquet cannot see is data like any other.
        if ran.0.status.code() != Some(0) {
            ran.fails_for(&file);
        }
    }
}

#[test]
fn names_are_shown_on_one_line() {
    let folder = Folder::new();
    let line = run(["exchange".as_ref(), folder.join("two\nlines.csv").as_os_str()]).fails();
    assert!(line.contains("two lines.csv: "), "{line}");
    let file = folder.write("odd.csv", "\"red \u{1b}[31m\",\"two\nlines\"\n1,2\n");
    let text = run(["exchange".as_ref(), file.as_os_str()]).succeeds();
    assert!(text.contains("red \\u{1b}[31m") && text.contains("two lines"), "{text}");
}

#[test]
fn bad_usage_is_exit_code_2() {
    let cases: [&[&str]; 6] = [
        &[],
        &["exchange"],
        &["exchange", "a", "b"],
        &["exchange", "--transport", "pigeon", "a"],
        &["exchange", "--compress", "rar", "a"],
        &["exchange-receiver", "--file", "a"],
    ];
    for arguments in cases {
        let ran = run(arguments);
        assert_eq!(ran.0.status.code(), Some(2), "{arguments:?}");
        assert_eq!(ran.stdout(), "");
        assert!(!ran.stderr().is_empty());
    }
    let line = run(["exchange", "-"]).ends_with_one_line(2);
    assert!(line.contains("name a file"), "{line}");
}

#[test]
fn a_closed_stdout_is_no_error() {
    let flights = flights();
    let file = flights.to_str().unwrap();
    for arguments in [&["exchange", file][..], &["exchange", "--json", file], &["--help"]] {
        assert_eq!(run_into_closed_pipe(program(arguments)), (Some(0), String::new()), "{arguments:?}");
    }
}

#[test]
fn help_and_version_are_printed() {
    assert!(run(["--help"]).succeeds().contains("exchange"));
    assert!(run(["exchange", "--help"]).succeeds().contains("value for value"));
    assert_eq!(run(["--version"]).succeeds(), format!("arrow-frames {}\n", env!("CARGO_PKG_VERSION")));
    // The second process is none of the user's business.
    assert!(!run(["--help"]).succeeds().contains("receiver"));
}

#[cfg(unix)]
#[test]
fn no_socket_and_no_process_is_left_behind() {
    let (files, temp) = (Folder::new(), Folder::new());
    let good = files.stream("good.arrows", &plain());
    let bad = files.write("bad.arrows", &stream(&plain())[..300]);
    for (file, code) in [(&good, 0), (&bad, 1)] {
        for transport in TRANSPORTS {
            let mut command = program(["exchange", "--transport", transport, file.to_str().unwrap()]);
            let output = command.env("TMPDIR", temp.path()).output().unwrap();
            assert_eq!(output.status.code(), Some(code));
            assert_eq!(temp.names(), Vec::<String>::new());
            assert_eq!(processes_with(file), Vec::<String>::new());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn one_that_is_interrupted_leaves_nothing_behind() {
    use std::os::unix::process::ExitStatusExt;
    use std::time::{Duration, Instant};
    let (files, temp) = (Folder::new(), Folder::new());
    let file = files.join("flights.parquet");
    fs::copy(flights(), &file).unwrap();
    for (signal, number) in [("INT", 2), ("TERM", 15), ("KILL", 9)] {
        for (milliseconds, transport) in
            [0, 5, 20, 80, 300].iter().flat_map(|t| TRANSPORTS.map(|name| (t, name)))
        {
            let arguments = ["exchange", "--transport", transport, file.to_str().unwrap()];
            let mut command = program(arguments);
            command.env("TMPDIR", temp.path()).stdout(std::process::Stdio::null());
            let mut child = command.spawn().unwrap();
            std::thread::sleep(Duration::from_millis(*milliseconds));
            let id = child.id().to_string();
            assert!(std::process::Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
            let status = child.wait().unwrap();
            assert!(status.signal() == Some(number) || status.success(), "{status}");
            assert_eq!(temp.names(), Vec::<String>::new());
            // The second process sees that it is alone, by the time that it has read the file.
            let start = Instant::now();
            while !processes_with(&file).is_empty() {
                assert!(start.elapsed() < Duration::from_secs(60), "{:?}", processes_with(&file));
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// A name that looks like an option is one to neither process.
#[test]
fn any_name_is_one() {
    let folder = Folder::new();
    folder.stream("--tcp", &plain());
    for transport in TRANSPORTS {
        let mut command = program(["exchange", "--json", "--transport", transport, "--", "--tcp"]);
        is_equal(&Ran(command.current_dir(folder.path()).output().unwrap()).prints_json(), 4, 3);
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_only_one_process_can_read_is_an_error() {
    let folder = Folder::new();
    let file = folder.stream("a.arrows", &plain());
    // A pipe: the first process empties it.
    let script = format!("exec \"$0\" exchange /dev/stdin < '{}'", file.display());
    let piped = format!("cat '{}' | \"$0\" exchange /dev/stdin", file.display());
    for script in [script, piped] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_arrow-frames")]);
        let line = Ran(command.output().unwrap()).fails();
        assert!(line.starts_with("arrow-frames: the second process: /dev/stdin: "), "{line}");
    }
}

/// The command lines of running processes that have this argument.
#[cfg(unix)]
fn processes_with(argument: &Path) -> Vec<String> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let lines = processes.filter_map(|process| fs::read(process.ok()?.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(argument.to_str().unwrap())).collect()
}
