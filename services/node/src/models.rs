//! The reward models of a node: what the configuration says of them, made into whatever holds them.

use std::sync::Arc;

use assay_core::BoxFuture;
use assay_core::reward_model::{ModelError, ModelInfo, ModelLoad, ModelReply, ModelRequest, ModelStatus, RewardModels};

use crate::config;

/// The reward models that the configuration asks for.
#[must_use]
pub fn open(_config: &config::RewardModels) -> Arc<dyn RewardModels> {
    Arc::new(NoModels)
}

/// What a build without reward models has: every name is unknown.
struct NoModels;

const NONE: &str = "this build has no reward models";

impl RewardModels for NoModels {
    fn list(&self) -> Vec<ModelStatus> {
        Vec::new()
    }

    fn find(&self, _: Option<&str>) -> Result<Arc<ModelInfo>, ModelError> {
        Err(ModelError::Unknown(NONE.to_owned()))
    }

    fn score(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelReply, ModelError>> {
        Box::pin(std::future::ready(Err(ModelError::Unknown(NONE.to_owned()))))
    }

    fn load(&self, _: String, _: ModelLoad) -> BoxFuture<'_, Result<Arc<ModelInfo>, ModelError>> {
        Box::pin(std::future::ready(Err(ModelError::NotLoadable(NONE.to_owned()))))
    }

    fn unload(&self, _: &str) -> Result<(), ModelError> {
        Err(ModelError::Unknown(NONE.to_owned()))
    }
}

/// What to time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bench {
    /// Where the model comes from.
    pub model: BenchModel,
    /// Lengths of inputs, in tokens.
    pub lengths: Vec<BenchLength>,
    /// Tokens of one round.
    pub tokens: usize,
    /// Rounds, of which the fastest counts.
    pub rounds: usize,
    /// Threads; 0 for one a core.
    pub threads: usize,
    /// `cpu` or `cuda:N`.
    pub device: String,
    /// `f32`, `bf16` or `f16`; what fits the device without one.
    pub dtype: Option<String>,
}

/// Where a model to time comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BenchModel {
    /// A directory with weights.
    Directory(std::path::PathBuf),
    /// Random weights in the shape of a known model.
    Shape(String),
}

/// How long inputs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchLength {
    /// All as long.
    Exact(usize),
    /// As rollouts are: lognormal around a mean.
    Mixed,
}

impl std::str::FromStr for BenchLength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "mixed" => Ok(Self::Mixed),
            number => match number.parse() {
                Ok(tokens) if tokens > 0 => Ok(Self::Exact(tokens)),
                _ => Err(format!("a length is a number of tokens, or `mixed`: `{number}`")),
            },
        }
    }
}

/// One line of what was timed.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BenchLine {
    /// Length of the inputs, as asked for.
    pub length: String,
    /// Inputs of a round.
    pub inputs: usize,
    /// Tokens of a round.
    pub tokens: usize,
    /// Seconds of the fastest round.
    pub seconds: f64,
    /// Tokens a second in it.
    pub tokens_per_second: f64,
}

/// Times forward passes.
///
/// # Errors
/// [`ModelError::NotLoadable`], with the reason.
pub fn bench(_bench: &Bench) -> Result<Vec<BenchLine>, ModelError> {
    Err(ModelError::NotLoadable(NONE.to_owned()))
}
