//! Grades a shard as one batch, under an idempotency key and with a batch id of its own, so that a
//! shard that was graded before a crash is not graded or recorded again.

use std::sync::Arc;

use assay_core::{BatchId, ErrorCode, Hash, background};
use assay_engine::{
    Answer, Batch, BatchItem, EngineError, IdempotentRequest, MemoryPermit, Mode, Render, Repeated,
    Reply,
};
use assay_mapping::batch::{self, Inline};
use assay_mapping::{TemplateTasks, invalid_line};
use assay_record::job::{ClaimedShard, OpenJob, ShardOutcome};
use assay_record::{Record, RequestKey, SealedReply};
use assay_wire::Problem;
use assay_wire::request::decode_item;
use serde::{Deserialize, Serialize};

use crate::invalid_item::{self, InvalidItem};
use crate::parts::JobParts;
use crate::promoted_fields::PromotedFields;
use crate::shard_error::{STORE_PAUSE, ShardError};

/// Memory of the items of a shard, as a factor of its bytes.
const PARSED_FACTOR: usize = 4;

/// What became of the items of a shard, as it is recorded with its grades.
#[derive(Serialize, Deserialize)]
struct SealedOutcome {
    graded: u64,
    passed: u64,
    ungradable: u64,
    failed: u64,
    invalid: Vec<InvalidItem>,
}

/// A line of a shard that is an item, with its number and its place among the lines that are not
/// blank.
#[derive(Clone)]
struct ShardItem {
    at: usize,
    line: u64,
    item: BatchItem,
}

/// Grades a shard of a job. On success, its grades are in the database. Failures that may succeed
/// later are recorded only if `keeps_failures`.
pub(crate) async fn grade(
    (parts, promoted): (&JobParts, &PromotedFields),
    record: &Record,
    job: &OpenJob,
    shard: ClaimedShard,
    keeps_failures: bool,
) -> Result<ShardOutcome, ShardError> {
    let share = background::share_of(&job.share);
    let engine = parts.engine.clone().with_share(Arc::clone(&share));
    let bytes = shard.content.len();
    let owner = parts.owners.allowance(&job.caller, bytes);
    let allowance = owner.map_err(ShardError::Refused)?;
    let policy = job
        .policy
        .as_deref()
        .map(|name| engine.policies().named(name));
    let policy = policy.transpose().map_err(|error| {
        ShardError::Refused(format!("the policy of the job cannot be used: {error}"))
    })?;
    let request = Hash::of(&shard.content);
    let mut held = Some(reserve(parts, &share, bytes)?);
    let tasks = TemplateTasks::new(
        Arc::clone(&parts.templates),
        engine.clone(),
        parts.made_bytes,
    );
    let (first_line, content, checking) = (shard.first_line, shard.content, engine.clone());
    let read = move || read_items(&checking, &content, first_line, tasks);
    let (mut items, mut invalid) = engine.on_worker(read).await.map_err(stopping)?;
    let run = job.run.as_deref();
    promoted.set_in(&engine, run, items.iter_mut().map(|line| &mut line.item));
    let key = RequestKey {
        caller: job.caller.as_str().into(),
        // Keys of requests contain no space.
        key: format!("job {} {}", job.id, shard.no),
    };
    let reply = loop {
        if items.is_empty() {
            return Ok(outcome(&SealedOutcome::new(None, invalid)));
        }
        // The engine may reject the batch because of one item, such as one with another policy than
        // its group.
        let again = items.clone();
        let batch = Batch {
            run: job.run.as_deref().map(Into::into),
            step: job.step,
            policy: policy.clone().unwrap_or_default(),
            share: Arc::clone(&share),
            held: held.take(),
            allowance: allowance.clone(),
            ..Batch::new(
                &job.caller,
                items.into_iter().map(|item| item.item).collect(),
            )
        };
        let keyed = IdempotentRequest {
            key: key.clone(),
            request,
            render: sealing(invalid.clone()),
            repeated: Some(Repeated {
                batch: shard.batch,
                keeps_failures,
            }),
        };
        match engine.grade_once(keyed, batch, Mode::Whole).await {
            Ok(answer) => break answer,
            Err(error) => {
                items = again;
                let at = culprit(&error, items.len()).ok_or_else(|| ShardError::from(&error))?;
                let ShardItem { at, line, item } = items.remove(at);
                invalid.push(InvalidItem {
                    at,
                    id: item.id,
                    group: item.group,
                    error: invalid_line::fault(line, &within(batch::problem(error))),
                });
                invalid.sort_unstable_by_key(|item| item.at);
            }
        }
    };
    let sealed = match reply {
        Answer::Again(sealed) => serde_json::from_slice(&sealed.body)
            .map_err(|error| ShardError::Failed(format!("cannot read its reply: {error}")))?,
        Answer::Fresh(reply, _) => {
            if !reply.grades().all(|grade| grade.recorded) {
                return Err(ShardError::Later(STORE_PAUSE));
            }
            SealedOutcome::new(Some(&reply), invalid)
        }
    };
    applied(record, &key, shard.batch).await?;
    Ok(outcome(&sealed))
}

