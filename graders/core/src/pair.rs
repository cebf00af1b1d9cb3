//! Pairs that a reward model learns from while a policy trains: to one prompt, a completion that a
//! rule accepted, and one that is wrong. They are collected under the name of a model, each once,
//! in the order they came.

use serde::{Deserialize, Serialize};

use crate::record::{Body, BodyKind};
use crate::{Completion, Hash};

/// A completion and a worse one to the same prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// What both answer.
    pub prompt: Completion,
    /// The better one: a rule accepted it.
    pub accepted: Completion,
    /// The worse one, as an accepted one that was corrupted.
    pub rejected: Completion,
    /// The gold answer, for models that compare with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl Pair {
    /// How it is stored. The name is of all four parts, so a pair that is sent again is the same
    /// pair.
    #[must_use]
    pub fn to_body(&self) -> Body {
        // Texts and messages came from JSON, so they go back into it.
        let content = serde_json::to_vec(self).unwrap_or_default();
        Body {
            hash: Hash::of_parts(&[b"pair", &content]),
            kind: BodyKind::Pair,
            content,
        }
    }
}

/// That a pair was collected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectedPair {
    /// The model it is for.
    pub model: String,
    /// The pair's body.
    pub pair: Hash,
    /// Where it comes from, as an object: run, step and whatever else was sent.
    pub source_json: Option<String>,
    /// Who sent it.
    pub caller: String,
    /// When, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// A collected pair, read back.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPair {
    /// Its place in the order of arrival, over all models; later ones have larger numbers.
    pub number: u64,
    /// That it was collected.
    pub collected: CollectedPair,
    /// The pair.
    pub pair: Pair,
}

/// Pairs in the order of arrival.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairPage {
    /// The pairs.
    pub pairs: Vec<StoredPair>,
    /// Whether others follow now.
    pub more: bool,
}

/// What is there of some pairs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownPairs {
    /// Those that were collected before.
    pub known: Vec<Hash>,
    /// Pairs of the model in all.
    pub total: u64,
}
