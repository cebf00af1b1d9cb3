//! An allocator for SQLite that counts and limits its memory. The counter of SQLite takes a lock
//! for each allocation, which costs a third of the time of a query. This one needs no lock, because
//! only one thread of a worker uses SQLite.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rusqlite::ffi;

/// Bytes of the header before each allocation, which contains its size. Equal to the alignment, so
/// that allocations are aligned.
const HEADER_BYTES: usize = 16;

/// Maximum memory for building, opening or describing a database, in bytes.
pub(crate) const DATABASE_BYTES: u64 = 512 << 20;

static USED: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Runs `work` while SQLite may use at most this many bytes in addition to those that it already
/// uses.
pub(crate) fn with_limit<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    let limit = USED
        .load(Relaxed)
        .saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
    LIMIT.store(limit, Relaxed);
    let result = work();
    LIMIT.store(usize::MAX, Relaxed);
    result
}

/// Replaces the allocator of SQLite. Returns false if SQLite was already initialised.
#[expect(
    unsafe_code,
    reason = "an allocator of SQLite is a table of C functions"
)]
pub(crate) fn install() -> bool {
    let methods = ffi::sqlite3_mem_methods {
        xMalloc: Some(allocate),
        xFree: Some(free),
        xRealloc: Some(reallocate),
        xSize: Some(size),
        xRoundup: Some(round_up),
        xInit: Some(begin),
        xShutdown: Some(end),
        pAppData: ptr::null_mut(),
    };
    // SAFETY: the arguments have the types that these settings require. SQLite copies the table.
    unsafe {
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods) == ffi::SQLITE_OK
            && ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int) == ffi::SQLITE_OK
    }
}

/// The layout of an allocation of `bytes` with its header, which replaces one of `replaced` bytes;
/// `None` if it exceeds the limit.
fn layout(bytes: c_int, replaced: usize) -> Option<Layout> {
    let bytes = usize::try_from(bytes).ok()?;
    let used = USED
        .load(Relaxed)
        .saturating_sub(replaced)
        .checked_add(bytes)?;
    if used > LIMIT.load(Relaxed) {
        None
    } else {
        Layout::from_size_align(bytes + HEADER_BYTES, HEADER_BYTES).ok()
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn allocate(bytes: c_int) -> *mut c_void {
    let Some(layout) = layout(bytes, 0) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout is never empty, and begins with the header.
    unsafe { record(alloc(layout), layout) }
}

/// Writes the header of a new allocation and counts it; returns the address after the header.
#[expect(unsafe_code, reason = "writes the header of an allocation")]
unsafe fn record(start: *mut u8, layout: Layout) -> *mut c_void {
    if start.is_null() {
        return ptr::null_mut();
    }
    let bytes = layout.size() - HEADER_BYTES;
    USED.fetch_add(bytes, Relaxed);
    // SAFETY: the caller passes an allocation of this layout.
    unsafe {
        start.cast::<usize>().write(bytes);
        start.add(HEADER_BYTES).cast()
    }
}

/// The address of the header of an allocation, and the size of the allocation.
#[expect(unsafe_code, reason = "reads the header of an allocation")]
unsafe fn header(allocation: *mut c_void) -> (*mut u8, usize) {
    // SAFETY: SQLite passes addresses that `allocate` or `reallocate` returned.
    unsafe {
        let start = allocation.cast::<u8>().sub(HEADER_BYTES);
        (start, start.cast::<usize>().read())
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn free(allocation: *mut c_void) {
    if allocation.is_null() {
        return;
    }
    // SAFETY: the layout is that of the allocation.
    unsafe {
        let (start, bytes) = header(allocation);
        USED.fetch_sub(bytes, Relaxed);
        dealloc(
            start,
            Layout::from_size_align_unchecked(bytes + HEADER_BYTES, HEADER_BYTES),
        );
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn reallocate(allocation: *mut c_void, bytes: c_int) -> *mut c_void {
    // SAFETY: the layout is that of the allocation. An allocation that cannot grow remains
    // unchanged.
    unsafe {
        let (start, before) = header(allocation);
        let Some(layout) = layout(bytes, before) else {
            return ptr::null_mut();
        };
        let old = Layout::from_size_align_unchecked(before + HEADER_BYTES, HEADER_BYTES);
        let grown = realloc(start, old, layout.size());
        if !grown.is_null() {
            USED.fetch_sub(before, Relaxed);
        }
        record(grown, layout)
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn size(allocation: *mut c_void) -> c_int {
    if allocation.is_null() {
        return 0;
    }
    // SAFETY: SQLite passes an address that `allocate` or `reallocate` returned.
    let (_, bytes) = unsafe { header(allocation) };
    c_int::try_from(bytes).unwrap_or(c_int::MAX)
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn round_up(bytes: c_int) -> c_int {
    bytes.saturating_add(7) & !7
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn begin(_: *mut c_void) -> c_int {
    ffi::SQLITE_OK
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn end(_: *mut c_void) {}
