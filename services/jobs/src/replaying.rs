//! Replays the grades of a shard and compares them. Nothing is recorded, so a shard that was
//! interrupted is graded once more.

use std::fmt::Display;
use std::sync::Arc;

use assay_base::truncate::with_ellipsis;
use assay_core::{ErrorCode, Fault, GradeId, background};
use assay_mapping::render;
use assay_record::job::{ClaimedShard, OpenJob, ShardOutcome};
use assay_review::Review;
use assay_review::replay::{Replay, ReplayError, ReplayOptions};
use assay_wire::replays::{MissingReplay, ReplayBody, ReplaySummary};
use serde::Serialize;
use serde_json::Value;

use crate::parts::JobParts;
use crate::replay_options::ReplayJobOptions;
use crate::shard_error::{STORE_PAUSE, ShardError};

/// Most bytes of the message why a grade was not graded again, which may quote the options.
const MAX_MESSAGE: usize = 300;

/// Replays a shard of a job. Failures that may succeed later are kept only if `keeps_failures`.
pub(crate) async fn replay(
    parts: &JobParts,
    job: &OpenJob,
    shard: &ClaimedShard,
    keeps_failures: bool,
) -> Result<ShardOutcome, ShardError> {
    let share = background::share_of(&job.share);
    let review = Review::new(parts.engine.clone().with_share(Arc::clone(&share)));
    let allowance = parts.owners.allowance(&job.caller, shard.content.len());
    let allowance = allowance.map_err(ShardError::Refused)?;
    let options = ReplayJobOptions::read(job.options.as_deref()).map_err(unreadable)?;
    let options = ReplayOptions {
        fields: options.fields,
        call_judges: false,
    };
    let ids = ids(&shard.content)?;
    let replays = review.replay_all(&ids, &options, allowance).await;
    let replays = replays.map_err(|error| rejected(&error))?;
    if let Some(reason) = replays.iter().flatten().find_map(unfinished)
        && !keeps_failures
    {
        return Err(ShardError::Failed(reason));
    }
    outcome(&ids, &replays)
}

/// The ids in the lines of a shard.
fn ids(content: &[u8]) -> Result<Vec<GradeId>, ShardError> {
    let text = std::str::from_utf8(content).map_err(unreadable)?;
    let ids = text.lines().map(str::parse);
    ids.collect::<Result<_, _>>().map_err(unreadable)
}

fn unreadable(error: impl Display) -> ShardError {
    ShardError::Refused(format!("cannot read the shard: {error}"))
}

/// Why a replay has no result although the stored grade has one; `None` if it has, or if it would
/// fail again.
pub(crate) fn unfinished(replay: &Replay) -> Option<String> {
    let fault = replay.failure()?;
    fault.retryable.then(|| fault.to_string())
}

fn rejected(error: &ReplayError) -> ShardError {
    match error {
        ReplayError::Engine(error) => ShardError::from(error),
        ReplayError::Store(_) | ReplayError::NoRecord => ShardError::Later(STORE_PAUSE),
        _ => ShardError::Failed(error.to_string()),
    }
}

fn outcome(
    ids: &[GradeId],
    replays: &[Result<Replay, ReplayError>],
) -> Result<ShardOutcome, ShardError> {
    let (mut outcome, mut summary) = (ShardOutcome::default(), ReplaySummary::default());
    let mut lines = Vec::new();
    for (id, replay) in ids.iter().zip(replays) {
        match replay {
            Ok(replay) => {
                let body = ReplayBody {
                    // It quotes the completion, which may be deleted before the job.
                    evidence: Value::Null,
                    ..render::replay_body(replay)
                };
                summary.add(&body);
                push(&mut lines, &body)?;
                match &*replay.replayed.outcome {
                    "graded" => outcome.graded += 1,
                    "ungradable" => outcome.ungradable += 1,
                    _ => outcome.failed += 1,
                }
                outcome.passed += u64::from(replay.replayed.pass == Some(true));
            }
            Err(error) => {
                let error = missing(error);
                summary.add_missing(&error.message, 1);
                outcome.invalid += 1;
                push_missing(&mut lines, *id, error)?;
            }
        }
    }
    // Texts and numbers can always be serialised.
    outcome.summary = Some(serde_json::to_string(&summary).unwrap_or_default());
    outcome.results = Some(lines);
    Ok(outcome)
}

/// Why an item was not graded again, in words that do not name it.
pub(crate) fn missing(error: &ReplayError) -> Fault {
    let message = match error {
        ReplayError::NotFound(_) => "the grade was deleted from the record".to_owned(),
        ReplayError::CallsJudge => "a judge made this grade, and jobs call no judges".to_owned(),
        _ => with_ellipsis(error.to_string(), MAX_MESSAGE),
    };
    Fault::permanent(error.code(), message)
}

/// Adds the line of an item that was not graded again.
fn push_missing(lines: &mut Vec<u8>, id: GradeId, error: Fault) -> Result<(), ShardError> {
    let grade = id.to_string();
    push(lines, &MissingReplay { grade, error })
}

/// The lines of a shard that is set aside.
pub(crate) fn set_aside(content: &[u8], reason: &str) -> Result<Vec<u8>, ShardError> {
    let mut lines = Vec::new();
    for id in ids(content)? {
        let message = format!("not graded, because its shard is set aside: {reason}");
        let error = Fault::transient(ErrorCode::Internal, message);
        push_missing(&mut lines, id, error)?;
    }
    Ok(lines)
}

fn push(lines: &mut Vec<u8>, line: &impl Serialize) -> Result<(), ShardError> {
    serde_json::to_writer(&mut *lines, line)
        .map_err(|error| ShardError::Failed(error.to_string()))?;
    lines.push(b'\n');
    Ok(())
}
