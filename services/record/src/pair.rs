//! Pairs of completions for training a reward model while a policy model trains: one that a rule
//! accepted and one that is wrong, for the same prompt. Pairs are collected under the name of a
//! model, each once, in order of arrival.

use assay_core::{Completion, Hash};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Body, BodyKind};

/// A completion and a worse one for the same prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The prompt of both.
    pub prompt: Completion,
    /// The better completion: a rule accepted it.
    pub accepted: Completion,
    /// The worse completion, for example a corrupted copy of an accepted one.
    pub rejected: Completion,
    /// The gold answer, for models that compare with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl Pair {
    /// The stored form. The hash covers all four parts, so a pair that is sent again is recognised.
    #[must_use]
    pub fn to_body(&self) -> Body {
        // Texts and messages were parsed from JSON, so serialising them does not fail.
        let content = serde_json::to_vec(self).unwrap_or_default();
        Body {
            hash: BodyKind::Pair.hash(&content),
            kind: BodyKind::Pair,
            content,
        }
    }
}

/// The event of collecting a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectedPair {
    /// Name of the model.
    pub model: String,
    /// Hash of the pair's body.
    pub pair: Hash,
    /// Origin of the pair as a JSON object: run, step and other fields that were sent.
    pub source_json: Option<String>,
    /// The caller.
    pub caller: String,
    /// Time, in microseconds since the Unix epoch.
    pub time_us: i64,
}

/// A collected pair, as read from the record.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPair {
    /// Position in the order of arrival over all models. Later pairs have larger numbers.
    pub number: u64,
    /// The event of collecting it.
    pub collected: CollectedPair,
    /// The pair.
    pub pair: Pair,
}

/// A page of pairs in order of arrival.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairPage {
    /// The pairs.
    pub pairs: Vec<StoredPair>,
    /// Whether more pairs follow.
    pub more: bool,
}

/// Which of the requested pairs are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownPairs {
    /// Hashes of the pairs that were collected before.
    pub known: Vec<Hash>,
    /// Total number of pairs of the model.
    pub total: u64,
}

/// Counts of the pairs of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = CollectedBody)]
pub struct Collected {
    /// Pairs that were added; they survive a crash.
    pub added: u64,
    /// Pairs that were stored before, and duplicates within the request.
    pub known: u64,
    /// All pairs of the model.
    pub total: u64,
}

/// Counts of the pairs that were chosen from a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = RunPairsBody)]
pub struct RunPairs {
    /// Pairs that were added; they survive a crash.
    pub added: u64,
    /// Pairs that were stored before.
    pub known: u64,
    /// All pairs of the model.
    pub total: u64,
    /// Grades that were read, without those that neither pass nor fail.
    pub grades: u64,
    /// Prompts of these grades.
    pub prompts: u64,
    /// Completions that were not used because of `min_certainty`.
    pub uncertain: u64,
    /// Time of the newest grade; null without grades.
    pub newest_us: Option<i64>,
}
