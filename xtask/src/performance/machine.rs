//! What the figures were measured on.

use std::error::Error;
use std::fs;
use std::process::Command;
use std::thread;

use crate::process::{output, root};

/// A machine and what runs on it, as text.
pub struct Machine {
    /// The processor and its cores.
    pub processor: String,
    /// The memory.
    pub memory: String,
    /// The kernel.
    pub system: String,
    /// The compiler.
    pub rustc: String,
    /// What was measured beside, and its version.
    pub peer: String,
    /// Today.
    pub date: String,
}

/// This machine. What its system does not tell is left out.
pub fn describe(peer: String) -> Result<Machine, Box<dyn Error>> {
    let says = |program: &str, arguments: &[&str]| -> Result<String, Box<dyn Error>> {
        Ok(String::from_utf8(output(Command::new(program).args(arguments))?)?.trim().to_owned())
    };
    let lookup = |path: &str, key: &str| -> Option<String> {
        let text = fs::read_to_string(path).ok()?;
        let (_, value) =
            text.lines().filter_map(|line| line.split_once(':')).find(|(k, _)| k.trim() == key)?;
        Some(value.trim().to_owned())
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let processor = lookup("/proc/cpuinfo", "model name").map_or(String::new(), |model| model + ", ");
    let kib =
        lookup("/proc/meminfo", "MemTotal").and_then(|memory| memory.split(' ').next()?.parse::<f64>().ok());
    Ok(Machine {
        processor: format!("{processor}{cores} cores"),
        memory: kib.map_or("unknown".to_owned(), |kib| format!("{:.0} GiB", kib / 1024.0 / 1024.0)),
        system: says("uname", &["-srm"])?,
        rustc: says("rustc", &["--version"])?,
        peer,
        date: says("date", &["-u", "+%Y-%m-%d"])?,
    })
}

/// The name and the version of a package that Cargo.lock pins.
pub fn pinned(package: &str) -> Result<String, Box<dyn Error>> {
    let lock = fs::read_to_string(root().join("Cargo.lock"))?;
    let start = format!("name = \"{package}\"\nversion = \"");
    let (_, rest) = lock.split_once(&start).ok_or_else(|| format!("no {package} in Cargo.lock"))?;
    Ok(format!("{package} {}", rest.split('"').next().unwrap_or_default()))
}

impl Machine {
    /// All of it in a line.
    pub fn text(&self) -> String {
        let Machine { processor, memory, system, rustc, peer, date } = self;
        format!("{processor}, {memory}; {system}; {rustc}; {peer}; {date}")
    }
}
