//! Frames as bytes: the slices of a stream, a stream from a reader, one packed blob.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use arrow_frames::{Frames, StreamSource};
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::errors::{Result, caught, reading, writing};
use crate::limits::Limits;
use crate::memory::{Lent, Memory, Regions, lend};

/// The slices of the stream that a header and its frames are, none of them copied but the padding. All are
/// read-only: they are for writers, and nobody who is given a column to write may change it.
#[pyfunction]
pub fn segments<'py>(
    py: Python<'py>,
    header: &Bound<'py, PyAny>,
    frames: Vec<Bound<'py, PyAny>>,
) -> Result<Vec<Bound<'py, PyMemoryView>>> {
    let mut regions = Regions::default();
    let frames = import(&mut regions, header, &frames)?;
    let chunks = caught(|| frames.into_chunks().map_err(writing))?;
    let view = |bytes: bytes::Bytes| Memory::of_rust(bytes.into(), true).view(py);
    chunks.into_iter().map(view).collect()
}

/// Reads one stream from a Python object that has `readinto`, `recv_into` or `read`: its header and
/// frames, each in memory of its own that is aligned, written once, and writable.
#[pyfunction]
#[pyo3(signature = (source, *, limits=None))]
pub fn receive<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    limits: Option<&Bound<'py, Limits>>,
) -> Result<(Bound<'py, PyBytes>, Vec<Bound<'py, PyMemoryView>>)> {
    let is_kept = Rc::new(Cell::new(false));
    let mut source = StreamSource::new(Reader::new(source, is_kept.clone())?).with_limits(Limits::of(limits));
    let frames = caught(|| source.read_all().map_err(reading));
    if is_kept.get() {
        // Python still has a part of its memory.
        std::mem::forget(source);
        // What the reader raised may be why: its traceback has what its functions had.
        std::mem::forget(frames?);
        return Err(PyBufferError::new_err("the reader kept the memory that it was to fill"));
    }
    let (header, buffers) = frames?.into_parts();
    drop(source);
    let frames = Memory::of_received(buffers).into_iter().map(|memory| memory.view(py));
    Ok((PyBytes::new(py, &header), frames.collect::<Result<_>>()?))
}

/// One blob in dask.distributed's layout: the prelude of lengths, then the frames.
#[pyfunction]
pub fn pack<'py>(py: Python<'py>, frames: Vec<Bound<'py, PyAny>>) -> Result<Bound<'py, PyBytes>> {
    let mut regions = Regions::default();
    let frames = frames.iter().enumerate();
    let frames = frames.map(|(number, frame)| regions.import(frame, format_args!("frame {number}")));
    let frames = frames.collect::<Result<Vec<_>>>()?;
    let packed = arrow_frames::pack(&frames);
    let segments = packed.segments();
    let bytes = usize::try_from(segments.num_bytes()).unwrap_or(usize::MAX);
    PyBytes::new_with(py, bytes, |mut all| {
        for segment in segments {
            let Some((here, rest)) = all.split_at_mut_checked(segment.len()) else { break };
            here.copy_from_slice(segment);
            all = rest;
        }
        Ok(())
    })
}

/// The frames of such a blob: views of it.
#[pyfunction]
pub fn unpack<'py>(py: Python<'py>, packed: &Bound<'py, PyAny>) -> Result<Vec<Bound<'py, PyMemoryView>>> {
    let mut regions = Regions::default();
    let packed = regions.import(packed, "the blob")?;
    let frames = caught(|| arrow_frames::unpack(packed).map_err(reading))?;
    frames.iter().map(|frame| regions.memory(frame, true).view(py)).collect()
}

/// The frames, those that lie one right behind the other in one object's memory as one.
#[pyfunction]
pub fn merge<'py>(py: Python<'py>, frames: Vec<Bound<'py, PyAny>>) -> Result<Vec<Bound<'py, PyMemoryView>>> {
    let mut regions = Regions::default();
    let mut merged: Vec<Memory> = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        let memory = regions.import_memory(frame, format_args!("frame {number}"))?;
        match merged.last_mut().and_then(|last| Some((last.followed_by(&memory)?, last))) {
            Some((both, last)) => *last = both,
            None => merged.push(memory),
        }
    }
    merged.into_iter().map(|memory| memory.view(py)).collect()
}

/// A header and frames that Python gave, in its memory.
pub fn import(
    regions: &mut Regions,
    header: &Bound<'_, PyAny>,
    frames: &[Bound<'_, PyAny>],
) -> Result<Frames> {
    let header = regions.import(header, "the header")?;
    let frames = frames.iter().enumerate();
    let frames = frames.map(|(number, frame)| regions.import(frame, format_args!("frame {number}")));
    Ok(Frames::new(header, frames.collect::<Result<Vec<_>>>()?))
}

/// A Python object as a reader.
struct Reader<'py> {
    method: Bound<'py, PyAny>,
    fills: bool,
    is_kept: Rc<Cell<bool>>,
}

impl<'py> Reader<'py> {
    fn new(source: &Bound<'py, PyAny>, is_kept: Rc<Cell<bool>>) -> Result<Self> {
        for (name, fills) in [("readinto", true), ("recv_into", true), ("read", false)] {
            if let Some(method) = source.getattr_opt(name)? {
                return Ok(Reader { method, fills, is_kept });
            }
        }
        let message = format!("{} has no readinto, recv_into or read", source.get_type().name()?);
        Err(crate::errors::wrong_type(message))
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let py = self.method.py();
        // A method that is not written in Python would leave a signal, such as Ctrl-C, unnoticed.
        py.check_signals()?;
        if !self.fills {
            let read = self.method.call1((bytes.len(),))?;
            let mut regions = Regions::default();
            let read = regions.import(&read, "what read() returns")?;
            let Some(place) = bytes.get_mut(..read.len()) else {
                return Err(PyBufferError::new_err("read() returned more than it was asked for"));
            };
            place.copy_from_slice(&read);
            return Ok(read.len());
        }
        let room = bytes.len();
        // SAFETY: `receive` forgets the source, and with it this memory, if it was kept.
        #[allow(unsafe_code)]
        let Lent { result, is_kept } = unsafe {
            lend(py, bytes, |view| match self.method.call1((view,))?.extract::<Option<usize>>()? {
                Some(read) if read <= room => Ok(read),
                Some(_) => Err(PyBufferError::new_err("the reader filled more than there was room for")),
                None => Err(pyo3::exceptions::PyBlockingIOError::new_err("the reader does not block")),
            })
        };
        self.is_kept.set(self.is_kept.get() || is_kept);
        if is_kept && result.is_ok() {
            return Err(PyBufferError::new_err("the reader kept the memory that it was to fill"));
        }
        result
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        Reader::read(self, bytes).map_err(io::Error::other)
    }
}
