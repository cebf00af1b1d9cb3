//! Pairs that reward models learn from, as JSON.

use assay_core::Completion;
use assay_core::pair::{Pair, PairPage, StoredPair};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Pairs to collect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PairsRequest {
    /// The pairs, at least one.
    #[schema(min_items = 1)]
    pub pairs: Vec<PairRequest>,
}

/// A completion that a rule accepted, and a worse one to the same prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PairRequest {
    /// What both answer: a string or an array of messages.
    #[schema(value_type = Object)]
    pub prompt: Completion,
    /// The better one: a string or an array of messages.
    #[schema(value_type = Object)]
    pub accepted: Completion,
    /// The worse one.
    #[schema(value_type = Object)]
    pub rejected: Completion,
    /// The gold answer, for models that compare with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Where it comes from: `run`, `step` and whatever else helps; no part of what makes a pair the
    /// same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({"run": "qwen3-0.6b-math", "step": 120}))]
    pub source: Option<Map<String, Value>>,
}

impl PairRequest {
    /// Whether it can teach anything.
    ///
    /// # Errors
    /// The name of the field that cannot be meant, and why.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        for (field, completion) in [("accepted", &self.accepted), ("rejected", &self.rejected)] {
            if !completion.has_answer() {
                return Err((field, "the messages hold none of the role `assistant`"));
            }
        }
        if self.accepted == self.rejected {
            return Err((
                "rejected",
                "it is the accepted completion; a pair of equals teaches nothing",
            ));
        }
        Ok(())
    }
}

impl From<PairRequest> for Pair {
    fn from(request: PairRequest) -> Self {
        let PairRequest {
            prompt,
            accepted,
            rejected,
            reference,
            source: _,
        } = request;
        Self {
            prompt,
            accepted,
            rejected,
            reference,
        }
    }
}

/// What became of the pairs of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CollectedBody {
    /// New ones; they survive a crash.
    pub added: u64,
    /// Those that were there before, and repetitions within the request.
    pub known: u64,
    /// Pairs of the model in all.
    pub total: u64,
}

/// A page of pairs, in the order of arrival.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairsBody {
    /// The pairs.
    pub pairs: Vec<PairBody>,
    /// Pass it as `after` for those that follow, now or later.
    pub next: u64,
    /// Whether others follow now.
    pub more: bool,
}

impl PairsBody {
    /// The page that follows `after`.
    #[must_use]
    pub fn new(page: PairPage, after: u64) -> Self {
        let next = page.pairs.last().map_or(after, |last| last.number);
        Self {
            pairs: page.pairs.into_iter().map(PairBody::from).collect(),
            next,
            more: page.more,
        }
    }
}

/// One collected pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairBody {
    /// Its place in the order of arrival, over all models.
    pub number: u64,
    /// Hash of its content, in hex.
    pub pair: String,
    /// What both answer.
    #[schema(value_type = Object)]
    pub prompt: Completion,
    /// The better one.
    #[schema(value_type = Object)]
    pub accepted: Completion,
    /// The worse one.
    #[schema(value_type = Object)]
    pub rejected: Completion,
    /// The gold answer; null when none was sent.
    pub reference: Option<String>,
    /// Where it comes from, as it was first sent; null when nothing was.
    #[schema(value_type = Option<Object>)]
    pub source: Option<Value>,
    /// Who sent it first.
    pub caller: String,
    /// When, in microseconds since the Unix epoch.
    pub time_us: i64,
}

impl From<StoredPair> for PairBody {
    fn from(stored: StoredPair) -> Self {
        let StoredPair {
            number,
            collected,
            pair,
        } = stored;
        Self {
            number,
            pair: collected.pair.to_string(),
            prompt: pair.prompt,
            accepted: pair.accepted,
            rejected: pair.rejected,
            reference: pair.reference,
            source: collected
                .source_json
                .and_then(|json| serde_json::from_str(&json).ok()),
            caller: collected.caller,
            time_us: collected.time_us,
        }
    }
}
