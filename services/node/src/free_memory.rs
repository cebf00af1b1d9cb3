//! Returns memory to the system that was freed and is kept by the allocator.
//!
//! The allocator of glibc keeps what many small values took, so that the memory of a node would
//! stay at the peak of its largest batch.

use std::time::Duration;

/// How often the resident memory is read.
const INTERVAL: Duration = Duration::from_secs(5);

/// Growth of the resident memory since the last time from which on memory is returned. Much more
/// than a few ordinary batches take, so that it is not returned and taken again all the time.
const GROWTH_BYTES: u64 = 64 << 20;

/// Returns memory for as long as the future is polled.
pub(crate) async fn return_regularly() {
    let mut before = resident().unwrap_or(0);
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(now) = resident() else { return };
        if now < before {
            before = now;
        }
        if now < before + GROWTH_BYTES {
            continue;
        }
        // Takes some milliseconds for each gigabyte, during which other threads may wait for
        // memory.
        if tokio::task::spawn_blocking(return_free).await.is_err() {
            return;
        }
        before = resident().unwrap_or(now);
        tracing::debug!(
            from = now,
            to = before,
            "returned free memory to the system"
        );
    }
}

/// The resident memory of this process in bytes; `None` if the system does not report it.
fn resident() -> Option<u64> {
    let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = sizes.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Returns all free pages of the allocator.
#[cfg(target_env = "gnu")]
#[expect(
    unsafe_code,
    reason = "a function of the C library without a safe wrapper"
)]
fn return_free() {
    // SAFETY: `malloc_trim` may be called at any time from any thread.
    let _ = unsafe { libc::malloc_trim(0) };
}

/// Other allocators return memory by themselves.
#[cfg(not(target_env = "gnu"))]
fn return_free() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_memory_is_returned() {
        // Small values between others that stay, so that no allocation is returned as it is freed.
        let values: Vec<Vec<u8>> = (0..200_000).map(|_| vec![1; 512]).collect();
        let kept: Vec<Vec<u8>> = (0..1_000).map(|_| vec![1; 512]).collect();
        let full = resident().unwrap();
        drop(values);
        return_free();
        let after = resident().unwrap();
        assert!(full.saturating_sub(after) > 50 << 20, "{full} -> {after}");
        drop(kept);
    }
}
