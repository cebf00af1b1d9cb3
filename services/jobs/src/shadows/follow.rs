//! Grades what was recorded of the runs with an open shadow.

use std::collections::HashMap;
use std::time::Duration;

use assay_core::{BatchId, GradeId, Hash, background};
use assay_mapping::render;
use assay_record::shadow::{Shadow, ShadowBatch, ShadowChange, ShadowPosition};
use assay_record::{Record, RecordError};
use assay_review::Review;
use assay_review::replay::{Replay, ReplayError, ReplayOptions};
use assay_wire::shadows::ShadowFindings;
use tokio::time::sleep;

use super::stored::findings;
use crate::Jobs;
use crate::promoted_fields::fields;
use crate::replaying::{missing, unfinished};

/// Time between two looks at a run in which nothing was recorded.
const POLL: Duration = Duration::from_secs(1);

/// Time after a failure.
const PAUSE: Duration = Duration::from_secs(5);

/// Grades of a step. What was found is stored after each.
const GRADES_PER_STEP: usize = 256;

/// Batches that a step looks at.
const BATCHES_PER_STEP: u32 = 64;

/// Tries after which grades that the service fails to grade are left out.
const MAX_TRIES: u32 = 3;

/// Time after which a batch is not waited for that was not recorded whole.
const MAX_WAIT_US: i64 = 3_600_000_000;

/// What became of a step.
enum Step {
    /// Grades were compared, or passed over.
    Advanced,
    /// There is nothing to grade.
    Idle,
    /// It is tried again.
    Failed(String),
}

impl Jobs {
    /// Grades what is recorded of runs with a shadow, until the node stops.
    pub(crate) async fn follow_shadows(&self, record: &Record) {
        let mut tries: HashMap<BatchId, u32> = HashMap::new();
        while !self.is_stopping() {
            let pause = match self.follow_each(record, &mut tries).await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::debug!(%error, "cannot continue the shadows of runs");
                    Some(PAUSE)
                }
            };
            let Some(pause) = pause else { continue };
            tokio::select! {
                () = sleep(pause) => {}
                () = self.shared().stopping.cancelled() => {}
            }
        }
    }

    /// Takes a step of each open shadow. Returns the time to wait, if nothing was left to do.
    async fn follow_each(
        &self,
        record: &Record,
        tries: &mut HashMap<BatchId, u32>,
    ) -> Result<Option<Duration>, RecordError> {
        self.shared().promoted.refresh(record).await?;
        let mut pause = Some(POLL);
        for shadow in record.open_shadows().await? {
            let failed = tries.get(&shadow.id).copied().unwrap_or(0);
            match self.step(record, &shadow, failed + 1 >= MAX_TRIES).await? {
                Step::Idle => {}
                Step::Advanced => {
                    tries.remove(&shadow.id);
                    pause = None;
                }
                Step::Failed(reason) => {
                    tracing::debug!(shadow = %shadow.id, reason, "a step of a shadow failed");
                    tries.insert(shadow.id, failed + 1);
                    pause = pause.map(|_| PAUSE);
                }
            }
        }
        Ok(pause)
    }

    /// Grades the next grades of a run. Failures that may succeed later are kept only if
    /// `keeps_failures`.
    async fn step(
        &self,
        record: &Record,
        shadow: &Shadow,
        keeps_failures: bool,
    ) -> Result<Step, RecordError> {
        let batches = record.shadow_batches(shadow, BATCHES_PER_STEP).await?;
        let now_us = self.engine().clock().unix_us();
        let Some((ids, to)) = next(shadow, &batches, now_us) else {
            return Ok(Step::Idle);
        };
        let mut found = findings(shadow)?;
        if !ids.is_empty() {
            let share = background::share_of(&shadow.caller);
            let review = Review::new(self.engine().clone().with_share(share));
            let owners = &self.shared().parts.owners;
            let Ok(allowance) = owners.allowance(&shadow.caller, 0) else {
                // Its key was revoked.
                record.change_shadow(shadow.id, ShadowChange::End).await?;
                return Ok(Step::Idle);
            };
            let options = ReplayOptions {
                fields: fields(shadow)?,
                call_judges: false,
            };
            let replays = match review.replay_all(&ids, &options, allowance).await {
                Ok(replays) => replays,
                Err(error) => return Ok(Step::Failed(error.to_string())),
            };
            if let Some(reason) = replays.iter().flatten().find_map(unfinished)
                && !keeps_failures
            {
                return Ok(Step::Failed(reason));
            }
            add(&mut found, &replays);
        }
        // Numbers and texts can always be serialised.
        let found = serde_json::to_string(&found).unwrap_or_default();
        record.advance_shadow(shadow, to, Some(&found)).await?;
        Ok(Step::Advanced)
    }
}

fn add(found: &mut ShadowFindings, replays: &[Result<Replay, ReplayError>]) {
    for replay in replays {
        match replay {
            Ok(replay) => {
                let body = render::replay_body(replay);
                found.add(&body, &replay.recorded, &replay.replayed);
            }
            Err(error) => found.replay.add_missing(&missing(error).message, 1),
        }
    }
}

/// The next grades of a shadow, and where it continues after them; `None` if it cannot continue. A
/// batch is waited for until it is recorded whole, because its place would be passed over.
fn next(
    shadow: &Shadow,
    batches: &[ShadowBatch],
    now_us: i64,
) -> Option<(Vec<GradeId>, ShadowPosition)> {
    let (mut ids, mut to) = (Vec::new(), None);
    for batch in batches {
        if !batch.is_complete && now_us.saturating_sub(batch.received_us) < MAX_WAIT_US {
            break;
        }
        for item in batch.from..batch.items {
            if ids.len() == GRADES_PER_STEP {
                return Some((ids, batch.position(item)));
            }
            let id = batch.id.grade(item);
            if is_chosen(id, shadow.part) {
                ids.push(id);
            }
        }
        to = Some(batch.end());
    }
    to.map(|to| (ids, to))
}

/// Whether a grade belongs to a share, by the hash of its id: the choice does not depend on time or
/// on the node, and larger shares contain smaller ones.
fn is_chosen(id: GradeId, part: f64) -> bool {
    let hash = Hash::of(id.to_string().as_bytes());
    let [a, b, c, d, e, f, g, ..] = *hash.as_bytes();
    let bits = u64::from_be_bytes([0, a, b, c, d, e, f, g]) >> 4;
    (bits as f64) < part * (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_uniform_and_contained_in_larger_ones() {
        let ids: Vec<GradeId> = (0..20_000).map(|n| BatchId::from(9).grade(n)).collect();
        let count = |part| ids.iter().filter(|id| is_chosen(**id, part)).count();
        assert!((1_850..2_150).contains(&count(0.1)), "{}", count(0.1));
        assert_eq!(count(1.0), ids.len());
        let larger = ids.iter().filter(|id| is_chosen(**id, 0.1));
        assert!(larger.clone().all(|id| is_chosen(*id, 0.2)));
    }
}
