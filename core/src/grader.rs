//! The two traits that every grader implements: [`Grader`] prepares tasks, [`Prepared`] grades
//! items.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use futures::future::BoxFuture;

use crate::{ErrorCode, Fault, GraderTable, Item, Lane, Outcome, Spec, Task, TaskError};

/// Maximum nesting of tasks. For example, a rubric may contain a task that contains a task.
pub const MAX_NESTED_TASKS: u8 = 3;

/// The result of [`Grader::check`].
pub type Checked = Result<(), TaskError>;

/// A task ready to grade, or why it cannot be graded.
pub type Preparation = Result<Arc<dyn Prepared>, PrepareError>;

/// A verifier of one task type.
pub trait Grader: Send + Sync {
    /// The grader's description.
    fn spec(&self) -> &'static Spec;

    /// Checks the structure of a task: fields, types, ranges, nested tasks. It is called before a
    /// batch is admitted and must be cheap.
    ///
    /// # Errors
    /// [`TaskError`]: the whole request is rejected with a pointer to the field.
    fn check(&self, task: &Task, cx: &PrepareContext<'_>) -> Checked;

    /// Checks a task, and prepares it at once if that takes hardly longer; otherwise returns
    /// `None`.
    ///
    /// # Errors
    /// As [`Grader::check`].
    fn check_and_prepare(
        &self,
        task: &Task,
        cx: &PrepareContext<'_>,
    ) -> Result<Option<Arc<dyn Prepared>>, TaskError> {
        self.check(task, cx).map(|()| None)
    }

    /// Does the work that all completions of a task share, once: parses the gold answer, compiles
    /// the schema, executes the reference.
    ///
    /// # Errors
    /// [`PrepareError::Ungradable`] if the content of the task is at fault,
    /// [`PrepareError::Failed`] if the service is. Every item of the task then has that outcome.
    fn prepare(&self, task: &Task, cx: &PrepareContext<'_>) -> Preparation;

    /// The task family of items of a checked task that name no channel; `None` for the default
    /// one. The operator's configuration must bound the number of names, because rates are kept for
    /// each.
    fn family(&self, _task: &Task) -> Option<String> {
        None
    }

    /// Whether a checked task says which answers are right. Items of one that does not get the
    /// verdict [`Verdict::UNLABELLED`](crate::Verdict::UNLABELLED), with the normal form of their
    /// answer in the evidence, from which a reward policy makes a label.
    fn has_gold(&self, _task: &Task) -> bool {
        true
    }

    /// Why the grader is not available on this node, with the command that enables it; `None` if it
    /// is available.
    fn unavailable(&self) -> Option<String> {
        None
    }
}

/// Why a task could not be prepared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PrepareError {
    /// The task is at fault: its items are `ungradable`.
    #[error("{0}")]
    Ungradable(Fault),
    /// The service is at fault: the items of the task are `failed`.
    #[error("{0}")]
    Failed(Fault),
}

impl PrepareError {
    /// The content of the task is at fault.
    #[must_use]
    pub fn task_at_fault(message: impl Into<String>) -> Self {
        Self::Ungradable(Fault::permanent(ErrorCode::TaskAtFault, message))
    }
}

impl From<TaskError> for PrepareError {
    fn from(error: TaskError) -> Self {
        Self::task_at_fault(error.to_string())
    }
}

impl From<PrepareError> for Outcome {
    fn from(unprepared: PrepareError) -> Self {
        match unprepared {
            PrepareError::Ungradable(fault) => Self::Ungradable(fault),
            PrepareError::Failed(fault) => Self::Failed(fault),
        }
    }
}

/// A prepared task. All completions of the task share it.
pub trait Prepared: Send + Sync {
    /// Grades `items` and returns one outcome per item, in order.
    ///
    /// There are at most [`Spec::max_batch`] items; in the `Cpu` lane there is one, and the future
    /// never waits. If a call panics, its items are graded again one by one, so that only the item
    /// that causes the panic fails.
    fn grade<'a>(
        &'a self,
        items: &'a [&'a Item],
        cx: &'a GradeContext,
    ) -> BoxFuture<'a, Vec<Outcome>>;

    /// Approximate memory in bytes, counted against the limit of the cache of prepared tasks.
    fn bytes(&self) -> usize;

    /// The lane of this task. `default` is the lane of its grader; a nested task may need another
    /// one.
    fn lane(&self, default: Lane) -> Lane {
        default
    }

    /// Whether the task repeats what failed itself. Otherwise the engine grades an item once more
    /// after a transient failure.
    fn retries_itself(&self) -> bool {
        false
    }
}

