//! Counts the memory of SQLite to the byte. SQLite's own counter takes a lock for each block, which
//! costs a third of a query; a worker has only one thread that allocates.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rusqlite::ffi;

/// Bytes of the header before each block, which contains its size. Equal to the alignment, so that
/// blocks stay aligned.
const HEAD: usize = 16;

/// Most memory for building, opening or describing a database, in bytes.
pub(crate) const OF_DATABASE: u64 = 512 << 20;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Runs `work` while SQLite may use this many bytes more than it uses now.
pub(crate) fn within<T>(more: u64, work: impl FnOnce() -> T) -> T {
    let most = USED
        .load(Relaxed)
        .saturating_add(usize::try_from(more).unwrap_or(usize::MAX));
    MOST.store(most, Relaxed);
    let done = work();
    MOST.store(usize::MAX, Relaxed);
    done
}

/// Replaces SQLite's allocator. Returns false if SQLite is already in use.
#[expect(unsafe_code, reason = "memory is a table of C functions")]
pub(crate) fn install() -> bool {
    let methods = ffi::sqlite3_mem_methods {
        xMalloc: Some(allocate),
        xFree: Some(free),
        xRealloc: Some(reallocate),
        xSize: Some(size),
        xRoundup: Some(rounded),
        xInit: Some(begin),
        xShutdown: Some(end),
        pAppData: ptr::null_mut(),
    };
    // SAFETY: both settings accept these arguments: the table is copied, the other is a number.
    unsafe {
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods) == ffi::SQLITE_OK
            && ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0 as c_int) == ffi::SQLITE_OK
    }
}

/// The layout of a block of `bytes` with its header; `None` beyond the limit.
fn layout(bytes: c_int, instead_of: usize) -> Option<Layout> {
    let bytes = usize::try_from(bytes).ok()?;
    let used = USED
        .load(Relaxed)
        .saturating_sub(instead_of)
        .checked_add(bytes)?;
    if used > MOST.load(Relaxed) {
        None
    } else {
        Layout::from_size_align(bytes + HEAD, HEAD).ok()
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn allocate(bytes: c_int) -> *mut c_void {
    let Some(layout) = layout(bytes, 0) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout is never empty, and its first bytes are the header.
    unsafe { counted(alloc(layout), layout) }
}

/// Writes the header of an allocated block and returns the address after it.
#[expect(unsafe_code, reason = "writes the head of a piece")]
unsafe fn counted(whole: *mut u8, layout: Layout) -> *mut c_void {
    if whole.is_null() {
        return ptr::null_mut();
    }
    let bytes = layout.size() - HEAD;
    USED.fetch_add(bytes, Relaxed);
    // SAFETY: the caller passes a block of this layout.
    unsafe {
        whole.cast::<usize>().write(bytes);
        whole.add(HEAD).cast()
    }
}

/// The header of a block, and its size.
#[expect(unsafe_code, reason = "reads the head of a piece")]
unsafe fn head(piece: *mut c_void) -> (*mut u8, usize) {
    // SAFETY: SQLite passes an address that `allocate` or `reallocate` returned.
    unsafe {
        let whole = piece.cast::<u8>().sub(HEAD);
        (whole, whole.cast::<usize>().read())
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn free(piece: *mut c_void) {
    if piece.is_null() {
        return;
    }
    // SAFETY: the block was allocated with this layout.
    unsafe {
        let (whole, bytes) = head(piece);
        USED.fetch_sub(bytes, Relaxed);
        dealloc(whole, Layout::from_size_align_unchecked(bytes + HEAD, HEAD));
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn reallocate(piece: *mut c_void, bytes: c_int) -> *mut c_void {
    // SAFETY: the block was allocated with this layout; a block that cannot grow remains as it
    // was.
    unsafe {
        let (whole, before) = head(piece);
        let Some(layout) = layout(bytes, before) else {
            return ptr::null_mut();
        };
        let old = Layout::from_size_align_unchecked(before + HEAD, HEAD);
        let grown = realloc(whole, old, layout.size());
        if !grown.is_null() {
            USED.fetch_sub(before, Relaxed);
        }
        counted(grown, layout)
    }
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn size(piece: *mut c_void) -> c_int {
    if piece.is_null() {
        return 0;
    }
    // SAFETY: as in `free`.
    let (_, bytes) = unsafe { head(piece) };
    c_int::try_from(bytes).unwrap_or(c_int::MAX)
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn rounded(bytes: c_int) -> c_int {
    bytes.saturating_add(7) & !7
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn begin(_: *mut c_void) -> c_int {
    ffi::SQLITE_OK
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn end(_: *mut c_void) {}
