//! The grades of a wave with the bodies that they refer to, which are durable
//! before the wave is sent.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use assay_core::{Completion, Hash, RawJson, Task};
use assay_record::facts::Measured;
use assay_record::{
    Body, BodyKind, Claim, Entry, GradeSource, ItemGrade, NewGrade, RecordError, SealedReply,
};
use serde::{Serialize, Serializer};

use super::literals;
use super::options::PipelineOptions;
use super::plan::Plan;
use crate::keeping::{Keeping, Redactor, texts};
use crate::state::EngineState;
use crate::{EngineError, Reply};

/// Records the latest wave and marks its grades. Returns the sealed reply with the last wave. Fails
/// if the grades are only in the spool, and should be in the database.
pub(super) async fn wave(
    state: &EngineState,
    reply: &mut Reply,
    options: &PipelineOptions<'_>,
    last: bool,
) -> Result<Option<SealedReply>, EngineError> {
    let Some(record) = options.record else {
        return Ok(None);
    };
    // If a request is sent again before its reply is recorded, the batch runs again with the same
    // ids, and a transient failure may then have another outcome. Such failures are therefore
    // recorded with the reply, after which nothing is graded again.
    let is_deferred = |grade: &ItemGrade| {
        options.keyed.is_some() && grade.error.as_ref().is_some_and(|error| error.retryable)
    };
    let is_recorded_now = |grade: &ItemGrade| last || !is_deferred(grade);
    let deferred = (options.keyed.is_some() && last).then(|| reply.earlier());
    let deferred = deferred.into_iter().flatten();
    let new: Vec<&ItemGrade> = deferred
        .filter(|grade| is_deferred(grade))
        .chain(reply.last_wave().filter(|grade| is_recorded_now(grade)))
        .collect();
    if new.is_empty() {
        return Ok(None);
    }
    let length = new.len();
    let mut entry = entry(&state.keeping, &reply.plan, new.into_iter());
    // The marks are removed if recording fails.
    reply.mark(true, is_recorded_now);
    let sealed = options
        .keyed
        .filter(|_| last)
        .map(|keyed| (keyed.render)(reply));
    let claim = options.keyed.map(|keyed| Claim {
        key: keyed.key.clone(),
        request: keyed.request,
        batch: reply.plan.id,
        time_us: state.clock.unix_us(),
        reply: sealed.clone(),
    });
    entry.claim = claim.map(|claim| state.keeping.redactor.claim(claim));
    match record.append(Arc::new(entry)).await {
        Ok(()) => {
            reply.plan.context.names.set_recorded();
            Ok(sealed)
        }
        Err(error @ RecordError::NotCommitted(_)) => {
            reply.plan.context.names.set_recorded();
            Err(EngineError::NotCommitted(format!(
                "{error}; repeat the request with the same `Idempotency-Key`"
            )))
        }
        Err(error) => {
            let batch = reply.plan.id;
            tracing::error!(%batch, %error, "cannot record the grades of a batch");
            state.totals.unrecorded(length);
            reply.mark(false, is_recorded_now);
            Ok(None)
        }
    }
}

/// The entry that records these grades.
fn entry<'a>(keeping: &Keeping, plan: &Plan, grades: impl Iterator<Item = &'a ItemGrade>) -> Entry {
    let mut bodies = Bodies::new(&keeping.redactor);
    let grades = grades
        .map(|grade| new_grade(keeping, plan, grade, &mut bodies))
        .collect();
    Entry {
        batch: plan.id,
        caller: Arc::clone(&plan.batch.caller),
        run: plan.batch.run.clone(),
        step: plan.batch.step,
        items: u32::try_from(plan.batch.items.len()).unwrap_or(u32::MAX),
        received_us: plan.received.unix_us,
        grades,
        bodies: bodies.list,
        events: Vec::new(),
        claim: None,
    }
}

/// The bodies of one entry, without duplicates, as they are stored.
struct Bodies<'r> {
    redactor: &'r Redactor,
    /// The hash under which each body is stored, by the hash of its original content, and whether
    /// it was redacted.
    stored: HashMap<Hash, (Hash, bool)>,
    /// Hashes of the list.
    listed: HashSet<Hash>,
    list: Vec<Body>,
}

impl<'r> Bodies<'r> {
    fn new(redactor: &'r Redactor) -> Self {
        Self {
            redactor,
            stored: HashMap::new(),
            listed: HashSet::new(),
            list: Vec::new(),
        }
    }

