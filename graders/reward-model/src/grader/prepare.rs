//! The grader: which tasks it takes.

use std::sync::Arc;

use assay_core::grader::Unprepared;
use assay_core::reward_model::{ModelError, ModelState, ModelStatus, RewardModels};
use assay_core::{
    Checked, ErrorCode, Fault, Grader, PrepareContext, Prepared, Spec, Task, TaskError,
};

use super::grade::PreparedReward;
use super::spec::SPEC;
use super::task::RewardTask;

/// The grader of `reward_model` tasks.
pub struct RewardModelGrader {
    models: Arc<dyn RewardModels>,
}

impl RewardModelGrader {
    /// A grader that asks `models`.
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
            // A node without models says so for each item, as graders do that miss an image.
            Err(ModelError::Unknown(message)) if !self.models.list().is_empty() => {
                Err(TaskError::new(ErrorCode::InvalidTask, "/model", message))
            }
            _ => Ok(()),
        }
    }

    /// Holds the name and not the model: a task that is kept meets the model that stands behind the
    /// name when it grades.
    fn prepare(
        &self,
        task: &Task,
        _cx: &PrepareContext<'_>,
    ) -> Result<Arc<dyn Prepared>, Unprepared> {
        let at_fault = |error: TaskError| {
            Unprepared::Ungradable(Fault::lasting(ErrorCode::TaskAtFault, error.to_string()))
        };
        let task = RewardTask::read(task).map_err(at_fault)?;
        Ok(Arc::new(PreparedReward {
            models: Arc::clone(&self.models),
            task,
        }))
    }

    fn unavailable(&self) -> Option<String> {
        // One that is loading is waited for, or its items fail and can be sent again.
        let is_usable = |model: &ModelStatus| model.state != ModelState::Failed;
        let usable = self.models.list().iter().any(is_usable);
        (!usable).then(|| {
            "no reward model is loaded; name one under `[reward_models.load]`, or `assay models \
             load` one"
                .to_owned()
        })
    }
}
