//! Memory that crosses between Python and Rust, never copied: objects of Python's buffer protocol
//! as Arrow buffers, and Arrow buffers as objects of the buffer protocol.
//!
//! ```text
//! numpy array ─▶ Region (holds its buffer open) ─▶ Buffer, Buffer, … ─▶ Memory ─▶ memoryview ─▶ numpy array
//! ```
//!
//! A [`Region`] is one object's memory and keeps it alive. Every [`Buffer`] and every [`Memory`] made of
//! it holds a reference to the region, so the owner lives as long as the last of them. This is one of the
//! two files with unsafe code.
#![allow(unsafe_code)]

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_buffer::Buffer;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::errors::{Result, wrong_type};

/// One object's memory, which stays alive with it.
pub struct Region {
    start: usize,
    len: usize,
    readonly: bool,
    owner: Owner,
}

/// Whose memory it is. It is dropped when the last reference to its region is.
enum Owner {
    /// A Python object whose buffer is held open: it cannot be resized or closed meanwhile.
    Python(PyUntypedBuffer),
    /// Memory that the codec made.
    Rust(#[expect(dead_code, reason = "what is held keeps the memory alive")] Buffer),
}

/// Some of a region's bytes, as an object of the buffer protocol.
#[pyclass(frozen, module = "arrow_frames._native")]
pub struct Memory {
    region: Arc<Region>,
    offset: usize,
    len: usize,
    readonly: bool,
}

/// The regions that a call was given, and where each byte of them is.
#[derive(Default)]
pub struct Regions {
    /// The last one by the object and by whether it is read-only to us. Objects may come and go at one
    /// address, so that there are more of them.
    known: HashMap<(usize, bool), Arc<Region>>,
    all: Vec<Arc<Region>>,
    /// All of them by address, the longest first, once it was asked for.
    sorted: Vec<Arc<Region>>,
}

impl Regions {
    /// The bytes of an object of the buffer protocol, in C order and without gaps. `what` names it in errors.
    pub fn import(&mut self, object: &Bound<'_, PyAny>, what: &str) -> Result<Buffer> {
        let buffer = PyUntypedBuffer::get(object).or_else(|_| {
            // One that leaves out what a view of it says, as arrays of ctypes do.
            PyMemoryView::from(object).and_then(|view| PyUntypedBuffer::get(&view))
        });
        let buffer = buffer.map_err(|error| {
            wrong_type(format!("{what} must be an object of the buffer protocol: {error}"))
        })?;
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err(format!("{what} is not contiguous")));
        }
        let (start, len) = (buffer.buf_ptr() as usize, buffer.len_bytes());
        if len == 0 {
            return Ok(Buffer::default());
        }
        let region = self.region(object, buffer)?;
        // The whole of what lends it contains it.
        Ok(region.buffer(start, len))
    }

    /// The strided rows of an array of two dimensions, of which each is contiguous: a buffer per row.
    pub fn import_rows(&mut self, object: &Bound<'_, PyAny>, what: &str) -> Result<Vec<Buffer>> {
        let buffer = PyUntypedBuffer::get(object)?;
        let (&[rows, columns], &[row_stride, stride]) = (buffer.shape(), buffer.strides()) else {
            return Err(PyBufferError::new_err(format!("{what} does not have two dimensions")));
        };
        let width = buffer.item_size();
        let row_bytes = columns.saturating_mul(width);
        if row_bytes == 0 {
            return Ok(vec![Buffer::default(); rows]);
        }
        if stride != width.cast_signed() && columns > 1 || row_stride < 0 && rows > 1 {
            return Err(PyBufferError::new_err(format!("the rows of {what} are not contiguous")));
        }
        let start = buffer.buf_ptr() as usize;
        let row_stride = row_stride.unsigned_abs();
        let region = Arc::new(Region {
            start,
            // What an exporter says of its own memory.
            len: row_stride * (rows - 1) + row_bytes,
            readonly: buffer.readonly(),
            owner: Owner::Python(buffer),
        });
        self.insert((object.as_ptr() as usize, region.readonly), region.clone());
        Ok((0..rows).map(|row| region.buffer(start + row * row_stride, row_bytes)).collect())
    }

    /// Bytes of a buffer for Python: of the region that they came from, or of a new one, which is
    /// read-only unless nothing else refers to what was made.
    pub fn memory(&mut self, buffer: &Buffer, made_readonly: bool) -> Memory {
        let (start, len) = (buffer.as_ptr() as usize, buffer.len());
        match self.find(start, len) {
            Some(region) => {
                let (offset, readonly) = (start - region.start, region.readonly);
                Memory { region, offset, len, readonly }
            }
            None => Memory::of_rust(buffer.clone(), made_readonly),
        }
    }

    /// Bytes from one buffer's start to another's end, if both are of one region.
    pub fn span(&mut self, first: &Buffer, last: &Buffer) -> Option<Memory> {
        let (start, end) = (first.as_ptr() as usize, last.as_ptr() as usize + last.len());
        let region = self.find(start, end.checked_sub(start)?)?;
        let (offset, readonly) = (start - region.start, region.readonly);
        Some(Memory { region, offset, len: end - start, readonly })
    }

    /// Adds memory that only the caller refers to, and that Python may therefore write to.
    pub fn add_writable(&mut self, buffer: Buffer) {
        if !buffer.is_empty() {
            let key = (buffer.as_ptr() as usize, false);
            self.insert(key, Arc::new(Region::of_rust(buffer, false)));
        }
    }

    /// The whole region that lends an object's buffer: for a `memoryview`, that of the object
    /// behind it, so that neighbouring views are seen to be neighbours.
    fn region(&mut self, object: &Bound<'_, PyAny>, buffer: PyUntypedBuffer) -> Result<Arc<Region>> {
        let (start, len, readonly) = (buffer.buf_ptr() as usize, buffer.len_bytes(), buffer.readonly());
        let py = object.py();
        let base = match buffer.obj(py) {
            Some(base) if object.is_instance_of::<PyMemoryView>() => base.getattr("obj").ok(),
            _ => None,
        };
        let base = base.as_ref().filter(|base| !base.is_none());
        let key = (base.unwrap_or(object).as_ptr() as usize, readonly);
        if let Some(known) = self.known.get(&key)
            && known.contains(start, len)
        {
            return Ok(known.clone());
        }
        let region = match base {
            Some(base) => match base.cast::<Memory>() {
                // Made here before: its region is the whole.
                Ok(memory) if memory.get().readonly == readonly => memory.get().region.clone(),
                _ => Self::whole(base, start, len, readonly).unwrap_or_else(|| Region::of(buffer)),
            },
            None => Region::of(buffer),
        };
        self.insert(key, region.clone());
        Ok(region)
    }

    fn insert(&mut self, key: (usize, bool), region: Arc<Region>) {
        self.all.push(region.clone());
        self.known.insert(key, region);
        self.sorted.clear();
    }

    /// All of an object's memory, if it has the bytes in it.
    fn whole(base: &Bound<'_, PyAny>, start: usize, len: usize, readonly: bool) -> Option<Arc<Region>> {
        let buffer = PyUntypedBuffer::get(base).ok().filter(PyUntypedBuffer::is_c_contiguous)?;
        if readonly != buffer.readonly() {
            // A read-only view: its neighbours may be writable.
            return None;
        }
        let (at, all) = (buffer.buf_ptr() as usize, buffer.len_bytes());
        let region = Region { start: at, len: all, readonly, owner: Owner::Python(buffer) };
        region.contains(start, len).then(|| Arc::new(region))
    }

    fn find(&mut self, start: usize, len: usize) -> Option<Arc<Region>> {
        if len == 0 {
            return None;
        }
        if self.sorted.is_empty() {
            self.sorted.extend(self.all.iter().cloned());
            self.sorted.sort_by_key(|region| (region.start, Reverse(region.len)));
        }
        let behind = self.sorted.partition_point(|region| region.start <= start);
        // Regions may overlap: views of views, each held by itself.
        self.sorted.get(..behind)?.iter().rev().take(8).find(|region| region.contains(start, len)).cloned()
    }
}

