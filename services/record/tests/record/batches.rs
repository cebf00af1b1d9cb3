//! Batches with tasks, prompts and completions, for tests of retention, backups and verification.

use std::sync::Arc;
use std::time::Duration;

use assay_core::Hash;
use assay_record::storage::{PruneFilter, PruneProgress, PruneState};
use assay_record::{Body, BodyKind, Entry, Record, StoredGrade};

use crate::fixture::{START_US, batch};

/// What a test varies of a batch.
pub(crate) struct BatchSpec<'a> {
    pub(crate) n: u64,
    pub(crate) run: Option<&'a str>,
    pub(crate) caller: &'a str,
    pub(crate) grades: u32,
    /// Name of its tasks and prompts; batches with the same name have the same ones.
    pub(crate) tasks: &'a str,
}

/// The `n`th batch of a run, with tasks of its own.
pub(crate) fn of_run(n: u64, run: &str, grades: u32) -> Entry {
    BatchSpec {
        n,
        run: Some(run),
        caller: "local",
        grades,
        tasks: &format!("batch {n}"),
    }
    .entry()
}

impl BatchSpec<'_> {
    pub(crate) fn entry(&self) -> Entry {
        let id = batch(self.n);
        let mut bodies: Vec<Body> = Vec::new();
        let mut body = |kind: BodyKind, text: String| {
            let content = text.into_bytes();
            let hash = kind.hash(&content);
            if bodies.iter().all(|body| body.hash != hash) {
                bodies.push(Body {
                    hash,
                    kind,
                    content,
                });
            }
            hash
        };
        let policy = body(BodyKind::Policy, r#"{"reward":"score"}"#.to_owned());
        let mut grades = Vec::new();
        for position in 0..self.grades {
            let group = position / 4;
            let task = body(
                BodyKind::Task,
                format!(r#"{{"type":"text","text":"{} {group}"}}"#, self.tasks),
            );
            let prompt = body(
                BodyKind::Messages,
                format!(r#"[{{"role":"user","content":"{} {group}"}}]"#, self.tasks),
            );
            let completion = body(
                BodyKind::Text,
                format!("completion {} of batch {} ", position, self.n).repeat(30),
            );
            let pass = position % 4 != 0;
            let mut stored = StoredGrade::passed(id, position, completion);
            stored.source.caller = self.caller.into();
            stored.source.run = self.run.map(Arc::from);
            stored.source.step = self.run.map(|_| self.n as i64);
            stored.grade.id = Some(format!("{}-{position}", self.n));
            stored.grade.group = Some(format!("{} {group}", self.tasks));
            stored.grade.prompt_key = Some(format!("{} {group}", self.tasks));
            stored.source.task_hash = task;
            stored.source.prompt_hash = Some(prompt);
            stored.source.policy = "named".into();
            stored.source.policy_hash = Some(policy);
            stored.grade.verdict = Some(if pass { "correct" } else { "wrong_answer" }.into());
            stored.grade.pass = Some(pass);
            stored.grade.score = Some(if pass {
                1.0
            } else {
                0.1 * f64::from(position % 7)
            });
            stored.grade.evidence = serde_json::from_str(r#"{"extracted":"½"}"#).unwrap();
            stored.grade.time_us = START_US + self.n as i64 * 1_000_000 + i64::from(position);
            grades.push(stored.into());
        }
        Entry {
            batch: id,
            caller: self.caller.into(),
            run: self.run.map(Arc::from),
            step: self.run.map(|_| self.n as i64),
            items: self.grades,
            received_us: START_US + self.n as i64 * 1_000_000,
            grades,
            bodies,
            events: Vec::new(),
            claim: None,
        }
    }
}

/// The bodies of an entry that are deleted with its grades.
pub(crate) fn deletable(entry: &Entry) -> impl Iterator<Item = Hash> {
    entry
        .bodies
        .iter()
        .filter(|body| body.kind != BodyKind::Policy)
        .map(|body| body.hash)
}

/// Starts a prune and waits until it has ended.
pub(crate) async fn prune(store: &Record, filter: PruneFilter) -> PruneProgress {
    let started = store.prune(filter).await.unwrap();
    ended(store, started.number).await
}

/// Waits until the prune with this number has ended.
pub(crate) async fn ended(store: &Record, number: u64) -> PruneProgress {
    loop {
        let prune = store.storage(10).await.unwrap().prune.unwrap();
        if prune.number >= number && prune.state != PruneState::Running {
            return prune;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
