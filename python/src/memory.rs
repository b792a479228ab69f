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

use std::collections::HashMap;
use std::ffi::c_int;
use std::fmt::Display;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_buffer::Buffer;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyException, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::errors::{Result, caught, wrong_type};

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

/// Where a buffer belongs: a batch, and a column of it.
pub type Place = (usize, usize);

/// The memory that a call was given.
///
/// A buffer that was imported says itself which region it is of: the allocation that it is a slice of is
/// the region. No search by address decides about access, since several objects may lend the same bytes, some
/// of them read-only.
#[derive(Default)]
pub struct Regions {
    /// The last one by the object and by whether it is read-only to us. Objects may come and go at one
    /// address, so that there are more of them.
    known: HashMap<(usize, bool), Arc<Region>>,
    /// By their start and length: one that is writable, and one that is not.
    spans: HashMap<(usize, usize), [Option<Arc<Region>>; 2]>,
    /// Whether some span is lent both writable and read-only.
    is_mixed: bool,
    /// Where the next import belongs.
    place: Place,
    /// All imports in order.
    lent: Vec<Import>,
    /// The regions of a place by where a buffer of it starts, in order: made where a span is mixed.
    placed: HashMap<(Place, usize), Vec<Arc<Region>>>,
    /// Where read-only memory starts and ends, in order and without overlaps: made when it is asked for.
    read_only: Option<Vec<(usize, usize)>>,
}

/// One import.
struct Import {
    place: Place,
    start: usize,
    /// None for what has no bytes.
    region: Option<Arc<Region>>,
}

impl Regions {
    /// The bytes of an object of the buffer protocol, in C order and without gaps. `what` names it in errors.
    pub fn import(&mut self, object: &Bound<'_, PyAny>, what: impl Display) -> Result<Buffer> {
        Ok(self.import_memory(object, what)?.buffer())
    }

