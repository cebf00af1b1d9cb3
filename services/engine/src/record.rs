//! Stage 6, record: converts the results of a wave to rows and bodies, which are durable before the
//! results are sent.

use std::collections::HashSet;
use std::sync::Arc;

use assay_core::{Completion, Component, Fault, Hash, Score, Task, Verdict};
use assay_record::{Body, BodyKind, Claim, Entry, GradeRecord};
use serde::{Serialize, Serializer};

use crate::context::prompt_key;
use crate::plan::Plan;
use crate::reply::ItemResult;

/// The entry to record for these results, with the idempotency claim that it opens or closes.
pub(crate) fn entry<'a>(
    plan: &Plan,
    results: impl Iterator<Item = &'a ItemResult>,
    claim: Option<Claim>,
) -> Entry {
    let mut bodies = Bodies::default();
    let grades = results
        .map(|result| grade_record(plan, result, &mut bodies))
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
        claim,
    }
}

/// The bodies of one entry, without duplicates.
#[derive(Default)]
struct Bodies {
    seen: HashSet<Hash>,
    list: Vec<Body>,
}

impl Bodies {
    fn add(&mut self, hash: Hash, kind: BodyKind, content: impl FnOnce() -> Vec<u8>) -> Hash {
        if self.seen.insert(hash) {
            self.list.push(Body {
                hash,
                kind,
                content: content(),
            });
        }
        hash
    }

    fn completion(&mut self, hash: Hash, completion: &Completion) -> Hash {
        let kind = match completion {
            Completion::Text(_) => BodyKind::Text,
            Completion::Messages(_) => BodyKind::Messages,
        };
        self.add(hash, kind, || completion.to_body().into_owned())
    }
}

fn grade_record(plan: &Plan, result: &ItemResult, bodies: &mut Bodies) -> GradeRecord {
    let batch = &plan.batch;
    let item = &batch.items[result.position];
    let task_hash = bodies.add(item.task.hash(), BodyKind::Task, || {
        item.task.body.get().into()
    });
    let completion_hash = bodies.completion(item.completion_hash(), &item.item.completion);
    let prompt_hash = item
        .prompt_hash()
        .zip(item.item.prompt.as_ref())
        .map(|(hash, prompt)| bodies.completion(hash, prompt));
    let policy = batch.policy_of(item);
    let policy_hash = policy
        .hash()
        .zip(policy.body())
        .map(|(hash, body)| bodies.add(hash, BodyKind::Policy, || body.as_bytes().to_vec()));
    let grade = result.outcome.grade();
    let components: Vec<StoredComponent<'_>> = result.components().map(Into::into).collect();
    let steps = grade.map_or(&[][..], |grade| &grade.steps);
    let measures = grade.map(|grade| &grade.measures);
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
        prompt_hash,
        policy: policy.name().into(),
        policy_hash,
        outcome: result.outcome.as_str().to_owned(),
        verdict: grade.map(|grade| grade.verdict.to_string()),
        pass: result.pass,
        score: grade.map(|grade| grade.score.get()),
        appeal: result.appeal.clone(),
        score_after_appeal: result.score_after_appeal.map(assay_core::Score::get),
        reward: result.reward.map(assay_core::Reward::get),
        advantage: result.advantage,
        components_json: json_unless(components.is_empty(), &components),
        reward_breakdown_json: result
            .reward_breakdown
            .as_ref()
            .map(|json| json.get().to_owned()),
        steps_json: json_unless(steps.is_empty(), &steps),
        measures_json: measures.and_then(|measures| json_unless(measures.is_empty(), measures)),
        evidence_json: grade
            .and_then(|grade| json_unless(grade.evidence.is_empty(), &grade.evidence)),
        error_json: result
            .outcome
            .fault()
            .and_then(|fault| json_unless(false, fault)),
        meta_json: json_unless(
            item.item.meta == assay_core::Meta::default(),
            &item.item.meta,
        ),
        checks_json: json_unless(item.checks.is_empty(), &StoredChecks(&item.checks)),
        deterministic: grade.is_none_or(|grade| grade.deterministic),
        cached: result.cached,
        queue_us: result.queue_us,
        grade_us: result.grade_us,
        work: grade.map_or(0, |grade| grade.work),
        time_us: result.time_us,
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
