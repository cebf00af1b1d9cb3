//! Probes: completions with a known verdict. Golds and solutions must pass; empty, refusing and
//! wrong completions must not. One module per type of task.

mod code;
mod math;
mod sql;
mod structured;
mod token_changes;
mod tools;

use assay_core::{Completion, Task};
use serde_json::Value;

use crate::subject::Subject;

/// Maximum number of golds of a task that are graded.
const MAX_GOLDS: usize = 8;

/// Maximum number of rollouts of a row that are graded.
const MAX_ROLLOUTS: usize = 256;

/// A refusal.
const REFUSAL: &str = "I'm sorry, but I can't help with that request.";

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
    fn new(purpose: Purpose, completion: Completion) -> Self {
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
    golds: fn(&Subject) -> Vec<Vec<Completion>>,
    /// Writes a solution as a completion.
    solution: fn(&str) -> Completion,
    /// Whether an empty completion must not pass.
    requires_answer: fn(&Subject) -> bool,
    /// Mutants and variations.
    wrong_completions: fn(&Subject) -> Vec<Probe>,
}

/// All probers. Tasks of other types are only checked for their shape.
const PROBERS: &[Prober] = &[
    math::PROBER,
    code::PROBER,
    sql::PROBER,
    tools::PROBER,
    structured::PROBER,
];

/// The prober of a type of task.
pub(crate) fn prober(name: &str) -> Option<&'static Prober> {
    PROBERS.iter().find(|prober| prober.name == name)
}

/// The probes of a row. Golds and solutions are included `repeats` times.
pub(crate) fn of(subject: &Subject, repeats: usize) -> Vec<Probe> {
    let Some(prober) = prober(subject.task.kind.as_str()) else {
        return Vec::new();
    };
    let mut probes = Vec::new();
    for _ in 0..repeats.max(1) {
        for (gold, forms) in (prober.golds)(subject)
            .into_iter()
            .take(MAX_GOLDS)
            .enumerate()
        {
            let forms = forms.into_iter().enumerate();
            probes
                .extend(forms.map(|(form, completion)| {
                    Probe::new(Purpose::Gold { gold, form }, completion)
                }));
        }
        if let Some(solution) = &subject.solution {
            probes.push(Probe::new(Purpose::Solution, (prober.solution)(solution)));
        }
    }
    if (prober.requires_answer)(subject) {
        probes.push(Probe::new(Purpose::Empty, text("")));
        probes.push(Probe::new(Purpose::Refusal, text(REFUSAL)));
        probes.extend((prober.wrong_completions)(subject));
    } else {
        probes.push(Probe::new(Purpose::Prepare, text("")));
    }
    let rollouts = subject
        .rollouts
        .iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(MAX_ROLLOUTS);
    probes.extend(rollouts.map(|rollout| Probe::new(Purpose::Rollout, text(rollout))));
    probes
}

/// A plain text as a completion.
fn text(text: &str) -> Completion {
    Completion::Text(text.into())
}

/// A text in a fenced block, unless it contains one.
fn fenced(language: &str, content: &str) -> Completion {
    if content.contains("```") {
        return text(content);
    }
    text(&format!("```{language}\n{content}\n```\n"))
}
