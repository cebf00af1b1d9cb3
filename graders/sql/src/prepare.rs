//! The entry point of the grader: validates and prepares tasks.

use std::sync::Arc;

use assay_core::grader::Preparation;
use assay_core::{Checked, Grader, PrepareContext, Spec, Task};

use crate::grade::PreparedSql;
use crate::queries::Queries;
use crate::spec::SPEC;
use crate::task::SqlTask;

/// The grader of `sql` tasks.
pub struct SqlGrader {
    queries: Queries,
}

impl SqlGrader {
    /// Creates a grader that runs statements with `queries`.
    #[must_use]
    pub fn new(queries: Queries) -> Self {
        Self { queries }
    }
}

impl Grader for SqlGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, _cx: &PrepareContext<'_>) -> Checked {
        SqlTask::read(task).map(drop)
    }

    fn prepare(&self, task: &Task, _cx: &PrepareContext<'_>) -> Preparation {
        let read = SqlTask::read(task)?;
        // Generated databases depend only on the task, so that every completion runs on the same
        // ones.
        let seed = u64::from_le_bytes(std::array::from_fn(|at| task.hash().as_bytes()[at]));
        Ok(Arc::new(PreparedSql::new(read, seed, self.queries.clone())))
    }
}
