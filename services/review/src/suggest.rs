//! Suggests which prompts of a run to sample next, based on their history.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::Hash;
use assay_rewards::Visit;
use assay_rewards::prompts::{Candidate, InvalidSetting, Suggest, suggest};

use crate::{Review, ReviewError};

/// A request for prompts of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptRequest {
    /// Name of the run.
    pub run: String,
    /// Prompts to choose from, visited or not; if empty, all that were visited.
    pub keys: Vec<String>,
    /// Category of a prompt, by key.
    pub categories: BTreeMap<String, String>,
    /// Channel, and version of its grader, whose measured error rates apply to the verdicts.
    pub channel: Option<(String, u32)>,
    /// Seed of the random choices: the same request with the same history gets the same answer.
    /// Random if `None`.
    pub seed: Option<u64>,
    /// Settings of the choice.
    pub settings: Suggest,
}

/// A suggested prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggested {
    /// Its key.
    pub prompt_key: String,
    /// Number of rollouts.
    pub rollouts: u32,
    /// Its value according to the strategy; comparable within one answer.
    pub value: f64,
    /// Number of earlier visits.
    pub visits: usize,
}

/// Why no prompts are suggested.
#[derive(Debug, thiserror::Error)]
pub enum SuggestError {
    /// A setting is outside its limits.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    /// The record cannot be read.
    #[error(transparent)]
    Review(#[from] ReviewError),
    /// The node is shutting down.
    #[error("the node is shutting down; retry, or use another node")]
    Stopped,
}

impl Review {
    /// Suggests prompts.
    ///
    /// # Errors
    /// [`SuggestError`].
    pub async fn suggest(
        &self,
        mut request: PromptRequest,
    ) -> Result<Vec<Suggested>, SuggestError> {
        request.settings.check()?;
        let record = self.record()?;
        let keys = (!request.keys.is_empty()).then_some(request.keys.as_slice());
        let visits = record
            .visits(&request.run, keys)
            .await
            .map_err(ReviewError::Store)?;
        if let (None, Some((channel, version))) = (request.settings.rates, &request.channel) {
            // Not read again for each request, because trainers send these.
            let ledger = self.engine.recent_channels().await;
            request.settings.rates = ledger.of(channel, *version, None).usable();
        }
        let seed = request.seed.unwrap_or_else(|| self.random_numbers().0);
        // With a hundred thousand prompts this takes long enough to block a thread of the runtime.
        let chosen = tokio::task::spawn_blocking(move || choose(&request, &visits, seed));
        Ok(chosen.await.map_err(|_| SuggestError::Stopped)??)
    }
}

fn choose(
    request: &PromptRequest,
    visits: &BTreeMap<String, Vec<Visit>>,
    seed: u64,
) -> Result<Vec<Suggested>, InvalidSetting> {
    let keys: BTreeSet<&str> = visits
        .keys()
        .chain(&request.keys)
        .map(String::as_str)
        .collect();
    let candidates: Vec<Candidate<'_>> = keys
        .into_iter()
        .map(|key| Candidate {
            key,
            visits: visits.get(key).map_or(&[][..], Vec::as_slice),
            category: request.categories.get(key).map(String::as_str),
        })
        .collect();
    let chosen = suggest(&candidates, &request.settings, uniform(&request.run, seed))?;
    Ok(chosen
        .into_iter()
        .filter_map(|suggestion| {
            let candidate = candidates.get(suggestion.at)?;
            Some(Suggested {
                prompt_key: candidate.key.to_owned(),
                rollouts: suggestion.rollouts,
                value: suggestion.value,
                visits: candidate.visits.len(),
            })
        })
        .collect())
}

/// Random numbers, uniform in \[0, 1), determined by a run and a seed: SplitMix64 (Steele, Lea and
/// Flood 2014, doi 10.1145/2660193.2660195) initialised with a hash of both.
fn uniform(run: &str, seed: u64) -> impl FnMut() -> f64 {
    let hash = Hash::of_parts(&[run.as_bytes(), &seed.to_le_bytes()]);
    let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
    let mut state = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_uniform_and_determined_by_the_seed() {
        let (mut one, mut same, mut other) =
            (uniform("run", 1), uniform("run", 1), uniform("run", 2));
        let numbers: Vec<f64> = (0..10_000).map(|_| one()).collect();
        assert!(
            numbers
                .iter()
                .all(|number| (0.0..1.0).contains(number) && (number - same()).abs() < 1e-15)
        );
        assert!((numbers[0] - other()).abs() > 1e-9);
        // Four standard errors of the mean of 10,000: 4 * 0.2887 / 100.
        let mean = numbers.iter().sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.0116, "{mean}");
    }
}
