//! Keeps panics of other crates' readers from ending the program.
//!
//! Parquet's, CSV's and arrow-ipc's readers panic on some damaged input. For the program
//! that is an error like any other: one line that names the file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// What this thread's last panic said.
    static MESSAGE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Makes panics silent: [`guarded`] has their message, and a thread's end has their effect.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let what = payload.downcast_ref::<&str>().copied();
        let what = what.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let what = what.unwrap_or("no message");
        let place = info.location().map(|place| format!(" ({}:{})", base_name(place.file()), place.line()));
        MESSAGE.set(Some(format!("{what}{}", place.unwrap_or_default())));
    }));
}

/// Runs a job; if it panics, returns what the panic said.
///
/// The job's state must not be used again after a panic: hand it over.
pub fn guarded<T>(job: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(job)).map_err(|_| MESSAGE.take().unwrap_or_default())
}

/// The file's name without the folder of the machine that built it.
fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_message() {
        silence_panics();
        assert_eq!(guarded(|| 1), Ok(1));
        let message = guarded(|| panic!("bad {}", "offset")).unwrap_err();
        assert!(message.starts_with("bad offset (guard.rs:"), "{message}");
    }
}
