//! What a batch became, before it is JSON.

use std::sync::Arc;

use assay_core::{BatchId, Component, GradeId, Outcome, Reward, Score, Spec};
use serde_json::{Map, Value};

use crate::plan::Plan;
use crate::{Batch, BatchItem};

/// What became of one item.
#[derive(Debug, Clone)]
pub struct ItemResult {
    /// Position in the batch.
    pub position: usize,
    /// Id of the grade.
    pub grade: GradeId,
    /// Grader and task family.
    pub channel: String,
    /// The grader.
    pub spec: &'static Spec,
    /// Graded, or why not.
    pub outcome: Outcome,
    /// Checks beside the task, in the order of the request.
    pub check_components: Vec<Component>,
    /// Whether the verdict is a pass.
    pub pass: Option<bool>,
    /// Score after a second verifier looked.
    pub score_after_appeal: Option<Score>,
    /// Backward-corrected score: finite.
    pub backward: Option<Reward>,
    /// Forward coefficient: finite.
    pub forward: Option<Reward>,
    /// The reward.
    pub reward: Option<Reward>,
    /// Number to use as the advantage.
    pub coefficient: Option<f64>,
    /// How it was made.
    pub coefficient_rule: Option<&'static str>,
    /// Whether the outcome came from the result cache.
    pub cached: bool,
    /// Microseconds from admission until a worker took the item.
    pub queue_us: u64,
    /// Microseconds the grading itself took, checks included.
    pub grade_us: u64,
    /// When it was graded, in microseconds since the Unix epoch.
    pub time_us: i64,
    /// Whether it is in the durable record.
    pub recorded: bool,
}

impl ItemResult {
    /// Nested tasks of the grader, then checks beside the task.
    pub fn components(&self) -> impl Iterator<Item = &Component> {
        let nested = self.outcome.grade().map_or(&[][..], |grade| &grade.components);
        nested.iter().chain(&self.check_components)
    }
}

/// One group of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupResult {
    /// Its name; `None` for the group of one that an item without a group is.
    pub group: Option<String>,
    /// Members.
    pub n: usize,
    /// Of those, graded.
    pub graded: usize,
    /// Mean reward of the graded.
    pub mean: Option<f64>,
    /// The statistics the request named.
    pub statistics: Map<String, Value>,
}

/// What is known of a channel's noise.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelRates {
    /// Grader and task family.
    pub channel: String,
    /// False-positive rate.
    pub rho0: Option<f64>,
    /// False-negative rate.
    pub rho1: Option<f64>,
    /// 1 - rho0 - rho1.
    pub j: Option<f64>,
}

/// Items that became visible together.
pub type Wave = Arc<Vec<ItemResult>>;

/// What a batch became.
#[derive(Clone)]
pub struct Reply {
    pub(crate) plan: Arc<Plan>,
    waves: Vec<Wave>,
}

impl Reply {
    pub(crate) fn new(plan: &Arc<Plan>) -> Self {
        Self { plan: Arc::clone(plan), waves: Vec::new() }
    }

    pub(crate) fn push(&mut self, wave: Wave) {
        self.waves.push(wave);
    }

    pub(crate) fn pop(&mut self) -> Option<Wave> {
        self.waves.pop()
    }

    pub(crate) fn last_wave(&self) -> Option<&Wave> {
        self.waves.last()
    }

    /// Id of the batch.
    #[must_use]
    pub fn id(&self) -> BatchId {
        self.plan.id
    }

    /// The batch as it came.
    #[must_use]
    pub fn batch(&self) -> &Batch {
        &self.plan.batch
    }

    /// The item a result belongs to.
    #[must_use]
    pub fn item(&self, result: &ItemResult) -> &BatchItem {
        &self.plan.batch.items[result.position]
    }

    /// Results in the order they became visible: the order of the batch when it was delivered whole.
    pub fn results(&self) -> impl Iterator<Item = &ItemResult> {
        self.waves.iter().flat_map(|wave| wave.iter())
    }

    /// Results in the order of the batch.
    pub(crate) fn in_order(&self) -> Vec<&ItemResult> {
        let mut results: Vec<&ItemResult> = self.results().collect();
        results.sort_by_key(|result| result.position);
        results
    }
}
