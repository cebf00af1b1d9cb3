//! Requests of operators: draw a grade to adjudicate, assign it, adjudicate a grade, and store
//! error rates that were measured on labelled data.

use std::sync::Arc;

use assay_core::GradeId;
use assay_record::event::{Adjudication, Assignment, Draw};
use assay_record::{Event, GradeFilter, Record, StoredGrade};
use assay_rewards::channel::Ledger;
use assay_rewards::channel::counts::Calibration;

use crate::{Review, ReviewError};

/// Number of the newest grades of a channel from which one is drawn, so that estimates follow the
/// current state of the channel.
const DRAWN_FROM: u32 = 1_000;

/// Which grades to draw from. `None` does not restrict them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DrawFilter {
    /// Name of the channel.
    pub channel: Option<String>,
    /// Whether to draw a pass or a fail; chosen at random if `None`.
    pub passes: Option<bool>,
    /// Whether to draw only grades that a judge has checked. Adjudications of these measure the
    /// error rates of the judge.
    pub judged: bool,
}

impl Review {
    /// Returns the current counts and error rates of all channels, read from the record.
    ///
    /// # Errors
    /// [`ReviewError::NoRecord`], [`ReviewError::Store`].
    pub async fn channels(&self) -> Result<Arc<Ledger>, ReviewError> {
        Ok(self.engine.channels(self.record()?).await?)
    }

    /// Draws a grade for an operator, at random among the newest thousand that match and were not
    /// drawn before, records the draw with its probability, and assigns the grade to the operator.
    /// `None` if no grade matches.
    ///
    /// # Errors
    /// [`ReviewError::NoRecord`], [`ReviewError::Store`].
    pub async fn draw(
        &self,
        draws: &DrawFilter,
        operator: &str,
    ) -> Result<Option<(StoredGrade, Draw)>, ReviewError> {
        let record = self.record()?;
        let _lock = self.locks.operators.lock().await;
        let exclusion = record.exclude_operators().await?;
        let drawn = self.draw_alone(record, draws, operator).await?;
        record.release(exclusion).await?;
        Ok(drawn)
    }

    /// As [`draw`](Self::draw), while nobody else draws.
    async fn draw_alone(
        &self,
        record: &Record,
        draws: &DrawFilter,
        operator: &str,
    ) -> Result<Option<(StoredGrade, Draw)>, ReviewError> {
        let filter = GradeFilter {
            channel: draws.channel.clone(),
            outcomes: vec!["graded".to_owned()],
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
        let probability = 1.0 / candidates as f64;
        let time_us = self.engine.clock().unix_us();
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
        let assignment = Assignment {
            grade: draw.grade,
            caller: operator.to_owned(),
            time_us,
        };
        let events = vec![Event::Drawn(draw.clone()), Event::Assigned(assignment)];
        self.record_events(events, operator).await?;
        Ok(Some((stored, draw)))
    }

    /// Assigns a drawn grade to an operator, instead of to the one who has it; an empty name lets
    /// any operator take it. Ends with its adjudication.
    ///
    /// # Errors
    /// [`ReviewError::NotDrawn`]; [`ReviewError`].
    pub async fn assign(
        &self,
        id: GradeId,
        operator: &str,
        caller: &str,
    ) -> Result<(), ReviewError> {
        let record = self.record()?;
        record.grade(id).await?.ok_or(ReviewError::NotFound(id))?;
        if record.draws(&[id]).await?.is_empty() {
            return Err(ReviewError::NotDrawn(id));
        }
        let assignment = Assignment {
            grade: id,
            caller: operator.to_owned(),
            time_us: self.engine.clock().unix_us(),
        };
        self.record_event(Event::Assigned(assignment), caller).await
    }

    /// Records an operator's adjudication of a grade. It counts for the channel only if the grade
    /// was drawn at random, and replaces earlier adjudications of the grade.
    ///
    /// # Errors
    /// [`ReviewError`].
    pub async fn adjudicate(
        &self,
        id: GradeId,
        pass: bool,
        note: Option<String>,
        caller: &str,
    ) -> Result<Adjudication, ReviewError> {
        let record = self.record()?;
        let _lock = self.locks.operators.lock().await;
        let exclusion = record.exclude_operators().await?;
        let adjudication = self
            .adjudicate_alone(record, id, pass, note, caller)
            .await?;
        record.release(exclusion).await?;
        Ok(adjudication)
    }

    /// As [`adjudicate`](Self::adjudicate), while nobody else does.
    async fn adjudicate_alone(
        &self,
        record: &Record,
        id: GradeId,
        pass: bool,
        note: Option<String>,
        caller: &str,
    ) -> Result<Adjudication, ReviewError> {
        let stored = record.grade(id).await?.ok_or(ReviewError::NotFound(id))?;
        let grade = stored.grade;
        let graded_pass = grade.pass.ok_or(ReviewError::NoVerdict(id))?;
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
        let adjudication = Adjudication {
            id: u128::from(self.engine.new_id()),
            grade: id,
            channel: grade.channel.to_string(),
            version: grade.grader.version,
            graded_pass,
            pass,
            weight: draw.map(|draw| draw.weight),
            corrects,
            judged: appeal.and_then(|appeal| Some((appeal.judge.clone(), appeal.pass?))),
            caller: caller.to_owned(),
            note: note.map(|note| self.engine.redactor().text(&note).unwrap_or(note)),
            time_us: self.engine.clock().unix_us(),
        };
        self.record_event(Event::Adjudicated(adjudication.clone()), caller)
            .await?;
        Ok(adjudication)
    }

    /// Records error rates that were measured on labelled data. They replace earlier ones of the
    /// same channel and version.
    ///
    /// # Errors
    /// [`ReviewError::NoRecord`], [`ReviewError::Store`].
    pub async fn calibrate(
        &self,
        mut calibration: Calibration,
        caller: &str,
    ) -> Result<Calibration, ReviewError> {
        calibration.time_us = self.engine.clock().unix_us();
        self.record_event(Event::Calibrated(calibration.clone()), caller)
            .await?;
        Ok(calibration)
    }
}
