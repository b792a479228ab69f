//! Dataframes on disk: whole under their name or not there, read with every check, mapped
//! without one copied byte.
#![cfg(feature = "spill")]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Int32Type, UnionFields};
use arrow_frames::{
    Compression, DataFrame, Encoder, ErrorKind, Frames, Layout, Part, Target, from_buffers, spill, to_buffers,
};
use common::*;

fn dataframe(rows: i64) -> DataFrame {
    let text: StringArray = (0..rows).map(|n| (n % 3 > 0).then(|| format!("text {n}"))).collect();
    let columns: [(&str, ArrayRef); 2] =
        [("n", Arc::new(Int64Array::from_iter_values(0..rows))), ("text", Arc::new(text))];
    RecordBatch::try_from_iter(columns).unwrap().into()
}

/// # Safety
///
/// As for `spill::map_trusted`: the tests write valid files and leave them alone.
fn map(path: &Path) -> arrow_frames::Result<DataFrame> {
    #[allow(unsafe_code)]
    // SAFETY: each test writes into a folder of its own, and changes no file that is mapped.
    unsafe {
        spill::map_trusted(path)
    }
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn every_type_comes_back_read_and_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.arrows");
    for case in cases() {
        for rows in [0, 1, 100, 9_000] {
            let (field, array) = make(&case.field, rows, Nulls::Some);
            let df = one_column(&field, &array);
            let written = spill::write(&path, &df).unwrap();
            assert_eq!(written, fs::metadata(&path).unwrap().len());
            assert_same(&df, &spill::read(&path).unwrap(), &|| case.name.clone());
            assert_same(&df, &map(&path).unwrap(), &|| case.name.clone());
        }
    }
    assert_eq!(names(folder.path()), ["part.arrows"]);
}

#[test]
fn it_is_an_ordinary_stream() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.arrows");
    let df = dataframe(1_000);
    spill::write_durable(&path, &df).unwrap();
    let expected = to_buffers(&df, Target::Arrow).unwrap();
    assert_eq!(fs::read(&path).unwrap(), expected.segments().unwrap().collect::<Vec<_>>().concat());
}

#[test]
fn options_of_the_encoder_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.arrows");
    let df = dataframe(1_000);
    let frames = Encoder::new(Target::Pandas).encode(&df).unwrap();
    spill::write_encoded(&path, &frames).unwrap();
    assert_same(&df, &spill::read(&path).unwrap().into_record_batch().unwrap().into(), &|| {
        "pandas".to_owned()
    });
    if cfg!(feature = "lz4") {
        let frames = Encoder::new(Target::Arrow).with_compression(Compression::Lz4).encode(&df).unwrap();
        spill::write_encoded(&path, &frames).unwrap();
        assert_same(&df, &spill::read(&path).unwrap(), &|| "lz4".to_owned());
    }
}

#[test]
fn a_mapped_array_references_the_map() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.arrows");
    spill::write(&path, &dataframe(100_000)).unwrap();
    let df = map(&path).unwrap();
    let array = df.into_record_batch().unwrap().column(0).clone();
    let address = array.to_data().buffers()[0].as_ptr() as usize;
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let is_inside = |line: &&str| {
        let (range, _) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        (number(start)..number(end)).contains(&address)
    };
    if cfg!(target_os = "linux") {
        assert!(maps.lines().find(is_inside).unwrap().ends_with("part.arrows"));
    }
    // The map outlives the name.
    fs::remove_file(&path).unwrap();
    assert_eq!(array.len(), 100_000);
    assert_eq!(array.as_any().downcast_ref::<Int64Array>().unwrap().value(99_999), 99_999);
}

#[test]
fn a_file_that_was_cut_or_changed_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.arrows");
    let df = dataframe(50);
    spill::write(&path, &df).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        for error in [spill::read(&path).unwrap_err(), map(&path).unwrap_err()] {
            let kind = error.kind();
            let is_expected = matches!(kind, ErrorKind::Truncated { .. } | ErrorKind::SchemaMissing { .. });
            assert!(is_expected, "cut at {length}: {error}");
        }
    }
    fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
    for error in [spill::read(&path).unwrap_err(), map(&path).unwrap_err()] {
        assert!(matches!(error.kind(), ErrorKind::BadNumber { part: Part::End, number: 1, .. }), "{error}");
    }
    // A changed byte is found, or changes a value: nothing else happens.
    let layout = Layout::of_stream(&whole);
    let body = layout.messages[1].position + layout.messages[1].metadata_bytes;
    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 0x80;
        fs::write(&path, &changed).unwrap();
        if let Ok(df) = spill::read(&path) {
            assert_valid(&df, &|| format!("byte {place}"));
        }
        // Metadata is checked where the file is mapped; what the columns hold is not looked at.
        if (place as u64) < body
            && let Ok(df) = map(&path)
        {
            assert!(df.num_columns() <= 2);
        }
    }
}

