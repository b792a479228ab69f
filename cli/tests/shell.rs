//! What the shell and `man` want of the program.

mod common;

use common::*;

#[test]
fn completions_know_the_subcommands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(["completions", shell]).succeeds();
        for word in ["exchange", "inspect", "verify", "convert", "transport"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(run(["completions", "abacus"]).0.status.code(), Some(2));
}

#[test]
fn the_manual_is_a_manual() {
    let page = run(["man"]).succeeds();
    assert!(page.contains(".TH arrow-frames 1"), "{page}");
    assert!(page.contains("exchange"));
}

#[test]
fn closed_pipes_are_no_errors() {
    for arguments in [&["completions", "bash"][..], &["man"], &["--version"]] {
        assert_eq!(run_into_closed_pipe(program(arguments)), (Some(0), String::new()), "{arguments:?}");
    }
}
