//! Compares calls without creating a grade, for callers that need neither evidence nor measures.

use assay_core::{Item, Task, TaskError};

use crate::grade::PreparedTools;
use crate::task::ToolsTask;
use crate::trace::Trace;

/// Accepts or rejects completions of a task with one turn and without `state` and `final`.
pub struct Checker(PreparedTools);

/// The parsed calls of a completion.
pub struct Calls(Trace);

impl Checker {
    /// Creates a checker for a task.
    ///
    /// # Errors
    /// [`TaskError`] if `task` is not a valid `tools` task.
    pub fn new(task: &Task) -> Result<Self, TaskError> {
        Ok(Self(PreparedTools::new(
            ToolsTask::read(task)?,
            Vec::new(),
            None,
        )))
    }

    /// Reads the calls of a completion.
    #[must_use]
    pub fn read(&self, item: &Item) -> Calls {
        Calls(self.0.read(item))
    }

    /// Whether the calls match the expected ones.
    #[must_use]
    pub fn agrees(&self, calls: &Calls) -> bool {
        self.0.matches(&calls.0)
    }
}
