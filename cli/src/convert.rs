//! `convert`: between Parquet, CSV, and Arrow IPC files and streams.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice, IsTerminal, Write};
use std::path::Path;

use arrow_frames::spill::{Access, AtomicFile};
use arrow_frames::{DataFrame, Decoder};

use crate::args::{ConvertArgs, For};
use crate::failure::{Failure, Outcome};
use crate::format::{EXTENSIONS, Format};
use crate::input::{self, Input};
use crate::save::{Form, save};

/// Runs `convert`.
pub fn run(args: &ConvertArgs) -> Outcome {
    let output = args.output.as_path();
    let Some(format) = args.to.or_else(|| Format::of_name(output)) else {
        let why = if input::is_pipe(output) {
            "say the format with --to".to_owned()
        } else {
            format!("unknown format: say it with --to, or end the name in {EXTENSIONS}")
        };
        return Err(Failure::usage(output.display(), why));
    };
    if format == Format::Csv && args.compress.is_some() {
        return Err(Failure::usage(output.display(), "CSV has no compression: leave --compress away"));
    }
    if !format.is_ipc() && args.target != For::Arrow {
        let why = "only Arrow IPC is written for a target: leave --target away, or write .arrow or .arrows";
        return Err(Failure::usage(output.display(), why));
    }
    if input::is_pipe(output) && format != Format::Csv && io::stdout().is_terminal() {
        return Err(Failure::usage(
            "stdout",
            "a terminal cannot show this format: name a file, or use a pipe",
        ));
    }
    let mut df = Input::open(&args.input, args.from)?.dataframe()?;
    if args.target == For::Arrow {
        // What was pickled for pandas becomes Arrow again, which every reader sees.
        let resolved = Decoder::new().resolve(df);
        df = resolved.map_err(|error| Failure::of_file(&args.input, error))?;
    }
    let form = Form { format, codec: args.compress, target: args.target };
    if input::is_pipe(output) {
        print(df, form)
    } else {
        write(df, form, output).map_err(|error| Failure::of_file(output, error))
    }
}

/// Writes a file, which gets its name when it is complete. A new one has the permissions of any
/// new file: who names it expects those, and can share it. A link stays, and leads to it.
fn write(df: DataFrame, form: Form, path: &Path) -> Result<(), Box<dyn Error>> {
    // A pipe or a device is written to as it is; replacing it would be a surprise.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return save(df, form, File::options().write(true).open(path)?);
    }
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut file = AtomicFile::create(path, Access::Usual)?;
    save(df, form, file.as_file_mut())?;
    Ok(file.commit()?)
}

/// Writes to stdout. A reader that has gone away wanted no more.
fn print(df: DataFrame, form: Form) -> Outcome {
    let mut pipe = Pipe { stdout: io::stdout(), is_closed: false };
    match save(df, form, &mut pipe) {
        Err(error) if !pipe.is_closed => Err(Failure::new("stdout", error)),
        _ => Ok(()),
    }
}

/// Stdout, which remembers that its reader has gone: errors of other crates do not tell.
struct Pipe {
    stdout: io::Stdout,
    is_closed: bool,
}

impl Pipe {
    fn watch<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.is_closed |= result.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        result
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stdout.write(bytes);
        self.watch(written)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = self.stdout.write_vectored(slices);
        self.watch(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stdout.flush();
        self.watch(flushed)
    }
}
