//! Progress on stderr, while it is a terminal; otherwise silent.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar for so many bytes.
pub fn bytes(what: &str, length: u64) -> ProgressBar {
    bar(what, length, "{msg} {wide_bar} {bytes} of {total_bytes}")
}

/// A bar for so many rows.
pub fn rows(what: &str, length: u64) -> ProgressBar {
    bar(what, length, "{msg} {wide_bar} {human_pos} of {human_len} rows")
}

/// A bar for a few steps of unknown length.
pub fn steps(what: &str, length: usize) -> ProgressBar {
    let bar = bar(what, length as u64, "{msg} {wide_bar} {pos} of {len}");
    // Rare ticks, since what is timed runs beside them.
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn bar(what: &str, length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length).with_message(what.to_owned());
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("█▉▊▋▌▍▎▏ ")),
        Err(_) => bar,
    }
}