#[test]
fn a_folder_that_is_gone_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gone").join("part.arrows");
    let df = dataframe(10);
    for error in [
        spill::write(&path, &df).unwrap_err(),
        spill::write_durable(&path, &df).unwrap_err(),
        spill::read(&path).unwrap_err(),
        map(&path).unwrap_err(),
    ] {
        assert!(
            matches!(error.kind(), ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::NotFound),
            "{error}"
        );
    }
    // It goes while it is written to.
    let doomed = tempfile::tempdir().unwrap();
    let path = doomed.path().join("part.arrows");
    let writing = std::thread::spawn(move || {
        let df = dataframe(50_000);
        std::iter::repeat_with(|| spill::write(&path, &df)).find_map(Result::err).unwrap()
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    while doomed.path().exists() {
        let _ = fs::remove_dir_all(doomed.path());
    }
    let error = writing.join().unwrap();
    assert!(matches!(error.kind(), ErrorKind::Io(e) if e.kind() == std::io::ErrorKind::NotFound), "{error}");

    // The name of a folder is taken.
    assert!(spill::write(folder.path(), &df).is_err());
    assert_eq!(df.num_rows(), 10);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn what_was_there_stays_when_writing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.arrows");
    spill::write(&path, &dataframe(10)).unwrap();
    let before = fs::read(&path).unwrap();
    // Frames that are not those of the header.
    let (header, mut buffers) = to_buffers(&dataframe(20), Target::Arrow).unwrap().into_parts();
    buffers.pop();
    let error = spill::write_encoded(&path, &Frames::new(header, buffers)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::FrameCount { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(names(folder.path()), ["part.arrows"]);
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
#[cfg(unix)]
fn a_new_file_is_private_and_a_replaced_one_keeps_its_mode() {
    const TEST: &str = "a_new_file_is_private_and_a_replaced_one_keeps_its_mode";
    if is_alone() {
        let folder = tempfile::tempdir().unwrap();
        let df = dataframe(10);
        let path = folder.path().join("new.arrows");
        spill::write(&path, &df).unwrap();
        assert_eq!(mode(&path), 0o600);
        for kept in [0o600, 0o640, 0o664, 0o666, 0o400] {
            set_mode(&path, kept);
            spill::write(&path, &df).unwrap();
            assert_eq!(mode(&path), kept);
            spill::write_durable(&path, &df).unwrap();
            assert_eq!(mode(&path), kept);
        }
        // What would run as its owner does not do so with other contents.
        set_mode(&path, 0o4755);
        spill::write(&path, &df).unwrap();
        assert_eq!(mode(&path), 0o755);

        // A link is replaced, and what it leads to has no say.
        let (shared, link) = (folder.path().join("shared"), folder.path().join("link.arrows"));
        fs::write(&shared, "shared").unwrap();
        set_mode(&shared, 0o666);
        std::os::unix::fs::symlink(&shared, &link).unwrap();
        spill::write(&link, &df).unwrap();
        assert_eq!((mode(&link), fs::read_to_string(&shared).unwrap().as_str()), (0o600, "shared"));
        assert_eq!(spill::read(&link).unwrap().num_rows(), 10);
        return;
    }
    for umask in ["000", "022", "077"] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &format!(r#"umask {umask}; exec "$@""#), "sh"]);
        command.arg(std::env::current_exe().unwrap()).args(alone(TEST).get_args());
        command.envs(alone(TEST).get_envs().map(|(key, value)| (key.to_owned(), value.unwrap().to_owned())));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{umask}: {}", text(&output));
    }
}

#[test]
#[cfg(unix)]
fn a_file_is_never_more_open_than_in_the_end() {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use arrow_frames::spill::{Access, AtomicFile};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let now = |file: &mut AtomicFile| {
        file.as_file_mut().write_all(b"some").unwrap();
        file.as_file_mut().metadata().unwrap().permissions().mode() & 0o777
    };
    for access in [Access::Private, Access::Usual] {
        for kept in [0o600, 0o640, 0o400, 0o666] {
            fs::write(&path, "old").unwrap();
            set_mode(&path, kept);
            let mut file = AtomicFile::create(&path, access).unwrap();
            assert_eq!(now(&mut file) & !kept & 0o077, 0);
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
            file.commit().unwrap();
            assert_eq!((mode(&path), fs::read_to_string(&path).unwrap().as_str()), (kept, "some"));
            fs::remove_file(&path).unwrap();
        }
        let mut file = AtomicFile::create(&path, access).unwrap();
        let before = now(&mut file);
        // What has no name yet is not left behind by a process that is killed.
        if cfg!(target_os = "linux") && has_nameless_files() {
            assert_eq!(names(folder.path()), [""; 0]);
        }
        file.commit().unwrap();
        assert_eq!(before, mode(&path));
        fs::remove_file(&path).unwrap();
    }
    // One that is given up leaves nothing.
    drop(AtomicFile::create(&path, Access::Usual).unwrap());
    assert!(names(folder.path()).is_empty());
}

/// Only root may give files away.
#[test]
#[cfg(unix)]
fn owner_and_group_are_handed_on_to_whom_they_may_be() {
    use std::os::unix::fs::{MetadataExt, chown};

    use arrow_frames::spill::{Access, AtomicFile};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "old").unwrap();
    set_mode(&path, 0o664);
    if chown(&path, Some(1234), Some(5678)).is_err() {
        return; // There is nobody to give it to.
    }
    AtomicFile::create(&path, Access::Usual).unwrap().commit().unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), mode(&path)), (1234, 5678, 0o664));
    // What is private is nobody else's.
    spill::write(&path, &dataframe(10)).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), mode(&path)), (fs::metadata(folder.path()).unwrap().uid(), 0o600));
    // The group of the same owner's file is.
    chown(&path, None, Some(5678)).unwrap();
    set_mode(&path, 0o640);
    spill::write(&path, &dataframe(10)).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.gid(), mode(&path)), (5678, 0o640));
}

