//! Where received bodies land: one region of memory each, on huge pages, recycled if asked.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_buffer::Buffer;
use bytes::Bytes;
use memmap2::{MmapMut, MmapOptions};

use crate::error::{ErrorKind, Result};

/// Regions from this size on ask the system for huge pages, of 2 MiB on most machines:
/// touching fresh memory page by page costs as much as the copy out of the socket.
const HUGE: usize = 2 << 20;

/// The memory that large bodies are received into.
///
/// Each body gets one region, and its arrays share it: one that is kept alive keeps the
/// region, [`DataFrame::detach`](crate::DataFrame::detach) copies it free. Memory that has
/// not been written yet costs the system two to three times what the copy into it costs, so
/// a service that drops a dataframe before the next one comes lets regions be
/// [recycled](ReceiveMemory::recycled). Clones share their idle regions.
///
/// ```text
///              receive               last array dropped
///   system ──▶ region ──▶ arrays ──┬──────────────────▶ system      fresh
///                 ▲                └──▶ idle regions                recycled
///                 └──────────────────────────┘
/// ```
///
/// ```
/// use arrow_frames::{ReceiveMemory, StreamSource};
///
/// let memory = ReceiveMemory::recycled(1 << 30);
/// # let sockets: [&[u8]; 0] = [];
/// for socket in sockets {
///     let mut source = StreamSource::new(socket).with_memory(memory.clone());
///     // …
/// #   source.next();
/// }
/// assert_eq!(memory.idle_bytes(), 0);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ReceiveMemory {
    pool: Option<Arc<Pool>>,
}

/// Regions whose arrays are gone.
#[derive(Debug)]
struct Pool {
    max_idle_bytes: usize,
    idle: Mutex<Vec<MmapMut>>,
}

impl ReceiveMemory {
    /// A fresh region for every body, which goes back to the system with its last array.
    /// This is the default.
    pub fn fresh() -> Self {
        ReceiveMemory { pool: None }
    }

    /// Keeps up to so many bytes of regions whose arrays are gone, for bodies to come.
    pub fn recycled(max_idle_bytes: usize) -> Self {
        ReceiveMemory { pool: Some(Arc::new(Pool { max_idle_bytes, idle: Mutex::default() })) }
    }

    /// Bytes of the regions that wait for a body.
    pub fn idle_bytes(&self) -> usize {
        let Some(pool) = &self.pool else { return 0 };
        pool.idle().iter().map(|map| map.len()).fold(0, usize::saturating_add)
    }

    /// A region of that many bytes, at a multiple of the page size. The system commits its
    /// pages as they are written.
    pub(super) fn region(&self, bytes: usize) -> Result<Region> {
        let recycled = self.pool.as_ref().and_then(|pool| pool.take(bytes));
        let map = match recycled {
            Some(map) => map,
            None => map(bytes)?,
        };
        Ok(Region { map: Some(map), bytes, pool: self.pool.clone() })
    }
}

/// Memory that is being received into.
#[derive(Debug)]
pub(super) struct Region {
    /// There until the region is dropped.
    map: Option<MmapMut>,
    bytes: usize,
    pool: Option<Arc<Pool>>,
}

impl Region {
    /// The memory to write.
    pub(super) fn as_mut(&mut self) -> &mut [u8] {
        let bytes = self.bytes;
        self.map.as_mut().and_then(|map| map.get_mut(..bytes)).unwrap_or_default()
    }

    /// The memory to read: from now on it is shared.
    pub(super) fn freeze(self) -> Buffer {
        Buffer::from(Bytes::from_owner(self))
    }
}

impl AsRef<[u8]> for Region {
    fn as_ref(&self) -> &[u8] {
        self.map.as_ref().and_then(|map| map.get(..self.bytes)).unwrap_or_default()
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let (Some(pool), Some(map)) = (&self.pool, self.map.take()) {
            pool.put(map);
        }
    }
}

impl Pool {
    /// The smallest idle region that holds so many bytes, and is not more than twice as large.
    fn take(&self, bytes: usize) -> Option<MmapMut> {
        let mut idle = self.idle();
        let fits = |map: &MmapMut| map.len() >= bytes && map.len() / 2 <= bytes;
        let found = idle.iter().enumerate().filter(|(_, map)| fits(map)).min_by_key(|(_, map)| map.len());
        let (index, _) = found?;
        Some(idle.swap_remove(index))
    }

    /// Keeps a region; the oldest ones go where there are too many bytes.
    fn put(&self, map: MmapMut) {
        if map.len() > self.max_idle_bytes {
            return;
        }
        let mut idle = self.idle();
        idle.push(map);
        let mut total = idle.iter().map(|map| map.len()).fold(0, usize::saturating_add);
        let mut surplus = 0usize;
        for map in idle.iter() {
            if total <= self.max_idle_bytes {
                break;
            }
            total = total.saturating_sub(map.len());
            surplus = surplus.saturating_add(1);
        }
        let dropped: Vec<MmapMut> = idle.drain(..surplus).collect();
        // The system takes its time to unmap: others should not wait for that.
        drop(idle);
        drop(dropped);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<MmapMut>> {
        // Nothing panics while it is locked; and a list of regions is always whole.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fresh memory of the system's, zeroed by it, page by page as it is touched.
fn map(bytes: usize) -> Result<MmapMut> {
    let no_memory = || ErrorKind::Memory { bytes: bytes as u64 };
    let length =
        if bytes < HUGE { bytes.max(1) } else { bytes.checked_next_multiple_of(HUGE).unwrap_or(bytes) };
    // Without a reservation a length that was only claimed costs nothing.
    let map = MmapOptions::new().len(length).no_reserve_swap().map_anon().map_err(|_| no_memory())?;
    #[cfg(target_os = "linux")]
    if length >= HUGE {
        // A wish: where there are no huge pages, small ones do.
        let _ = map.advise(memmap2::Advice::HugePage);
    }
    Ok(map)
}
