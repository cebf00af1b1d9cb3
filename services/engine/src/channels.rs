//! What operators ask and say of channels: the state of all of them, a grade to look at, a word on
//! a grade, rates found on labelled data.

use std::sync::Arc;

use assay_core::channel::{Adjudication, Calibration, Draw, Event};
use assay_core::record::{Entry, GradeRecord};
use assay_core::store::{GradeFilter, Store, StoreError};
use assay_core::{ErrorCode, GradeId, Hash};
use assay_correction::channel::Ledger;

use crate::Engine;

/// Grades among which one is drawn: the newest of the channel, so that the estimate follows what
/// the channel is now.
const DRAWN_FROM: u32 = 1_000;

/// Why the record does not take an operator's word.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// Nothing has this id.
    #[error("no grade has the id `{0}`")]
    NotFound(GradeId),
    /// The grade has no verdict that could be wrong.
    #[error("the grade `{0}` has no verdict with a notion of pass: there is nothing to adjudicate")]
    NoVerdict(GradeId),
    /// The node has no record.
    #[error("the node keeps no record; start it with a database")]
    NoRecord,
    /// The record cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChannelError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_) => ErrorCode::NotFound,
            Self::NoVerdict(_) => ErrorCode::InvalidField,
            Self::NoRecord | Self::Store(_) => ErrorCode::StoreUnavailable,
        }
    }
}

/// Which grades to draw from. `None` does not narrow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draws {
    /// Exact channel.
    pub channel: Option<String>,
    /// Whether to draw a verdict that is a pass; by lot when `None`.
    pub passes: Option<bool>,
    /// Only grades that a judge has looked at: what operators find of them tells how good the judge
    /// is.
    pub judged: bool,
}

impl Engine {
    /// Everything known of channels now, read from the record.
    ///
    /// # Errors
    /// [`ChannelError::NoRecord`], [`ChannelError::Store`].
    pub async fn channels(&self) -> Result<Arc<Ledger>, ChannelError> {
        let shared = self.shared();
        Ok(shared
            .known
            .read(self.kept()?.as_ref(), shared.clock.monotonic())
            .await?)
    }

    /// Draws a grade for an operator, at random among the newest thousand that fit and were not
    /// drawn before, and keeps its probability. `None` when there is none.
    ///
    /// # Errors
    /// [`ChannelError::NoRecord`], [`ChannelError::Store`].
    pub async fn draw(&self, draws: &Draws) -> Result<Option<(GradeRecord, Draw)>, ChannelError> {
        let store = self.kept()?;
        let _alone = self.shared().operators.lock().await;
        let filter = GradeFilter {
            channel: draws.channel.clone(),
            outcome: Some("graded".to_owned()),
            ..GradeFilter::default()
        };
        let page = store.grades(&filter, None, DRAWN_FROM).await?;
        let ids: Vec<GradeId> = page.grades.iter().map(|grade| grade.grade).collect();
        let drawn = store.draws(&ids).await?;
        let judged = |grade: &GradeRecord| {
            grade
                .appeal
                .as_ref()
                .is_some_and(|appeal| appeal.pass.is_some())
        };
        let open: Vec<GradeRecord> = page
            .grades
            .into_iter()
            .filter(|grade| grade.pass.is_some() && (judged(grade) || !draws.judged))
            .filter(|grade| drawn.iter().all(|known| known.grade != grade.grade))
            .collect();
        let (by_side, by_place) = self.two_lots();
        let has = |passes: bool| open.iter().any(|grade| grade.pass == Some(passes));
        let side = draws
            .passes
            .unwrap_or_else(|| has(true) && (by_side & 1 == 1 || !has(false)));
        let mut side: Vec<GradeRecord> = open
            .into_iter()
            .filter(|grade| grade.pass == Some(side))
            .collect();
        if side.is_empty() {
            return Ok(None);
        }
        let of = side.len();
        let grade = side.swap_remove(usize::try_from(by_place % (of as u64)).unwrap_or(0));
        #[expect(clippy::cast_precision_loss, reason = "at most a thousand")]
        let probability = 1.0 / of as f64;
        let time_us = self.shared().clock.unix_us();
        let of_judge = grade
            .appeal
            .as_ref()
            .map_or(1.0, |appeal| 1.0 / appeal.probability);
        let weight = if draws.judged { of_judge } else { 1.0 };
        let draw = Draw {
            grade: grade.grade,
            channel: grade.channel.clone(),
            probability,
            weight,
            time_us,
        };
        self.note(Event::Drawn(draw.clone()), "operator").await?;
        Ok(Some((grade, draw)))
    }

