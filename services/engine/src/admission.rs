//! Admission: a batch is admitted whole or not at all, by its number of items, and a body is read
//! only while there is memory for it. Both are [shared](crate::shares) between callers.
//!
//! Memory that a grader allocates while it works is not counted here; graders limit it themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_core::Clock;

use crate::EngineError;
use crate::metrics;
use crate::shares::{Shares, Shortage};
use crate::usage::CallerUse;

/// Admission to a node: items in progress, and bytes of bodies and replies.
pub struct Admission {
    items: Shares,
    bytes: Shares,
    closed: AtomicBool,
    idle: tokio::sync::Notify,
}

/// The settings that limit what is shared.
const ITEMS: &str = "engine.items_in_flight";
const BYTES: &str = "engine.body_bytes_in_flight";

/// All of them.
pub(crate) const SETTINGS: [&str; 2] = [ITEMS, BYTES];

impl Admission {
    pub(crate) fn new(max_items: usize, max_bytes: usize, clock: &Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            items: Shares::new(max_items, Arc::clone(clock)),
            bytes: Shares::new(max_bytes, Arc::clone(clock)),
            closed: AtomicBool::new(false),
            idle: tokio::sync::Notify::new(),
        })
    }

    /// Admits a batch of `items` of `caller`, or other work that counts as that many, until the
    /// permit is dropped.
    ///
    /// # Errors
    /// [`EngineError::ShuttingDown`], [`EngineError::TooLarge`], [`EngineError::Overloaded`].
    pub fn admit(self: &Arc<Self>, caller: &Arc<str>, items: usize) -> Result<Permit, EngineError> {
        if !self.is_open() {
            return Err(EngineError::ShuttingDown);
        }
        let most = self.items.largest();
        if items > most {
            return Err(EngineError::TooLarge { items, most });
        }
        let total = self
            .items
            .reserve(caller, items)
            .map_err(|shortage| overloaded(ITEMS, shortage))?;
        metrics::in_flight(total);
        Ok(Permit {
            admission: Arc::clone(self),
            caller: Arc::clone(caller),
            items,
        })
    }

    /// Returns a permit for memory of a request of `caller`, in bytes: its body and the parsed form
    /// of it, or its reply. It grows as the body arrives.
    #[must_use]
    pub fn memory(self: &Arc<Self>, caller: &Arc<str>) -> MemoryPermit {
        MemoryPermit {
            admission: Arc::clone(self),
            caller: Arc::clone(caller),
            bytes: 0,
        }
    }

    /// Most bytes that a single request may use.
    #[must_use]
    pub fn max_request_bytes(&self) -> usize {
        self.bytes.largest()
    }

    /// Rejects further batches and waits until all admitted ones are done.
    pub(crate) async fn drain(&self) {
        self.closed.store(true, Ordering::Release);
        loop {
            let idle = self.idle.notified();
            if self.items_in_flight() == 0 {
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
        self.items.total()
    }

    /// What each caller uses, those with the most items first.
    #[must_use]
    pub fn usage(&self) -> Vec<CallerUse> {
        let of_items = self.items.by_caller().into_iter();
        let mut usage: Vec<CallerUse> = of_items
            .map(|(caller, items)| CallerUse {
                caller,
                items,
                bytes: 0,
            })
            .collect();
        for (caller, bytes) in self.bytes.by_caller() {
            match usage.iter_mut().find(|used| used.caller == caller) {
                Some(used) => used.bytes = bytes,
                None => usage.push(CallerUse {
                    caller,
                    items: 0,
                    bytes,
                }),
            }
        }
        usage
    }
}

/// The error for a request that exceeds the share of its caller, or finds the node in use.
fn overloaded(setting: &'static str, shortage: Shortage) -> EngineError {
    metrics::refused(setting, shortage.own);
    let Shortage { own, retry_after } = shortage;
    EngineError::Overloaded {
        setting,
        own,
        retry_after,
    }
}

/// Capacity reserved for a batch or other work; released when it is dropped.
pub struct Permit {
    admission: Arc<Admission>,
    caller: Arc<str>,
    items: usize,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let total = self.admission.items.release(&self.caller, self.items);
        metrics::in_flight(total);
        if total == 0 {
            self.admission.idle.notify_waiters();
        }
    }
}