impl Region {
    fn of(buffer: PyUntypedBuffer) -> Arc<Region> {
        let (start, len, readonly) = (buffer.buf_ptr() as usize, buffer.len_bytes(), buffer.readonly());
        Arc::new(Region { start, len, readonly, owner: Owner::Python(buffer) })
    }

    /// All of the allocation that a buffer is of: its neighbours are in it too.
    fn of_rust(buffer: Buffer, readonly: bool) -> Region {
        // Of memory that is not the allocator's, the capacity is not known.
        let len = buffer.capacity().max(buffer.ptr_offset() + buffer.len());
        let start = buffer.data_ptr().as_ptr() as usize;
        Region { start, len, readonly, owner: Owner::Rust(buffer) }
    }

    fn contains(&self, start: usize, len: usize) -> bool {
        start >= self.start && start - self.start <= self.len && len <= self.len - (start - self.start)
    }

    /// Bytes at an address of the region.
    fn buffer(self: &Arc<Self>, start: usize, len: usize) -> Buffer {
        assert!(self.contains(start, len), "the bytes are in their region");
        let Some(pointer) = NonNull::new(start as *mut u8) else { return Buffer::default() };
        // SAFETY: the bytes are in the region (asserted above), whose owner keeps them where they are
        // and alive; the buffer holds the region, and only reads. That Python code may change memory
        // which it lends while we look at it is the contract of the buffer protocol: no number that is
        // read from it is used without a check that was made of the same reading.
        unsafe { Buffer::from_custom_allocation(pointer, len, self.clone()) }
    }
}

impl Memory {
    /// Memory that the codec made.
    pub fn of_rust(buffer: Buffer, readonly: bool) -> Memory {
        let (start, len) = (buffer.as_ptr() as usize, buffer.len());
        let region = Region::of_rust(buffer, readonly);
        Memory { offset: start - region.start, region: Arc::new(region), len, readonly }
    }