    /// The same, with its access and its owner.
    pub fn import_memory(&mut self, object: &Bound<'_, PyAny>, what: impl Display) -> Result<Memory> {
        let buffer = lent_by(object, &what)?;
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err(format!("{what} is not contiguous")));
        }
        let (start, len, readonly) = (buffer.buf_ptr() as usize, buffer.len_bytes(), buffer.readonly());
        if len == 0 {
            self.lent.push(Import { place: self.place, start, region: None });
            return Ok(Memory::of_rust(Buffer::default(), readonly));
        }
        let region = self.region(object, buffer)?;
        let memory = region.part(start, len).ok_or_else(|| outside(&what))?;
        self.lent.push(Import { place: self.place, start, region: Some(region) });
        Ok(memory)
    }

    /// The rows of an array of two dimensions. Each row is contiguous and has a buffer of its own, and
    /// the place of each.
    pub fn import_rows(
        &mut self,
        object: &Bound<'_, PyAny>,
        what: impl Display,
        places: &[usize],
    ) -> Result<Vec<Buffer>> {
        let buffer = lent_by(object, &what)?;
        let (&[rows, columns], &[row_stride, stride]) = (buffer.shape(), buffer.strides()) else {
            return Err(PyBufferError::new_err(format!("{what} does not have two dimensions")));
        };
        if rows != places.len() {
            return Err(PyValueError::new_err(format!(
                "{what} has {rows} rows, and there are {} places for them",
                places.len()
            )));
        }
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
        // What an exporter says of its own memory.
        let len = row_stride.checked_mul(rows.saturating_sub(1)).and_then(|last| last.checked_add(row_bytes));
        let len = len.ok_or_else(|| outside(&what))?;
        let readonly = buffer.readonly();
        let region = Arc::new(Region { start, len, readonly, owner: Owner::Python(buffer) });
        self.insert((object.as_ptr() as usize, readonly), &region);
        let mut made = Vec::with_capacity(rows);
        for (row, place) in places.iter().enumerate() {
            let start = row_stride.checked_mul(row).and_then(|offset| start.checked_add(offset));
            let memory =
                start.and_then(|start| region.part(start, row_bytes)).ok_or_else(|| outside(&what))?;
            let lent = Import { place: (0, *place), start: memory.start(), region: Some(region.clone()) };
            self.lent.push(lent);
            made.push(memory.buffer());
        }
        Ok(made)
    }

    /// The memory of arrays of another library, which is never to be written to. It may be lent by an object
    /// of the buffer protocol too.
    pub fn add_read_only(&mut self, buffer: &Buffer) {
        if !buffer.is_empty() {
            let region = Arc::new(Region::of_rust(buffer.clone(), true));
            self.enlist(&region);
            let start = buffer.as_ptr() as usize;
            self.lent.push(Import { place: self.place, start, region: Some(region) });
        }
    }

    /// Says where what is imported next belongs.
    pub fn at(&mut self, place: Place) -> &mut Self {
        self.place = place;
        self
    }

    /// Whether the same bytes were lent both writable and read-only: places then say which are which.
    pub fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// Says where the imports belong, from the one of this number on.
    pub fn set_places(&mut self, first: usize, places: impl IntoIterator<Item = Place>) {
        for (lent, place) in self.lent.iter_mut().skip(first).zip(places) {
            lent.place = place;
        }
        self.placed.clear();
    }

    /// Bytes of a buffer for Python: of the region that they came from, or of a new one, which is
    /// read-only unless nothing else refers to what was made. Of bytes that were lent both ways they are read-only.
    pub fn memory(&mut self, buffer: &Buffer, made_readonly: bool) -> Memory {
        let region = self.lender(buffer, None, Turn::Last);
        self.memory_of(region, buffer, made_readonly)
    }

    /// The same of a buffer that belongs to a place, which says how they were lent.
    pub fn memory_at(&mut self, place: Place, buffer: &Buffer, made_readonly: bool) -> Memory {
        let region = self.lender(buffer, Some(place), Turn::Last);
        self.memory_of(region, buffer, made_readonly)
    }

    /// The same of many buffers, those of one place in the order in which they were imported.
    pub fn memories<'b>(
        &mut self,
        buffers: impl IntoIterator<Item = (Place, &'b Buffer)>,
        made_readonly: bool,
    ) -> Vec<Memory> {
        let mut turns: HashMap<_, usize> = HashMap::new();
        let memory = |(place, buffer): (Place, &Buffer)| {
            let mut turn = 0;
            if self.is_mixed && !buffer.is_empty() {
                let start = (buffer.as_ptr() as usize, buffer.data_ptr().as_ptr() as usize);
                let next = turns.entry((place, start, buffer.capacity())).or_default();
                turn = *next;
                *next = next.saturating_add(1);
            }
            let region = self.lender(buffer, Some(place), Turn::Number(turn));
            self.memory_of(region, buffer, made_readonly)
        };
        buffers.into_iter().map(memory).collect()
    }

    /// Bytes of a buffer and of all that follow it up to another's end, if one object lent them all in one
    /// way, and none of what is between is read-only where they are writable.
    pub fn joined(&mut self, first: &Memory, place: Place, last: &Buffer) -> Option<Memory> {
        let region = self.lender(last, Some(place), Turn::Last)?;
        if !region.is_same(&first.region) {
            return None;
        }
        let (end, start) = (first.start().checked_add(first.len)?, last.as_ptr() as usize);
        if !first.readonly && self.has_read_only(end, start) {
            return None;
        }
        first.region.part(first.start(), start.checked_add(last.len())?.checked_sub(first.start())?)
    }

    fn memory_of(&mut self, region: Option<Arc<Region>>, buffer: &Buffer, made_readonly: bool) -> Memory {
        let (start, len) = (buffer.as_ptr() as usize, buffer.len());
        if let Some(memory) = region.and_then(|region| region.part(start, len)) {
            return memory;
        }
        // What is not known to be of a region, and lies in one nevertheless, is no more writable than that.
        let end = start.saturating_add(len);
        Memory::of_rust(buffer.clone(), made_readonly || self.has_read_only(start, end))
    }

    /// The region that lent a buffer.
    fn lender(&mut self, buffer: &Buffer, place: Option<Place>, turn: Turn) -> Option<Arc<Region>> {
        if buffer.is_empty() {
            return None;
        }
        let span = (buffer.data_ptr().as_ptr() as usize, buffer.capacity());
        let (writable, read_only) = match self.spans.get(&span)? {
            [Some(writable), Some(read_only)] => (writable, read_only),
            [Some(one), None] | [None, Some(one)] => return Some(one.clone()),
            [None, None] => return None,
        };
        let (writable, read_only) = (writable.clone(), read_only.clone());
        let start = buffer.as_ptr() as usize;
        let own = place.and_then(|place| self.lender_at(place, start, span, turn));
        Some(if own.is_some_and(|region| !region.readonly) { writable } else { read_only })
    }

    /// The region of that span which lent what starts there.
    fn lender_at(
        &mut self,
        place: Place,
        start: usize,
        span: (usize, usize),
        turn: Turn,
    ) -> Option<&Arc<Region>> {
        if self.placed.is_empty() {
            for lent in &self.lent {
                if let Some(region) = &lent.region {
                    self.placed.entry((lent.place, lent.start)).or_default().push(region.clone());
                }
            }
        }
        let mut own = self.placed.get(&(place, start))?.iter().filter(|region| region.span() == span);
        match turn {
            Turn::Last => own.next_back(),
            Turn::Number(number) => own.nth(number),
        }
    }

    /// Whether any byte between two addresses is of memory that was lent read-only.
    fn has_read_only(&mut self, start: usize, end: usize) -> bool {
        let spans = &self.spans;
        let read_only = self.read_only.get_or_insert_with(|| {
            let own = spans.values().filter_map(|[_, read_only]| read_only.as_ref());
            let mut found: Vec<_> = own.map(|region| (region.start, region.end())).collect();
            found.sort_unstable();
            found.dedup_by(|next, known| {
                let overlaps = next.0 <= known.1;
                if overlaps {
                    known.1 = known.1.max(next.1);
                }
                overlaps
            });
            found
        });
        let at = read_only.partition_point(|(_, known_end)| *known_end <= start);
        start < end && read_only.get(at).is_some_and(|(known_start, _)| *known_start < end)
    }

    /// The whole region that lends an object's buffer: for a `memoryview`, that of the object
    /// behind it, so that neighbouring views are seen to be neighbours.
    fn region(&mut self, object: &Bound<'_, PyAny>, buffer: PyUntypedBuffer) -> Result<Arc<Region>> {
        let (start, len, readonly) = (buffer.buf_ptr() as usize, buffer.len_bytes(), buffer.readonly());
        let py = object.py();
        let base = match buffer.obj(py) {
            Some(base) if object.is_instance_of::<PyMemoryView>() => Some(base.getattr("obj")?),
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
                Ok(memory)
                    if memory.get().readonly == readonly && memory.get().region.contains(start, len) =>
                {
                    memory.get().region.clone()
                }
                _ => Self::whole(base, start, len, readonly)?.unwrap_or_else(|| Region::of(buffer)),
            },
            None => Region::of(buffer),
        };
        self.insert(key, &region);
        Ok(region)
    }

    fn insert(&mut self, key: (usize, bool), region: &Arc<Region>) {
        self.known.insert(key, region.clone());
        self.enlist(region);
    }

    fn enlist(&mut self, region: &Arc<Region>) {
        let [writable, read_only] = self.spans.entry(region.span()).or_default();
        let own = if region.readonly { &mut *read_only } else { &mut *writable };
        own.get_or_insert_with(|| region.clone());
        self.is_mixed |= writable.is_some() && read_only.is_some();
        self.placed.clear();
        self.read_only = None;
    }

    /// All of an object's memory, if it has the bytes in it.
    fn whole(
        base: &Bound<'_, PyAny>,
        start: usize,
        len: usize,
        readonly: bool,
    ) -> Result<Option<Arc<Region>>> {
        let buffer = match PyUntypedBuffer::get(base) {
            // A read-only view: its neighbours may be writable.
            Ok(buffer) if buffer.readonly() != readonly || !buffer.is_c_contiguous() => return Ok(None),
            Ok(buffer) => buffer,
            Err(error) if error.is_instance_of::<PyException>(base.py()) => return Ok(None),
            // Somebody wants to stop.
            Err(error) => return Err(error),
        };
        let region = Region::of(buffer);
        Ok(region.contains(start, len).then_some(region))
    }
}

