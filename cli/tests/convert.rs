//! `convert`: between formats, and never half a file.

mod common;

use std::fs;
use std::path::Path;

use common::*;

fn convert(input: &Path, output: &Path, options: &[&str]) -> Ran {
    let paths = ["convert".as_ref(), input.as_os_str(), output.as_os_str()];
    run(paths.into_iter().chain(options.iter().map(std::ffi::OsStr::new)))
}

fn is_sound(file: &Path) -> serde_json::Value {
    run(["verify".as_ref(), "--json".as_ref(), file.as_os_str()]).prints_json()
}

#[test]
fn a_round_through_all_formats_ends_where_it_began() {
    let folder = Folder::new();
    let start = folder.join("0.arrows");
    convert(&flights(), &start, &[]).succeeds();
    let mut last = start.clone();
    for (index, name) in ["1.arrow", "2.parquet", "3.feather", "4.stream"].into_iter().enumerate() {
        let options: [&[&str]; 4] = [&[], &["--compress", "zstd"], &["--compress", "lz4"], &[]];
        let next = folder.join(name);
        convert(&last, &next, options[index]).succeeds();
        last = next;
    }
    assert_eq!(fs::read(start).unwrap(), fs::read(last).unwrap());
}

#[test]
fn csv_goes_both_ways() {
    let folder = Folder::new();
    let csv = folder.write("a.csv", "number,text\n1,a\n2,\n3,größe\n4,\"b, c\"\n");
    let (arrow, again) = (folder.join("a.arrow"), folder.join("again.csv"));
    convert(&csv, &arrow, &[]).succeeds();
    assert_eq!(is_sound(&arrow)["rows"], 4);
    convert(&arrow, &again, &[]).succeeds();
    assert_eq!(fs::read(&csv).unwrap(), fs::read(&again).unwrap());

    // Zones have no place in CSV; the instants have.
    let text = folder.join("flights.csv");
    convert(&flights(), &text, &[]).succeeds();
    let text = fs::read_to_string(text).unwrap();
    let lines: Vec<&str> = text.lines().take(2).collect();
    assert!(lines[0].ends_with("minute,time_hour"), "{}", lines[0]);
    assert!(lines[1].ends_with("15.0,2013-01-01T10:00:00Z"), "{}", lines[1]);
    assert_eq!(text.lines().count(), 60_001);

    let line = convert(&folder.stream("n.arrows", &fancy()), &folder.join("n.csv"), &[]).fails();
    assert!(line.contains("Nested type"), "{line}");
}

#[test]
fn compressed_output_is_smaller_and_equal() {
    let folder = Folder::new();
    let plain = folder.join("plain.arrow");
    convert(&flights(), &plain, &[]).succeeds();
    for codec in ["lz4", "zstd"] {
        let packed = folder.join("packed.arrow");
        convert(&plain, &packed, &["--compress", codec]).succeeds();
        assert!(fs::metadata(&packed).unwrap().len() < fs::metadata(&plain).unwrap().len() / 2);
        let unpacked = folder.join("unpacked.arrow");
        convert(&packed, &unpacked, &[]).succeeds();
        assert_eq!(fs::read(&plain).unwrap(), fs::read(&unpacked).unwrap());
    }
}

#[test]
fn a_file_gets_one_dictionary_per_column() {
    let folder = Folder::new();
    let stream = folder.stream("two.arrows", &two_dictionaries());
    let file = folder.join("one.arrow");
    convert(&stream, &file, &[]).succeeds();
    let json = is_sound(&file);
    assert_eq!((&json["dictionary_messages"], &json["batches"]), (&1.into(), &2.into()));
    let csv = |file: &Path| run(["convert", "--to", "csv", file.to_str().unwrap(), "-"]).succeeds();
    assert_eq!(csv(&file), "d\nx\ny\nx\nz\ny\n");
    assert_eq!(csv(&stream), csv(&file));
}