/// A prepared task of the `Cpu` lane as a plain function. It implements [`Prepared`].
pub trait PureGrader: Send + Sync {
    /// Grades one item.
    fn grade_one(&self, item: &Item) -> Outcome;

    /// See [`Prepared::bytes`].
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

/// Grades items one after the other, for [`Prepared::grade`] of tasks that contain others.
#[must_use]
pub fn grade_each<'a, F>(
    items: &'a [&'a Item],
    grade: impl Fn(&'a Item) -> F + Send + 'a,
) -> BoxFuture<'a, Vec<Outcome>>
where
    F: Future<Output = Outcome> + Send + 'a,
{
    Box::pin(async move {
        let mut outcomes = Vec::with_capacity(items.len());
        for item in items {
            outcomes.push(grade(item).await);
        }
        outcomes
    })
}

/// A prepared nested task.
#[derive(Clone)]
pub struct Nested {
    /// The description of its grader.
    pub spec: &'static Spec,
    /// The task.
    pub prepared: Arc<dyn Prepared>,
}

impl Nested {
    /// The lane of the task.
    #[must_use]
    pub fn lane(&self) -> Lane {
        self.prepared.lane(self.spec.lane)
    }

    /// Grades one item.
    pub async fn grade(&self, item: &Item, cx: &GradeContext) -> Outcome {
        let outcomes = self.prepared.grade(&[item], cx).await;
        let no_outcome = || {
            Outcome::Failed(Fault::permanent(
                ErrorCode::Internal,
                "the nested grader returned no outcome",
            ))
        };
        outcomes.into_iter().next().unwrap_or_else(no_outcome)
    }
}

/// What a grader may use to check or prepare a task.
#[derive(Clone, Copy)]
pub struct PrepareContext<'a> {
    table: &'a GraderTable,
    depth: u8,
}

impl<'a> PrepareContext<'a> {
    /// The context of a top-level task of a request.
    #[must_use]
    pub fn new(table: &'a GraderTable) -> Self {
        Self { table, depth: 0 }
    }

    /// Checks a nested task.
    ///
    /// # Errors
    /// As [`Grader::check`], and if tasks nest deeper than [`MAX_NESTED_TASKS`] or the grader is
    /// unknown.
    pub fn check_nested(&self, task: &Task) -> Checked {
        let nested = self.deeper()?;
        self.table.get(task)?.check(task, &nested)
    }

    /// Prepares a nested task.
    ///
    /// # Errors
    /// As [`Grader::prepare`], and if tasks nest too deeply or the grader is unknown.
    pub fn nested(&self, task: &Task) -> Result<Nested, PrepareError> {
        let nested = self.deeper()?;
        let grader = self.table.get(task)?;
        Ok(Nested {
            spec: grader.spec(),
            prepared: grader.prepare(task, &nested)?,
        })
    }

    /// Rejects a task without a gold inside another task: its score would count.
    ///
    /// # Errors
    /// [`TaskError`] at `/consensus` for a nested task.
    pub fn check_without_gold(&self) -> Checked {
        if self.depth == 0 {
            return Ok(());
        }
        let message = "a nested task needs a gold; write `answer` instead of `consensus`";
        Err(crate::error::invalid("/consensus", message))
    }

    /// The context of a nested task.
    fn deeper(&self) -> Result<Self, TaskError> {
        if self.depth == MAX_NESTED_TASKS {
            let message = format!("tasks nest deeper than {MAX_NESTED_TASKS} levels; flatten them");
            return Err(TaskError::new(ErrorCode::TooDeep, "", message));
        }
        Ok(Self {
            table: self.table,
            depth: self.depth + 1,
        })
    }
}

/// Is set when the result is no longer needed. Graders with long work check it between steps.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Creates a flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag and all its clones.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What a prepared task may use to grade items.
#[derive(Debug, Clone, Default)]
pub struct GradeContext {
    /// Who sent the items. A result that depends on a completion is cached for its caller only,
    /// because the time of a reply would show others that the completion was graded before.
    pub caller: Arc<str>,
    /// The training run of the items, whose budgets apply.
    pub run: Option<Arc<str>>,
    /// Whether results of earlier gradings may be used. A replay grades everything again.
    pub use_cache: bool,
    /// Is set when the client has disconnected.
    pub cancel: CancelFlag,
}
