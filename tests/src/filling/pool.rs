//! The pool: items of every available grader, graded once. Rows and bodies
//! are those that the service records.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::Context;
use assay_core::{Completion, Hash, Item, Meta, Task};
use assay_engine::{Batch, BatchItem, Mode};
use assay_node::{Config, Node};
use assay_record::{Body, GradeFilter, StoredGrade};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::rollouts;

/// Number of generated problems of mathematics, with eight completions each.
const PROBLEMS: usize = 300;

/// Graders whose golden cases are in the pool.
const CASES: &[&str] = &["math", "code", "sql", "tools", "structured"];

/// One task with its completions.
#[derive(Debug, Default)]
pub(super) struct Problem {
    /// Rows that passed.
    pub(super) passed: Vec<StoredGrade>,
    /// Rows that did not pass.
    pub(super) others: Vec<StoredGrade>,
}

/// The pool.
#[derive(Debug)]
pub(super) struct Pool {
    /// Problems by channel.
    pub(super) channels: BTreeMap<String, Vec<Problem>>,
    /// Bodies that the rows refer to.
    pub(super) bodies: HashMap<Hash, Body>,
}

impl Pool {
    /// Grades the items on a separate node with a record in memory.
    pub(super) async fn graded(mut config: Config) -> anyhow::Result<Self> {
        config.store.database = "sqlite::memory:".into();
        let node = Node::start(config).await?;
        let mut items = made_up()?;
        for grader in CASES {
            items.extend(cases(grader)?);
        }
        node.engine()
            .grade(Batch::new("pool", items), Mode::Whole)
            .await?;
        let store = node
            .engine()
            .record()
            .context("the node of the pool has a record")?;
        let mut problems: BTreeMap<(String, Hash), Problem> = BTreeMap::new();
        let mut bodies = HashMap::new();
        let mut before = None;
        loop {
            let page = store.grades(&GradeFilter::default(), before, 1_000).await?;
            for row in page.grades {
                // Items that this machine cannot grade because an image is missing are skipped.
                let Some(pass) = row.grade.pass else { continue };
                for hash in [
                    Some(row.source.task_hash),
                    Some(row.source.completion_hash),
                    row.source.prompt_hash,
                ]
                .into_iter()
                .flatten()
                {
                    if let Some(body) = store.body(hash).await? {
                        bodies.insert(hash, body);
                    }
                }
                let problem = problems
                    .entry((row.grade.channel.to_string(), row.source.task_hash))
                    .or_default();
                if pass {
                    &mut problem.passed
                } else {
                    &mut problem.others
                }
                .push(row);
            }
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        node.stop().await;
        let mut channels: BTreeMap<String, Vec<Problem>> = BTreeMap::new();
        for ((channel, _), problem) in problems {
            channels.entry(channel).or_default().push(problem);
        }
        Ok(Self { channels, bodies })
    }
}

/// Rollouts of mathematics as trainers send them; every tenth problem also has a check.
fn made_up() -> anyhow::Result<Vec<BatchItem>> {
    let of_request = |(number, item): (usize, serde_json::Value)| {
        let text = |name: &str| {
            item[name]
                .as_str()
                .map(|text| Completion::Text(text.into()))
        };
        let meta: Meta = serde_json::from_value(item["meta"].clone())?;
        let completion = text("completion").context("a rollout has a completion")?;
        let task = Task::from_json(&item["task"].to_string())?;
        let mut graded = BatchItem::new(
            Item {
                prompt: text("prompt"),
                completion,
                meta,
            },
            task,
        );
        graded.channel = Some("gsm-like".to_owned());
        if (number / rollouts::GROUP).is_multiple_of(10) {
            let check = Task::from_json(r#"{"type":"structured","format":"json"}"#)?;
            graded.checks.push(("is_json".to_owned(), check));
        }
        Ok(graded)
    };
    rollouts::items(PROBLEMS * rollouts::GROUP)
        .into_iter()
        .enumerate()
        .map(of_request)
        .collect()
}

#[derive(Deserialize)]
struct Case {
    task: Box<RawValue>,
    #[serde(default)]
    prompt: Option<Completion>,
    completion: Completion,
    #[serde(default)]
    meta: Meta,
}

/// The golden cases of a grader.
fn cases(grader: &str) -> anyhow::Result<Vec<BatchItem>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("cases")
        .join(format!("{grader}.jsonl"));
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read `{}`", file.display()))?;
    // Tasks without a gold need a policy.
    let has_gold = |line: &&str| !line.contains("\"consensus\": true");
    text.lines()
        .filter(has_gold)
        .map(|line| {
            let case: Case = serde_json::from_str(line)?;
            let item = Item {
                prompt: case.prompt,
                completion: case.completion,
                meta: case.meta,
            };
            Ok(BatchItem::new(item, Task::from_raw(&case.task)?))
        })
        .collect()
}
