//! A completion to try on a task, and what it is for.

use assay_core::{Completion, Task};

use crate::subject::Subject;

/// Purpose of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// A gold, written as a completion. At least one form of each gold must pass.
    Gold {
        /// Index of the gold in the task.
        gold: usize,
        /// Index of the written form.
        form: usize,
    },
    /// The solution of the dataset, which must pass.
    Solution,
    /// An empty completion, which must not pass.
    Empty,
    /// An empty completion for a task that expects no answer. Only prepares the task.
    Prepare,
    /// A refusal, which must not pass.
    Refusal,
    /// A completion that is wrong for any task and must not pass, with its description.
    Mutant(&'static str),
    /// A right answer with one change, which usually makes it wrong, with the change.
    Variation(&'static str),
    /// A rollout in a column of the row.
    Rollout,
}

/// A completion and its purpose.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) purpose: Purpose,
    pub(crate) completion: Completion,
    /// The task to grade with; `None` for the task of the row.
    pub(crate) task: Option<Task>,
}

impl Probe {
    pub(super) fn new(purpose: Purpose, completion: Completion) -> Self {
        Self {
            purpose,
            completion,
            task: None,
        }
    }
}

/// Makes the probes of one type of task.
pub(crate) struct Prober {
    /// Name of the grader.
    pub(crate) name: &'static str,
    /// Fields of the gold. Tasks that differ in other fields are different questions.
    pub(crate) gold: &'static [&'static str],
    /// The golds, each written as a completion in one or more forms. Empty if they cannot be
    /// written.
    pub(super) golds: fn(&Subject) -> Vec<Vec<Completion>>,
    /// Writes a solution as a completion.
    pub(super) solution: fn(&str) -> Completion,
    /// Whether an empty completion must not pass.
    pub(super) requires_answer: fn(&Subject) -> bool,
    /// Mutants and variations.
    pub(super) wrong_completions: fn(&Subject) -> Vec<Probe>,
}

/// A plain text as a completion.
pub(super) fn text(text: &str) -> Completion {
    Completion::Text(text.into())
}

/// A text in a fenced block, unless it contains one.
pub(super) fn fenced(language: &str, content: &str) -> Completion {
    if content.contains("```") {
        return text(content);
    }
    text(&format!("```{language}\n{content}\n```\n"))
}
