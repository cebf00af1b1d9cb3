//! The grader: validates tasks, and prepares each once for all its completions.

use std::sync::Arc;

use assay_core::grader::{Preparation, PrepareError};
use assay_core::{Checked, ErrorCode, Fault, Grader, PrepareContext, Spec, Task};

use crate::grade::PreparedCode;
use crate::images;
use crate::language::LANGUAGES;
use crate::programs::Programs;
use crate::spec::SPEC;
use crate::task::{Checker, CodeTask};

/// The grader of `code` tasks.
pub struct CodeGrader {
    programs: Programs,
}

impl CodeGrader {
    /// A grader that runs programs with `programs`.
    #[must_use]
    pub fn new(programs: Programs) -> Self {
        Self { programs }
    }
}

impl Grader for CodeGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, _cx: &PrepareContext<'_>) -> Checked {
        CodeTask::read(task).map(drop)
    }

    fn prepare(&self, task: &Task, _cx: &PrepareContext<'_>) -> Preparation {
        let read = CodeTask::read(task)?;
        let checkers = match &read.checker {
            Checker::Program(program) => Some(program.image()),
            Checker::Named(_) => None,
        };
        for image in std::iter::once(read.image("")).chain(checkers) {
            if let Some(reason) = self.programs.missing(image) {
                return Err(PrepareError::Failed(Fault::permanent(
                    ErrorCode::GraderUnavailable,
                    reason,
                )));
            }
        }
        // The seed of random numbers is derived from the task, so that the same program sees the
        // same numbers in every completion.
        let seed = u64::from_le_bytes(std::array::from_fn(|at| task.hash().as_bytes()[at]));
        Ok(Arc::new(PreparedCode::new(
            read,
            seed,
            self.programs.clone(),
        )))
    }

    fn unavailable(&self) -> Option<String> {
        let missing: Vec<_> = LANGUAGES
            .iter()
            .filter_map(|language| self.programs.missing(images::chosen(language, [])))
            .collect();
        (missing.len() == LANGUAGES.len()).then(|| missing.join("; "))
    }
}
