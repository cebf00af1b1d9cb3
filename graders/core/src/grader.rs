//! The two traits every verifier implements: a grader prepares tasks, a prepared task grades items.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use futures::future::BoxFuture;

use crate::{ErrorCode, Fault, GraderTable, Item, Lane, Outcome, Spec, Task};

/// How deep tasks may nest: a rubric may hold a task that holds a task that holds a task.
pub const MAX_NESTED_TASKS: u8 = 3;

/// A task's shape is wrong. The request that carried it is refused before any work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} at `{pointer}`: {message}")]
pub struct TaskError {
    /// Stable code.
    pub code: ErrorCode,
    /// JSON pointer to the field, relative to the task; empty for the task itself.
    pub pointer: String,
    /// What was wrong and what to do.
    pub message: String,
}

impl TaskError {
    /// An error at `pointer`.
    #[must_use]
    pub fn new(code: ErrorCode, pointer: &str, message: String) -> Self {
        Self {
            code,
            pointer: pointer.to_owned(),
            message,
        }
    }
}

/// Result of looking at a task's shape.
pub type Checked = Result<(), TaskError>;

/// A verifier of one task type.
pub trait Grader: Send + Sync {
    /// What it says of itself.
    fn spec(&self) -> &'static Spec;

    /// Looks at the shape of a task, cheaply: fields, types, ranges, nested tasks. Called before a
    /// batch is admitted.
    ///
    /// # Errors
    /// [`TaskError`]: the whole request is refused with a pointer to the field.
    fn check(&self, task: &Task, cx: &PrepareContext<'_>) -> Checked;

    /// Does once what all completions of a task share: parses the gold, compiles the schema,
    /// executes the reference.
    ///
    /// # Errors
    /// [`Fault`] when the task's content is at fault; every item of it is then `ungradable`, or
    /// `failed` for a fault of ours.
    fn prepare(
        &self,
        task: &Task,
        cx: &PrepareContext<'_>,
    ) -> Result<Arc<dyn Prepared>, Unprepared>;

    /// Why the grader cannot work on this node, with the command that would enable it; `None` when
    /// it can.
    fn unavailable(&self) -> Option<String> {
        None
    }
}

/// Why a task could not be prepared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unprepared {
    /// The task is at fault.
    #[error("{0}")]
    Ungradable(Fault),
    /// We are.
    #[error("{0}")]
    Failed(Fault),
}

impl From<Unprepared> for Outcome {
    fn from(unprepared: Unprepared) -> Self {
        match unprepared {
            Unprepared::Ungradable(fault) => Self::Ungradable(fault),
            Unprepared::Failed(fault) => Self::Failed(fault),
        }
    }
}

/// A task ready to grade completions, shared by all of them.
pub trait Prepared: Send + Sync {
    /// Grades `items`, giving one outcome an item in their order.
    ///
    /// There are at most [`Spec::at_once`] of them. In the `Cpu` lane the future never waits and
    /// `items` is one item. Items of a call that panics are asked again one by one, so that a panic
    /// costs its own item alone.
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>>;

    /// Bytes it keeps in memory, roughly: the bound of the cache of prepared tasks counts them.
    fn bytes(&self) -> usize;

    /// Where this task's work runs: in its grader's `own` lane, unless a task inside it needs
    /// another.
    fn lane(&self, own: Lane) -> Lane {
        own
    }
}

/// A prepared task of the `Cpu` lane as a plain function; adapted to [`Prepared`].
pub trait PureGrader: Send + Sync {
    /// Grades one item.
    fn grade_one(&self, item: &Item) -> Outcome;

    /// As [`Prepared::bytes`].
    fn bytes(&self) -> usize;
}

impl<G: PureGrader> Prepared for G {
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        _cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>> {
        Box::pin(std::future::ready(
            items.iter().map(|item| self.grade_one(item)).collect(),
        ))
    }

    fn bytes(&self) -> usize {
        PureGrader::bytes(self)
    }
}

/// A prepared task inside a task.
#[derive(Clone)]
pub struct Nested {
    /// Its grader.
    pub spec: &'static Spec,
    /// The task.
    pub prepared: Arc<dyn Prepared>,
}

impl Nested {
    /// Where its work runs.
    #[must_use]
    pub fn lane(&self) -> Lane {
        self.prepared.lane(self.spec.lane)
    }

    /// Grades one item.
    pub async fn grade(&self, item: &Item, cx: &GradeContext) -> Outcome {
        let outcomes = self.prepared.grade(&[item], cx).await;
        let silent = || {
            Outcome::Failed(Fault::lasting(
                ErrorCode::Internal,
                "the nested grader gave no outcome",
            ))
        };
        outcomes.into_iter().next().unwrap_or_else(silent)
    }
}

/// What a grader may use while it checks or prepares a task.
#[derive(Clone, Copy)]
pub struct PrepareContext<'a> {
    table: &'a GraderTable,
    depth: u8,
}

impl<'a> PrepareContext<'a> {
    /// The context of a task that stands in a request.
    #[must_use]
    pub fn new(table: &'a GraderTable) -> Self {
        Self { table, depth: 0 }
    }

    /// Checks a task inside a task.
    ///
    /// # Errors
    /// As [`Grader::check`], and when tasks nest deeper than [`MAX_NESTED_TASKS`] or no grader has
    /// the name.
    pub fn check_nested(&self, task: &Task) -> Checked {
        let inner = self.deeper()?;
        self.table.get(task)?.check(task, &inner)
    }

    /// Prepares a task inside a task.
    ///
    /// # Errors
    /// As [`Grader::prepare`], and when tasks nest too deep or no grader has the name.
    pub fn nested(&self, task: &Task) -> Result<Nested, Unprepared> {
        let at_fault = |error: TaskError| {
            Unprepared::Ungradable(Fault::lasting(ErrorCode::TaskAtFault, error.to_string()))
        };
        let inner = self.deeper().map_err(at_fault)?;
        let grader = self.table.get(task).map_err(at_fault)?;
        Ok(Nested {
            spec: grader.spec(),
            prepared: grader.prepare(task, &inner)?,
        })
    }

    fn deeper(&self) -> Result<Self, TaskError> {
        if self.depth == MAX_NESTED_TASKS {
            let message = format!("tasks nest deeper than {MAX_NESTED_TASKS}; flatten them");
            return Err(TaskError::new(ErrorCode::TooDeep, "", message));
        }
        Ok(Self {
            table: self.table,
            depth: self.depth + 1,
        })
    }
}

/// Set when nobody waits for a result any more. Graders of long work look at it between steps.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets it, for all clones.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What a prepared task may use while it grades.
#[derive(Debug, Clone, Default)]
pub struct GradeContext {
    /// Set when the client is gone.
    pub cancel: CancelFlag,
}