/// Memory reserved for a request, in bytes; released when it is dropped.
pub struct MemoryPermit {
    admission: Arc<Admission>,
    caller: Arc<str>,
    bytes: usize,
}

impl std::fmt::Debug for MemoryPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryPermit")
            .field("caller", &self.caller)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl MemoryPermit {
    /// The number of bytes reserved.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Reserves `more` bytes.
    ///
    /// # Errors
    /// [`EngineError::Overloaded`] if the caller would exceed its share.
    pub fn grow(&mut self, more: usize) -> Result<(), EngineError> {
        self.admission
            .bytes
            .reserve(&self.caller, more)
            .map_err(|shortage| overloaded(BYTES, shortage))?;
        self.bytes += more;
        Ok(())
    }

    /// Counts `more` bytes that exist already, beyond the share if necessary.
    pub fn count(&mut self, more: usize) {
        self.admission.bytes.force(&self.caller, more);
        self.bytes += more;
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        self.admission.bytes.release(&self.caller, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use assay_core::SystemClock;

    use super::*;

    fn admission(items: usize, bytes: usize) -> Arc<Admission> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        Admission::new(items, bytes, &clock)
    }

    fn caller(name: &str) -> Arc<str> {
        name.into()
    }

    #[test]
    fn admits_a_batch_whole_or_not_at_all() {
        let (admission, alice) = (admission(20, 0), caller("alice"));
        let first = admission.admit(&alice, 7).unwrap();
        assert!(matches!(
            admission.admit(&alice, 4),
            Err(EngineError::Overloaded { own: true, .. })
        ));
        assert_eq!(admission.items_in_flight(), 7);
        drop(first);
        assert!(admission.admit(&alice, 10).is_ok());
    }

    #[test]
    fn rejects_a_batch_larger_than_the_largest_share() {
        assert!(matches!(
            admission(20, 0).admit(&caller("alice"), 11),
            Err(EngineError::TooLarge {
                items: 11,
                most: 10
            })
        ));
    }

    #[test]
    fn a_caller_cannot_use_up_what_others_need() {
        let admission = admission(20, 100);
        let (alice, bob) = (caller("alice"), caller("bob"));
        let _items = admission.admit(&alice, 10).unwrap();
        let mut body = admission.memory(&alice);
        body.grow(50).unwrap();
        assert!(matches!(
            body.grow(1),
            Err(EngineError::Overloaded { own: true, .. })
        ));
        let _others = admission.admit(&bob, 5).unwrap();
        let mut others = admission.memory(&bob);
        others.grow(25).unwrap();
        let used = |name, items, bytes| CallerUse {
            caller: caller(name),
            items,
            bytes,
        };
        assert_eq!(
            admission.usage(),
            [used("alice", 10, 50), used("bob", 5, 25)]
        );
        drop(body);
        others.grow(25).unwrap();
    }

    #[test]
    fn memory_that_exists_counts_beyond_the_share() {
        let (admission, alice) = (admission(2, 100), caller("alice"));
        let mut reply = admission.memory(&alice);
        reply.count(90);
        assert!(admission.memory(&alice).grow(1).is_err());
        assert!(admission.memory(&caller("bob")).grow(5).is_ok());
        drop(reply);
        assert!(admission.memory(&alice).grow(50).is_ok());
    }

    #[tokio::test]
    async fn draining_waits_for_admitted_batches() {
        let (admission, alice) = (admission(20, 0), caller("alice"));
        let permit = admission.admit(&alice, 1).unwrap();
        let draining = tokio::spawn({
            let admission = Arc::clone(&admission);
            async move { admission.drain().await }
        });
        while admission.is_open() {
            tokio::task::yield_now().await;
        }
        assert!(matches!(
            admission.admit(&alice, 1),
            Err(EngineError::ShuttingDown)
        ));
        drop(permit);
        draining.await.unwrap();
    }
}
