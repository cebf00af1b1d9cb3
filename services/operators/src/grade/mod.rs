//! The view of one grade: all that the record has of it, in the order that explains the verdict.

mod comments;
mod compare;
mod conversation;
mod facts;
mod formula;
mod group;
mod place;
mod programs;
mod source;

use std::ops::Range;

use assay_core::{GradeId, Hash};
use assay_record::event::Adjudication;
use assay_record::{Appeal, Body, GradeSource, ItemGrade, Record, StoredGrade};
use assay_review::Review;
use assay_review::explanation::sentence;
use serde_json::Value;

pub(crate) use comments::{CommentView, labels};
pub(crate) use compare::MarkedComparison;
pub(crate) use conversation::{Conversation, Part};
pub(crate) use facts::{Fact, FactValue, Table};
pub(crate) use group::Group;
pub(crate) use place::{Place, address};
pub(crate) use programs::{FailedTest, Tests};
pub(crate) use source::Source;

use crate::display::{cell, count, optional_number, span, text, time};
use crate::failure::{Failure, Result};
use crate::query::link;
use crate::record::record_of;
use crate::row::Badge;

/// An attribute of a grade, with an optional link to grades that share it.
pub(crate) struct Attribute {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) address: Option<String>,
}

/// An adjudication of an operator.
pub(crate) struct AdjudicationView {
    pub(crate) pass: bool,
    pub(crate) caller: String,
    pub(crate) time: String,
    pub(crate) note: String,
    /// Whether it counts in the rates of the channel.
    pub(crate) counts: bool,
}

impl From<&Adjudication> for AdjudicationView {
    fn from(adjudication: &Adjudication) -> Self {
        Self {
            pass: adjudication.pass,
            caller: cell(&adjudication.caller),
            time: time(adjudication.time_us),
            note: text(adjudication.note.as_deref().unwrap_or_default()),
            counts: adjudication.weight.is_some(),
        }
    }
}

/// A grade in full.
pub(crate) struct View {
    pub(crate) id: GradeId,
    pub(crate) badge: Badge,
    pub(crate) score: String,
    pub(crate) reward: String,
    /// Why it has its verdict or no score.
    pub(crate) sentence: String,
    pub(crate) attributes: Vec<Attribute>,
    /// Why there is no score.
    pub(crate) error: Vec<Fact>,
    pub(crate) comparisons: Vec<MarkedComparison>,
    /// The first failed test, to which the comparisons belong.
    pub(crate) failed_test: Option<FailedTest>,
    /// The program that was graded.
    pub(crate) source: Option<Source>,
    pub(crate) tests: Option<Tests>,
    pub(crate) evidence: Vec<Fact>,
    pub(crate) appeal: Vec<Fact>,
    pub(crate) reward_breakdown: Vec<Fact>,
    pub(crate) components: Option<Table>,
    pub(crate) steps: Option<Table>,
    pub(crate) measures: Vec<Fact>,
    pub(crate) meta: Vec<Fact>,
    /// Why the texts are missing or not the original ones; empty if they are.
    pub(crate) notes: Vec<&'static str>,
    pub(crate) prompt: Option<Conversation>,
    pub(crate) completion: Option<Conversation>,
    pub(crate) task: Vec<Fact>,
    pub(crate) checks: Vec<Fact>,
    /// Lists of grades that have something in common with it: what, and the address.
    pub(crate) similar: Vec<(&'static str, String)>,
    pub(crate) adjudications: Vec<AdjudicationView>,
    /// Whether the verdict passes or fails, so that it can be adjudicated.
    pub(crate) can_be_adjudicated: bool,
}

/// Reads a grade with its bodies.
pub(crate) async fn read(review: &Review, id: GradeId) -> Result<(StoredGrade, View)> {
    let store = record_of(review)?;
    let stored = store
        .grade(id)
        .await?
        .ok_or_else(|| Failure::not_found(format!("no grade with the id `{id}`")))?;
    let task = match store.body(stored.source.task_hash).await? {
        Some(body) => serde_json::from_slice(&body.content).unwrap_or(Value::Null),
        None => Value::Null,
    };
    let completion = store.body(stored.source.completion_hash).await?;
    let prompt = body(store, stored.source.prompt_hash).await?;
    let adjudications = store.adjudications(id).await?;
    let view = View::new(
        &stored,
        &task,
        completion.as_ref(),
        prompt.as_ref(),
        &adjudications,
        meaning(review, &stored.grade),
    );
    Ok((stored, view))
}

/// What the verdict of a grade means, if a grader of this node has it.
fn meaning(review: &Review, grade: &ItemGrade) -> Option<&'static str> {
    let spec = review
        .engine()
        .graders()
        .by_name(&grade.grader.name)?
        .spec();
    let verdict = grade.verdict.as_deref()?;
    let mut known = spec.verdicts.iter();
    let known = known.find(|known| known.verdict.as_str() == verdict)?;
    Some(known.meaning)
}

