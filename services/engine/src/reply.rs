//! The results of a batch, before they are rendered as JSON.

use std::sync::Arc;

use assay_core::BatchId;
use assay_record::{GroupResult, ItemGrade};
use assay_rewards::channel::Report;
use tokio::sync::mpsc;

use crate::stages::plan::Plan;
use crate::{Batch, BatchItem};

/// What a reply says about its groups and channels.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    /// The groups, in the order they first appear in the batch.
    pub(crate) groups: Vec<GroupResult>,
    /// The channels, in the order they first appear in the batch, with their error rates when the
    /// batch was received, adjusted for the verdicts of the batch that judges decided.
    pub(crate) channels: Vec<Report>,
}

/// How results are delivered.
pub enum Mode {
    /// Together, in the order of the batch.
    Whole,
    /// As they finish; each message contains the results that became available together.
    Streamed(mpsc::Sender<Reply>),
}

/// Grades that became available together.
pub type Wave = Arc<Vec<ItemGrade>>;

/// The results of a batch.
#[derive(Clone)]
pub struct Reply {
    pub(crate) plan: Arc<Plan>,
    waves: Vec<Wave>,
    summary: Option<Arc<Summary>>,
}

impl Reply {
    pub(crate) fn new(plan: &Arc<Plan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            waves: Vec::new(),
            summary: None,
        }
    }

    pub(crate) fn push(&mut self, wave: Vec<ItemGrade>) {
        self.waves.push(Arc::new(wave));
    }

    /// Sets the summary of the whole batch.
    pub(crate) fn set_summary(&mut self, summary: Summary) {
        self.summary = Some(Arc::new(summary));
    }

    /// The grades of the last wave.
    pub(crate) fn last_wave(&self) -> impl Iterator<Item = &ItemGrade> {
        self.waves.last().into_iter().flat_map(|wave| wave.iter())
    }

    /// The grades of earlier waves.
    pub(crate) fn earlier(&self) -> impl Iterator<Item = &ItemGrade> {
        let earlier = self.waves.len().saturating_sub(1);
        self.waves[..earlier].iter().flat_map(|wave| wave.iter())
    }

    /// The reply with only its last wave.
    pub(crate) fn latest(&self) -> Self {
        Self {
            plan: Arc::clone(&self.plan),
            waves: self.waves.last().cloned().into_iter().collect(),
            summary: None,
        }
    }

    /// Sets `recorded` of the grades of the last wave that `selects` accepts.
    pub(crate) fn mark(&mut self, recorded: bool, selects: impl Fn(&ItemGrade) -> bool) {
        if let Some(wave) = self.waves.last_mut() {
            let grades = Arc::make_mut(wave).iter_mut();
            grades
                .filter(|grade| selects(grade))
                .for_each(|grade| grade.recorded = recorded);
        }
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

    /// The item of a grade.
    #[must_use]
    pub fn item(&self, grade: &ItemGrade) -> &BatchItem {
        &self.plan.batch.items[grade.position as usize]
    }

    /// The grades in the order they became available, which is the order of the batch unless it was
    /// streamed.
    pub fn grades(&self) -> impl Iterator<Item = &ItemGrade> {
        self.waves.iter().flat_map(|wave| wave.iter())
    }

    /// The groups, in the order they first appear in the batch; none until it is finished.
    #[must_use]
    pub fn groups(&self) -> &[GroupResult] {
        self.summary.as_ref().map_or(&[], |summary| &summary.groups)
    }

    /// The channels, in the order they first appear in the batch, with their error rates when the
    /// batch was received, adjusted for the verdicts of the batch that judges decided; none until
    /// it is finished.
    #[must_use]
    pub fn channels(&self) -> &[Report] {
        let summary = self.summary.as_ref();
        summary.map_or(&[], |summary| &summary.channels)
    }
}
