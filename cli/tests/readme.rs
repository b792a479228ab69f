//! What the README says to do for pandas: its commands, and then its Python.

mod common;

use std::process::Command;

use common::*;

const README: &str = include_str!("../../README.md");

/// Its section about pandas.
fn section() -> &'static str {
    let (_, rest) = README.split_once("## For pandas").expect("the README has such a section");
    rest.split("\n## ").next().unwrap_or_default()
}

/// The first fenced block of a language in that section.
fn block(language: &str) -> &'static str {
    let (_, rest) = section().split_once(&format!("```{language}\n")).expect("it has such a block");
    rest.split_once("```").expect("the block ends").0
}

#[test]
fn pandas_gets_the_dtypes_that_the_readme_says() {
    let python = std::env::var_os("ARROW_FRAMES_PYTHON")
        .expect("ARROW_FRAMES_PYTHON names a Python with pandas; `cargo xtask test` sets it");
    let (folder, root) = (Folder::new(), flights().ancestors().nth(2).unwrap().to_owned());
    for line in block("sh").lines() {
        let arguments = line.strip_prefix("cargo run --release -- ").expect("it runs the program");
        let arguments = arguments.split(' ').map(|argument| match argument.starts_with("testdata/") {
            true => root.join(argument).into_os_string(),
            false => argument.into(),
        });
        Ran(program(arguments).current_dir(folder.path()).output().unwrap()).succeeds();
    }
    let mut consume = Command::new(python);
    consume.args(["-c", block("python")]).env("PYTHONPATH", root.join("examples"));
    let printed = Ran(consume.current_dir(folder.path()).output().unwrap()).succeeds();

    let (_, promised) = block("python").split_once("# ").expect("it says what is printed");
    let promised = promised.trim_end().strip_suffix(", …").expect("there is more");
    // A dtype has a comma too.
    let names: Vec<&str> = promised.split(": ").map(|part| part.rsplit(' ').next().unwrap()).collect();
    let columns = names.len() - 1;
    assert!(columns >= 3, "{promised}");
    for name in &names[..columns] {
        let line = printed.lines().find(|line| line.split(' ').next() == Some(name));
        let dtype = line.unwrap_or_else(|| panic!("{name} is not in {printed}"))[name.len()..].trim();
        assert!(promised.contains(&format!("{name}: {dtype}")), "{name} is {dtype}");
    }
}