async fn body(store: &Record, hash: Option<Hash>) -> Result<Option<Body>> {
    match hash {
        Some(hash) => Ok(store.body(hash).await?),
        None => Ok(None),
    }
}

impl View {
    fn new(
        stored: &StoredGrade,
        task: &Value,
        completion: Option<&Body>,
        prompt: Option<&Body>,
        adjudications: &[Adjudication],
        meaning: Option<&str>,
    ) -> Self {
        let StoredGrade { source, grade } = stored;
        let evidence = json(&grade.evidence);
        // Evidence has positions in the original text.
        let marked = marked(&evidence).filter(|_| !source.redacted);
        let tests = Tests::of(task, &evidence);
        Self {
            id: grade.grade,
            badge: Badge::of(grade),
            score: optional_number(grade.score),
            reward: optional_number(grade.reward),
            sentence: text(&sentence(grade, meaning, &evidence, task)),
            attributes: attributes(stored),
            error: facts::facts(&json(&grade.error)),
            comparisons: compare::compare(task, &evidence, grade),
            failed_test: FailedTest::of(&evidence),
            source: Source::of(&evidence),
            evidence: facts::facts_without(&evidence, shown_elsewhere(tests.is_some())),
            tests,
            appeal: grade.appeal.as_ref().map(appeal_facts).unwrap_or_default(),
            reward_breakdown: facts::facts(&json(&grade.reward_breakdown)),
            components: Table::of(&json(&grade.components)),
            steps: Table::of(&json(&grade.steps)),
            measures: facts::facts(&json(&grade.measures)),
            meta: facts::facts(&json(&source.meta)),
            notes: notes(source, task, completion, prompt),
            prompt: prompt.map(|body| Conversation::of(body, None)),
            completion: completion.map(|body| Conversation::of(body, marked)),
            task: facts::facts(task),
            checks: facts::facts(&json(&source.checks)),
            similar: place::similar(stored),
            adjudications: adjudications.iter().map(AdjudicationView::from).collect(),
            can_be_adjudicated: grade.pass.is_some(),
        }
    }
}

/// A part of a grade as JSON. All parts can be serialised.
fn json(part: impl serde::Serialize) -> Value {
    serde_json::to_value(part).unwrap_or(Value::Null)
}

/// Why the texts are missing or not the original ones.
fn notes(
    source: &GradeSource,
    task: &Value,
    completion: Option<&Body>,
    prompt: Option<&Body>,
) -> Vec<&'static str> {
    let is_missing =
        task.is_null() || completion.is_none() || source.prompt_hash.is_some() && prompt.is_none();
    let missing = match (is_missing, source.bodies_omitted) {
        (false, _) => None,
        (true, true) => Some("not stored, because of the setting `retention.bodies`"),
        (true, false) => Some("deleted from the record"),
    };
    let redacted = source.redacted.then_some(
        "parts of the texts were redacted before they were stored; the grade cannot be replayed",
    );
    missing.into_iter().chain(redacted).collect()
}

