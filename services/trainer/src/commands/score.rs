//! `assay-trainer score`: log-probabilities of completions.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context;
use assay_policy::{Batch, PolicyModel, PolicyModelOptions, Text};
use candle_core::DType;
use serde::Deserialize;
use serde_json::json;

use super::{Ended, device};
use crate::arguments::Score;

/// Texts scored at a time.
const AT_ONCE: usize = 64;

/// A prompt and a completion as ids of tokens.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ids {
    pub(crate) prompt: Vec<u32>,
    pub(crate) completion: Vec<u32>,
}

impl Ids {
    pub(crate) fn text(&self) -> Text<'_> {
        Text {
            prompt: &self.prompt,
            completion: &self.completion,
        }
    }
}

/// Reads a text a line.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Ids>> {
    let mut all = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut all)?;
    } else {
        all = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
    }
    let lines = all
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            serde_json::from_str(line)
                .with_context(|| format!("`{}` line {}", path.display(), at + 1))
        })
        .collect()
}

pub(crate) fn run(score: &Score) -> anyhow::Result<Ended> {
    anyhow::ensure!(
        score.temperature.is_finite() && score.temperature > 0.0,
        "`--temperature` is above 0"
    );
    let texts = read(&score.input)?;
    let policy = PolicyModel::open(
        &score.model,
        &device(),
        DType::F32,
        &PolicyModelOptions::default(),
    )?;
    let mut out = std::io::stdout().lock();
    let longest = texts
        .iter()
        .map(|text| text.prompt.len() + text.completion.len())
        .max()
        .unwrap_or_default();
    let most = policy.max_positions();
    anyhow::ensure!(
        longest <= most,
        "a text has {longest} tokens, and the policy is made for {most}"
    );
    for texts in texts.chunks(AT_ONCE) {
        let batch: Vec<Text<'_>> = texts.iter().map(Ids::text).collect();
        let batch = Batch::new(&batch, policy.vocabulary(), policy.device())?;
        let scored = policy.score_only(&batch, score.temperature)?;
        let (mut log_probs, mut entropies) = (
            scored.log_probs.to_vec1::<f32>()?,
            scored.entropies.to_vec1::<f32>()?,
        );
        for length in batch.lengths() {
            let row = |numbers: &mut Vec<f32>| numbers.drain(..*length).collect::<Vec<f32>>();
            let line =
                json!({ "log_probs": row(&mut log_probs), "entropies": row(&mut entropies) });
            writeln!(out, "{line}")?;
        }
    }
    Ok(Ended::Done)
}
