//! What a page shows of one grade: everything the record has of it, ordered by the question why it
//! got what it got.

mod compare;
mod content;
mod facts;
mod programs;

use assay_core::channel::{Adjudication, Appeal};
use assay_core::record::{Body, BodyKind, GradeRecord};
use assay_core::store::Store;
use assay_core::{GradeId, Hash};
use serde_json::Value;

pub(crate) use compare::Compared;
pub(crate) use content::Part;
pub(crate) use facts::{Fact, Table, Told};
pub(crate) use programs::Tests;

use crate::failure::{Failure, Result};
use crate::query::link;
use crate::row::Badge;
use crate::show::{cell, count, maybe, span, text, time};

/// A fact of the record, perhaps with a link to others that share it.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) address: Option<String>,
}

/// What an operator said.
pub(crate) struct Word {
    pub(crate) pass: bool,
    pub(crate) caller: String,
    pub(crate) time: String,
    pub(crate) note: String,
    /// Whether it counts for the channel.
    pub(crate) counts: bool,
}

impl From<&Adjudication> for Word {
    fn from(said: &Adjudication) -> Self {
        Self {
            pass: said.pass,
            caller: cell(&said.caller),
            time: time(said.time_us),
            note: text(said.note.as_deref().unwrap_or_default()),
            counts: said.weight.is_some(),
        }
    }
}

/// A grade in full.
pub(crate) struct View {
    pub(crate) id: GradeId,
    pub(crate) badge: Badge,
    pub(crate) score: String,
    pub(crate) reward: String,
    pub(crate) known: Vec<Known>,
    /// Why there is no score.
    pub(crate) error: Vec<Fact>,
    pub(crate) compared: Vec<Compared>,
    pub(crate) tests: Option<Tests>,
    pub(crate) evidence: Vec<Fact>,
    pub(crate) appeal: Vec<Fact>,
    pub(crate) reward_breakdown: Vec<Fact>,
    pub(crate) components: Option<Table>,
    pub(crate) steps: Option<Table>,
    pub(crate) measures: Vec<Fact>,
    pub(crate) meta: Vec<Fact>,
    pub(crate) prompt: Vec<Part>,
    pub(crate) completion: Vec<Part>,
    pub(crate) task: Vec<Fact>,
    pub(crate) checks: Vec<Fact>,
    pub(crate) words: Vec<Word>,
    /// Whether there is a verdict that could be wrong.
    pub(crate) can_be_wrong: bool,
}

/// Reads a grade with its bodies.
pub(crate) async fn read(store: &dyn Store, id: GradeId) -> Result<(GradeRecord, View)> {
    let record = store
        .grade(id)
        .await?
        .ok_or_else(|| Failure::not_found(format!("no grade has the id `{id}`")))?;
    let task = match store.body(record.task_hash).await? {
        Some(body) => serde_json::from_slice(&body.content).unwrap_or(Value::Null),
        None => Value::Null,
    };
    let completion = store.body(record.completion_hash).await?;
    let prompt = body(store, record.prompt_hash).await?;
    let words = store.adjudications(id).await?;
    let view = View::new(&record, &task, completion.as_ref(), prompt.as_ref(), &words);
    Ok((record, view))
}

async fn body(store: &dyn Store, hash: Option<Hash>) -> Result<Option<Body>> {
    match hash {
        Some(hash) => Ok(store.body(hash).await?),
        None => Ok(None),
    }
}

