//! `cargo xtask leaks`: the transports under valgrind.
//!
//! Memory that is received into is shared by arrays, recycled, mapped and handed to arrow to change in
//! place. What the tests cannot see of that, valgrind does: memory that is lost, freed twice, or
//! read before anything was written to it.

use std::process::{Command, ExitCode};

use crate::Outcome;
use crate::process::{self, output, progress};

/// The tests of each binary that are run; valgrind makes all of them some thirty times slower.
const TESTS: [(&str, &[&str]); 5] = [
    (
        "receive",
        &[
            "a_body_of_ours",
            "a_readers_error",
            "asking_for_writable",
            "every_buffer_of_a_large_body",
            "frames_that_were_not_marked",
            "marked_frames",
            "marks_that_make_no_sense",
            "recycled_memory",
            "small_messages",
            "what_follows",
        ],
    ),
    ("sinks", &["a_sink", "a_batch_that_is_refused", "a_writer_that_takes_nothing"]),
    ("packed", &["aligned_blobs", "unpacking", "the_remainder", "frames_that_are_not"]),
    ("spill", &["a_mapped_array", "options_of_the_encoder", "what_was_there", "it_is_an_ordinary_stream"]),
    ("asynchronous", &["reading_can_be_cancelled", "writing_can_be_cancelled", "writable_frames"]),
];

/// Run the tests of the transports under valgrind
///
/// Fails if a test fails, memory is lost, or memory is used that is not there. valgrind must be
/// installed.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the task.
pub fn run(_: Args) -> Outcome {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("valgrind is not installed: on Debian, `apt-get install valgrind`".into());
    }
    progress("building the tests");
    let mut arguments =
        vec!["test", "--workspace", "--exclude", "transport-bench", "--all-features", "--no-run"];
    arguments.extend(TESTS.iter().flat_map(|(name, _)| ["--test", name]));
    let built = process::built(&arguments)?;
    for (name, filters) in TESTS {
        let program = process::executable(&built, name)?;
        progress(&format!("{name} under valgrind"));
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=99", "--leak-check=full"]);
        // What is still referred to at the end is the test harness's and tokio's.
        valgrind.args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]);
        valgrind.arg(program).args(filters).arg("--test-threads=1");
        let said = String::from_utf8(output(&mut valgrind)?)?;
        print!("{said}");
        // A filter that matches nothing would pass.
        if said.matches(" ... ok").count() < filters.len() {
            return Err(format!("a test of {name} that is named here was not run").into());
        }
    }
    Ok(ExitCode::SUCCESS)
}
