//! JSON types for the preference pairs on which reward models are trained.

use assay_core::Completion;
use assay_record::pair::{Pair, PairPage, StoredPair};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub use assay_record::pair::{Collected, RunPairs};

/// Pairs to collect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PairsRequest {
    /// The pairs, at least one.
    #[schema(min_items = 1)]
    pub pairs: Vec<PairRequest>,
}

/// A prompt with an accepted and a rejected completion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PairRequest {
    /// The prompt of both completions: a string or an array of messages.
    #[schema(value_type = Object)]
    pub prompt: Completion,
    /// The better completion: a string or an array of messages.
    #[schema(value_type = Object)]
    pub accepted: Completion,
    /// The worse completion: a string or an array of messages.
    #[schema(value_type = Object)]
    pub rejected: Completion,
    /// The gold answer, for models that use one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Origin of the pair: `run`, `step` and any other fields. Ignored when pairs are
    /// compared for equality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({"run": "qwen3-0.6b-math", "step": 120}))]
    pub source: Option<Map<String, Value>>,
}

impl PairRequest {
    /// Checks that both completions have an answer and that they differ.
    ///
    /// # Errors
    /// The name of the invalid field, and the reason.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        for (field, completion) in [("accepted", &self.accepted), ("rejected", &self.rejected)] {
            if !completion.has_answer() {
                return Err((field, "no message has the role `assistant`"));
            }
        }
        if self.accepted == self.rejected {
            return Err((
                "rejected",
                "the accepted and the rejected completion are equal; send two different ones",
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

/// The grades of a run from which pairs are chosen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunPairsRequest {
    /// Name of the run.
    #[schema(example = "qwen3-0.6b-math")]
    pub run: String,
    /// Only grades of this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Only grades from this time on, in microseconds since the Unix epoch. To continue, pass
    /// `newest_us` of the last reply less the time that the slowest batch takes, because grades
    /// become visible when their batch ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_us: Option<i64>,
    /// Maximum number of grades, 1 to 100,000; the newest are used. 20,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100_000)]
    pub grades: Option<u32>,
    /// Maximum number of pairs of a prompt, 1 to 32; 8 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 32)]
    pub per_prompt: Option<u32>,
    /// Use only completions that are right or wrong with at least this probability, 0.5 to 1,
    /// given the error rates of the channel, the judge's verdict and the prompt's other
    /// completions. By default, verdicts of channels without known error rates are taken as they
    /// are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.5, maximum = 1)]
    pub min_certainty: Option<f64>,
    /// JSON pointer to the gold answer in the task, for models that compare with one. Prompts whose
    /// task has none are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "/answer")]
    pub reference: Option<String>,
}

/// A page of pairs, in order of arrival.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairsBody {
    /// The pairs.
    pub pairs: Vec<PairBody>,
    /// Value of `after` for the pairs that follow, now or later.
    pub next: u64,
    /// Whether more pairs follow now.
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

/// One stored pair.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairBody {
    /// Number of the pair in order of arrival, over all models.
    pub number: u64,
    /// Hash of the pair's content, in hexadecimal.
    pub pair: String,
    /// The prompt of both completions.
    #[schema(value_type = Object)]
    pub prompt: Completion,
    /// The better completion.
    #[schema(value_type = Object)]
    pub accepted: Completion,
    /// The worse completion.
    #[schema(value_type = Object)]
    pub rejected: Completion,
    /// The gold answer; null if none was sent.
    pub reference: Option<String>,
    /// Origin of the pair, as first sent; null if nothing was sent.
    #[schema(value_type = Option<Object>)]
    pub source: Option<Value>,
    /// Caller that sent the pair first.
    pub caller: String,
    /// Time at which the pair was first received, in microseconds since the Unix epoch.
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