impl View {
    fn new(
        record: &GradeRecord,
        task: &Value,
        completion: Option<&Body>,
        prompt: Option<&Body>,
        words: &[Adjudication],
    ) -> Self {
        // What the service wrote is JSON; a damaged text shows as nothing rather than hiding the
        // grade.
        let json = |text: &Option<String>| {
            text.as_deref()
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or(Value::Null)
        };
        let evidence = json(&record.evidence_json);
        let marked = completion
            .filter(|body| body.kind == BodyKind::Text)
            .and_then(|_| marked(&evidence));
        let tests = Tests::of(task, &evidence);
        Self {
            id: record.grade,
            badge: Badge::new(&record.outcome, record.verdict.as_deref(), record.pass),
            score: maybe(record.score),
            reward: maybe(record.reward),
            known: known(record),
            error: facts::facts(&json(&record.error_json)),
            compared: compare::compare(task, &evidence),
            evidence: if tests.is_some() {
                facts::facts_without(&evidence, "results")
            } else {
                facts::facts(&evidence)
            },
            tests,
            appeal: record.appeal.as_ref().map(of_appeal).unwrap_or_default(),
            reward_breakdown: facts::facts(&json(&record.reward_breakdown_json)),
            components: Table::of(&json(&record.components_json)),
            steps: Table::of(&json(&record.steps_json)),
            measures: facts::facts(&json(&record.measures_json)),
            meta: facts::facts(&json(&record.meta_json)),
            prompt: prompt
                .map(|body| content::parts(body, None))
                .unwrap_or_default(),
            completion: completion
                .map(|body| content::parts(body, marked))
                .unwrap_or_default(),
            task: facts::facts(task),
            checks: facts::facts(&json(&record.checks_json)),
            words: words.iter().map(Word::from).collect(),
            can_be_wrong: record.pass.is_some(),
        }
    }
}

/// The part of the completion that was graded, in bytes.
fn marked(evidence: &Value) -> Option<(usize, usize)> {
    let at = |index: usize| usize::try_from(evidence.get("span")?.get(index)?.as_u64()?).ok();
    Some((at(0)?, at(1)?))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times of one item are far below 2^52 microseconds"
)]
fn known(record: &GradeRecord) -> Vec<Known> {
    let plain = |name, value: String| Known {
        name,
        value,
        address: None,
    };
    let alike = |name, field, value: &str| Known {
        name,
        value: cell(value),
        address: Some(link("/ui/grades", &[(field, Some(value))])),
    };
    let mut known = Vec::new();
    if let Some(run) = record.run.as_deref() {
        known.push(Known {
            name: "run",
            value: cell(run),
            address: Some(link("/ui/run", &[("name", Some(run))])),
        });
        if let Some(step) = record.step {
            let step = step.to_string();
            let address = link("/ui/grades", &[("run", Some(run)), ("step", Some(&step))]);
            known.push(Known {
                name: "step",
                value: step,
                address: Some(address),
            });
        }
    }
    if let Some(item) = &record.item {
        known.push(alike("item", "id", item));
    }
    if let Some(group) = &record.group {
        // A group is one of its batch: other steps may use the name again.
        let batch = record.batch.to_string();
        let address = link(
            "/ui/grades",
            &[("batch", Some(&batch)), ("group", Some(group))],
        );
        known.push(Known {
            name: "group",
            value: cell(group),
            address: Some(address),
        });
    }
    known.push(alike("batch", "batch", &record.batch.to_string()));
    known.push(alike("channel", "channel", &record.channel));
    known.push(plain(
        "grader",
        format!("{}@{}", cell(&record.grader), record.grader_version),
    ));
    known.push(plain("policy", cell(&record.policy)));
    known.push(plain("time", time(record.time_us)));
    known.push(plain("grading", span(record.grade_us as f64)));
    known.push(plain("waiting", span(record.queue_us as f64)));
    known.push(plain("work", count(record.work)));
    if record.cached {
        known.push(plain("cache", "the outcome came from it".to_owned()));
    }
    if !record.deterministic {
        known.push(plain(
            "repeatable",
            "no: grading again may give another verdict".to_owned(),
        ));
    }
    if let Some(advantage) = record.advantage {
        known.push(plain("advantage", maybe(Some(advantage))));
    }
    known.push(plain("sent by", cell(&record.caller)));
    known
}

fn of_appeal(appeal: &Appeal) -> Vec<Fact> {
    let mut facts = vec![
        Fact::one("judge", &appeal.judge),
        Fact::one("became", appeal.word()),
        Fact::one("its verdict", appeal.verdict.as_deref().unwrap_or("–")),
        Fact::one("its score", &maybe(appeal.score)),
        Fact::one("chosen with probability", &maybe(Some(appeal.probability))),
        Fact::one(
            "has the last word",
            if appeal.binding { "yes" } else { "no" },
        ),
    ];
    if let Some(reason) = &appeal.reason {
        facts.push(Fact::one("reason", reason));
    }
    facts
}
