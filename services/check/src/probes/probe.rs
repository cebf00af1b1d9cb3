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
    /// A right answer in another form than the gold, which must pass, with the form.
    Variant(&'static str),
    /// The solution of the dataset, which must pass.
    Solution,
    /// An empty completion, which must not pass.
    Empty,
    /// An empty completion for a task that expects no answer. Only prepares the task.
    Prepare,
    /// A refusal, which must not pass.
    Refusal,
    /// The prompt, which must not pass.
    Copy,
    /// A completion that is wrong for any task and must not pass, with its description.
    Mutant(&'static str),
    /// A right answer with one change, which usually makes it wrong, with the change.
    Variation(&'static str),
    /// A right program with the change of this index, which usually makes it wrong.
    Mutation(usize),
    /// A changed program that passes, compared with the right one on generated inputs.
    Difference(usize),
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

/// A right program with one change.
#[derive(Debug, Clone)]
pub(crate) struct Mutation {
    /// The change and its line, such as "`<` to `<=` in line 3".
    pub(crate) description: String,
    pub(crate) completion: Completion,
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
    /// Right answers in other forms than the golds, with a description of the form. All must pass.
    pub(super) variants: fn(&Subject) -> Vec<(&'static str, Completion)>,
    /// Writes a solution as a completion.
    pub(super) solution: fn(&str) -> Completion,
    /// Whether an empty completion must not pass.
    pub(super) requires_answer: fn(&Subject) -> bool,
    /// Mutants and variations.
    pub(super) wrong_completions: fn(&Subject) -> Vec<Probe>,
    /// Whether the prompt is tried as a completion.
    pub(super) tries_prompt: fn(&Subject) -> bool,
    /// Whether the answer of another row must not pass if both golds differ.
    pub(super) rejects_other_answers: bool,
    /// Changes of a right program.
    pub(super) mutations: fn(&Subject) -> Vec<Mutation>,
    /// A task that compares a changed program with the right one on generated inputs.
    pub(super) difference: fn(&Subject) -> Option<Task>,
}

impl Prober {
    /// A prober that tries an empty completion, a refusal and the prompt, to complete others.
    pub(super) const BASE: Self = Self {
        name: "",
        gold: &[],
        golds: |_| Vec::new(),
        variants: |_| Vec::new(),
        solution: plain,
        requires_answer: |_| true,
        wrong_completions: |_| Vec::new(),
        tries_prompt: |_| true,
        rejects_other_answers: false,
        mutations: |_| Vec::new(),
        difference: |_| None,
    };
}

/// A plain text as a completion.
pub(super) fn plain(text: &str) -> Completion {
    Completion::Text(text.into())
}

/// A text in a fenced block, unless it contains one.
pub(super) fn fenced(language: &str, content: &str) -> Completion {
    if content.contains("```") {
        return plain(content);
    }
    plain(&format!("```{language}\n{content}\n```\n"))
}
