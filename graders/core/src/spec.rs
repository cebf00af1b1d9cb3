//! What a grader says of itself. Command line, OpenAPI, metrics, documentation and tests read it
//! from here.

use serde::Serialize;

use crate::Verdict;

/// Where a grader's work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// On the worker threads, one item at a time, never waiting.
    Cpu,
    /// In workers; the worker waits for them.
    Sandbox,
    /// On the one thread that owns the model, in batches.
    Device,
    /// Over the network, a bounded number in flight.
    Remote,
}

/// One verdict a grader may reach.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct VerdictSpec {
    /// The code.
    pub verdict: Verdict,
    /// Whether it is a pass; `None` for a verdict without a notion of pass.
    pub pass: Option<bool>,
    /// When the grader reaches it.
    pub meaning: &'static str,
}

/// One measure a grader may report.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct MeasureSpec {
    /// Its name in `measures`.
    pub name: &'static str,
    /// Its unit, as a plural noun.
    pub unit: &'static str,
}

/// What a grader says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Its name: the `type` of its tasks.
    pub name: &'static str,
    /// Raised whenever a verdict on a golden case changes.
    pub version: u32,
    /// One line for lists.
    pub summary: &'static str,
    /// Where its work runs.
    pub lane: Lane,
    /// JSON Schema (2020-12) of a task, as text.
    pub task_schema: &'static str,
    /// A complete task, as text, for documentation and self-tests.
    pub example_task: &'static str,
    /// A completion that passes the example task.
    pub example_completion: &'static str,
    /// Every verdict it may reach, beside `too_long`, which the engine gives to any text grader.
    pub verdicts: &'static [VerdictSpec],
    /// Every measure it may report.
    pub measures: &'static [MeasureSpec],
    /// Whether grading again always gives the same verdict; only then are results cached.
    pub deterministic: bool,
    /// Whether verdicts depend on the prompt or on facts beyond `think_open`, so that the cache
    /// must tell them apart.
    pub reads_context: bool,
    /// Most items of one task that it is asked about at once: 1 where nothing is gained by more.
    pub at_once: usize,
    /// Unit of `work`, as a plural noun.
    pub work_unit: &'static str,
}

impl Spec {
    /// Grader and version, as in `math@1`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Whether `verdict` is a pass; `None` where it has no notion of it.
    #[must_use]
    pub fn pass(&self, verdict: Verdict) -> Option<bool> {
        self.verdicts
            .iter()
            .find(|spec| spec.verdict == verdict)
            .map_or(Some(false), |spec| spec.pass)
    }
}
