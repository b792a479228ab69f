//! Whether Arrow IPC in memory is sound, and if not, what is wrong where.

mod fault;

use arrow_frames::{CopyReport, DataFrame, Decoder, Frames, Layout, Limits, unpack_with_remainder};
use bytes::Bytes;

use crate::dask::Spill;
use crate::format::Format;
pub use fault::Fault;

/// What is allowed.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub limits: Limits,
    pub max_copied_bytes: Option<u64>,
}

/// What was decoded.
pub struct Sound {
    pub df: DataFrame,
    /// Frames, and their bytes.
    pub frames: usize,
    pub frame_bytes: u64,
    pub copies: CopyReport,
}

/// Decodes everything with full validation.
///
/// A fault's positions are those in the stream or file, so the layout's fault goes first:
/// decoding counts in the header.
pub fn check(format: Format, bytes: &Bytes, layout: &Layout, options: &Options) -> Result<Sound, Box<Fault>> {
    if let Some(error) = &layout.error {
        return Err(Fault::of_layout(layout, error).into());
    }
    let frames = frames(format, bytes, &options.limits)?;
    let mut decoder = options.decoder();
    let df = match decoder.decode(frames.clone()) {
        Ok(df) => df,
        Err(error) => return Err(Fault::find(&error, &frames, bytes, options.decoder()).into()),
    };
    if !decoder.is_finished() {
        return Err(Fault::unfinished(layout).into());
    }
    Ok(Sound {
        df,
        frames: frames.buffers().len(),
        frame_bytes: frame_bytes(&frames),
        copies: decoder.copies().clone(),
    })
}

/// Bytes behind the end, which no reader looks at. A file ends with its footer, and is at fault if
/// something follows.
pub fn trailing(format: Format, bytes: &Bytes, layout: &Layout) -> usize {
    match format {
        Format::Stream => {
            let end = layout.end.and_then(|end| usize::try_from(end).ok());
            end.map_or(0, |end| bytes.len().saturating_sub(end))
        }
        Format::Packed | Format::Dask => {
            unpack_with_remainder(bytes.clone()).map_or(0, |(_, rest)| rest.len())
        }
        _ => 0,
    }
}

/// The header and frames of Arrow IPC of some form, within these limits.
pub fn frames(format: Format, bytes: &Bytes, limits: &Limits) -> Result<Frames, Box<Fault>> {
    let frames = match format {
        Format::Stream => Frames::from_stream_with_limits(bytes.clone(), limits),
        Format::Packed => Frames::from_packed_with_limits(bytes.clone(), limits),
        Format::Dask => {
            let frames = Spill::parse(bytes).and_then(|spill| spill.frames());
            return frames.map_err(|problem| Fault::of_spill(&problem).into());
        }
        _ => Frames::from_file_with_limits(bytes.clone(), limits),
    };
    frames.map_err(|error| Fault::of_error(&error).into())
}

/// The layout of Arrow IPC of some form; of packed frames and spill files, that of the stream
/// that they are.
pub fn layout(format: Format, bytes: &Bytes) -> Layout {
    match format {
        Format::Stream => Layout::of_stream(bytes),
        Format::Packed => match stream_of_packed(bytes) {
            Ok(stream) => Layout::of_stream(&stream),
            Err(error) => Layout { error: Some(error), ..Layout::default() },
        },
        Format::Dask => layout_of_spill(bytes),
        _ => {
            let layout = Layout::of_file(bytes);
            if layout.error.is_some() && layout.schema.is_none() {
                without_footer(bytes, layout)
            } else {
                layout
            }
        }
    }
}

fn stream_of_packed(bytes: &Bytes) -> arrow_frames::Result<Vec<u8>> {
    let frames = Frames::from_packed(bytes.clone())?;
    Ok(frames.segments()?.collect::<Vec<_>>().concat())
}

/// By the Arrow header alone: a spill file may have nothing else that can be read.
fn layout_of_spill(bytes: &Bytes) -> Layout {
    let header = Spill::parse(bytes).ok().and_then(|spill| spill.arrow_header());
    let Some(header) = header else { return Layout::default() };
    let mut layout = Layout::of_frames(&Frames::new(header, Vec::new()));
    let mut bodies = 0u64;
    for message in &mut layout.messages {
        message.position = message.position.saturating_add(bodies);
        bodies = bodies.saturating_add(message.body_bytes);
    }
    layout
}

/// What can be seen of a file whose footer is damaged or missing: the stream inside it.
fn without_footer(bytes: &[u8], layout: Layout) -> Layout {
    let Some(stream) = bytes.strip_prefix(b"ARROW1\0\0") else { return layout };
    let mut inside = Layout::of_stream(stream);
    for message in &mut inside.messages {
        message.position += (bytes.len() - stream.len()) as u64;
    }
    Layout { schema: inside.schema, messages: inside.messages, ..layout }
}

impl Options {
    fn decoder(&self) -> Decoder {
        let decoder = Decoder::new().with_limits(self.limits.clone());
        match self.max_copied_bytes {
            Some(bytes) => decoder.with_max_copied_bytes(bytes),
            None => decoder,
        }
    }
}

fn frame_bytes(frames: &Frames) -> u64 {
    (frames.num_bytes() - frames.header().len()) as u64
}