    /// Memory that the codec received, and that only these buffers refer to: those of one allocation
    /// are parts of one region.
    pub fn of_received(buffers: Vec<Buffer>) -> Vec<Memory> {
        let mut longest: HashMap<usize, &Buffer> = HashMap::new();
        for buffer in &buffers {
            let known = longest.entry(buffer.data_ptr().as_ptr() as usize).or_insert(buffer);
            if buffer.ptr_offset() + buffer.len() > known.ptr_offset() + known.len() {
                *known = buffer;
            }
        }
        let regions =
            longest.into_iter().map(|(start, last)| (start, Arc::new(Region::of_rust(last.clone(), false))));
        let regions: HashMap<usize, Arc<Region>> = regions.collect();
        let memory = |buffer: &Buffer| {
            let (start, len) = (buffer.as_ptr() as usize, buffer.len());
            match regions.get(&(buffer.data_ptr().as_ptr() as usize)) {
                Some(region) if len > 0 => {
                    Memory { region: region.clone(), offset: start - region.start, len, readonly: false }
                }
                _ => Memory::of_rust(buffer.clone(), false),
            }
        };
        buffers.iter().map(memory).collect()
    }

    /// The same bytes, as what Python knows best.
    pub fn view(self, py: Python<'_>) -> Result<Bound<'_, PyMemoryView>> {
        PyMemoryView::from(Bound::new(py, self)?.as_any())
    }

    /// Whether Python may write to it.
    pub fn is_readonly(&self) -> bool {
        self.readonly
    }
}

#[pymethods]
impl Memory {
    /// Bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.len
    }

    /// The object whose memory it is; none if the codec made it.
    #[getter]
    fn owner<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        match &self.region.owner {
            Owner::Python(buffer) => buffer.obj(py).cloned(),
            Owner::Rust(_) => None,
        }
    }

    fn __len__(&self) -> usize {
        self.len
    }

    fn __repr__(&self) -> String {
        let access = if self.readonly { "read-only" } else { "writable" };
        format!("<arrow_frames memory of {} bytes, {access}>", self.len)
    }

    /// # Safety
    ///
    /// Python calls it with a `Py_buffer` to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> Result<()> {
        let this = slf.get();
        let pointer = (this.region.start + this.offset) as *mut std::ffi::c_void;
        let Ok(len) = ffi::Py_ssize_t::try_from(this.len) else {
            return Err(PyBufferError::new_err("more bytes than Python counts"));
        };
        // SAFETY: the caller's `view` is one to fill. The pointer and the length are those of a part of
        // the region, which `slf` holds and the view holds `slf`. It is writable only where Python lent
        // it so, or where nothing else refers to what was made.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), pointer, len, c_int::from(this.readonly), flags)
        };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// Memory that is lent for the time of a call, and the views of it that there are.
#[pyclass(frozen, module = "arrow_frames._native")]
struct Loan {
    start: AtomicUsize,
    len: usize,
    views: AtomicUsize,
}

#[pymethods]
impl Loan {
    /// # Safety
    ///
    /// Python calls it with a `Py_buffer` to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> Result<()> {
        let this = slf.get();
        let start = this.start.load(Ordering::SeqCst) as *mut std::ffi::c_void;
        let Ok(len) = ffi::Py_ssize_t::try_from(this.len) else {
            return Err(PyBufferError::new_err("more bytes than Python counts"));
        };
        if start.is_null() {
            return Err(PyBufferError::new_err("the memory was lent for the time of a call, which is over"));
        }
        // SAFETY: the caller's `view` is one to fill; the memory is lent until `start` is null, and is
        // kept for ever if there are views when it becomes so.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 0, flags) };
        if filled != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        this.views.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// # Safety
    ///
    /// Python calls it with a `Py_buffer` that was filled.
    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.views.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lends memory to a Python call as a writable `memoryview`, and takes it back.
///
/// # Safety
///
/// If [`Lent::is_kept`] says that something kept a view, the memory must never be freed nor used again.
pub unsafe fn lend<'py, T>(
    py: Python<'py>,
    bytes: &mut [u8],
    call: impl FnOnce(&Bound<'py, PyAny>) -> Result<T>,
) -> Lent<T> {
    let start = AtomicUsize::new(bytes.as_mut_ptr() as usize);
    let loan = match Bound::new(py, Loan { start, len: bytes.len(), views: AtomicUsize::new(0) }) {
        Ok(loan) => loan,
        Err(error) => return Lent { result: Err(error), is_kept: false },
    };
    // Views of the view share its one export: it ends with the last of them.
    let result = PyMemoryView::from(loan.as_any()).and_then(|view| {
        let result = call(&view);
        // Fails if something has an export of it, which is seen below.
        drop(view.call_method0("release"));
        result
    });
    loan.get().start.store(0, Ordering::SeqCst);
    Lent { result, is_kept: loan.get().views.load(Ordering::SeqCst) != 0 }
}

/// What became of memory that was lent.
pub struct Lent<T> {
    /// What the call returned.
    pub result: Result<T>,
    /// Whether something still has the memory.
    pub is_kept: bool,
}
