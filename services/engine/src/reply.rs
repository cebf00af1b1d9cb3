//! The results of a batch, before they are rendered as JSON.

use std::sync::Arc;

use assay_core::{BatchId, Component, GradeId, Outcome, Reward, Score, Spec};
use assay_record::Appeal;
use assay_rewards::channel::Report;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::plan::Plan;
use crate::{Batch, BatchItem};

/// The result of one item.
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
    /// The outcome: a grade, or why there is none.
    pub outcome: Outcome,
    /// Results of the checks, in the order of the request.
    pub check_components: Vec<Component>,
    /// Whether the grader's verdict is a pass.
    pub pass: Option<bool>,
    /// The appeal, if the item was chosen for one.
    pub appeal: Option<Appeal>,
    /// Score after the appeal; `None` without one.
    pub score_after_appeal: Option<Score>,
    /// Backward-corrected score; `None` without error rates.
    pub backward: Option<Reward>,
    /// Forward correction: rho1 for a pass, rho1 - 1 otherwise; `None` without error rates.
    pub forward: Option<Reward>,
    /// The reward; `None` for an item without a score.
    pub reward: Option<Reward>,
    /// How the policy made the reward, as JSON; `None` if the reward is the score.
    pub reward_breakdown: Option<Arc<RawValue>>,
    /// The advantage; `None` for an item without a reward, and in streams.
    pub advantage: Option<f64>,
    /// The estimator of the advantage.
    pub advantage_estimator: Option<&'static str>,
    /// Whether the outcome came from the result cache.
    pub cached: bool,
    /// Microseconds from admission until a worker started the item.
    pub queue_us: u64,
    /// Microseconds that grading took, including the checks.
    pub grade_us: u64,
    /// When it was graded, in microseconds since the Unix epoch.
    pub time_us: i64,
}

impl ItemResult {
    /// The nested tasks of the grader, then the checks.
    pub fn components(&self) -> impl Iterator<Item = &Component> {
        let nested = self
            .outcome
            .grade()
            .map_or(&[][..], |grade| &grade.components);
        nested.iter().chain(&self.check_components)
    }

    /// Whether the item passed: according to its judge if the appeal is binding, otherwise
    /// according to its grader.
    #[must_use]
    pub fn pass_after_appeal(&self) -> Option<bool> {
        Appeal::settled(self.appeal.as_ref(), self.pass)
    }

    /// Its score after the appeal, or the grader's score without one; `None` for an item without a
    /// score.
    #[must_use]
    pub fn effective_score(&self) -> Option<Score> {
        self.score_after_appeal
            .or(self.outcome.grade().map(|grade| grade.score))
    }

    /// The answer, such that equal texts are equal answers according to the grader: the gold for
    /// every correct answer, otherwise the normal form, or the extracted text.
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
    /// Its name; `None` for an item without a group.
    pub group: Option<String>,
    /// Key of the prompt's history.
    pub prompt_key: Option<String>,
    /// Number of members.
    pub n: usize,
    /// Number of members that were graded.
    pub graded: usize,
    /// Mean reward of the graded members.
    pub mean: Option<f64>,
    /// The statistics that the request named.
    pub statistics: Map<String, Value>,
}

/// The error rates of a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelRates {
    /// The report when the batch was received, adjusted for the verdicts of the batch that judges
    /// decided.
    pub report: Report,
}

/// Results that became available together.
pub type Wave = Arc<Vec<ItemResult>>;

/// The results of a batch.
#[derive(Clone)]
pub struct Reply {
    pub(crate) plan: Arc<Plan>,
    waves: Vec<Wave>,
    /// Whether each item is in the record, by its position.
    recorded: Vec<bool>,
}

impl Reply {
    pub(crate) fn new(plan: &Arc<Plan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            waves: Vec::new(),
            recorded: vec![false; plan.batch.items.len()],
        }
    }

    pub(crate) fn push(&mut self, wave: Wave) {
        self.waves.push(wave);
    }

    pub(crate) fn last_wave(&self) -> Option<&Wave> {
        self.waves.last()
    }

    /// The reply with only its last wave.
    pub(crate) fn latest(&self) -> Self {
        Self {
            plan: Arc::clone(&self.plan),
            waves: self.waves.last().cloned().into_iter().collect(),
            recorded: self.recorded.clone(),
        }
    }

    /// The reply once the items at these positions are in the record.
    pub(crate) fn with_recorded(&self, positions: impl IntoIterator<Item = usize>) -> Self {
        let mut reply = self.clone();
        for position in positions {
            reply.recorded[position] = true;
        }
        reply
    }

    /// Whether a result is in the record.
    #[must_use]
    pub fn is_recorded(&self, result: &ItemResult) -> bool {
        self.recorded[result.position]
    }

    /// Id of the batch.
    #[must_use]
    pub fn id(&self) -> BatchId {
        self.plan.id
    }

    /// The batch as it was received.
    #[must_use]
    pub fn batch(&self) -> &Batch {
        &self.plan.batch
    }

    /// The item a result belongs to.
    #[must_use]
    pub fn item(&self, result: &ItemResult) -> &BatchItem {
        &self.plan.batch.items[result.position]
    }

    /// Results in the order they became available, which is the order of the batch unless it was
    /// streamed.
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
