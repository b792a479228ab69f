//! `cargo xtask allowlist`: writes docs/PICKLE.md, the list of what a pickle may refer to.

use std::fs;
use std::process::ExitCode;

use arrow_frames::pickle::{AllowedName, Role, allowed_names};

use crate::{Outcome, process};

const OUTPUT: &str = "docs/PICKLE.md";

/// Write docs/PICKLE.md, the names that a pickle may refer to
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing, and fail if the file is not what would be written
    #[arg(long)]
    check: bool,
}

/// Runs the task.
pub fn run(args: Args) -> Outcome {
    let path = process::root().join(OUTPUT);
    let document = document();
    if !args.check {
        fs::write(&path, document)?;
        process::progress(&format!("wrote {OUTPUT}"));
        return Ok(ExitCode::SUCCESS);
    }
    if fs::read_to_string(&path)? == document {
        process::progress(&format!("{OUTPUT} is up to date"));
        return Ok(ExitCode::SUCCESS);
    }
    process::progress(&format!("{OUTPUT} is not what would be written"));
    Ok(ExitCode::FAILURE)
}

const INTRODUCTION: &str = "\
# Pickles

Columns that Arrow buffers cannot carry exactly travel as pickles of protocol 5, with their
buffers beside them ([FORMAT.md](FORMAT.md)). Such a pickle is read without executing
anything: its opcodes become a graph, and the graph of a form that is known becomes an Arrow
array. `Pickle::check` says whether Python may be given one.

- **Names are exact.** A pickle may refer to the names below and to no others: no prefix is
  enough, and no attribute is reached but the one listed (`ZoneInfo._unpickle`). What is not
  marked as called or made is only handed on.
- **Arguments are checked.** That a name is listed lets a pickle parse. Before Python is given
  a pickle, every call in it, whatever refers to it, must have the number and the kinds of
  arguments that the function takes; buffers must be as long as their values need, codes must
  have categories, Arrow's offsets must ascend inside the values, text must be UTF-8, units,
  dtypes and frequencies must be known, and zones must look like zones. That is known of the
  names that this crate writes, and a pickle with any other name is refused, as pandas' own
  are: they may be read, and Python is given them only where the caller says so.
- **Nothing changes later.** A list must not be appended to, nor an object built, once
  something refers to it: the call that Python makes sees what the graph says.
- **Everything ends.** Opcodes, values, references, nesting, integers, the memo and what
  references would expand to are bounded (`PickleLimits`), values that contain themselves are
  refused, as are buffers that two values have, and nothing is allocated for a length before its bytes are there.

This file is made by `cargo xtask allowlist` from the table in `src/pickle/allow/names.rs`.
";

const WRITTEN: &str = "\
The forms in [FORMAT.md](FORMAT.md) have these names, all of them and no others, and
`Pickle::check` accepts no others. A `find_class` of a `pickle.Unpickler` that is to load them
needs no more. Names alone do not make a pickle safe: `pyarrow.Array.from_buffers`, for one,
believes any offsets.

";

const OWN: &str = "\
pandas, numpy and pyarrow have these in pickles of their own, and some are in forms that others
write. Here they are only read: nothing is called. **A `find_class` must never admit them.**
Python would call them with whatever arguments a pickle has: `builtins.getattr` reaches the
globals of any module, and with them `eval`; `numpy.ndarray` and `numpy._core.multiarray.scalar`
make pointers of bytes; states that are set without a check crash pandas.

";

fn document() -> String {
    let (written, own): (Vec<_>, Vec<_>) = allowed_names().into_iter().partition(|name| name.is_written);
    let mut out = String::from(INTRODUCTION);
    out.push_str("\n## Names in what this crate writes\n\n");
    out.push_str(WRITTEN);
    table(&mut out, &written);
    out.push_str("\n## Names in other pickles, which no Unpickler must admit\n\n");
    out.push_str(OWN);
    table(&mut out, &own);
    out
}

fn table(out: &mut String, names: &[AllowedName]) {
    out.push_str("| name | may be | why |\n| --- | --- | --- |\n");
    for AllowedName { module, name, role, reason, .. } in names {
        let role = match role {
            Role::Call => "called",
            Role::New => "made",
            Role::CallOrNew => "called, made",
            _ => "handed on",
        };
        out.push_str(&format!("| `{module}.{name}` | {role} | {reason} |\n"));
    }
}
