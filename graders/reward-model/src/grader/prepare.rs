//! The grader and the preparation of its tasks.

use std::sync::Arc;

use assay_core::grader::Preparation;
use assay_core::reward_model::{ModelError, ModelState, ModelStatus, RewardModels};
use assay_core::{Checked, ErrorCode, Grader, PrepareContext, Spec, Task, TaskError};

use super::grade::PreparedReward;
use super::spec::SPEC;
use super::task::RewardTask;

/// The grader of `reward_model` tasks.
pub struct RewardModelGrader {
    models: Arc<dyn RewardModels>,
}

impl RewardModelGrader {
    /// Creates a grader that uses `models`.
    #[must_use]
    pub fn new(models: Arc<dyn RewardModels>) -> Self {
        Self { models }
    }
}

impl Grader for RewardModelGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, _cx: &PrepareContext<'_>) -> Checked {
        let task = RewardTask::read(task)?;
        match self.models.find(task.model.as_deref()) {
            // A node without models reports this for each item, as graders without their image do.
            Err(ModelError::Unknown(message)) if !self.models.list().is_empty() => {
                Err(TaskError::new(ErrorCode::InvalidTask, "/model", message))
            }
            _ => Ok(()),
        }
    }

    /// Keeps the name of the model instead of the model: a cached task uses the model that has the
    /// name at the time of grading.
    fn prepare(&self, task: &Task, _cx: &PrepareContext<'_>) -> Preparation {
        let task = RewardTask::read(task)?;
        Ok(Arc::new(PreparedReward {
            models: Arc::clone(&self.models),
            task,
        }))
    }

    fn unavailable(&self) -> Option<String> {
        // A loading model counts as usable: its items wait for it, or fail and can be retried.
        let is_usable = |model: &ModelStatus| model.state != ModelState::Failed;
        let usable = self.models.list().iter().any(is_usable);
        (!usable).then(|| {
            "no reward model is loaded; declare one under `[reward_models.load]` or run `assay \
             models load`"
                .to_owned()
        })
    }
}
