//! What the scores of a judge depend on besides quality: the length of a completion, and the model
//! that wrote it.

use std::io::BufRead as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use assay_mapping::TemplateTasks;
use assay_node::Node;
use assay_record::ItemGrade;
use assay_rewards::Estimate;
use assay_rewards::bias::{Authored, self_preference, spearman};
use assay_wire::request::{DecodedItem, decode_item};
use serde::{Deserialize, Serialize};

use super::calibrate::{grade, reader};

/// Items graded at once.
const CHUNK: usize = 256;

/// An estimate with its 95 % interval.
#[derive(Serialize)]
pub(super) struct Measured {
    value: f64,
    interval: [f64; 2],
}

impl From<Estimate> for Measured {
    fn from(estimate: Estimate) -> Self {
        Self {
            value: estimate.value,
            interval: [estimate.interval.low, estimate.interval.high],
        }
    }
}

/// What the scores of the items depend on. Null where there are too few items.
#[derive(Serialize)]
pub(super) struct Bias {
    /// Number of items with a score.
    items: usize,
    /// Number of items without one.
    without_score: usize,
    /// Spearman's correlation of the score and the number of characters of the completion.
    length: Option<Measured>,
    /// By how much answers of the judge's own model score higher than others to the same prompt.
    self_preference: Option<Measured>,
    /// Number of prompts with answers of the judge's model and of others.
    prompts: usize,
}

/// What is known about an item before it is graded.
struct Sent {
    length: usize,
    /// The model that wrote the completion.
    model: Option<String>,
}

/// What is known about an item with a score.
struct Scored {
    sent: Sent,
    /// The key of the prompt.
    prompt: String,
    score: f64,
    /// Whether the judge's own model wrote the completion, if its author is known.
    own: Option<bool>,
}

/// Grades the items of a file. `model` is that of the settings of the judge.
pub(super) async fn measure(node: &Node, file: &Path, model: &str) -> anyhow::Result<Bias> {
    let templates = Arc::clone(node.templates());
    let mut tasks = TemplateTasks::new(templates, node.engine().clone(), usize::MAX);
    let mut items = Vec::new();
    for (at, line) in reader(file)?.lines().enumerate() {
        let line = line.with_context(|| format!("cannot read `{}`", file.display()))?;
        if !line.trim().is_empty() {
            let (item, _) = decode_item(&line, "", &mut tasks)
                .with_context(|| format!("line {} of `{}`", at + 1, file.display()))?;
            items.push(item);
        }
    }
    ensure!(!items.is_empty(), "`{}` contains no items", file.display());
    let (mut scored, mut without_score) = (Vec::new(), 0);
    while !items.is_empty() {
        let chunk: Vec<DecodedItem> = items.drain(..CHUNK.min(items.len())).collect();
        let sent: Vec<Sent> = chunk.iter().map(sent_of).collect();
        for (sent, result) in sent.into_iter().zip(grade(node, chunk).await?) {
            match result.score {
                Some(score) => scored.push(Scored {
                    own: sent.model.as_ref().map(|author| {
                        author == model || judging_model(&result).is_some_and(|own| own == *author)
                    }),
                    sent,
                    prompt: result.prompt_key.or(result.group).unwrap_or_default(),
                    score,
                }),
                None => without_score += 1,
            }
        }
    }
    Ok(bias(&scored, without_score))
}

fn sent_of(item: &DecodedItem) -> Sent {
    let request = &item.request;
    Sent {
        length: request.completion.text().chars().count(),
        model: request.meta.text("model"),
    }
}

/// The model that the server of the judge reports.
fn judging_model(grade: &ItemGrade) -> Option<String> {
    #[derive(Deserialize)]
    struct Facts {
        judges: Vec<Ballot>,
    }
    #[derive(Deserialize)]
    struct Ballot {
        model: Option<String>,
    }
    let facts: Facts = grade.evidence.as_ref()?.read()?;
    facts.judges.into_iter().next()?.model
}

fn bias(scored: &[Scored], without_score: usize) -> Bias {
    let lengths: Vec<(f64, f64)> = scored
        .iter()
        .map(|item| (item.sent.length as f64, item.score))
        .collect();
    let authored: Vec<Authored<'_>> = scored
        .iter()
        .filter_map(|item| {
            Some(Authored {
                prompt: &item.prompt,
                own: item.own?,
                score: item.score,
            })
        })
        .collect();
    let preference = self_preference(&authored);
    Bias {
        items: scored.len(),
        without_score,
        length: spearman(&lengths).map(Measured::from),
        prompts: preference.map_or(0, |(_, prompts)| prompts),
        self_preference: preference.map(|(estimate, _)| estimate.into()),
    }
}

impl Bias {
    /// The rows of its table: what was measured, the estimate, and on what.
    pub(super) fn rows(&self) -> [[String; 3]; 2] {
        let shown = |measured: Option<&Measured>| match measured {
            Some(Measured {
                value,
                interval: [low, high],
            }) => format!("{value:+.3} [{low:+.3}, {high:+.3}]"),
            None => "?".to_owned(),
        };
        [
            [
                "length".to_owned(),
                shown(self.length.as_ref()),
                format!("{} items", self.items),
            ],
            [
                "own model".to_owned(),
                shown(self.self_preference.as_ref()),
                format!("{} prompts", self.prompts),
            ],
        ]
    }
}
