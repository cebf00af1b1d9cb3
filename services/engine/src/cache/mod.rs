//! Caches prepared tasks, and outcomes of deterministic graders, by content hash.

mod checked;

use std::sync::Arc;

use assay_core::grader::{Preparation, PrepareError};
use assay_core::{Hash, Lane, Outcome, Spec, heap};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

pub(crate) use checked::CheckedTasks;

/// A task prepared by its grader, or the fault that prevented it.
pub(crate) struct PreparedTask {
    pub(crate) spec: &'static Spec,
    pub(crate) ready: Preparation,
}

impl PreparedTask {
    /// The lane in which its items are graded.
    pub(crate) fn lane(&self) -> Lane {
        self.ready
            .as_ref()
            .map_or(self.spec.lane, |ready| ready.lane(self.spec.lane))
    }

    /// Bytes it uses now. Some graders prepare more when the first completion of a task arrives.
    fn bytes(&self) -> u64 {
        let content = match &self.ready {
            Ok(prepared) => heap::allocation(ARC_BYTES + prepared.bytes()),
            Err(PrepareError::Ungradable(fault) | PrepareError::Failed(fault)) => {
                heap::allocation(fault.message.len())
            }
        };
        (ENTRY_BYTES + heap::allocation(ARC_BYTES + size_of::<Self>()) + content) as u64
    }
}

/// A cached task. The cache requires the weight of an entry to be constant, so it is stored when
/// the entry is created.
#[derive(Clone)]
struct CachedTask {
    task: Arc<PreparedTask>,
    bytes: u64,
}

impl From<&Arc<PreparedTask>> for CachedTask {
    fn from(task: &Arc<PreparedTask>) -> Self {
        Self {
            task: Arc::clone(task),
            bytes: task.bytes(),
        }
    }
}

/// Cost of an entry in addition to the heap of its value: its slot in the table, which doubles when
/// it is full, and in the list of recently evicted keys.
const ENTRY_BYTES: usize = 160;

/// Bytes of the counters of an `Arc`.
const ARC_BYTES: usize = 16;

/// Estimated capacity for which the cache has one shard. More shards would divide the limit on
/// bytes, and one task may need all of it.
const ENTRIES_OF_ONE_SHARD: usize = 32;

#[derive(Clone)]
struct PreparedBytes;

impl Weighter<Hash, CachedTask> for PreparedBytes {
    fn weight(&self, _: &Hash, cached: &CachedTask) -> u64 {
        cached.bytes
    }
}

#[derive(Clone)]
struct OutcomeBytes;

impl Weighter<Hash, Arc<Outcome>> for OutcomeBytes {
    fn weight(&self, _: &Hash, outcome: &Arc<Outcome>) -> u64 {
        (ENTRY_BYTES + heap::allocation(ARC_BYTES + size_of::<Outcome>()) + heap::outcome(outcome))
            as u64
    }
}

pub(crate) struct Caches {
    prepared: Cache<Hash, CachedTask, PreparedBytes>,
    outcomes: Cache<Hash, Arc<Outcome>, OutcomeBytes>,
}

impl Caches {
    pub(crate) fn new(prepared_bytes: u64, outcome_bytes: u64) -> Self {
        // The capacity in entries determines the size of the list of evicted keys; the weight is
        // the limit.
        let outcomes = usize::try_from(outcome_bytes / 1_024)
            .unwrap_or(usize::MAX)
            .clamp(32, 16_384);
        Self {
            prepared: Cache::with_weighter(ENTRIES_OF_ONE_SHARD, prepared_bytes, PreparedBytes),
            outcomes: Cache::with_weighter(outcomes, outcome_bytes, OutcomeBytes),
        }
    }

    pub(crate) fn prepared(&self, spec: &Spec, task: Hash) -> Option<Arc<PreparedTask>> {
        self.prepared
            .get(&prepared_key(spec, task))
            .map(|cached| cached.task)
    }

    pub(crate) fn insert_prepared(&self, task: Hash, prepared: &Arc<PreparedTask>) {
        // A failure of the service may be transient; a fault of the task is permanent.
        if !matches!(prepared.ready, Err(PrepareError::Failed(_))) {
            self.prepared
                .insert(prepared_key(prepared.spec, task), prepared.into());
        }
    }

    /// Updates the weight of a cached task after a grader used it. A task that now exceeds the
    /// limit is dropped.
    pub(crate) fn reweigh(&self, task: Hash, prepared: &Arc<PreparedTask>) {
        let key = prepared_key(prepared.spec, task);
        let now = CachedTask::from(prepared);
        // The task may have been prepared again meanwhile. Of two concurrent updates the larger
        // weight wins.
        let is_lighter =
            |cached: CachedTask| Arc::ptr_eq(&cached.task, prepared) && cached.bytes < now.bytes;
        if self.prepared.peek(&key).is_some_and(is_lighter) {
            self.prepared.insert(key, now);
        }
    }

    pub(crate) fn outcome(&self, key: &Hash) -> Option<Arc<Outcome>> {
        self.outcomes.get(key)
    }

    pub(crate) fn insert_outcome(&self, key: Hash, outcome: &Outcome) {
        if outcome.grade().is_some_and(|grade| grade.deterministic) {
            self.outcomes.insert(key, Arc::new(outcome.clone()));
        }
    }
}

fn prepared_key(spec: &Spec, task: Hash) -> Hash {
    Hash::of_parts(&[
        spec.name.as_bytes(),
        &spec.version.to_le_bytes(),
        task.as_bytes(),
    ])
}

/// Key of an outcome: everything that the outcome of a deterministic grader depends on, and the
/// caller. A hit is visible in `cached` and in the time of the reply, so callers that shared
/// outcomes could find out which completions others have had graded.
pub(crate) fn outcome_key(
    caller: &str,
    spec: &Spec,
    task: Hash,
    completion: Hash,
    think_open: bool,
    context: Option<Hash>,
) -> Hash {
    Hash::of_parts(&[
        caller.as_bytes(),
        spec.name.as_bytes(),
        &spec.version.to_le_bytes(),
        task.as_bytes(),
        completion.as_bytes(),
        &[u8::from(think_open)],
        context
            .as_ref()
            .map_or(&[], |hash| hash.as_bytes().as_slice()),
    ])
}

#[cfg(test)]
mod tests;
