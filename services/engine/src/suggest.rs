//! Which prompts of a run to sample next, from what their visits showed.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::{Hash, Visit};
use assay_correction::prompts::{BadSetting, Candidate, Suggest, suggest};

use crate::Engine;
use crate::channels::ChannelError;

/// What a trainer asks of the prompts of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wish {
    /// Name of the run.
    pub run: String,
    /// Prompts to choose from, visited or not; all that were visited when empty.
    pub keys: Vec<String>,
    /// Category of a prompt, by key.
    pub categories: BTreeMap<String, String>,
    /// Channel whose measured rates the verdicts came through, with the version of its grader.
    pub channel: Option<(String, u32)>,
    /// Makes the same wish over the same visits give the same answer; by lot when `None`.
    pub seed: Option<u64>,
    /// How to choose.
    pub settings: Suggest,
}

/// A prompt to sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggested {
    /// Its key.
    pub prompt_key: String,
    /// How many rollouts.
    pub rollouts: u32,
    /// What the strategy found it worth; comparable within one answer.
    pub value: f64,
    /// How often it was visited.
    pub visits: usize,
}

/// Why nothing is suggested.
#[derive(Debug, thiserror::Error)]
pub enum SuggestError {
    /// A setting is outside its limits.
    #[error(transparent)]
    Setting(#[from] BadSetting),
    /// The record cannot be read.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The node is shutting down.
    #[error("the node is shutting down; ask another or retry")]
    Stopped,
}

impl Engine {
    /// Chooses prompts.
    ///
    /// # Errors
    /// [`SuggestError`].
    pub async fn suggest(&self, mut wish: Wish) -> Result<Vec<Suggested>, SuggestError> {
        wish.settings.check()?;
        let store = self.store().ok_or(ChannelError::NoRecord)?;
        let keys = (!wish.keys.is_empty()).then_some(wish.keys.as_slice());
        let visits = store
            .visits(&wish.run, keys)
            .await
            .map_err(ChannelError::Store)?;
        if let (None, Some((channel, version))) = (wish.settings.rates, &wish.channel) {
            wish.settings.rates = self.channels().await?.of(channel, *version, None).usable();
        }
        let seed = wish.seed.unwrap_or_else(|| self.two_lots().0);
        // A hundred thousand prompts take a while: the runtime's threads are for others meanwhile.
        let chosen = tokio::task::spawn_blocking(move || choose(&wish, &visits, seed));
        Ok(chosen.await.map_err(|_| SuggestError::Stopped)??)
    }
}

fn choose(
    wish: &Wish,
    visits: &BTreeMap<String, Vec<Visit>>,
    seed: u64,
) -> Result<Vec<Suggested>, BadSetting> {
    let keys: BTreeSet<&str> = visits
        .keys()
        .chain(&wish.keys)
        .map(String::as_str)
        .collect();
    let candidates: Vec<Candidate<'_>> = keys
        .into_iter()
        .map(|key| Candidate {
            key,
            visits: visits.get(key).map_or(&[][..], Vec::as_slice),
            category: wish.categories.get(key).map(String::as_str),
        })
        .collect();
    let chosen = suggest(&candidates, &wish.settings, uniform(&wish.run, seed))?;
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

/// Numbers uniform in \[0, 1) that follow from a run and a seed: SplitMix64 (Steele, Lea and Flood
/// 2014, doi 10.1145/2660193.2660195) from a hash of both.
fn uniform(run: &str, seed: u64) -> impl FnMut() -> f64 {
    let hash = Hash::of_parts(&[run.as_bytes(), &seed.to_le_bytes()]);
    let [a, b, c, d, e, f, g, h, ..] = *hash.as_bytes();
    let mut state = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let number = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_uniform_and_follow_from_the_seed() {
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