/// Which of several imports at one place.
#[derive(Clone, Copy)]
enum Turn {
    /// Counted from 0.
    Number(usize),
    /// Values come last, behind bits that may be as few bytes.
    Last,
}

impl Region {
    fn of(buffer: PyUntypedBuffer) -> Arc<Region> {
        let (start, len, readonly) = (buffer.buf_ptr() as usize, buffer.len_bytes(), buffer.readonly());
        Arc::new(Region { start, len, readonly, owner: Owner::Python(buffer) })
    }

    /// All of the allocation that a buffer is of: its neighbours are in it too.
    fn of_rust(buffer: Buffer, readonly: bool) -> Region {
        // Of memory that is not the allocator's, the capacity is not known.
        let len = buffer.capacity().max(end_of(&buffer));
        let start = buffer.data_ptr().as_ptr() as usize;
        Region { start, len, readonly, owner: Owner::Rust(buffer) }
    }

    /// Where it starts and how long it is.
    fn span(&self) -> (usize, usize) {
        (self.start, self.len)
    }

    fn end(&self) -> usize {
        self.start.saturating_add(self.len)
    }

    /// Whether it is the same memory with the same access, whoever lent it.
    fn is_same(&self, other: &Region) -> bool {
        self.span() == other.span() && self.readonly == other.readonly
    }

