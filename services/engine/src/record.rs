//! Stage 6, record: converts the results of a wave to rows and bodies, which are durable before the
//! results are sent.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use assay_core::{Completion, Component, Fault, Hash, Score, Task, Verdict};
use assay_record::{Body, BodyKind, Claim, Entry, GradeRecord};
use serde::{Serialize, Serializer};

use crate::batch::prompt_key;
use crate::keeping::{Keeping, Redactor, texts};
use crate::plan::Plan;
use crate::reply::ItemResult;

/// The entry to record for these results, with the idempotency claim that it opens or closes.
pub(crate) fn entry<'a>(
    keeping: &Keeping,
    plan: &Plan,
    results: impl Iterator<Item = &'a ItemResult>,
    claim: Option<Claim>,
) -> Entry {
    let mut bodies = Bodies::new(&keeping.redactor);
    let grades = results
        .map(|result| grade_record(keeping, plan, result, &mut bodies))
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
        claim: claim.map(|claim| keeping.redactor.claim(claim)),
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

fn grade_record(
    keeping: &Keeping,
    plan: &Plan,
    result: &ItemResult,
    bodies: &mut Bodies<'_>,
) -> GradeRecord {
    let batch = &plan.batch;
    let redactor = &keeping.redactor;
    let item = &batch.items[result.position];
    let kept = keeping
        .bodies
        .keeps(item.completion_hash(), result.pass_after_appeal());
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
    let grade = result.outcome.grade();
    let components: Vec<StoredComponent<'_>> = result.components().map(Into::into).collect();
    let steps = grade.map_or(&[][..], |grade| &grade.steps);
    let measures = grade.map(|grade| &grade.measures);
    let mut meta_json = json_unless(
        item.item.meta == assay_core::Meta::default(),
        &item.item.meta,
    );
    let mut checks_json = json_unless(item.checks.is_empty(), &StoredChecks(&item.checks));
    let redacted = [
        task_redacted,
        completion_redacted,
        prompt.is_some_and(|(_, redacted)| redacted),
        redactor.json_field(texts::ALL, &mut meta_json),
        redactor.json_field(texts::TASK, &mut checks_json),
    ]
    .contains(&true);
    let redacted_json = |strings, json: Option<String>| {
        let mut json = json;
        redactor.json_field(strings, &mut json);
        json
    };
    let appeal = result.appeal.clone().map(|mut appeal| {
        if let Some(reason) = appeal
            .reason
            .as_deref()
            .and_then(|text| redactor.text(text))
        {
            appeal.reason = Some(reason);
        }
        appeal
    });
    GradeRecord {
        grade: result.grade,
        batch: plan.id,
        position: u32::try_from(result.position).unwrap_or(u32::MAX),
        caller: Arc::clone(&batch.caller),
        run: batch.run.clone(),
        step: batch.step,
        item: item.id.clone(),
        group: item.group.clone(),
        prompt_key: Some(prompt_key(item)),
        channel: result.channel.to_string(),
        grader: result.spec.name.to_owned(),
        grader_version: result.spec.version,
        image: None,
        task_hash,
        completion_hash,
        prompt_hash: prompt.map(|(hash, _)| hash),
        policy: policy.name().into(),
        policy_hash,
        outcome: result.outcome.as_str().to_owned(),
        verdict: grade.map(|grade| grade.verdict.to_string()),
        pass: result.pass,
        score: grade.map(|grade| grade.score.get()),
        appeal,
        score_after_appeal: result.score_after_appeal.map(assay_core::Score::get),
        reward: result.reward.map(assay_core::Reward::get),
        advantage: result.advantage,
        components_json: redacted_json(
            texts::RESULTS,
            json_unless(components.is_empty(), &components),
        ),
        reward_breakdown_json: result
            .reward_breakdown
            .as_ref()
            .map(|json| json.get().to_owned()),
        steps_json: json_unless(steps.is_empty(), &steps),
        measures_json: measures.and_then(|measures| json_unless(measures.is_empty(), measures)),
        evidence_json: redacted_json(
            texts::ALL,
            grade.and_then(|grade| json_unless(grade.evidence.is_empty(), &grade.evidence)),
        ),
        error_json: redacted_json(
            texts::RESULTS,
            result
                .outcome
                .fault()
                .and_then(|fault| json_unless(false, fault)),
        ),
        meta_json,
        checks_json,
        deterministic: grade.is_none_or(|grade| grade.deterministic),
        cached: result.cached,
        queue_us: result.queue_us,
        grade_us: result.grade_us,
        work: grade.map_or(0, |grade| grade.work),
        time_us: result.time_us,
        redacted,
        bodies_omitted: !kept,
    }
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

/// The result of a check or of a nested task, as the record contains it.
#[derive(Serialize)]
struct StoredComponent<'a> {
    error: Option<&'a Fault>,
    grader: &'a str,
    name: &'a str,
    outcome: &'a str,
    score: Option<Score>,
    verdict: Option<Verdict>,
}

impl<'a> From<&'a Component> for StoredComponent<'a> {
    fn from(component: &'a Component) -> Self {
        let grade = component.outcome.grade();
        Self {
            error: component.outcome.fault(),
            grader: &component.grader,
            name: &component.name,
            outcome: component.outcome.as_str(),
            score: grade.map(|grade| grade.score),
            verdict: grade.map(|grade| grade.verdict),
        }
    }
}

/// The checks as a JSON object of tasks. Their texts are copied, so that numbers keep their digits.
struct StoredChecks<'a>(&'a [(String, Task)]);

impl Serialize for StoredChecks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, task)| (name, &task.body)))
    }
}
