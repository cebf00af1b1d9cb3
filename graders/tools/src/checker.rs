//! Compares calls without making a grade, for callers that need neither evidence nor measures.

use assay_core::{Item, Task, TaskError};

use crate::grade::PreparedTools;
use crate::task::ToolsTask;
use crate::trace::Trace;

/// A task of one turn, without `state` and `final`, that only accepts or rejects.
pub struct Checker(PreparedTools);

/// The calls of a completion, read.
pub struct Calls(Trace);

impl Checker {
    /// A checker of the task's calls.
    ///
    /// # Errors
    /// [`TaskError`] if this is not a valid `tools` task.
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
        self.0.agrees(&calls.0)
    }
}
