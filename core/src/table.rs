//! The graders of a node, by name. The table is defined in one place, in `assay-node`.

use std::sync::Arc;

use crate::{ErrorCode, Grader, Task, TaskError};
use assay_base::did_you_mean;

/// The graders of a node, in display order.
#[derive(Clone)]
pub struct GraderTable(Arc<[Arc<dyn Grader>]>);

impl GraderTable {
    /// Creates a table of these graders.
    ///
    /// # Panics
    /// If two graders have the same name. The table is written by hand, and a panic at start-up
    /// shows the mistake at once.
    #[must_use]
    pub fn new(graders: Vec<Arc<dyn Grader>>) -> Self {
        for (at, grader) in graders.iter().enumerate() {
            let name = grader.spec().name;
            assert!(
                graders[..at].iter().all(|other| other.spec().name != name),
                "two graders are named `{name}`"
            );
        }
        Self(graders.into())
    }

    /// Returns the grader of a task.
    ///
    /// # Errors
    /// [`ErrorCode::UnknownGrader`], with the known names.
    pub fn get(&self, task: &Task) -> Result<&Arc<dyn Grader>, TaskError> {
        self.by_name(task.kind.as_str()).ok_or_else(|| {
            let known = || self.iter().map(|grader| grader.spec().name);
            let listed = known().map(|name| format!("`{name}`"));
            let message = format!(
                "no grader is named `{}`; this node has {}{}",
                task.kind,
                listed.collect::<Vec<_>>().join(", "),
                did_you_mean(task.kind.as_str(), known())
            );
            TaskError::new(ErrorCode::UnknownGrader, "/type", message)
        })
    }

    /// Returns the grader of this name.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&Arc<dyn Grader>> {
        self.iter().find(|grader| grader.spec().name == name)
    }

    /// All graders, in table order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Grader>> {
        self.0.iter()
    }
}
