//! The grader, and the preparation of its criteria.

use std::sync::Arc;

use assay_core::grader::Preparation;
use assay_core::{Checked, Grader, PrepareContext, Spec, Task};

use crate::grade::{PreparedCriterion, PreparedRubric};
use crate::offload::Offload;
use crate::spec::SPEC;
use crate::task::RubricTask;

/// The grader of `rubric` tasks.
#[derive(Default)]
pub struct RubricGrader {
    offload: Arc<Offload>,
}

impl Grader for RubricGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, cx: &PrepareContext<'_>) -> Checked {
        RubricTask::read(task)?.check_nested(cx)
    }

    fn prepare(&self, task: &Task, cx: &PrepareContext<'_>) -> Preparation {
        let task = RubricTask::read(task)?;
        let criteria = task.criteria.into_iter().map(|(criterion, task)| {
            Ok(PreparedCriterion {
                criterion,
                nested: cx.nested(&task)?,
            })
        });
        Ok(Arc::new(PreparedRubric {
            criteria: criteria.collect::<Result<_, assay_core::grader::PrepareError>>()?,
            rules: task.rules,
            offload: Arc::clone(&self.offload),
        }))
    }
}