#[test]
fn pickled_columns_stay_in_arrow_ipc() {
    let folder = Folder::new();
    let stream = folder.stream("a.arrows", &opaque());
    let (file, again) = (folder.join("a.arrow"), folder.join("again.arrows"));
    convert(&stream, &file, &[]).succeeds();
    convert(&file, &again, &[]).succeeds();
    assert_eq!(fs::read(&stream).unwrap(), fs::read(&again).unwrap());
    let line = convert(&stream, &folder.join("a.parquet"), &[]).fails();
    assert!(line.contains("opaque"), "{line}");
}

#[test]
fn pipes_at_both_ends() {
    let stream = stream(&plain());
    let ran = run_with_input(program(["convert", "-", "-", "--to", "csv"]), &stream);
    assert_eq!(ran.succeeds(), "number,text,float\n1,a,0.5\n2,,\n3,größe,-0.0\n4,\"b, c\",1e300\n");
    let ran = run_with_input(program(["convert", "-", "-", "--from", "csv", "--to", "arrows"]), b"a\n1\n");
    assert_eq!(ran.0.status.code(), Some(0));
    assert!(ran.0.stdout.starts_with(&[0xff; 4]));
    // Parquet wants to seek; what comes through a pipe is kept for that.
    let parquet = fs::read(flights()).unwrap();
    let ran = run_with_input(program(["convert", "-", "-", "--to", "parquet"]), &parquet);
    assert_eq!(ran.0.status.code(), Some(0), "{}", ran.stderr());
    assert!(ran.0.stdout.starts_with(b"PAR1") && ran.0.stdout.ends_with(b"PAR1"));
}

#[test]
fn a_closed_stdout_is_no_error() {
    let flights = flights();
    for to in ["csv", "arrows", "arrow", "parquet"] {
        let command = program(["convert", flights.to_str().unwrap(), "-", "--to", to]);
        assert_eq!(run_into_closed_pipe(command), (Some(0), String::new()), "{to}");
    }
}

#[test]
fn a_failure_leaves_no_file_and_keeps_an_old_one() {
    let folder = Folder::new();
    let bad = folder.write("bad.arrows", bad_text().0);
    convert(&bad, &folder.join("new.parquet"), &[]).fails_for(&bad);
    assert_eq!(folder.names(), ["bad.arrows"]);

    // One that fails while it is written.
    let nested = folder.stream("nested.arrows", &fancy());
    let old = folder.write("old.csv", "kept\n");
    convert(&nested, &old, &[]).fails_for(&old);
    assert_eq!(fs::read_to_string(&old).unwrap(), "kept\n");
    assert_eq!(folder.names(), ["bad.arrows", "nested.arrows", "old.csv"]);

    let good = folder.stream("good.arrows", &plain());
    let nowhere = folder.join("nowhere/a.arrow");
    convert(&good, &nowhere, &[]).fails_for(&nowhere);
    let directory = folder.join("directory.arrow");
    fs::create_dir(&directory).unwrap();
    convert(&good, &directory, &[]).fails_for(&directory);
    convert(&folder.join("missing.csv"), &old, &[]).fails_for(folder.join("missing.csv"));
    assert_eq!(folder.names(), ["bad.arrows", "directory.arrow", "good.arrows", "nested.arrows", "old.csv"]);
}

