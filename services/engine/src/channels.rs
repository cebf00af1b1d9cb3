//! Requests of operators about channels: read the error rates of all channels, draw a grade to
//! adjudicate, adjudicate a grade, and store rates that were measured on labelled data.

use std::sync::Arc;

use assay_core::{ErrorCode, GradeId, Hash};
use assay_record::event::{Adjudication, Draw};
use assay_record::{Entry, Event, GradeFilter, Record, RecordError, StoredGrade};
use assay_rewards::channel::Ledger;
use assay_rewards::channel::counts::Calibration;

use crate::Engine;

/// Number of the newest grades of a channel from which one is drawn, so that estimates follow the
/// current state of the channel.
const DRAWN_FROM: u32 = 1_000;

/// Why the request of an operator failed.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// There is no grade with this id.
    #[error("no grade has the id `{0}`")]
    NotFound(GradeId),
    /// The grade has no verdict that can be a pass.
    #[error("cannot adjudicate the grade `{0}`: its verdict is neither a pass nor a fail")]
    NoVerdict(GradeId),
    /// The node has no record.
    #[error("the node keeps no record; start it with a database")]
    NoRecord,
    /// The record cannot be read or written.
    #[error(transparent)]
    Store(#[from] RecordError),
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

/// The grades to draw from. `None` does not restrict them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draws {
    /// Exact channel.
    pub channel: Option<String>,
    /// Whether to draw a pass or a fail; chosen at random if `None`.
    pub passes: Option<bool>,
    /// Whether to draw only grades that a judge has checked. Adjudications of these measure the
    /// error rates of the judge.
    pub judged: bool,
}

impl Engine {
    /// Returns the current counts and error rates of all channels, read from the record.
    ///
    /// # Errors
    /// [`ChannelError::NoRecord`], [`ChannelError::Store`].
    pub async fn channels(&self) -> Result<Arc<Ledger>, ChannelError> {
        let state = self.state();
        Ok(state
            .channel_cache
            .read(self.require_record()?.channels())
            .await?)
    }

    /// Draws a grade for an operator, at random among the newest thousand that match and were not
    /// drawn before, and records the draw with its probability. `None` if no grade matches.
    ///
    /// # Errors
    /// [`ChannelError::NoRecord`], [`ChannelError::Store`].
    pub async fn draw(&self, draws: &Draws) -> Result<Option<(StoredGrade, Draw)>, ChannelError> {
        let record = self.require_record()?;
        let _lock = self.state().operators.lock().await;
        let filter = GradeFilter {
            channel: draws.channel.clone(),
            outcome: Some("graded".to_owned()),
            ..GradeFilter::default()
        };
        let page = record.grades(&filter, None, DRAWN_FROM).await?;
        let ids: Vec<GradeId> = page
            .grades
            .iter()
            .map(|stored| stored.grade.grade)
            .collect();
        let drawn = record.draws(&ids).await?;
        let judged = |stored: &StoredGrade| {
            stored
                .grade
                .appeal
                .as_ref()
                .is_some_and(|appeal| appeal.pass.is_some())
        };
        let undrawn: Vec<StoredGrade> = page
            .grades
            .into_iter()
            .filter(|stored| stored.grade.pass.is_some() && (judged(stored) || !draws.judged))
            .filter(|stored| drawn.iter().all(|draw| draw.grade != stored.grade.grade))
            .collect();
        let (side_random, index_random) = self.random_numbers();
        let any_undrawn = |passes: bool| {
            let mut verdicts = undrawn.iter().map(|stored| stored.grade.pass);
            verdicts.any(|pass| pass == Some(passes))
        };
        let side = draws
            .passes
            .unwrap_or_else(|| any_undrawn(true) && (side_random & 1 == 1 || !any_undrawn(false)));
        let mut side: Vec<StoredGrade> = undrawn
            .into_iter()
            .filter(|stored| stored.grade.pass == Some(side))
            .collect();
        if side.is_empty() {
            return Ok(None);
        }
        let candidates = side.len();
        let stored =
            side.swap_remove(usize::try_from(index_random % (candidates as u64)).unwrap_or(0));
        #[expect(clippy::cast_precision_loss, reason = "at most a thousand")]
        let probability = 1.0 / candidates as f64;
        let time_us = self.state().clock.unix_us();
        let judge_weight = stored
            .grade
            .appeal
            .as_ref()
            .map_or(1.0, |appeal| 1.0 / appeal.probability);
        let weight = if draws.judged { judge_weight } else { 1.0 };
        let draw = Draw {
            grade: stored.grade.grade,
            channel: stored.grade.channel.to_string(),
            probability,
            weight,
            time_us,
        };
        self.record_event(Event::Drawn(draw.clone()), "operator")
            .await?;
        Ok(Some((stored, draw)))
    }

