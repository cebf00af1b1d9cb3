//! Who may come in: a batch is admitted whole or not at all, by items; a body is read only while
//! there is room for its bytes.
//!
//! Bounds memory. What it does not bound: bytes a grader allocates while it works, which is the
//! grader's own duty.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_core::Clock;

use crate::EngineError;
use crate::metrics;

/// Longest `Retry-After`. A client that is told to stay away longer would rather ask another node.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// Window over which the rate of grading is measured.
const RATE_WINDOW: Duration = Duration::from_millis(500);

/// The doors of a node.
pub struct Admission {
    max_items: usize,
    max_bytes: usize,
    items: AtomicUsize,
    bytes: AtomicUsize,
    closed: AtomicBool,
    rate: Mutex<Rate>,
    clock: Arc<dyn Clock>,
    idle: tokio::sync::Notify,
}

/// Items a second, smoothed over windows in which something finished.
#[derive(Default)]
struct Rate {
    per_second: f64,
    window_start: Duration,
    finished: usize,
}

impl Admission {
    pub(crate) fn new(max_items: usize, max_bytes: usize, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            max_items,
            max_bytes,
            items: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            rate: Mutex::new(Rate::default()),
            clock,
            idle: tokio::sync::Notify::new(),
        })
    }

    /// Admits a batch of `items`, or other work counted as so many, until the permit is dropped.
    ///
    /// # Errors
    /// [`EngineError::ShuttingDown`], [`EngineError::TooLarge`], [`EngineError::Overloaded`].
    pub fn admit(self: &Arc<Self>, items: usize) -> Result<Permit, EngineError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(EngineError::ShuttingDown);
        }
        if items > self.max_items {
            return Err(EngineError::TooLarge {
                items,
                most: self.max_items,
            });
        }
        if !take(&self.items, items, self.max_items) {
            metrics::refused();
            return Err(self.overloaded());
        }
        metrics::in_flight(self.items.load(Ordering::Relaxed));
        Ok(Permit {
            doors: Arc::clone(self),
            items,
        })
    }

    /// A permit for the memory of one request's body and its parsed form, in bytes. It grows as the
    /// body arrives.
    #[must_use]
    pub fn body(self: &Arc<Self>) -> BodyPermit {
        BodyPermit {
            doors: Arc::clone(self),
            bytes: 0,
        }
    }

    /// Most bytes that all bodies together may take, and therefore also a single one.
    #[must_use]
    pub fn most_body_bytes(&self) -> usize {
        self.max_bytes
    }

    /// The refusal that names the time after which the measured backlog should be gone.
    #[must_use]
    pub fn overloaded(&self) -> EngineError {
        let per_second = self
            .rate
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .per_second;
        #[expect(clippy::cast_precision_loss, reason = "an estimate in whole seconds")]
        let backlog = self.items.load(Ordering::Relaxed) as f64;
        let seconds = if per_second > 0.0 {
            (backlog / per_second).ceil()
        } else {
            1.0
        };
        let retry_after = Duration::from_secs_f64(seconds.clamp(1.0, MAX_RETRY.as_secs_f64()));
        EngineError::Overloaded { retry_after }
    }

    /// Refuses every further batch and waits until those inside are done.
    pub(crate) async fn drain(&self) {
        self.closed.store(true, Ordering::Release);
        loop {
            let idle = self.idle.notified();
            if self.items.load(Ordering::Acquire) == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Whether the node takes batches.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Acquire)
    }

    /// Items admitted and not yet answered.
    #[must_use]
    pub fn items_in_flight(&self) -> usize {
        self.items.load(Ordering::Relaxed)
    }

    fn leave(&self, items: usize) {
        let before = self.items.fetch_sub(items, Ordering::AcqRel);
        metrics::in_flight(before - items);
        if before == items {
            self.idle.notify_waiters();
        }
        let now = self.clock.monotonic();
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        rate.finished += items;
        let span = now.saturating_sub(rate.window_start);
        if span >= RATE_WINDOW {
            #[expect(clippy::cast_precision_loss, reason = "an estimate in whole seconds")]
            let latest = rate.finished as f64 / span.as_secs_f64();
            let smoothed = if rate.per_second > 0.0 {
                0.7 * rate.per_second + 0.3 * latest
            } else {
                latest
            };
            *rate = Rate {
                per_second: smoothed,
                window_start: now,
                finished: 0,
            };
        }
    }
}

/// Takes `wanted` of `most` if there is room.
fn take(counter: &AtomicUsize, wanted: usize, most: usize) -> bool {
    counter
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |held| {
            held.checked_add(wanted).filter(|sum| *sum <= most)
        })
        .is_ok()
}

/// A batch, or other work, inside the doors.
pub struct Permit {
    doors: Arc<Admission>,
    items: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.doors.leave(self.items);
    }
}

/// The memory of one request's body and its parsed form, in bytes. It is counted until this is
/// dropped.
pub struct BodyPermit {
    doors: Arc<Admission>,
    bytes: usize,
}

impl std::fmt::Debug for BodyPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodyPermit")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl BodyPermit {
    /// The number of bytes counted.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes room for `more` bytes.
    ///
    /// # Errors
    /// [`EngineError::Overloaded`] when all bodies together would exceed what the node holds.
    pub fn grow(&mut self, more: usize) -> Result<(), EngineError> {
        if take(&self.doors.bytes, more, self.doors.max_bytes) {
            self.bytes += more;
            return Ok(());
        }
        metrics::refused();
        Err(self.doors.overloaded())
    }
}

impl Drop for BodyPermit {
    fn drop(&mut self) {
        self.doors.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use assay_core::SystemClock;

    use super::*;

    fn doors(items: usize, bytes: usize) -> Arc<Admission> {
        Admission::new(items, bytes, Arc::new(SystemClock::new()))
    }

    #[test]
    fn a_batch_comes_in_whole_or_not_at_all() {
        let doors = doors(10, 0);
        let first = doors.admit(7).unwrap();
        assert!(matches!(
            doors.admit(4),
            Err(EngineError::Overloaded { .. })
        ));
        assert_eq!(doors.items_in_flight(), 7);
        drop(first);
        assert!(doors.admit(10).is_ok());
    }

    #[test]
    fn a_batch_that_never_fits_is_told_so() {
        assert!(matches!(
            doors(10, 0).admit(11),
            Err(EngineError::TooLarge {
                items: 11,
                most: 10
            })
        ));
    }

    #[test]
    fn bodies_share_the_bytes() {
        let doors = doors(1, 100);
        let mut first = doors.body();
        first.grow(60).unwrap();
        let mut second = doors.body();
        assert!(matches!(
            second.grow(41),
            Err(EngineError::Overloaded { .. })
        ));
        drop(first);
        second.grow(100).unwrap();
    }

    #[tokio::test]
    async fn draining_waits_for_those_inside() {
        let doors = doors(10, 0);
        let permit = doors.admit(1).unwrap();
        let draining = tokio::spawn({
            let doors = Arc::clone(&doors);
            async move { doors.drain().await }
        });
        while doors.is_open() {
            tokio::task::yield_now().await;
        }
        assert!(matches!(doors.admit(1), Err(EngineError::ShuttingDown)));
        drop(permit);
        draining.await.unwrap();
    }
}
