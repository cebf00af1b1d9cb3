//! What need not be done twice: tasks prepared, and outcomes of deterministic graders, both by content hash.

use std::sync::Arc;

use assay_core::{Evidence, Hash, Lane, Outcome, Prepared, Spec, grader::Unprepared};
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
}

/// Cost of an entry beside its content: key, counters, pointers.
const ENTRY_BYTES: u64 = 128;

#[derive(Clone)]
struct PreparedBytes;

impl Weighter<Hash, Arc<PreparedTask>> for PreparedBytes {
    fn weight(&self, _: &Hash, task: &Arc<PreparedTask>) -> u64 {
        ENTRY_BYTES + task.ready.as_ref().map_or(0, |prepared| prepared.bytes() as u64)
    }
}

#[derive(Clone)]
struct OutcomeBytes;

impl Weighter<Hash, Arc<Outcome>> for OutcomeBytes {
    fn weight(&self, _: &Hash, outcome: &Arc<Outcome>) -> u64 {
        let evidence = outcome.grade().map_or(0, |grade| evidence_bytes(&grade.evidence));
        ENTRY_BYTES + 256 + evidence
    }
}

/// Roughly what the evidence holds: texts by length, everything else by a flat cost.
fn evidence_bytes(evidence: &Evidence) -> u64 {
    let value_bytes = |value: &serde_json::Value| value.as_str().map_or(64, |text| 32 + text.len() as u64);
    evidence.as_map().iter().map(|(name, value)| 48 + name.len() as u64 + value_bytes(value)).sum()
}

pub(crate) struct Caches {
    prepared: Cache<Hash, Arc<PreparedTask>, PreparedBytes>,
    outcomes: Cache<Hash, Arc<Outcome>, OutcomeBytes>,
}

impl Caches {
    pub(crate) fn new(prepared_bytes: u64, outcome_bytes: u64) -> Self {
        // Capacities in entries are only a first guess of the tables' sizes; the bound is the weight.
        Self {
            prepared: Cache::with_weighter(1_024, prepared_bytes, PreparedBytes),
            outcomes: Cache::with_weighter(16_384, outcome_bytes, OutcomeBytes),
        }
    }

    pub(crate) fn prepared(&self, spec: &Spec, task: Hash) -> Option<Arc<PreparedTask>> {
        self.prepared.get(&prepared_key(spec, task))
    }

    pub(crate) fn keep_prepared(&self, task: Hash, prepared: &Arc<PreparedTask>) {
        // A fault of ours may pass; a fault of the task stays.
        if !matches!(prepared.ready, Err(Unprepared::Failed(_))) {
            self.prepared.insert(prepared_key(prepared.spec, task), Arc::clone(prepared));
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
