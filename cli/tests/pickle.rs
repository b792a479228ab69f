//! What the program does for pandas: streams with pickled columns, and a look into pickles.

mod common;

use std::ffi::OsStr;

use common::*;

/// `pandas.Categorical.from_codes(numpy.frombuffer(…, 'i1', 5), ['lo', 'mid', 'hi'], True)`.
const CATEGORICAL: &[u8] =
    b"\x80\x05\x8c\x06pandas\x8c\x16Categorical.from_codes\x93\x8c\x05numpy\x8c\nfrombuffer\x93\
    \x97\x8c\x02i1K\x05\x87R](\x8c\x02lo\x8c\x03mid\x8c\x02hie\x88\x87R.";

/// `os.system('true')`.
const ATTACK: &[u8] = b"\x80\x05\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.";

#[test]
fn a_pickle_is_shown_with_the_type_that_it_holds() {
    let folder = Folder::new();
    let file = folder.write("grade.pkl", CATEGORICAL);
    folder.write("grade.buf0", [0u8, 2, 1, 255, 0]);
    let text = run(["inspect".as_ref(), file.as_os_str()]).succeeds();
    for shown in
        ["STACK_GLOBAL", "NEXT_BUFFER", "\"Categorical.from_codes\"", "1 buffer beside it of 5 bytes"]
    {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(text.ends_with("an Arrow Dictionary(Int8, Utf8) of length 5\n"), "{text}");

    let json = run(["inspect".as_ref(), "--json".as_ref(), file.as_os_str()]).prints_json();
    assert_eq!((&json["type"], &json["length"]), (&"Dictionary(Int8, Utf8)".into(), &5.into()));
    assert_eq!(json["buffers"], serde_json::json!([5]));
    assert_eq!(json["instructions"][0]["opcode"], "PROTO");
    assert_eq!(json["instructions"].as_array().unwrap().last().unwrap()["opcode"], "STOP");
}

#[test]
fn a_refused_pickle_is_one_line_that_says_what_and_at_which_byte() {
    let folder = Folder::new();
    let file = folder.write("attack.pkl", ATTACK);
    let line = run(["inspect".as_ref(), file.as_os_str()]).fails_for(&file);
    assert!(line.contains("byte 14") && line.contains("os.system"), "{line}");

    // A code without a category: the graph is right, the buffer is not.
    let file = folder.write("grade.pkl", CATEGORICAL);
    folder.write("grade.buf0", [0u8, 2, 3, 255, 0]);
    let line = run(["inspect".as_ref(), file.as_os_str()]).fails_for(&file);
    assert!(line.contains("byte") && line.contains('3'), "{line}");

    // A buffer that is not there.
    let file = folder.write("alone.pkl", CATEGORICAL);
    let line = run(["inspect".as_ref(), file.as_os_str()]).fails_for(&file);
    assert!(line.contains("byte"), "{line}");
}

#[test]
fn what_is_converted_for_pandas_comes_back_as_it_was() {
    let folder = Folder::new();
    for (name, options) in [("a.arrows", &[][..]), ("b.arrows", &["--compress", "zstd"]), ("c.arrow", &[])] {
        let stream = folder.join(name);
        let options = ["--target", "pandas"].iter().chain(options).map(OsStr::new);
        let arguments = ["convert".as_ref(), flights_str(), stream.as_os_str()];
        run(arguments.into_iter().chain(options)).succeeds();
        let text = run(["inspect".as_ref(), stream.as_os_str()]).succeeds();
        for opaque in ["category", "datetime64[ns, America/New_York]"] {
            assert!(text.contains(opaque), "{name}: {opaque}");
        }
        // Parquet has no opaque columns: they are Arrow again.
        let (there, back) = (folder.join("there.csv"), folder.join("back.csv"));
        run(["convert".as_ref(), flights_str(), there.as_os_str()]).succeeds();
        run(["convert".as_ref(), stream.as_os_str(), back.as_os_str()]).succeeds();
        assert_eq!(std::fs::read(there).unwrap(), std::fs::read(back).unwrap(), "{name}");
        run(["verify".as_ref(), stream.as_os_str()]).succeeds();
    }
}

#[test]
fn only_arrow_ipc_is_for_a_target() {
    let folder = Folder::new();
    let out = folder.join("out.csv");
    let arguments =
        ["convert".as_ref(), flights_str(), out.as_os_str(), "--target".as_ref(), "pandas".as_ref()];
    let line = run(arguments).ends_with_one_line(2);
    assert!(line.contains("--target"), "{line}");
    assert!(!out.exists());
}

fn flights_str() -> &'static OsStr {
    Box::leak(flights().into_os_string().into_boxed_os_str())
}
