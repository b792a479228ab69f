//! The formats that the program reads and writes, and how they are told apart.

use std::path::Path;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Parquet
    Parquet,
    /// CSV with a header line
    Csv,
    /// An Arrow IPC file (Feather V2)
    #[value(name = "arrow", alias = "feather", alias = "file")]
    File,
    /// An Arrow IPC stream
    #[value(name = "arrows", alias = "stream")]
    Stream,
    /// Packed frames, in dask.distributed's layout
    #[value(name = "frames", alias = "packed")]
    Packed,
    /// A file that a dask.distributed worker spilled
    #[value(name = "dask", alias = "spill")]
    Dask,
}

/// The extensions, for messages.
pub const EXTENSIONS: &str = ".parquet, .csv, .arrow, .feather, .arrows, .stream or .frames";

impl Format {
    /// The format that a name's extension promises.
    pub fn of_name(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "parquet" => Some(Format::Parquet),
            "csv" => Some(Format::Csv),
            "arrow" | "feather" | "ipc" => Some(Format::File),
            "arrows" | "stream" => Some(Format::Stream),
            "frames" => Some(Format::Packed),
            _ => None,
        }
    }

    /// Whether it is Arrow IPC in some form.
    pub fn is_ipc(self) -> bool {
        matches!(self, Format::File | Format::Stream | Format::Packed | Format::Dask)
    }

    /// The names of the formats that are written too.
    pub fn written() -> impl TypedValueParser<Value = Format> {
        let written = Format::value_variants().iter().filter(|format| **format != Format::Dask);
        let names = written.filter_map(ValueEnum::to_possible_value);
        PossibleValuesParser::new(names).try_map(|name| Format::from_str(&name, false))
    }

    /// For a program, of Arrow IPC.
    pub fn form(self) -> &'static str {
        match self {
            Format::Stream => "stream",
            Format::Packed => "blob of packed frames",
            Format::Dask => "dask.distributed spill file",
            _ => "file",
        }
    }

    /// The same for a sentence.
    pub fn description(self) -> String {
        let article = if self == Format::Dask { "a" } else { "an Arrow IPC" };
        format!("{article} {}", self.form())
    }

    /// The format that a file's first bytes show.
    pub fn of_magic(start: &[u8]) -> Option<Format> {
        match start {
            [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Format::File),
            [0xff, 0xff, 0xff, 0xff, ..] => Some(Format::Stream),
            _ => None,
        }
    }

    /// The format of input, by its name and then by its first bytes.
    ///
    /// Many programs write streams under `.arrow`: between the two forms of Arrow IPC the
    /// first bytes decide.
    pub fn of_input(path: &Path, start: &[u8]) -> Option<Format> {
        match Format::of_name(path) {
            Some(named @ (Format::File | Format::Stream)) => match Format::of_magic(start) {
                Some(shown @ (Format::File | Format::Stream)) => Some(shown),
                _ => Some(named),
            },
            Some(named) => Some(named),
            None => Format::of_magic(start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_promise_and_first_bytes_decide() {
        let of = |name: &str, start: &[u8]| Format::of_input(Path::new(name), start);
        assert_eq!(of("a.parquet", b"PAR1"), Some(Format::Parquet));
        assert_eq!(of("A.CSV", b"x,y"), Some(Format::Csv));
        assert_eq!(of("a.arrow", b"ARROW1\0\0"), Some(Format::File));
        assert_eq!(of("a.arrow", b"\xff\xff\xff\xff"), Some(Format::Stream));
        assert_eq!(of("a.stream", b"ARROW1\0\0"), Some(Format::File));
        assert_eq!(of("a.arrow", b"garbage"), Some(Format::File));
        assert_eq!(of("a", b"PAR1"), Some(Format::Parquet));
        assert_eq!(of("a.frames", &[3, 0, 0, 0, 0, 0, 0, 0]), Some(Format::Packed));
        assert_eq!(of("a.txt", b"x,y"), None);
        assert_eq!(of("a", b""), None);
    }
}
