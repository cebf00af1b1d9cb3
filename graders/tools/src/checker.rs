//! Calls compared without a grade: what is left when neither evidence nor measures are asked for.

use assay_core::{Item, Task, TaskError};

use crate::grade::PreparedTools;
use crate::task::ToolsTask;
use crate::trace::Trace;

/// A task of one turn, without `state` and `final`, that says yes or no.
pub struct Checker(PreparedTools);

/// The calls of a completion, read.
pub struct Calls(Trace);

impl Checker {
    /// A checker of the task's calls.
    ///
    /// # Errors
    /// [`TaskError`] for what is no `tools` task.
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

    /// Whether they are what the task asks for.
    #[must_use]
    pub fn agrees(&self, calls: &Calls) -> bool {
        self.0.agrees(&calls.0)
    }
}
