//! The description of a grader. The command line, OpenAPI, metrics, documentation and tests all
//! read it.

use std::borrow::Cow;

use serde::Serialize;

use crate::{GraderId, Verdict};

/// Where the work of a grader runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// On the worker threads, one item at a time. It never blocks.
    Cpu,
    /// In sandbox workers. A task of the runtime waits for them.
    Sandbox,
    /// On the one thread that owns the models, in batches.
    Device,
    /// Over the network, with a bounded number of requests in flight.
    Remote,
}

/// A verdict of a grader.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct VerdictSpec {
    /// The verdict code.
    pub verdict: Verdict,
    /// Whether the verdict is a pass; `None` if it has no notion of pass.
    pub pass: Option<bool>,
    /// When the grader returns the verdict.
    pub meaning: &'static str,
}

impl Verdict {
    /// The description of the verdict.
    pub const fn described(self, pass: Option<bool>, meaning: &'static str) -> VerdictSpec {
        VerdictSpec {
            verdict: self,
            pass,
            meaning,
        }
    }

    /// The description of a verdict that passes.
    pub const fn passing(self, meaning: &'static str) -> VerdictSpec {
        self.described(Some(true), meaning)
    }

    /// The description of a verdict that fails.
    pub const fn failing(self, meaning: &'static str) -> VerdictSpec {
        self.described(Some(false), meaning)
    }
}

/// A measure of a grader.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct MeasureSpec {
    /// Name in `measures`.
    pub name: &'static str,
    /// Unit, as a plural noun.
    pub unit: &'static str,
}

impl MeasureSpec {
    /// The description of a measure.
    pub const fn new(name: &'static str, unit: &'static str) -> Self {
        Self { name, unit }
    }
}

/// The description of a grader.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Name: the `type` of its tasks.
    pub name: &'static str,
    /// Version. It is raised whenever a verdict on a golden case changes.
    pub version: u32,
    /// One-line summary for lists.
    pub summary: &'static str,
    /// Where the work runs, unless a nested task needs another lane.
    pub lane: Lane,
    /// JSON Schema (2020-12) of its tasks, as text.
    pub task_schema: &'static str,
    /// A complete task, as text, for documentation and self-tests.
    pub example_task: &'static str,
    /// A completion that passes the example task.
    pub example_completion: &'static str,
    /// All its verdicts except `too_long`, which the engine returns for any grader.
    pub verdicts: &'static [VerdictSpec],
    /// All its measures.
    pub measures: &'static [MeasureSpec],
    /// Whether grading again always returns the same verdict. Only then are results cached.
    pub deterministic: bool,
    /// Whether verdicts depend on the prompt or on `meta` fields other than `think_open`. The cache
    /// then distinguishes items by them.
    pub reads_context: bool,
    /// Maximum number of items of one task per call; 1 if batching does not help.
    pub max_batch: usize,
    /// Unit of `work`, as a plural noun.
    pub work_unit: &'static str,
}

impl Spec {
    /// Its name and version.
    #[must_use]
    pub fn id(&self) -> GraderId {
        GraderId {
            name: Cow::Borrowed(self.name),
            version: self.version,
        }
    }

    /// Whether `verdict` is a pass; `None` if it has no notion of pass.
    #[must_use]
    pub fn pass(&self, verdict: &str) -> Option<bool> {
        self.verdicts
            .iter()
            .find(|spec| spec.verdict.as_str() == verdict)
            .map_or(Some(false), |spec| spec.pass)
    }
}