    /// The hash under which a body is stored, and whether it was redacted. The body is stored only
    /// if `kept`.
    fn add<'c>(
        &mut self,
        original: Hash,
        kind: BodyKind,
        kept: bool,
        content: impl FnOnce() -> Cow<'c, [u8]>,
    ) -> (Hash, bool) {
        if let Some(stored) = self.stored.get(&original)
            && (!kept || self.listed.contains(&stored.0))
        {
            return *stored;
        }
        if !kept && self.redactor.is_empty() {
            return (original, false);
        }
        let content = content();
        let redacted = self.redactor.body(kind, &content);
        let hash = redacted
            .as_deref()
            .map_or(original, |redacted| kind.hash(redacted));
        let stored = (hash, redacted.is_some());
        self.stored.insert(original, stored);
        // Different contents may become equal.
        if kept && self.listed.insert(hash) {
            self.list.push(Body {
                hash,
                kind,
                content: redacted.unwrap_or_else(|| content.into_owned()),
            });
        }
        stored
    }

    fn completion(&mut self, hash: Hash, completion: &Completion, kept: bool) -> (Hash, bool) {
        let kind = match completion {
            Completion::Text(_) => BodyKind::Text,
            Completion::Messages(_) => BodyKind::Messages,
        };
        self.add(hash, kind, kept, || completion.to_body())
    }
}

fn new_grade(
    keeping: &Keeping,
    plan: &Plan,
    grade: &ItemGrade,
    bodies: &mut Bodies<'_>,
) -> NewGrade {
    let batch = &plan.batch;
    let redactor = &keeping.redactor;
    let item = &batch.items[grade.position as usize];
    let kept = keeping
        .bodies
        .keeps(item.completion_hash(), grade.pass_after_appeal());
    let (task_hash, task_redacted) = bodies.add(item.task.hash(), BodyKind::Task, kept, || {
        item.task.body.get().as_bytes().into()
    });
    let (completion_hash, completion_redacted) =
        bodies.completion(item.completion_hash(), &item.item.completion, kept);
    let prompt = item
        .prompt_hash()
        .zip(item.item.prompt.as_ref())
        .map(|(hash, prompt)| bodies.completion(hash, prompt, kept));
    let policy = batch.policy_of(item);
    let policy_hash = policy.hash().zip(policy.body()).map(|(hash, body)| {
        // Policies are settings and not texts of an item.
        let (hash, _) = bodies.add(hash, BodyKind::Policy, true, || body.as_bytes().into());
        hash
    });
    let (mut meta, mut checks) = (
        json_unless(
            item.item.meta == assay_core::Meta::default(),
            &item.item.meta,
        ),
        // Checks are tasks, and those of sessions contain code that the model wrote.
        json_unless(item.checks.is_empty() || !kept, &StoredChecks(&item.checks)),
    );
    let redacted = [
        task_redacted,
        completion_redacted,
        prompt.is_some_and(|(_, redacted)| redacted),
        redactor.json_field(texts::ALL, &mut meta),
        redactor.json_field(texts::TASK, &mut checks),
    ]
    .contains(&true);
    let raw = |json: Option<String>| json.as_deref().and_then(RawJson::stored);
    let source = GradeSource {
        batch: plan.id,
        caller: Arc::clone(&batch.caller),
        run: batch.run.clone(),
        step: batch.step,
        task_hash,
        completion_hash,
        prompt_hash: prompt.map(|(hash, _)| hash),
        policy: policy.name().into(),
        policy_hash,
        redacted,
        bodies_omitted: !kept,
        meta: raw(meta),
        checks: raw(checks),
    };
    let is_judged = policy
        .rules()
        .appeals
        .iter()
        .any(|rule| rule.covers(&grade.channel));
    let measured = Measured {
        cpu_us: grade.charged_us,
        has_literals: literals::contains_inputs(grade, &item.task),
    };
    NewGrade::new(source, grade, |json| redactor.json(texts::REPLY, json))
        .with_unjudged(!is_judged)
        .with_measured(measured)
}

/// Serialises `value` unless it is absent. The types contain only finite numbers and string keys,
/// so serialising cannot fail.
fn json_unless(absent: bool, value: &impl Serialize) -> Option<String> {
    if absent {
        None
    } else {
        serde_json::to_string(value).ok()
    }
}

/// The checks as a JSON object of tasks. Their texts are copied, so that numbers keep their digits.
struct StoredChecks<'a>(&'a [(String, Task)]);

impl Serialize for StoredChecks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, task)| (name, &task.body)))
    }
}
