//! The same job with arrow-ipc, by its stream writer and reader with its own buffering.

use std::io::{BufReader, BufWriter, Read, Write};

use arrow_array::RecordBatch;
use arrow_frames::DataFrame;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;
use arrow_schema::SchemaRef;

use crate::args::{Codec, ZSTD_LEVEL};
use crate::guard;

/// What arrow-ipc is to send.
pub struct Peer {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    options: IpcWriteOptions,
}

impl Peer {
    /// The dataframe for arrow-ipc, or why it cannot send it. That is tried out: a writer
    /// that fails half-way would leave the receiver waiting.
    pub fn new(df: &DataFrame, compress: Option<Codec>) -> Result<Peer, String> {
        let batches = df.clone().into_record_batches().map_err(|error| error.to_string())?;
        let options = options(compress).map_err(|error| error.to_string())?;
        let peer = Peer { schema: df.schema().clone(), batches, options };
        peer.write(std::io::sink())?;
        Ok(peer)
    }

    /// Writes the stream.
    pub fn write(&self, writer: impl Write) -> Result<(), String> {
        guard::guarded(|| self.try_write(writer))?.map_err(|error| error.to_string())
    }

    fn try_write(&self, writer: impl Write) -> Result<(), ArrowError> {
        let mut writer =
            StreamWriter::try_new_with_options(BufWriter::new(writer), &self.schema, self.options.clone())?;
        for batch in &self.batches {
            writer.write(batch)?;
        }
        writer.finish()?;
        writer.flush()
    }
}

/// Reads a stream as a dataframe.
pub fn read(reader: impl Read) -> Result<DataFrame, String> {
    let read = || -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
        let mut reader = StreamReader::try_new(BufReader::new(reader), None)?;
        let batches = reader.by_ref().collect::<Result<_, _>>()?;
        Ok((reader.schema(), batches))
    };
    let (schema, batches) = guard::guarded(read)?.map_err(|error| error.to_string())?;
    DataFrame::try_from_batches(schema, batches).map_err(|error| error.to_string())
}

fn options(compress: Option<Codec>) -> Result<IpcWriteOptions, ArrowError> {
    let options = IpcWriteOptions::default();
    match compress {
        None => Ok(options),
        Some(Codec::Lz4) => options.try_with_compression(Some(CompressionType::LZ4_FRAME)),
        Some(Codec::Zstd) => options
            .try_with_compression(Some(CompressionType::ZSTD))?
            .try_with_compression_level(Some(ZSTD_LEVEL)),
    }
}
