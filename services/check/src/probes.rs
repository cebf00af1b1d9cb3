//! Completions whose verdict is known beforehand: the gold written as a completion, and what must
//! not pass. One file a type of task.

mod code;
mod flips;
mod math;
mod sql;
mod structured;
mod tools;

use assay_core::{Completion, Task};
use serde_json::Value;

use crate::subject::Subject;

/// Golds of one task that are tried.
const MOST_GOLDS: usize = 8;

/// Rollouts of one row that are graded.
const MOST_ROLLOUTS: usize = 256;

/// A completion that declines.
const REFUSAL: &str = "I'm sorry, but I can't help with that request.";

/// What a probe is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// A gold, written as a completion: passes, if any way of writing it does.
    Gold {
        /// Which of the task's golds.
        gold: usize,
        /// Which way of writing it.
        way: usize,
    },
    /// What the dataset says is a solution: passes.
    Solution,
    /// Nothing: does not pass.
    Empty,
    /// Nothing, where nothing is what the task asks for, and to see whether the task can be graded
    /// at all.
    Prepare,
    /// A completion that declines: does not pass.
    Refusal,
    /// What is wrong whatever the task: does not pass. The text says what it is.
    Mutant(&'static str),
    /// The gold with one thing changed, which is wrong as a rule: most do not pass.
    Variation(&'static str),
    /// A rollout of the row's own.
    Rollout,
}

/// A completion and what it is for.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) purpose: Purpose,
    pub(crate) completion: Completion,
    /// A task to grade it by, where it is not the row's own.
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

/// How one type of task is probed.
pub(crate) struct Kind {
    /// The name of its grader.
    pub(crate) name: &'static str,
    /// The fields that are the gold. Two tasks that differ elsewhere ask different things.
    pub(crate) gold: &'static [&'static str],
    /// The golds, each written as a completion in one way or several; none where they cannot be.
    golds: fn(&Subject) -> Vec<Vec<Completion>>,
    /// A solution as a completion.
    solution: fn(&str) -> Completion,
    /// Whether an empty completion must not pass.
    wants_something: fn(&Subject) -> bool,
    /// Further probes: mutants and variations.
    wrong: fn(&Subject) -> Vec<Probe>,
}

/// Every type of task that is probed. Tasks of other types are prepared and nothing else.
const KINDS: &[Kind] = &[
    math::KIND,
    code::KIND,
    sql::KIND,
    tools::KIND,
    structured::KIND,
];

/// How tasks of this type are probed.
pub(crate) fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The probes of a row; `repeats` times those that must pass.
pub(crate) fn of(subject: &Subject, repeats: usize) -> Vec<Probe> {
    let Some(kind) = kind(subject.task.kind.as_str()) else {
        return Vec::new();
    };
    let mut probes = Vec::new();
    for _ in 0..repeats.max(1) {
        for (gold, ways) in (kind.golds)(subject)
            .into_iter()
            .take(MOST_GOLDS)
            .enumerate()
        {
            let ways = ways.into_iter().enumerate();
            probes.extend(
                ways.map(|(way, completion)| Probe::new(Purpose::Gold { gold, way }, completion)),
            );
        }
        if let Some(solution) = &subject.solution {
            probes.push(Probe::new(Purpose::Solution, (kind.solution)(solution)));
        }
    }
    if (kind.wants_something)(subject) {
        probes.push(Probe::new(Purpose::Empty, text("")));
        probes.push(Probe::new(Purpose::Refusal, text(REFUSAL)));
        probes.extend((kind.wrong)(subject));
    } else {
        probes.push(Probe::new(Purpose::Prepare, text("")));
    }
    let rollouts = subject
        .rollouts
        .iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(MOST_ROLLOUTS);
    probes.extend(rollouts.map(|rollout| Probe::new(Purpose::Rollout, text(rollout))));
    probes
}

/// A completion of plain text.
fn text(text: &str) -> Completion {
    Completion::Text(text.into())
}

/// A text in a fenced block, unless it is in one already.
fn fenced(language: &str, content: &str) -> Completion {
    if content.contains("```") {
        return text(content);
    }
    text(&format!("```{language}\n{content}\n```\n"))
}