    /// Records an operator's adjudication of a grade. It counts for the channel only if the grade
    /// was drawn at random, and replaces earlier adjudications of the grade.
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
        let record = self.require_record()?;
        let _lock = self.state().operators.lock().await;
        let stored = record.grade(id).await?.ok_or(ChannelError::NotFound(id))?;
        let grade = stored.grade;
        let graded_pass = grade.pass.ok_or(ChannelError::NoVerdict(id))?;
        let counted: Vec<Adjudication> = record
            .adjudications(id)
            .await?
            .into_iter()
            .filter(|earlier| earlier.weight.is_some())
            .collect();
        let corrects = counted
            .last()
            .zip(counted.first())
            .map(|(last, first)| (last.pass, first.time_us));
        let draw = record.draws(&[id]).await?.into_iter().next();
        let appeal = grade.appeal.as_ref();
        let state = self.state();
        let adjudication = Adjudication {
            id: u128::from(state.ids.batch(state.clock.as_ref())),
            grade: id,
            channel: grade.channel.to_string(),
            version: grade.grader.version,
            graded_pass,
            pass,
            weight: draw.map(|draw| draw.weight),
            corrects,
            judged: appeal.and_then(|appeal| Some((appeal.judge.clone(), appeal.pass?))),
            caller: caller.to_owned(),
            note: note.map(|note| state.keeping.redactor.text(&note).unwrap_or(note)),
            time_us: state.clock.unix_us(),
        };
        self.record_event(Event::Adjudicated(adjudication.clone()), caller)
            .await?;
        Ok(adjudication)
    }

    /// Records error rates that were measured on labelled data. They replace earlier ones of the
    /// same channel and version.
    ///
    /// # Errors
    /// [`ChannelError::NoRecord`], [`ChannelError::Store`].
    pub async fn calibrate(
        &self,
        mut calibration: Calibration,
        caller: &str,
    ) -> Result<Calibration, ChannelError> {
        calibration.time_us = self.state().clock.unix_us();
        self.record_event(Event::Calibrated(calibration.clone()), caller)
            .await?;
        Ok(calibration)
    }

    /// The record, or an error if there is none.
    pub(crate) fn require_record(&self) -> Result<&Record, ChannelError> {
        self.record().ok_or(ChannelError::NoRecord)
    }

    async fn record_event(&self, event: Event, caller: &str) -> Result<(), ChannelError> {
        let state = self.state();
        let batch = state.ids.batch(state.clock.as_ref());
        let entry = Entry::of_events(batch, caller.into(), vec![event], state.clock.unix_us());
        Ok(self.require_record()?.append(Arc::new(entry)).await?)
    }

    /// Two random numbers from the hash of a new id, the source of all randomness of a node.
    pub(crate) fn random_numbers(&self) -> (u64, u64) {
        let state = self.state();
        let id = u128::from(state.ids.batch(state.clock.as_ref()));
        let hash = Hash::of(&id.to_le_bytes());
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = *hash.as_bytes();
        (
            u64::from_le_bytes([a, b, c, d, e, f, g, h]),
            u64::from_le_bytes([i, j, k, l, m, n, o, p]),
        )
    }
}
