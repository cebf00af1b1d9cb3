//! Counts the memory that each thread has allocated, and refuses a thread more than a limit. Tests
//! run at the same time, so that the memory of the process says nothing about one of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Most memory of one thread, in bytes. Beyond it the process ends, before the machine runs out of
/// memory.
const LIMIT: isize = 512 << 20;

thread_local! {
    static ALLOCATED: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Adds bytes to those of this thread; whether it may have them. Memory that another thread frees
/// counts for both threads, so a number may be below zero.
fn add(bytes: isize) -> bool {
    // Without its counter a thread is ending, and allocates little.
    ALLOCATED
        .try_with(|allocated| {
            let now = allocated.get() + bytes;
            allocated.set(now);
            let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now)));
            now <= LIMIT
        })
        .unwrap_or(true)
}

fn size(layout: Layout) -> isize {
    isize::try_from(layout.size()).unwrap_or(isize::MAX)
}

#[expect(
    unsafe_code,
    reason = "a global allocator cannot be implemented without it"
)]
// SAFETY: memory comes from the system's allocator unchanged; counting neither allocates nor
// panics.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !add(size(layout)) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-size(layout));
        // SAFETY: the pointer is from `alloc` above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// What a function returns, and the most memory it had allocated at a time, in bytes.
pub(super) fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATED.get();
    PEAK.set(before);
    let value = work();
    (value, usize::try_from(PEAK.get() - before).unwrap_or(0))
}
