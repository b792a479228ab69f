//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use arrow_frames::pickle::{Forms, ZonedForm};
use arrow_frames::{Compression, Encoder, Target};
use clap::{Parser, Subcommand, ValueEnum};

use crate::format::Format;

/// Exchange dataframes between processes and look inside Arrow IPC.
#[derive(Parser)]
#[command(name = "arrow-frames", version, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Exchange(ExchangeArgs),
    #[command(hide = true)]
    ExchangeReceiver(ReceiverArgs),
    Inspect(InspectArgs),
    Verify(VerifyArgs),
    Convert(ConvertArgs),
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

/// Send a file's dataframe to a second process over a socket, and compare what arrives
///
/// The second process reads the file by itself and compares what it rebuilds value for value:
/// schema, metadata, nullability, ordered flags and every value. The same job is then done
/// with arrow-ipc's StreamWriter and StreamReader; the best of several alternating rounds
/// is shown (of one round, if the dataframe is larger than 1 GiB).
#[derive(clap::Args)]
pub struct ExchangeArgs {
    /// A .parquet, .csv, .arrow, .feather (IPC file), .arrows, .stream (IPC stream) or .frames file
    pub file: PathBuf,
    /// The socket between the two processes
    #[arg(long, value_enum, default_value_t = Transport::DEFAULT)]
    pub transport: Transport,
    /// Who the dataframe is for
    #[arg(long, value_enum, default_value_t = For::Arrow)]
    pub target: For,
    /// Compress every buffer
    #[arg(long, value_enum)]
    pub compress: Option<Codec>,
    /// Mark the frames as writable, and receive each where arrow can change it in place
    #[arg(long, conflicts_with = "compress")]
    pub writable: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The second process of `exchange`
#[derive(clap::Args)]
pub struct ReceiverArgs {
    /// Stdin is a Unix domain socket
    #[arg(long, required_unless_present = "tcp")]
    pub uds: bool,
    /// The TCP address to connect to; what proves that it is this process is on stdin
    #[arg(long, conflicts_with = "uds")]
    pub tcp: Option<SocketAddr>,
    /// Whether to receive writable frames
    #[arg(long)]
    pub writable: bool,
    /// The file to compare with
    #[arg(long, allow_hyphen_values = true)]
    pub file: PathBuf,
}

/// Show the messages, columns and frames of an Arrow IPC stream, file or blob of packed frames
///
/// Input that does not decode is shown as far as it is sound, with what is wrong there.
/// A file that a dask.distributed worker spilled is known by its first bytes: what distributed
/// says of it is shown too, and which frames it compressed, which are not read.
/// Of a .pkl file, with its out-of-band buffers beside it (.buf0, .buf1, …), the opcodes are
/// shown, and what the restricted reader makes of them; nothing of it is executed.
#[derive(clap::Args)]
pub struct InspectArgs {
    /// An Arrow IPC stream, file, .frames or spill file, or a .pkl file; `-` is stdin
    pub file: PathBuf,
    /// The form of Arrow IPC, if its name and first bytes do not tell
    #[arg(long, value_enum)]
    pub from: Option<Format>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Decode Arrow IPC with full validation, and say what is wrong and where
///
/// The file is read, never mapped: nothing that changes it meanwhile can do harm. Bytes behind the
/// end are not sound, since no reader looks at them. Exit code 0: all is sound;
/// 1: it is not, or cannot be read; 2: bad usage.
#[derive(clap::Args)]
pub struct VerifyArgs {
    /// An Arrow IPC stream, file, .frames or spill file; `-` is stdin
    pub file: PathBuf,
    /// The form of Arrow IPC, if its name and first bytes do not tell
    #[arg(long, value_enum)]
    pub from: Option<Format>,
    /// Refuse a message whose body has, or becomes, more bytes than this
    #[arg(long, value_name = "BYTES")]
    pub limit_bytes: Option<u64>,
    /// Refuse to copy more bytes of column data than this; 0 is strict zero copy
    #[arg(long, value_name = "BYTES")]
    pub max_copied_bytes: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Convert between Parquet, CSV, and Arrow IPC files and streams
///
/// Formats are known by the extension: .parquet, .csv, .arrow or .feather (IPC file),
/// .arrows or .stream (IPC stream), .frames (header and frames in one blob, as dask.distributed
/// packs them); input also by its first bytes, as are files that a dask.distributed worker
/// spilled. The output appears under its name only when it is complete. It keeps the permissions,
/// and as far as possible the owner and group, of a file that it replaces; a new one has those of
/// any new file.
#[derive(clap::Args)]
pub struct ConvertArgs {
    /// The file to read; `-` is stdin
    pub input: PathBuf,
    /// The file to write; `-` is stdout
    pub output: PathBuf,
    /// The format of the input, if its name and first bytes do not tell
    #[arg(long, value_enum)]
    pub from: Option<Format>,
    /// The format of the output, if its name does not tell
    #[arg(long, value_parser = Format::written())]
    pub to: Option<Format>,
    /// Who the output is for (Arrow IPC)
    #[arg(long, value_enum, default_value_t = For::Arrow)]
    pub target: For,
    /// Compress the output (Parquet and Arrow IPC)
    #[arg(long, value_enum)]
    pub compress: Option<Codec>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// A Unix domain socket
    #[cfg(unix)]
    Uds,
    /// TCP over 127.0.0.1
    Tcp,
}

impl Transport {
    #[cfg(unix)]
    pub const DEFAULT: Transport = Transport::Uds;
    #[cfg(not(unix))]
    pub const DEFAULT: Transport = Transport::Tcp;

    /// As the option spells it.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(unix)]
            Transport::Uds => "uds",
            Transport::Tcp => "tcp",
        }
    }

    /// For a sentence.
    pub fn description(self) -> &'static str {
        match self {
            #[cfg(unix)]
            Transport::Uds => "a Unix domain socket",
            Transport::Tcp => "TCP on 127.0.0.1",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum For {
    /// Any reader of Arrow
    Arrow,
    /// pandas: categoricals, strings and zoned timestamps travel as pickles
    Pandas,
    /// The same, and zoned timestamps of every unit load before pandas 2.1 too
    AnyPandas,
}

impl For {
    /// For an encoder.
    pub fn target(self) -> Target {
        match self {
            For::Arrow => Target::Arrow,
            For::Pandas | For::AnyPandas => Target::Pandas,
        }
    }

    /// As the option spells it.
    pub fn name(self) -> &'static str {
        match self {
            For::Arrow => "arrow",
            For::Pandas => "pandas",
            For::AnyPandas => "any-pandas",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Codec {
    /// LZ4 frames
    Lz4,
    /// ZSTD
    Zstd,
}

/// The level that Arrow's writers use unless told otherwise.
pub const ZSTD_LEVEL: i32 = 3;

impl Codec {
    /// For an encoder.
    pub fn compression(self) -> Compression {
        match self {
            Codec::Lz4 => Compression::Lz4,
            Codec::Zstd => Compression::Zstd(ZSTD_LEVEL),
        }
    }

    /// As the option spells it.
    pub fn name(self) -> &'static str {
        match self {
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        }
    }
}

/// An encoder for the options of the command line.
pub fn encoder(target: For, codec: Option<Codec>) -> Encoder {
    let zoned = if target == For::AnyPandas { ZonedForm::AnyPandas } else { ZonedForm::Shared };
    let encoder = Encoder::new(target.target()).with_forms(Forms { zoned, ..Forms::default() });
    match codec {
        Some(codec) => encoder.with_compression(codec.compression()),
        None => encoder,
    }
}