    fn contains(&self, start: usize, len: usize) -> bool {
        start
            .checked_sub(self.start)
            .and_then(|offset| self.len.checked_sub(offset))
            .is_some_and(|rest| len <= rest)
    }

    /// Bytes at an address of the region.
    fn part(self: &Arc<Self>, start: usize, len: usize) -> Option<Memory> {
        if !self.contains(start, len) {
            return None;
        }
        let offset = start.checked_sub(self.start)?;
        Some(Memory { region: self.clone(), offset, len, readonly: self.readonly })
    }

    /// All of its bytes. They are not looked at here: of memory that was made, some may never have been
    /// written to.
    fn buffer(self: &Arc<Self>) -> Buffer {
        let Some(pointer) = NonNull::new(self.start as *mut u8) else { return Buffer::default() };
        // SAFETY: the bytes are the region's, whose owner keeps them where they are and alive; the
        // buffer holds the region, and only reads. That Python code may change memory which it lends while
        // we look at it is the contract of the buffer protocol: no number that is read from it is used
        // without a check that was made of the same reading.
        unsafe { Buffer::from_custom_allocation(pointer, self.len, self.clone()) }
    }
}

impl Memory {
    /// Its bytes, as a slice of its region.
    pub fn buffer(&self) -> Buffer {
        let all = self.region.buffer();
        let is_inside = self.offset.checked_add(self.len).is_some_and(|end| end <= all.len());
        if is_inside { all.slice_with_length(self.offset, self.len) } else { Buffer::default() }
    }

    /// This memory and that which follows it right behind, if one object lent both in one way.
    pub fn followed_by(&self, next: &Memory) -> Option<Memory> {
        let is_next = self.len > 0 && next.len > 0 && self.offset.checked_add(self.len) == Some(next.offset);
        if !is_next || !self.region.is_same(&next.region) {
            return None;
        }
        self.region.part(self.start(), self.len.checked_add(next.len)?)
    }

