//! What a batch became, before it is JSON.

use std::sync::Arc;

use assay_core::channel::Appeal;
use assay_core::{BatchId, Component, GradeId, Outcome, Reward, Score, Spec};
use assay_correction::channel::Report;
use serde_json::value::RawValue;
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
    pub channel: Arc<str>,
    /// The grader.
    pub spec: &'static Spec,
    /// Graded, or why not.
    pub outcome: Outcome,
    /// Checks beside the task, in the order of the request.
    pub check_components: Vec<Component>,
    /// Whether the grader's verdict is a pass.
    pub pass: Option<bool>,
    /// What a second verifier said, when the item was chosen for one.
    pub appeal: Option<Appeal>,
    /// Score after a second verifier looked.
    pub score_after_appeal: Option<Score>,
    /// Backward-corrected score: finite.
    pub backward: Option<Reward>,
    /// Forward coefficient: finite.
    pub forward: Option<Reward>,
    /// The reward.
    pub reward: Option<Reward>,
    /// How the policy made the reward, as JSON; `None` where it is the outcome as it is.
    pub reward_breakdown: Option<Arc<RawValue>>,
    /// Number to use as the advantage.
    pub advantage: Option<f64>,
    /// How it was made.
    pub advantage_estimator: Option<&'static str>,
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
        let nested = self
            .outcome
            .grade()
            .map_or(&[][..], |grade| &grade.components);
        nested.iter().chain(&self.check_components)
    }

    /// Whether the item passed after all: as its judge says where that has the last word, else as
    /// its grader does.
    #[must_use]
    pub fn final_pass(&self) -> Option<bool> {
        Appeal::settled(self.appeal.as_ref(), self.pass)
    }

    /// Its score after all; `None` for an item without one.
    #[must_use]
    pub fn final_score(&self) -> Option<Score> {
        self.score_after_appeal
            .or(self.outcome.grade().map(|grade| grade.score))
    }

    /// The answer, so that equal texts are equal answers as far as the grader says: all right ones
    /// are the gold, the others have their normal form, or stand as they were extracted.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        let evidence = self.outcome.grade()?.evidence.as_map();
        let text = |name: &str| evidence.get(name)?.as_str().map(str::trim);
        let right = (self.pass == Some(true)).then(|| text("gold")).flatten();
        right
            .or_else(|| text("answer_normal"))
            .or_else(|| text("extracted"))
    }
}

/// One group of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupResult {
    /// Its name; `None` for the group of one that an item without a group is.
    pub group: Option<String>,
    /// Name under which the prompt's history is kept.
    pub prompt_key: Option<String>,
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
    /// What was known when the batch came in, with the verdicts that judges decided in it.
    pub report: Report,
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
        Self {
            plan: Arc::clone(plan),
            waves: Vec::new(),
        }
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

    /// Results in the order they became visible: the order of the batch when it was delivered
    /// whole.
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