/// The folder that a process of its own spills to.
#[cfg(unix)]
const FOLDER: &str = "ARROW_FRAMES_TEST_FOLDER";

#[test]
#[cfg(unix)]
fn a_full_disk_leaves_nothing_behind() {
    const TEST: &str = "a_full_disk_leaves_nothing_behind";
    if is_alone() {
        let path = Path::new(&std::env::var_os(FOLDER).unwrap()).join("part.arrows");
        let df = dataframe(100_000);
        let before = df.clone();
        let error = spill::write(&path, &df).unwrap_err();
        let kind = match error.kind() {
            ErrorKind::Io(error) => error.kind(),
            other => panic!("{other:?}"),
        };
        assert!(
            matches!(kind, std::io::ErrorKind::StorageFull | std::io::ErrorKind::FileTooLarge),
            "{kind:?}"
        );
        // It was not harmed, and a smaller one fits.
        assert_same(&before, &df, &|| "after the failure".to_owned());
        spill::write(&path, &dataframe(100)).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // No file of more than 64 KiB: the system refuses as it does on a full disk.
    let binary = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", r#"trap "" XFSZ; ulimit -f 128; exec "$@""#, "sh"]).arg(binary);
    command.args(alone(TEST).get_args()).env(FOLDER, folder.path());
    command.envs(alone(TEST).get_envs().map(|(key, value)| (key.to_owned(), value.unwrap().to_owned())));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(names(folder.path()), ["part.arrows"]);
    assert_eq!(spill::read(folder.path().join("part.arrows")).unwrap().num_rows(), 100);
}

/// Whether the folder of temporary files is on a file system that has files without a name.
#[cfg(unix)]
fn has_nameless_files() -> bool {
    use std::os::fd::AsRawFd;
    let file = tempfile::tempfile().unwrap();
    // `tempfile` falls back on a name that it removes: such a file shows it.
    let link = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
    link.is_ok_and(|name| name.to_string_lossy().contains("/#"))
}

#[test]
#[cfg(unix)]
fn a_process_that_is_killed_leaves_no_half_file_under_the_name() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    const TEST: &str = "a_process_that_is_killed_leaves_no_half_file_under_the_name";
    if is_alone() {
        let path = Path::new(&std::env::var_os(FOLDER).unwrap()).join("part.arrows");
        let (small, large) = (dataframe(10), dataframe(300_000));
        spill::write(&path, &small).unwrap();
        println!("\nwriting");
        loop {
            spill::write(&path, &large).unwrap();
            spill::write(&path, &small).unwrap();
        }
    }
    let mut rng = Rng(11);
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let mut child = alone(TEST).env(FOLDER, folder.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "writing"));
        // Anywhere in the middle: how far it comes is the machine's affair.
        std::thread::sleep(std::time::Duration::from_micros(rng.below(20_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let rows = spill::read(folder.path().join("part.arrows")).unwrap().num_rows();
        assert!(rows == 10 || rows == 300_000, "{rows}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn mapping_reads_no_rows_of_any_type() {
    if passes_alone("mapping_reads_no_rows_of_any_type") {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("part.arrows");
    const ROWS: usize = 4_000_000;
    /// The system may map two megabytes where one byte is read: metadata, the last offset.
    const TOUCHED: usize = 3 * (2 << 20);
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS as i64));
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let offsets: Vec<i64> = (0..ROWS as i64).collect();
    let nulls = Some(NullBuffer::from_iter((0..ROWS).map(|row| row % 3 > 0)));
    let text = || (0..ROWS).map(|row| (row % 3 > 0).then(|| format!("number {row} of many")));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("list_view", {
            let offsets = offsets.clone().into();
            let sizes = vec![1i64; ROWS].into();
            let nulls = nulls.clone();
            Arc::new(LargeListViewArray::new(item.clone(), offsets, sizes, numbers.clone(), nulls))
        }),
        ("list", {
            let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(1, ROWS));
            Arc::new(ListArray::new(item, offsets, numbers.clone(), nulls.clone()))
        }),
        ("text", Arc::new(StringArray::from_iter(text()))),
        ("view", Arc::new(StringViewArray::from_iter(text()))),
        ("flag", Arc::new(BooleanArray::from_iter((0..ROWS).map(|row| Some(row % 2 == 0))))),
        ("keys", {
            let keys = Int32Array::from_iter_values((0..ROWS as i32).map(|row| row % 1_000));
            Arc::new(DictionaryArray::new(keys, numbers.slice(0, 1_000)))
        }),
        ("runs", {
            let ends = Int32Array::from_iter_values(1..=ROWS as i32);
            Arc::new(RunArray::<Int32Type>::try_new(&ends, &numbers).unwrap())
        }),
        ("union", {
            let fields = UnionFields::from_fields(vec![Field::new("n", DataType::Int64, true)]);
            let ids = vec![0i8; ROWS].into();
            let offsets = (0..ROWS as i32).collect::<Vec<_>>().into();
            Arc::new(UnionArray::try_new(fields, ids, Some(offsets), vec![numbers.clone()]).unwrap())
        }),
        ("struct", {
            let child = Arc::new(Field::new("n", DataType::Int64, true));
            Arc::new(StructArray::new(vec![child].into(), vec![numbers.clone()], nulls.clone()))
        }),
    ];
    for (name, column) in columns {
        spill::write(&path, &RecordBatch::try_from_iter([(name, column)]).unwrap().into()).unwrap();
        // What of the program is used for the first time comes into memory too.
        drop(map(&path).unwrap());
        // A fresh map: the pages of another one are no longer resident.
        let (before, _) = resident();
        let df = map(&path).unwrap();
        let (after, _) = resident();
        assert_eq!(df.num_rows(), ROWS);
        assert!(after.saturating_sub(before) <= TOUCHED, "{name}: {before} → {after}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn spilling_and_mapping_take_no_memory() {
    if passes_alone("spilling_and_mapping_take_no_memory") {
        return;
    }
    // 256 MB, in a folder of a disk.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("part.arrows");
    let columns = (0..4).map(|n| {
        let values: Int64Array = (0..8_000_000).map(|row| row * n).collect::<Vec<i64>>().into();
        (format!("c{n}"), Arc::new(values) as ArrayRef)
    });
    let df = DataFrame::from(RecordBatch::try_from_iter(columns).unwrap());
    let (before, _) = resident();
    reset_peak();
    spill::write(&path, &df).unwrap();
    let (_, peak) = resident();
    assert!(peak - before < 16 << 20, "spilling: {before} → {peak}");

    drop(df);
    let (before, _) = resident();
    reset_peak();
    let df = map(&path).unwrap();
    assert_eq!(df.schema().fields().len(), 4);
    assert_eq!(df.num_rows(), 8_000_000);
    let (_, peak) = resident();
    assert!(peak.saturating_sub(before) < 4 << 20, "mapping: {before} → {peak}");

    drop(df);
    let (before, _) = resident();
    reset_peak();
    let df = spill::read(&path).unwrap();
    let (_, peak) = resident();
    assert!(peak - before < (256 << 20) + (16 << 20), "reading: {before} → {peak}");
    let last = df.into_record_batch().unwrap().column(3).clone();
    assert_eq!(last.as_any().downcast_ref::<Int64Array>().unwrap().value(7_999_999), 3 * 7_999_999);
}

/// Starts the peak of memory anew.
#[cfg(target_os = "linux")]
fn reset_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}

#[test]
fn frames_of_a_file_are_checked_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.arrows");
    spill::write(&path, &dataframe(1_000)).unwrap();
    // Text that is no UTF-8: read, it is refused.
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.windows(8).position(|bytes| bytes == b"text 998").unwrap();
    bytes[place] = 0xff;
    fs::write(&path, &bytes).unwrap();
    let error = spill::read(&path).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Utf8 { .. }), "{error}");
    assert!(from_buffers(Frames::from_stream(bytes).unwrap()).is_err());
}
