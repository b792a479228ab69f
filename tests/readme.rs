//! What the README shows is what runs.

use std::env::consts::EXE_EXTENSION;
use std::process::Command;

const README: &str = include_str!("../README.md");
const EXAMPLE: &str = include_str!("../examples/quickstart.rs");

/// The first fenced block of a language.
fn block(language: &str) -> &'static str {
    let start = format!("```{language}\n");
    let (_, rest) = README.split_once(&start).expect("the README has such a block");
    rest.split_once("```").expect("the block ends").0
}

#[test]
fn the_rust_example_is_the_quickstart() {
    let (_, code) = EXAMPLE.split_once("\n\n").expect("the example starts with its docs");
    assert_eq!(block("rust"), code);
}

#[test]
fn pyarrow_reads_what_the_quickstart_writes() {
    let python = std::env::var_os("ARROW_FRAMES_PYTHON")
        .expect("ARROW_FRAMES_PYTHON names a Python with pyarrow; `cargo xtask test` sets it");
    let dir = tempfile::tempdir().expect("a directory");
    // Tests lie in target/…/deps, and cargo builds the examples beside that folder.
    let test = std::env::current_exe().expect("a path");
    let target = test.ancestors().nth(2).expect("a target folder");
    let example = target.join("examples/quickstart").with_extension(EXE_EXTENSION);
    let status = Command::new(example).current_dir(&dir).status().expect("the example starts");
    assert!(status.success());
    let output =
        Command::new(python).args(["-c", block("python")]).current_dir(&dir).output().expect("Python starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for value in ["Oslo", "Lima", "1.5", "2.5"] {
        assert!(printed.contains(value), "{value} is not in {printed}");
    }
}
