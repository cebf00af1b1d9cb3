//! Admission: a batch is admitted whole or not at all, by its number of items, and a body is read
//! only while there is memory for it.
//!
//! Memory that a grader allocates while it works is not counted here; graders limit it themselves.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_core::Clock;

use crate::EngineError;
use crate::metrics;

/// Longest `Retry-After`. A client that would have to wait longer should use another node instead.
const MAX_RETRY: Duration = Duration::from_secs(60);

/// Time window over which the rate of grading is measured.
const RATE_WINDOW: Duration = Duration::from_millis(500);

/// Admission to a node: limits on items and on bytes of bodies.
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

/// Items graded per second, smoothed over the windows in which an item finished.
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

    /// Admits a batch of `items`, or other work that counts as that many, until the permit is
    /// dropped.
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
        if !try_reserve(&self.items, items, self.max_items) {
            metrics::refused();
            return Err(self.overloaded());
        }
        metrics::in_flight(self.items.load(Ordering::Relaxed));
        Ok(Permit {
            admission: Arc::clone(self),
            items,
        })
    }

    /// Returns a permit for the memory of one request's body and its parsed form, in bytes. It
    /// grows as the body arrives.
    #[must_use]
    pub fn body(self: &Arc<Self>) -> BodyPermit {
        BodyPermit {
            admission: Arc::clone(self),
            bytes: 0,
        }
    }

    /// Most bytes that all bodies together may use, which is also the limit of a single body.
    #[must_use]
    pub fn max_body_bytes(&self) -> usize {
        self.max_bytes
    }

    /// The error of an overloaded node, with the time after which the measured backlog should be
    /// gone.
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

    /// Rejects further batches and waits until all admitted ones are done.
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

    /// Whether the node admits batches.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Acquire)
    }

    /// Items that are admitted and not yet answered.
    #[must_use]
    pub fn items_in_flight(&self) -> usize {
        self.items.load(Ordering::Relaxed)
    }

    fn release(&self, items: usize) {
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

/// Adds `amount` to the counter unless the sum would exceed `max`; returns whether it did.
fn try_reserve(counter: &AtomicUsize, amount: usize, max: usize) -> bool {
    counter
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |used| {
            used.checked_add(amount).filter(|sum| *sum <= max)
        })
        .is_ok()
}

/// Capacity reserved for a batch or other work; released when it is dropped.
pub struct Permit {
    admission: Arc<Admission>,
    items: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.admission.release(self.items);
    }
}

/// Memory reserved for the body of one request and its parsed form, in bytes; released when it is
/// dropped.
pub struct BodyPermit {
    admission: Arc<Admission>,
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
    /// The number of bytes reserved.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves `more` bytes.
    ///
    /// # Errors
    /// [`EngineError::Overloaded`] if all bodies together would exceed the limit of the node.
    pub fn grow(&mut self, more: usize) -> Result<(), EngineError> {
        if try_reserve(&self.admission.bytes, more, self.admission.max_bytes) {
            self.bytes += more;
            return Ok(());
        }
        metrics::refused();
        Err(self.admission.overloaded())
    }
}

impl Drop for BodyPermit {
    fn drop(&mut self) {
        self.admission.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use assay_core::SystemClock;

    use super::*;

    fn admission(items: usize, bytes: usize) -> Arc<Admission> {
        Admission::new(items, bytes, Arc::new(SystemClock::new()))
    }

    #[test]
    fn admits_a_batch_whole_or_not_at_all() {
        let admission = admission(10, 0);
        let first = admission.admit(7).unwrap();
        assert!(matches!(
            admission.admit(4),
            Err(EngineError::Overloaded { .. })
        ));
        assert_eq!(admission.items_in_flight(), 7);
        drop(first);
        assert!(admission.admit(10).is_ok());
    }

    #[test]
    fn rejects_a_batch_larger_than_the_limit() {
        assert!(matches!(
            admission(10, 0).admit(11),
            Err(EngineError::TooLarge {
                items: 11,
                most: 10
            })
        ));
    }

    #[test]
    fn bodies_share_the_byte_limit() {
        let admission = admission(1, 100);
        let mut first = admission.body();
        first.grow(60).unwrap();
        let mut second = admission.body();
        assert!(matches!(
            second.grow(41),
            Err(EngineError::Overloaded { .. })
        ));
        drop(first);
        second.grow(100).unwrap();
    }

    #[tokio::test]
    async fn draining_waits_for_admitted_batches() {
        let admission = admission(10, 0);
        let permit = admission.admit(1).unwrap();
        let draining = tokio::spawn({
            let admission = Arc::clone(&admission);
            async move { admission.drain().await }
        });
        while admission.is_open() {
            tokio::task::yield_now().await;
        }
        assert!(matches!(admission.admit(1), Err(EngineError::ShuttingDown)));
        drop(permit);
        draining.await.unwrap();
    }
}
