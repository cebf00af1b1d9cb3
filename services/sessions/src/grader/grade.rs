//! Runs the calls of a log again, and compares what they return.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_core::grader::grade_each;
use assay_core::{
    BoxFuture, ErrorCode, Evidence, Fault, Grade, GradeContext, Item, Measure, Outcome, Prepared,
    Score, Step, worker_use,
};
use assay_wire::sessions::{CallOutcome, DifferingField, SessionLog, SessionReplay};
use tokio::sync::Semaphore;

use super::spec::{DIFFERS, REPLAYED};
use crate::error::SessionError;
use crate::interpreters::Interpreters;
use crate::limits::seconds_of;
use crate::replay::{Replay, Replayed};

/// The outcome that depends on a setting of the node.
const TOO_LARGE: &str = CallOutcome::TooLarge.as_str();

/// What all logs are replayed with.
pub(super) struct Replays {
    pub(super) interpreters: Arc<dyn Interpreters>,
    pub(super) state_bytes: u64,
    /// For replays, each of which has the state between two calls in memory.
    pub(super) permits: Semaphore,
}

/// A log whose calls can run again.
pub(super) struct PreparedLog {
    pub(super) replays: Arc<Replays>,
    pub(super) log: SessionLog,
    /// Bytes of the task.
    pub(super) bytes: usize,
}

impl Prepared for PreparedLog {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        // The completion is not read: the log is what is verified.
        grade_each(items, move |_| async move {
            match self.replay(cx).await {
                Ok(replayed) => self.outcome(&replayed),
                Err(error) => failed(error),
            }
        })
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl PreparedLog {
    async fn replay(&self, cx: &GradeContext) -> Result<Replayed, SessionError> {
        let _permit = worker_use::waiting(self.replays.permits.acquire()).await;
        let replay = Replay {
            interpreters: self.replays.interpreters.as_ref(),
            state_bytes: self.replays.state_bytes,
            cancel: cx.cancel.clone(),
        };
        replay.run(&self.log).await
    }

    fn outcome(&self, replayed: &Replayed) -> Outcome {
        let result = &replayed.result;
        if let Some(message) = self.other_node(result) {
            return Outcome::Ungradable(Fault::permanent(ErrorCode::TaskAtFault, message));
        }
        let (verdict, score) = if result.equal {
            (REPLAYED, Score::ONE)
        } else {
            (DIFFERS, Score::ZERO)
        };
        let mut grade = Grade::new(verdict, score)
            .with_evidence(self.evidence(result))
            .with_work(replayed.work);
        self.measure(&mut grade, replayed);
        Outcome::Graded(grade)
    }

    /// Why nothing follows from a difference: another version of the image may return something
    /// else, and another node may keep larger states. A changed code differs everywhere.
    fn other_node(&self, result: &SessionReplay) -> Option<String> {
        let difference = result.difference.as_ref()?;
        if [&*difference.logged, &*difference.replayed].contains(&TOO_LARGE) {
            return Some(format!(
                "call {} leaves more than `sessions.state_bytes` of one of the nodes; replay the \
                 log on a node with the same setting",
                difference.call
            ));
        }
        let is_of_image = difference.field != DifferingField::CodeHash;
        (is_of_image && !result.same_image).then(|| {
            format!(
                "call {} returns something else in the image `{}` of this node ({}) than in that \
                 of the log ({}); replay it on a node with that image",
                difference.call, self.log.image, result.image_hash, self.log.image_hash
            )
        })
    }

    /// Adds the measures, and the steps of a log whose calls all ran as it says. Of a log that
    /// differs, the calls after the difference did not run.
    fn measure(&self, grade: &mut Grade, replayed: &Replayed) {
        let succeeded = &replayed.succeeded;
        let failed = succeeded.iter().filter(|succeeded| !**succeeded).count();
        let measures = [
            ("calls", self.log.calls.len() as f64),
            ("failed_calls", failed as f64),
            ("seconds", seconds_of(replayed.work)),
        ];
        let measures = measures.into_iter();
        grade.measures = measures
            .filter_map(|(name, value)| Some((name, Measure::new(value).ok()?)))
            .collect();
        if !replayed.result.equal {
            return;
        }
        let step = |succeeded: &bool| Step {
            score: if *succeeded { Score::ONE } else { Score::ZERO },
            masked: false,
        };
        grade.steps = succeeded.iter().map(step).collect();
    }

    fn evidence(&self, result: &SessionReplay) -> Evidence {
        let log = &self.log;
        let mut outcomes: BTreeMap<&str, u32> = BTreeMap::new();
        for call in &log.calls {
            *outcomes.entry(call.outcome.as_str()).or_default() += 1;
        }
        let evidence = Evidence::new()
            .text("session", &log.session)
            .text("language", &log.language)
            .text("image", &log.image)
            .value("same_image", result.same_image)
            .serialized("outcomes", &outcomes);
        match &result.difference {
            Some(difference) => evidence.serialized("difference", difference),
            None => evidence,
        }
    }
}

/// The outcome of a log whose calls could not run.
fn failed(error: SessionError) -> Outcome {
    match error {
        SessionError::Invalid { pointer, message } => {
            let message = format!("`{pointer}`: {message}");
            Outcome::Ungradable(Fault::permanent(ErrorCode::TaskAtFault, message))
        }
        error @ SessionError::Exhausted { .. } => {
            let message = format!("the calls of the log need more than its limits: {error}");
            Outcome::Ungradable(Fault::permanent(ErrorCode::TaskAtFault, message))
        }
        SessionError::Failed(fault) => Outcome::Failed(fault),
        error => Outcome::Failed(Fault::transient(error.code(), error.to_string())),
    }
}
