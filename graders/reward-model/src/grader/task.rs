//! The `reward_model` task of a request.

use std::sync::Arc;

use assay_core::{ErrorCode, Task, TaskError};
use serde::Deserialize;

use crate::normalise::NormaliseMethod;

/// A parsed task. The fields are documented in `task.schema.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RewardTask {
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) reference: Option<Arc<str>>,
    #[serde(default)]
    pub(super) normalise: Option<NormaliseMethod>,
    #[serde(default)]
    pub(super) steps: StepReduction,
    #[serde(default)]
    pub(super) threshold: Option<f64>,
    #[serde(default)]
    pub(super) truncate: PromptTruncation,
    #[serde(default)]
    pub(super) reasoning: Reasoning,
}

/// How the scores of steps are combined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StepReduction {
    #[default]
    Min,
    Mean,
    Product,
    Last,
}

impl StepReduction {
    /// Combines the scores of all steps. `None` if there are no steps.
    pub(super) fn reduce(self, steps: &[f32]) -> Option<f64> {
        let numbers = || steps.iter().copied().map(f64::from);
        let count = steps.len() as f64;
        match self {
            _ if steps.is_empty() => None,
            Self::Min => numbers().reduce(f64::min),
            Self::Mean => Some(numbers().sum::<f64>() / count),
            Self::Product => Some(numbers().product()),
            Self::Last => numbers().next_back(),
        }
    }
}

/// Handling of a prompt that leaves too few tokens for the completion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PromptTruncation {
    #[default]
    Reject,
    PromptLeft,
}

/// Whether the model reads the reasoning of a completion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reasoning {
    #[default]
    Keep,
    Strip,
}

impl RewardTask {
    pub(super) fn read(task: &Task) -> Result<Self, TaskError> {
        let read: Self = task.parse()?;
        if read
            .threshold
            .is_some_and(|threshold| !(0.0..=1.0).contains(&threshold))
        {
            return Err(TaskError::new(
                ErrorCode::InvalidTask,
                "/threshold",
                "a threshold must be in [0, 1]".to_owned(),
            ));
        }
        if read.normalise == Some(NormaliseMethod::Relative) && read.reference.is_none() {
            let message = "`relative` compares with a `reference`; add one".to_owned();
            return Err(TaskError::new(
                ErrorCode::InvalidTask,
                "/reference",
                message,
            ));
        }
        Ok(read)
    }
}
