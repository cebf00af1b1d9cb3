//! Returns memory to the system that was freed and is kept by the allocator.
//!
//! The allocator of glibc keeps what many small values took, so that the memory of a node would
//! stay at the peak of its largest batch. It has an arena for each of the first threads, made of
//! heaps of at most 64 MiB. [`return_free`] returns the free pages between values of all arenas,
//! but what is free at the end of an arena only of the first one. The others return it when a value
//! is freed there and more than a threshold is free, which grows to 64 MiB for each arena unless
//! [`configure_allocator`] fixes it.

use std::time::Duration;

/// How often the resident memory is read.
const INTERVAL: Duration = Duration::from_secs(5);

/// Growth of the resident memory that triggers a return. Much more than a few ordinary batches
/// take, so that memory is not constantly returned and allocated again.
const GROWTH_BYTES: u64 = 64 << 20;

/// Most intervals between two attempts while the memory is in use: less than three minutes.
const MAX_PAUSE: u32 = 32;

/// Free bytes at the end of an arena above which the allocator returns them at once. More than an
/// ordinary batch takes, so that memory is not constantly returned and allocated again.
#[cfg(target_env = "gnu")]
const FREE_END_BYTES: libc::c_int = 8 << 20;

/// Size from which a block is allocated outside the arenas and returned when it is freed.
#[cfg(target_env = "gnu")]
const SEPARATE_BYTES: libc::c_int = 4 << 20;

/// Returns memory for as long as the future is polled.
pub(crate) async fn return_regularly() {
    configure_allocator();
    let Some(start) = resident() else { return };
    let mut schedule = Schedule::new(start);
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(now) = resident() else { return };
        if !schedule.is_due(now) {
            continue;
        }
        // Takes some milliseconds for each gigabyte, during which other threads may wait for
        // memory.
        if tokio::task::spawn_blocking(return_free).await.is_err() {
            return;
        }
        let after = resident().unwrap_or(now);
        schedule.returned(after);
        tracing::debug!(from = now, to = after, "returned free memory to the system");
    }
}

/// Decides when to return memory: when the resident memory has grown, and again later while it is
/// high, because what was in use at the last attempt may be free by now.
struct Schedule {
    /// The lowest resident memory so far.
    floor: u64,
    /// The lowest since the last attempt.
    last: u64,
    /// Intervals until the next attempt without growth.
    pause: u32,
    waited: u32,
}

impl Schedule {
    fn new(resident: u64) -> Self {
        Self {
            floor: resident,
            last: resident,
            pause: 1,
            waited: 0,
        }
    }

    /// Whether to return memory now. Called once in each interval.
    fn is_due(&mut self, now: u64) -> bool {
        self.floor = self.floor.min(now);
        self.last = self.last.min(now);
        self.waited += 1;
        if now >= self.last + GROWTH_BYTES {
            self.pause = 1;
            return true;
        }
        now >= self.floor + GROWTH_BYTES && self.waited >= self.pause
    }

    /// Memory was returned, after which this much is resident.
    fn returned(&mut self, after: u64) {
        self.floor = self.floor.min(after);
        self.last = after;
        self.waited = 0;
        self.pause = (2 * self.pause).min(MAX_PAUSE);
    }
}

/// The resident memory of this process in bytes; `None` if the system does not report it.
pub(crate) fn resident() -> Option<u64> {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = sizes.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Limits what is kept free at the end of each arena of the allocator, and turns its fast bins off:
/// they are emptied whenever a large buffer is freed, which takes longer than they save.
#[cfg(target_env = "gnu")]
#[expect(
    unsafe_code,
    reason = "a function of the C library without a safe wrapper"
)]
fn configure_allocator() {
    // SAFETY: `mallopt` may be called at any time from any thread.
    let accepted = unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, FREE_END_BYTES) == 1
            && libc::mallopt(libc::M_MMAP_THRESHOLD, SEPARATE_BYTES) == 1
            && libc::mallopt(libc::M_MXFAST, 0) == 1
    };
    if !accepted {
        tracing::warn!("cannot configure the allocator; more free memory is kept");
    }
}

/// Other allocators have no such arenas.
#[cfg(not(target_env = "gnu"))]
fn configure_allocator() {}

/// Returns the free pages of the allocator, except at the ends of arenas.
#[cfg(target_env = "gnu")]
#[expect(
    unsafe_code,
    reason = "a function of the C library without a safe wrapper"
)]
pub(crate) fn return_free() {
    // SAFETY: `malloc_trim` may be called at any time from any thread.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Other allocators return memory by themselves.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn return_free() {}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn memory_is_returned_again_when_what_was_in_use_is_free() {
        let mut schedule = Schedule::new(100 * MIB);
        assert!(!schedule.is_due(150 * MIB));
        assert!(schedule.is_due(500 * MIB));
        // All of it was in use, and is freed later, which the resident memory does not show.
        schedule.returned(500 * MIB);
        let due: Vec<_> = (1..=14)
            .filter(|_| {
                let due = schedule.is_due(500 * MIB);
                if due {
                    schedule.returned(500 * MIB);
                }
                due
            })
            .collect();
        assert_eq!(due, [2, 6, 14]);
        assert!(schedule.is_due(600 * MIB));
        schedule.returned(120 * MIB);
        assert!((0..100).all(|_| !schedule.is_due(150 * MIB)));
    }

    #[test]
    fn memory_that_stays_in_use_causes_few_attempts() {
        let mut schedule = Schedule::new(0);
        let mut attempts = 0;
        for _ in 0..1_000 {
            if schedule.is_due(1 << 30) {
                attempts += 1;
                schedule.returned(1 << 30);
            }
        }
        assert!(attempts < 40, "{attempts}");
    }

    /// Waits until less is resident. Other tests of this process take memory for a short time.
    fn falls_below(limit: u64) {
        for _ in 0..3_000 {
            return_free();
            if resident().unwrap() <= limit {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{} bytes are resident", resident().unwrap());
    }

    fn small_values(count: usize) -> Vec<Vec<u8>> {
        (0..count).map(|_| vec![1; 512]).collect()
    }

    #[test]
    fn freed_memory_is_returned() {
        // Values between others that stay, so that no allocation is returned as it is freed.
        let before = resident().unwrap();
        let values = small_values(400_000);
        let kept = small_values(1_000);
        drop(values);
        falls_below(before + 50 * MIB);
        drop(kept);
    }

    #[test]
    fn memory_that_other_threads_freed_is_returned() {
        configure_allocator();
        // When a large block is freed, the thresholds of the allocator grow unless they are fixed.
        drop(std::hint::black_box(vec![1_u8; 31 << 20]));
        let before = resident().unwrap();
        let (sender, freed) = std::sync::mpsc::channel();
        let ends: Vec<_> = (0..8)
            .map(|_| {
                let sender = sender.clone();
                let (end, ended) = std::sync::mpsc::channel::<()>();
                std::thread::spawn(move || {
                    drop(std::hint::black_box(small_values(90_000)));
                    sender.send(()).unwrap();
                    // A thread that ends gives its arena to another.
                    ended.recv().unwrap_err();
                });
                end
            })
            .collect();
        assert_eq!(freed.iter().take(ends.len()).count(), ends.len());
        falls_below(before + 100 * MIB);
    }
}