    /// Its address.
    fn start(&self) -> usize {
        self.region.start.saturating_add(self.offset)
    }

    /// Memory that the codec made.
    pub fn of_rust(buffer: Buffer, readonly: bool) -> Memory {
        let (offset, len) = (buffer.ptr_offset(), buffer.len());
        Memory { region: Arc::new(Region::of_rust(buffer, readonly)), offset, len, readonly }
    }

    /// Memory that the codec received, and that only these buffers refer to: those of one allocation
    /// are parts of one region.
    pub fn of_received(buffers: Vec<Buffer>) -> Vec<Memory> {
        let mut longest: HashMap<usize, &Buffer> = HashMap::new();
        for buffer in &buffers {
            let known = longest.entry(buffer.data_ptr().as_ptr() as usize).or_insert(buffer);
            if end_of(buffer) > end_of(known) {
                *known = buffer;
            }
        }
        let regions =
            longest.into_iter().map(|(start, last)| (start, Arc::new(Region::of_rust(last.clone(), false))));
        let regions: HashMap<usize, Arc<Region>> = regions.collect();
        let memory = |buffer: &Buffer| {
            let region = regions.get(&(buffer.data_ptr().as_ptr() as usize));
            let memory = region.filter(|_| !buffer.is_empty());
            let memory = memory.and_then(|region| region.part(buffer.as_ptr() as usize, buffer.len()));
            memory.unwrap_or_else(|| Memory::of_rust(buffer.clone(), false))
        };
        buffers.iter().map(memory).collect()
    }

    /// The same bytes, as what Python knows best.
    pub fn view(self, py: Python<'_>) -> Result<Bound<'_, PyMemoryView>> {
        PyMemoryView::from(Bound::new(py, self)?.as_any())
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
        let pointer = this.start() as *mut std::ffi::c_void;
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

/// Where a buffer ends in its allocation.
fn end_of(buffer: &Buffer) -> usize {
    buffer.ptr_offset().saturating_add(buffer.len())
}

/// The buffer of an object. What its own code raises for another reason is raised as it is.
fn lent_by(object: &Bound<'_, PyAny>, what: &impl Display) -> Result<PyUntypedBuffer> {
    let py = object.py();
    let buffer = PyUntypedBuffer::get(object).or_else(|error| {
        if !error.is_instance_of::<PyBufferError>(py) {
            return Err(error);
        }
        // One that leaves out what a view of it says, as arrays of ctypes do.
        PyMemoryView::from(object).and_then(|view| PyUntypedBuffer::get(&view))
    });
    buffer.map_err(|error| {
        if !error.is_instance_of::<PyTypeError>(py) && !error.is_instance_of::<PyBufferError>(py) {
            return error;
        }
        wrong_type(format!("{what} must be an object of the buffer protocol: {error}"))
    })
}

/// The error for an object that says it has bytes where it has none.
fn outside(what: &impl Display) -> PyErr {
    PyBufferError::new_err(format!("{what} has bytes outside of its own memory"))
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
        let Ok(len) = ffi::Py_ssize_t::try_from(this.len) else {
            return Err(PyBufferError::new_err("more bytes than Python counts"));
        };
        // Counted before it is looked whether the call is over: `lend` does both the other way round.
        this.views.fetch_add(1, Ordering::SeqCst);
        let start = this.start.load(Ordering::SeqCst) as *mut std::ffi::c_void;
        if start.is_null() {
            this.views.fetch_sub(1, Ordering::SeqCst);
            return Err(PyBufferError::new_err("the memory was lent for the time of a call, which is over"));
        }
        // SAFETY: the caller's `view` is one to fill; the memory is lent until `start` is null, and is
        // kept for ever if there are views when it becomes so.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 0, flags) };
        if filled != 0 {
            this.views.fetch_sub(1, Ordering::SeqCst);
            return Err(PyErr::fetch(slf.py()));
        }
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
        // Whatever happens, the memory is taken back.
        let result = caught(|| call(&view));
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