/// Fields of the evidence that have sections of their own. Without the tests of the task, their
/// results are not shown elsewhere.
fn shown_elsewhere(has_tests: bool) -> &'static [&'static str] {
    const FIELDS: &[&str] = &["results", "program"];
    if has_tests { FIELDS } else { &FIELDS[1..] }
}

/// The range of the completion that was graded, in bytes.
fn marked(evidence: &Value) -> Option<Range<usize>> {
    let at = |index: usize| usize::try_from(evidence.get("span")?.get(index)?.as_u64()?).ok();
    Some(at(0)?..at(1)?)
}

fn attributes(StoredGrade { source, grade }: &StoredGrade) -> Vec<Attribute> {
    let plain = |name, value: String| Attribute {
        name,
        value,
        address: None,
    };
    let linked = |name, field, value: &str| Attribute {
        name,
        value: cell(value),
        address: Some(link("/ui/grades", &[(field, Some(value))])),
    };
    let mut attributes = Vec::new();
    if let Some(run) = source.run.as_deref() {
        attributes.push(Attribute {
            name: "run",
            value: cell(run),
            address: Some(link("/ui/run", &[("name", Some(run))])),
        });
        if let Some(step) = source.step {
            let step = step.to_string();
            let address = link("/ui/grades", &[("run", Some(run)), ("step", Some(&step))]);
            attributes.push(Attribute {
                name: "step",
                value: step,
                address: Some(address),
            });
        }
    }
    if let Some(item) = &grade.id {
        attributes.push(linked("item", "id", item));
    }
    if let Some(group) = &grade.group {
        // Filtered by the batch too, because other steps may have a group of the same name.
        let batch = source.batch.to_string();
        let address = link(
            "/ui/grades",
            &[("batch", Some(&batch)), ("group", Some(group))],
        );
        attributes.push(Attribute {
            name: "group",
            value: cell(group),
            address: Some(address),
        });
    }
    attributes.push(linked("batch", "batch", &source.batch.to_string()));
    attributes.push(linked("channel", "channel", &grade.channel));
    attributes.push(plain("grader", cell(&grade.grader.to_string())));
    attributes.push(plain("policy", cell(&source.policy)));
    attributes.push(plain("time", time(grade.time_us)));
    attributes.push(plain("grading time", span(grade.grade_us as f64)));
    attributes.push(plain("queue time", span(grade.queue_us as f64)));
    attributes.push(plain("work", count(grade.work)));
    if grade.cached {
        attributes.push(plain("cached", "yes".to_owned()));
    }
    if !grade.deterministic {
        attributes.push(plain(
            "deterministic",
            "no; grading again may change the verdict".to_owned(),
        ));
    }
    if let Some(advantage) = grade.advantage {
        attributes.push(plain("advantage", optional_number(Some(advantage))));
    }
    if let Some(estimator) = &grade.advantage_estimator {
        attributes.push(plain("advantage estimator", cell(estimator)));
    }
    attributes.push(plain("caller", cell(&source.caller)));
    attributes
}

fn appeal_facts(appeal: &Appeal) -> Vec<Fact> {
    let mut facts = vec![
        Fact::one("judge", &appeal.judge),
        Fact::one("result", appeal.as_str()),
        Fact::one(
            "verdict of the judge",
            appeal.verdict.as_deref().unwrap_or("–"),
        ),
        Fact::one("score of the judge", &optional_number(appeal.score)),
        Fact::one(
            "selection probability",
            &optional_number(Some(appeal.probability)),
        ),
        Fact::one("can overturn", if appeal.binding { "yes" } else { "no" }),
    ];
    if let Some(reason) = &appeal.reason {
        facts.push(Fact::one("reason", reason));
    }
    facts
}
