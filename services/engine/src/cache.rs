//! What need not be done twice: tasks prepared, and outcomes of deterministic graders, both by content hash.

use std::sync::Arc;

use assay_core::grader::Unprepared;
use assay_core::{Hash, Lane, Outcome, Prepared, Spec, heap};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// A task of one grader, prepared once.
pub(crate) struct PreparedTask {
    pub(crate) spec: &'static Spec,
    pub(crate) ready: Result<Arc<dyn Prepared>, Unprepared>,
}

impl PreparedTask {
    /// Where its work runs.
    pub(crate) fn lane(&self) -> Lane {
        self.ready.as_ref().map_or(self.spec.lane, |ready| ready.lane(self.spec.lane))
    }

    /// Bytes it takes now. Some graders make more of a task when its first completion comes.
    fn bytes(&self) -> u64 {
        let content = match &self.ready {
            Ok(prepared) => heap::allocation(ARC_BYTES + prepared.bytes()),
            Err(Unprepared::Ungradable(fault) | Unprepared::Failed(fault)) => heap::allocation(fault.message.len()),
        };
        (ENTRY_BYTES + heap::allocation(ARC_BYTES + size_of::<Self>()) + content) as u64
    }
}

/// A task as it is cached. The cache relies on an entry's weight not changing, so the weight is noted when the entry is made.
#[derive(Clone)]
struct KeptTask {
    task: Arc<PreparedTask>,
    bytes: u64,
}

impl From<&Arc<PreparedTask>> for KeptTask {
    fn from(task: &Arc<PreparedTask>) -> Self {
        Self { task: Arc::clone(task), bytes: task.bytes() }
    }
}

/// Cost of an entry in addition to the heap of its value: its slot in the table, which doubles when it is full, and in
/// the list of recently evicted keys.
const ENTRY_BYTES: usize = 160;

/// Bytes of the counters of an `Arc`.
const ARC_BYTES: usize = 16;

/// Entries that a cache of one shard is made for: it is split while each part is made for this many. Shards divide the limit, and a
/// task may be as heavy as the whole of it.
const ENTRIES_OF_ONE_SHARD: usize = 32;

#[derive(Clone)]
struct PreparedBytes;

impl Weighter<Hash, KeptTask> for PreparedBytes {
    fn weight(&self, _: &Hash, kept: &KeptTask) -> u64 {
        kept.bytes
    }
}

#[derive(Clone)]
struct OutcomeBytes;

impl Weighter<Hash, Arc<Outcome>> for OutcomeBytes {
    fn weight(&self, _: &Hash, outcome: &Arc<Outcome>) -> u64 {
        (ENTRY_BYTES + heap::allocation(ARC_BYTES + size_of::<Outcome>()) + heap::outcome(outcome)) as u64
    }
}

pub(crate) struct Caches {
    prepared: Cache<Hash, KeptTask, PreparedBytes>,
    outcomes: Cache<Hash, Arc<Outcome>, OutcomeBytes>,
}

impl Caches {
    pub(crate) fn new(prepared_bytes: u64, outcome_bytes: u64) -> Self {
        // The capacity in entries sets the size of the list of evicted keys; the limit is the weight.
        let outcomes = usize::try_from(outcome_bytes / 1_024).unwrap_or(usize::MAX).clamp(32, 16_384);
        Self {
            prepared: Cache::with_weighter(ENTRIES_OF_ONE_SHARD, prepared_bytes, PreparedBytes),
            outcomes: Cache::with_weighter(outcomes, outcome_bytes, OutcomeBytes),
        }
    }

    pub(crate) fn prepared(&self, spec: &Spec, task: Hash) -> Option<Arc<PreparedTask>> {
        self.prepared.get(&prepared_key(spec, task)).map(|kept| kept.task)
    }

    pub(crate) fn keep_prepared(&self, task: Hash, prepared: &Arc<PreparedTask>) {
        // A fault of ours may pass; a fault of the task stays.
        if !matches!(prepared.ready, Err(Unprepared::Failed(_))) {
            self.prepared.insert(prepared_key(prepared.spec, task), prepared.into());
        }
    }

    /// Weighs a cached task anew after it was graded with. One that became heavier than the limit is not kept.
    pub(crate) fn reweigh(&self, task: Hash, prepared: &Arc<PreparedTask>) {
        let key = prepared_key(prepared.spec, task);
        let now = KeptTask::from(prepared);
        // Another one of the same task may have taken its place. Of two weighings at once the larger one counts.
        let is_lighter = |kept: KeptTask| Arc::ptr_eq(&kept.task, prepared) && kept.bytes < now.bytes;
        if self.prepared.peek(&key).is_some_and(is_lighter) {
            self.prepared.insert(key, now);
        }
    }

    pub(crate) fn outcome(&self, key: &Hash) -> Option<Arc<Outcome>> {
        self.outcomes.get(key)
    }

    pub(crate) fn keep_outcome(&self, key: Hash, outcome: &Outcome) {
        if outcome.grade().is_some_and(|grade| grade.deterministic) {
            self.outcomes.insert(key, Arc::new(outcome.clone()));
        }
    }
}

fn prepared_key(spec: &Spec, task: Hash) -> Hash {
    Hash::of_parts(&[spec.name.as_bytes(), &spec.version.to_le_bytes(), task.as_bytes()])
}

/// Everything an outcome of a deterministic grader depends on.
pub(crate) fn outcome_key(spec: &Spec, task: Hash, completion: Hash, think_open: bool, context: Option<Hash>) -> Hash {
    Hash::of_parts(&[
        spec.name.as_bytes(),
        &spec.version.to_le_bytes(),
        task.as_bytes(),
        completion.as_bytes(),
        &[u8::from(think_open)],
        context.as_ref().map_or(&[], |hash| hash.as_bytes().as_slice()),
    ])
}

#[cfg(test)]
mod tests;
