//! The graders of a node, by name. The table is defined in one place, in `assay-node`.

use std::sync::Arc;

use serde_json::Value;

use crate::{ErrorCode, Grader, Lane, Task, TaskError};
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

    /// Whether a task, or a task within it, is graded by a server outside of this node.
    #[must_use]
    pub fn is_remote(&self, task: &Task) -> bool {
        // A task was parsed before, and its depth is bounded.
        let body = serde_json::from_str(task.body.get()).unwrap_or_default();
        self.has_remote(&body)
    }

    fn has_remote(&self, value: &Value) -> bool {
        match value {
            Value::Array(values) => values.iter().any(|value| self.has_remote(value)),
            Value::Object(fields) => {
                let named = fields.get("type").and_then(Value::as_str);
                let grader = named.and_then(|name| self.by_name(name));
                grader.is_some_and(|grader| grader.spec().lane == Lane::Remote)
                    || fields.values().any(|value| self.has_remote(value))
            }
            _ => false,
        }
    }

    /// All graders, in table order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Grader>> {
        self.0.iter()
    }
}
