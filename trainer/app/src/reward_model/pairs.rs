//! Preference pairs as a reward model reads them, split into pairs for training and for
//! evaluation.

use assay_base::Random;
use assay_core::reward_model::{ModelInput, Truncate};
use assay_core::{Completion, Hash};
use assay_reward_model::{Model, RewardModel};
use assay_wire::pairs::PairBody;
use serde_json::Value;

/// Random stream that selects held-out prompts: "pairs" in ASCII.
const PAIRS: u64 = 0x70_6169_7273;

/// A prompt with a right and a wrong completion.
#[derive(Debug, Clone, PartialEq)]
pub struct PreferencePair {
    /// The prompt of both.
    pub prompt: Completion,
    /// The right completion.
    pub accepted: Completion,
    /// The wrong completion.
    pub rejected: Completion,
    /// The gold answer, for models that compare with one.
    pub reference: Option<String>,
    /// Probabilities that the accepted completion is right and that the rejected one is wrong.
    pub certainties: [f32; 2],
}

impl From<PairBody> for PreferencePair {
    fn from(pair: PairBody) -> Self {
        // A pair that a client collected is taken to be certain.
        let certainty = |side: &str| {
            let source = pair.source.as_ref().and_then(|source| source.get(side));
            // Losses are computed in f32.
            source.and_then(Value::as_f64).map_or(1.0, |certainty| {
                if certainty.is_finite() {
                    certainty.clamp(0.5, 1.0) as f32
                } else {
                    1.0
                }
            })
        };
        let certainties = ["accepted_certainty", "rejected_certainty"].map(certainty);
        Self {
            prompt: pair.prompt,
            accepted: pair.accepted,
            rejected: pair.rejected,
            reference: pair.reference,
            certainties,
        }
    }
}

impl PreferencePair {
    /// Whether the pairs of the prompt are held out: all of them or none, because a model that was
    /// fitted to other completions of a prompt is not new to it.
    #[must_use]
    pub fn is_held_out(&self, share: f64) -> bool {
        let hash = Hash::of(&self.prompt.to_body());
        let mut seed = [0; 8];
        seed.copy_from_slice(&hash.as_bytes()[..8]);
        Random::stream(&[PAIRS, u64::from_le_bytes(seed)]).bernoulli(share)
    }
}

/// A pair as token ids.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenPair {
    /// The right completion with its prompt.
    pub accepted: Vec<u32>,
    /// The wrong completion with its prompt.
    pub rejected: Vec<u32>,
    /// As in [`PreferencePair`].
    pub certainties: [f32; 2],
}

/// Pairs for training and for evaluation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairSets {
    /// Pairs to train on.
    pub training: Vec<TokenPair>,
    /// Pairs of other prompts, to evaluate on.
    pub held_out: Vec<TokenPair>,
    /// Number of pairs that the model cannot read, for example because they are too long.
    pub unreadable: usize,
}

impl PairSets {
    /// Tokenises pairs as a reward model does, and holds out the pairs of a share of the prompts.
    #[must_use]
    pub fn new<'a>(
        reader: &RewardModel,
        pairs: impl IntoIterator<Item = &'a PreferencePair>,
        held_out: f64,
    ) -> Self {
        let mut sets = Self::default();
        for pair in pairs {
            let [accepted, rejected] =
                [&pair.accepted, &pair.rejected].map(|completion| tokens(reader, pair, completion));
            let (Some(accepted), Some(rejected)) = (accepted, rejected) else {
                sets.unreadable += 1;
                continue;
            };
            let set = if pair.is_held_out(held_out) {
                &mut sets.held_out
            } else {
                &mut sets.training
            };
            set.push(TokenPair {
                accepted,
                rejected,
                certainties: pair.certainties,
            });
        }
        sets
    }
}

/// The tokens of a completion with its prompt; `None` if the model cannot read it.
fn tokens(
    reader: &RewardModel,
    pair: &PreferencePair,
    completion: &Completion,
) -> Option<Vec<u32>> {
    let input = ModelInput::Rollout {
        prompt: Some(pair.prompt.clone()),
        completion: completion.clone(),
        reference: pair.reference.as_deref().map(Into::into),
    };
    match reader.read(&input, Truncate::PromptLeft) {
        Ok(reading) => Some(reading.main.ids),
        Err(refusal) => {
            tracing::debug!("cannot read a pair: {refusal}");
            None
        }
    }
}