#[test]
fn a_file_can_be_converted_in_place() {
    let folder = Folder::new();
    let file = folder.stream("a.arrows", &plain());
    let before = fs::read(&file).unwrap();
    convert(&file, &file, &[]).succeeds();
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn output_has_the_permissions_of_a_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let input = folder.stream("a.arrows", &plain());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let output = folder.join("b.arrow");
    convert(&input, &output, &[]).succeeds();
    assert_eq!(mode(&output), mode(&input));
    // A device is written to, not replaced.
    convert(&input, Path::new("/dev/null"), &["--to", "arrow"]).succeeds();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_permissions_and_a_new_one_has_the_usual() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let input = folder.stream("a.arrows", &plain());
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    for (umask, usual) in [("000", 0o666), ("022", 0o644), ("077", 0o600)] {
        let convert = |output: &Path| {
            let mut command = std::process::Command::new("sh");
            let script = format!(r#"umask {umask}; exec "$0" convert "$1" "$2""#);
            command.args(["-c", &script, env!("CARGO_BIN_EXE_arrow-frames")]).arg(&input).arg(output);
            Ran(command.output().unwrap()).succeeds();
        };
        let output = folder.join("b.arrow");
        convert(&output);
        assert_eq!(mode(&output), usual);
        for kept in [0o600, 0o640, 0o666, 0o444] {
            fs::set_permissions(&output, fs::Permissions::from_mode(kept)).unwrap();
            convert(&output);
            assert_eq!(mode(&output), kept);
        }
        // A link goes on leading to the file, whose permissions count.
        let link = folder.join("link.arrow");
        std::os::unix::fs::symlink("b.arrow", &link).unwrap();
        fs::set_permissions(&output, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&output, "old").unwrap();
        convert(&link);
        assert_eq!((fs::read_link(&link).unwrap(), mode(&output)), ("b.arrow".into(), 0o600));
        is_sound(&output);
        fs::remove_file(&link).unwrap();
        fs::remove_file(&output).unwrap();
    }
    assert_eq!(folder.names(), ["a.arrows"]);
}

/// Until the files have their names, they have none.
#[cfg(target_os = "linux")]
#[test]
fn one_that_is_interrupted_leaves_nothing_behind() {
    use std::os::fd::AsRawFd;
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new();
    let input = flights();
    // Where the file system has no such files, `tempfile` shows a name that it has removed.
    let nameless = tempfile::tempfile_in(folder.path()).unwrap();
    let shown = fs::read_link(format!("/proc/self/fd/{}", nameless.as_raw_fd())).unwrap();
    if !shown.to_string_lossy().contains("/#") {
        eprintln!("{} has no files without a name: nothing is tested", folder.path().display());
        return;
    }
    for (signal, number) in [("INT", 2), ("TERM", 15), ("KILL", 9)] {
        for old in [None, Some("kept")] {
            let output = folder.join("out.csv");
            if let Some(old) = old {
                fs::write(&output, old).unwrap();
            }
            let arguments = ["convert".as_ref(), input.as_os_str(), output.as_os_str()];
            let mut child = program(arguments).spawn().unwrap();
            // As soon as it has a file in the folder open.
            let files = format!("/proc/{}/fd", child.id());
            let is_written = || {
                let files = fs::read_dir(&files).into_iter().flatten().flatten();
                let mut files = files.filter_map(|file| fs::read_link(file.path()).ok());
                files.any(|file| file.starts_with(folder.path()))
            };
            while !is_written() {
                assert!(child.try_wait().unwrap().is_none(), "it was too fast");
            }
            let id = child.id().to_string();
            assert!(std::process::Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
            assert_eq!(child.wait().unwrap().signal(), Some(number));
            match old {
                None => assert_eq!(folder.names(), Vec::<String>::new()),
                Some(old) => {
                    assert_eq!(folder.names(), ["out.csv"]);
                    assert_eq!(fs::read_to_string(&output).unwrap(), old);
                    fs::remove_file(&output).unwrap();
                }
            }
        }
    }
}

#[test]
fn formats_that_cannot_be_known_are_bad_usage() {
    let folder = Folder::new();
    let input = folder.stream("a.arrows", &plain());
    let input = input.to_str().unwrap();
    let line = run(["convert", input, "out.xyz"]).ends_with_one_line(2);
    assert!(line.contains("say it with --to"), "{line}");
    run(["convert", input, "-"]).ends_with_one_line(2);
    run(["convert", input, "out.csv", "--compress", "zstd"]).ends_with_one_line(2);
    let ran = run_with_input(program(["convert", "-", "-", "--to", "csv"]), b"what is this?");
    assert!(ran.fails_for("-").contains("say it with --from"));
}