    /// Keeps an operator's word on a grade. It counts for the channel only if the grade was drawn
    /// at random, and instead of an earlier word on it.
    ///
    /// # Errors
    /// [`ChannelError`].
    pub async fn adjudicate(
        &self,
        id: GradeId,
        pass: bool,
        note: Option<String>,
        caller: &str,
    ) -> Result<Adjudication, ChannelError> {
        let store = self.kept()?;
        let _alone = self.shared().operators.lock().await;
        let grade = store.grade(id).await?.ok_or(ChannelError::NotFound(id))?;
        let graded_pass = grade.pass.ok_or(ChannelError::NoVerdict(id))?;
        let counted: Vec<Adjudication> = store
            .adjudications(id)
            .await?
            .into_iter()
            .filter(|known| known.weight.is_some())
            .collect();
        let corrects = counted
            .last()
            .zip(counted.first())
            .map(|(last, first)| (last.pass, first.time_us));
        let draw = store.draws(&[id]).await?.into_iter().next();
        let appeal = grade.appeal.as_ref();
        let shared = self.shared();
        let adjudication = Adjudication {
            id: u128::from(shared.ids.batch(shared.clock.as_ref())),
            grade: id,
            channel: grade.channel.clone(),
            version: grade.grader_version,
            graded_pass,
            pass,
            weight: draw.map(|draw| draw.weight),
            corrects,
            judged: appeal.and_then(|appeal| Some((appeal.judge.clone(), appeal.pass?))),
            caller: caller.to_owned(),
            note,
            time_us: shared.clock.unix_us(),
        };
        self.note(Event::Adjudicated(adjudication.clone()), caller)
            .await?;
        Ok(adjudication)
    }

    /// Keeps rates found on labelled data; the latest of a channel and version stand.
    ///
    /// # Errors
    /// [`ChannelError::NoRecord`], [`ChannelError::Store`].
    pub async fn calibrate(
        &self,
        mut calibration: Calibration,
        caller: &str,
    ) -> Result<Calibration, ChannelError> {
        calibration.time_us = self.shared().clock.unix_us();
        self.note(Event::Calibrated(calibration.clone()), caller)
            .await?;
        Ok(calibration)
    }

    /// The record, which must be there.
    pub(crate) fn kept(&self) -> Result<&Arc<dyn Store>, ChannelError> {
        self.store().ok_or(ChannelError::NoRecord)
    }

    async fn note(&self, event: Event, caller: &str) -> Result<(), ChannelError> {
        let shared = self.shared();
        let batch = shared.ids.batch(shared.clock.as_ref());
        let entry = Entry::of_events(batch, caller.into(), vec![event], shared.clock.unix_us());
        Ok(self.kept()?.record(Arc::new(entry)).await?)
    }

    /// Two random numbers: of a fresh id, as all randomness of a node.
    pub(crate) fn two_lots(&self) -> (u64, u64) {
        let shared = self.shared();
        let id = u128::from(shared.ids.batch(shared.clock.as_ref()));
        let hash = Hash::of(&id.to_le_bytes());
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = *hash.as_bytes();
        (
            u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            u64::from_le_bytes([i, j, k, l, m, n, o, p]),
        )
    }
}
