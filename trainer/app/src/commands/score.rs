//! `assay-trainer score`: prints log-probabilities of completions.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context;
use assay_policy_model::{Computation, PolicyModel, Text, TokenBatch};
use candle_core::DType;
use serde::Deserialize;
use serde_json::json;

use super::process::{CommandOutcome, device};
use crate::arguments::Score;

/// Number of texts scored at a time.
const AT_ONCE: usize = 64;

/// A prompt and a completion as token ids.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenIds {
    pub(crate) prompt: Vec<u32>,
    pub(crate) completion: Vec<u32>,
}

impl TokenIds {
    pub(crate) fn text(&self) -> Text<'_> {
        Text {
            prompt: &self.prompt,
            completion: &self.completion,
        }
    }
}

/// Reads one text per line.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<TokenIds>> {
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
        .map(|(index, line)| {
            serde_json::from_str(line)
                .with_context(|| format!("`{}` line {}", path.display(), index + 1))
        })
        .collect()
}

pub(crate) fn run(score: &Score) -> anyhow::Result<CommandOutcome> {
    anyhow::ensure!(
        score.temperature.is_finite() && score.temperature > 0.0,
        "`--temperature` must be above 0"
    );
    let texts = read(&score.input)?;
    let policy =
        PolicyModel::open_frozen(&score.model, &device(), DType::F32, Computation::default())?;
    let mut out = std::io::stdout().lock();
    let longest = texts
        .iter()
        .map(|text| text.prompt.len() + text.completion.len())
        .max()
        .unwrap_or_default();
    let limit = policy.max_positions();
    anyhow::ensure!(
        longest <= limit,
        "a text has {longest} tokens; the context length of the policy model is {limit}"
    );
    for texts in texts.chunks(AT_ONCE) {
        let batch: Vec<Text<'_>> = texts.iter().map(TokenIds::text).collect();
        let batch = TokenBatch::new(&batch, policy.vocabulary(), policy.device())?;
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
    Ok(CommandOutcome::Done)
}