/// Counts the memory of the items of a shard.
fn reserve(parts: &JobParts, share: &Arc<str>, bytes: usize) -> Result<MemoryPermit, ShardError> {
    let admission = parts.engine.admission();
    let needed = bytes.saturating_mul(PARSED_FACTOR);
    let mut held = admission.memory(share);
    held.grow(needed.min(admission.max_request_bytes()))
        .map_err(|error| ShardError::from(&error))?;
    Ok(held)
}

/// Waits until the grades of a shard are in the database, so that every node can read them.
async fn applied(record: &Record, key: &RequestKey, batch: BatchId) -> Result<(), ShardError> {
    match record.claim(key).await {
        Ok(Some(claim)) if claim.batch == batch => Ok(()),
        Ok(_) | Err(_) => Err(ShardError::Later(STORE_PAUSE)),
    }
}

/// Reads and checks the lines of a shard.
fn read_items(
    engine: &assay_engine::Engine,
    content: &[u8],
    first_line: u64,
    mut tasks: TemplateTasks,
) -> (Vec<ShardItem>, Vec<InvalidItem>) {
    let (mut items, mut invalid) = (Vec::new(), Vec::new());
    let mut policies = Inline::new(engine);
    let lines = content.split(|byte| *byte == b'\n').zip(first_line..);
    let lines = lines.filter(|(line, _)| !line.iter().all(u8::is_ascii_whitespace));
    for (at, (bytes, line)) in lines.enumerate() {
        match read_item(bytes, &mut tasks) {
            Ok((mut item, policy)) => {
                let policy = policies.policy("/policy", policy.as_ref());
                let checked = engine.check(&item).map_err(batch::problem).and(policy);
                match checked {
                    Ok(policy) => {
                        item.policy = policy;
                        items.push(ShardItem { at, line, item });
                    }
                    Err(problem) => invalid.push(InvalidItem {
                        at,
                        id: item.id,
                        group: item.group,
                        error: invalid_line::fault(line, &problem),
                    }),
                }
            }
            Err(problem) => invalid.push(InvalidItem {
                at,
                id: None,
                group: None,
                error: invalid_line::fault(line, &problem),
            }),
        }
    }
    (items, invalid)
}

/// Reads one line; also returns its own policy.
fn read_item(
    line: &[u8],
    tasks: &mut TemplateTasks,
) -> Result<(BatchItem, Option<serde_json::Value>), Problem> {
    let text = std::str::from_utf8(line)
        .map_err(|error| Problem::new(ErrorCode::MalformedJson, format!("not UTF-8: {error}")))?;
    let (decoded, _) = decode_item(text, "", tasks)?;
    let policy = decoded.request.policy.clone();
    Ok((batch::item(decoded), policy))
}

/// The index of the item because of which the engine rejects a batch of so many items.
fn culprit(error: &EngineError, items: usize) -> Option<usize> {
    let (EngineError::Refused { pointer, .. } | EngineError::Task { pointer, .. }) = error else {
        return None;
    };
    let rest = pointer.strip_prefix("/items/")?;
    let at = rest.split('/').next()?.parse().ok()?;
    (at < items).then_some(at)
}

/// A problem with an item of a batch, with a pointer relative to the item.
fn within(problem: Problem) -> Problem {
    let pointer = problem.pointer.as_deref().unwrap_or_default();
    let within = pointer
        .strip_prefix("/items/")
        .and_then(|rest| rest.find('/').map(|at| rest[at..].to_owned()));
    Problem {
        pointer: within,
        ..problem
    }
}

fn stopping(_: EngineError) -> ShardError {
    ShardError::Stopping
}

impl SealedOutcome {
    fn new(reply: Option<&Reply>, invalid: Vec<InvalidItem>) -> Self {
        let mut counted = Self {
            graded: 0,
            passed: 0,
            ungradable: 0,
            failed: 0,
            invalid,
        };
        for grade in reply.into_iter().flat_map(Reply::grades) {
            match &*grade.outcome {
                "graded" => counted.graded += 1,
                "ungradable" => counted.ungradable += 1,
                _ => counted.failed += 1,
            }
            counted.passed += u64::from(grade.pass == Some(true));
        }
        counted
    }
}

/// Renders what is recorded with the grades of a shard: results are read from the grades.
fn sealing(invalid: Vec<InvalidItem>) -> Render {
    Arc::new(move |reply| {
        let outcome = SealedOutcome::new(Some(reply), invalid.clone());
        SealedReply {
            media: "application/json".to_owned(),
            // Texts and numbers can always be serialised.
            body: serde_json::to_vec(&outcome).unwrap_or_default(),
        }
    })
}

fn outcome(sealed: &SealedOutcome) -> ShardOutcome {
    ShardOutcome {
        graded: sealed.graded,
        passed: sealed.passed,
        ungradable: sealed.ungradable,
        failed: sealed.failed,
        invalid: sealed.invalid.len() as u64,
        problems: invalid_item::stored(&sealed.invalid),
        summary: None,
        results: None,
    }
}
