//! Probes: completions with a known verdict. Golds, their variants and solutions must pass; empty,
//! refusing, copied and wrong completions must not. One module per type of task.
//!
//! A grader needs a [`Prober`] in [`PROBERS`], or a reason in [`UNPROBED`] why none of its
//! completions has a known verdict. A test requires one of them.

mod choice;
mod code;
mod instructions;
mod math;
mod math_variants;
mod mutations;
mod probe;
mod sql;
mod structured;
mod text;
mod token_changes;
mod tools;

use serde_json::Value;

use crate::subject::Subject;
use probe::plain;

pub(crate) use code::tested_names;
pub(crate) use math_variants::is_number;
pub(crate) use mutations::NEW_TEST;
pub(crate) use probe::{Probe, Prober, Purpose};

/// Maximum number of golds of a task that are graded.
const MAX_GOLDS: usize = 8;

/// Maximum number of rollouts of a row that are graded.
const MAX_ROLLOUTS: usize = 256;

/// Maximum length of a prompt that is tried as a completion, in bytes.
const MAX_COPY: usize = 64 << 10;

/// A refusal.
const REFUSAL: &str = "I'm sorry, but I can't help with that request.";

/// The probers, by grader.
const PROBERS: &[Prober] = &[
    math::PROBER,
    code::PROBER,
    sql::PROBER,
    tools::PROBER,
    structured::PROBER,
    choice::PROBER,
    instructions::PROBER,
    text::PROBER,
];

/// Graders without a prober, and why their tasks are unchecked.
const UNPROBED: &[(&str, &str)] = &[
    (
        "reward_model",
        "no completion has a known score of a reward model",
    ),
    ("external", "no completion has a known verdict of a judge"),
    ("rubric", "no completion has known verdicts on the criteria"),
    ("session", "the verdict does not depend on the completion"),
];

/// The prober of a type of task.
pub(crate) fn prober(name: &str) -> Option<&'static Prober> {
    PROBERS.iter().find(|prober| prober.name == name)
}

/// Why completions of tasks of this type are not tried; `None` if they are.
#[must_use]
pub fn why_unprobed(name: &str) -> Option<&'static str> {
    if prober(name).is_some() {
        return None;
    }
    let reason = UNPROBED.iter().find(|(unprobed, _)| *unprobed == name);
    Some(reason.map_or(
        "there are no probes for this type of task",
        |(_, reason)| reason,
    ))
}

/// The probes of a row. Golds and solutions are included `repeats` times. `other` is another row of
/// the same type, whose answer is wrong here.
pub(crate) fn of(subject: &Subject, other: Option<&Subject>, repeats: usize) -> Vec<Probe> {
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
    let variants = (prober.variants)(subject).into_iter();
    probes.extend(variants.map(|(form, variant)| Probe::new(Purpose::Variant(form), variant)));
    if (prober.requires_answer)(subject) {
        probes.push(Probe::new(Purpose::Empty, plain("")));
        probes.push(Probe::new(Purpose::Refusal, plain(REFUSAL)));
        let prompt = subject.prompt.as_deref().filter(|prompt| {
            !prompt.trim().is_empty() && prompt.len() <= MAX_COPY && (prober.tries_prompt)(subject)
        });
        probes.extend(prompt.map(|prompt| Probe::new(Purpose::Copy, plain(prompt))));
        probes.extend((prober.wrong_completions)(subject));
        probes.extend(other.and_then(|other| other_answer(prober, subject, other)));
        let mutations = (prober.mutations)(subject).into_iter().enumerate();
        probes.extend(mutations.map(|(at, mutation)| Probe {
            purpose: Purpose::Mutation(at),
            completion: mutation.completion,
            task: code::limited_task(subject),
        }));
    } else {
        probes.push(Probe::new(Purpose::Prepare, plain("")));
    }
    let rollouts = subject
        .rollouts
        .iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(MAX_ROLLOUTS);
    probes.extend(rollouts.map(|rollout| Probe::new(Purpose::Rollout, plain(rollout))));
    probes
}

/// The answer of another row, which is wrong here unless one gold contains the other or accepts the
/// same answer.
fn other_answer(prober: &Prober, subject: &Subject, other: &Subject) -> Option<Probe> {
    if !prober.rejects_other_answers {
        return None;
    }
    let gold = |subject: &Subject| {
        let fields = prober.gold.iter();
        let values = fields.filter_map(|field| subject.body.get(*field));
        let text: String = values.map(Value::to_string).collect();
        text.trim_matches('"').to_lowercase()
    };
    let (mine, others) = (gold(subject), gold(other));
    if mine.contains(&others) || others.contains(&mine) {
        return None;
    }
    let completion = (prober.golds)(other).into_iter().next()?.pop()?;
    let own = (prober.golds)(subject);
    if own.iter().flatten().any(|own| *own == completion) {
        return None;
    }
    Some(Probe::new(
        Purpose::Mutant("the answer of another row"),
        completion,
    ))
}

/// The probes that follow from the results of the first ones: for each changed program that passes,
/// a comparison with the right program on generated inputs.
pub(crate) fn comparisons(subject: &Subject, passed: impl Iterator<Item = usize>) -> Vec<Probe> {
    let mut passed = passed.peekable();
    let Some(prober) = prober(subject.task.kind.as_str()).filter(|_| passed.peek().is_some())
    else {
        return Vec::new();
    };
    let Some(task) = (prober.difference)(subject) else {
        return Vec::new();
    };
    let mutations = (prober.mutations)(subject);
    passed
        .filter(|at| *at < mutations.len())
        .map(|at| Probe {
            purpose: Purpose::Difference(at),
            completion: mutations[at].completion.clone(),
            task: Some(task.clone()),
        })
        .collect()
}

/// The descriptions of the changes of a right program, by index.
pub(crate) fn changes(subject: &Subject) -> Vec<String> {
    let prober = prober(subject.task.kind.as_str());
    let mutations = prober.map(|prober| (prober.mutations)(subject));
    let mutations = mutations.into_iter().flatten();
    mutations.map(|mutation| mutation.description).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(accepted: &str) -> Subject {
        let task = format!(
            r#"{{"type":"tools","tools":[{{"name":"find","parameters":{{}}}}],"expected":[{{"name":"find","any_of":{{"type":{accepted}}}}}]}}"#
        );
        Subject {
            task: assay_core::Task::from_json(&task).unwrap(),
            body: serde_json::from_str(&task).unwrap(),
            prompt: None,
            solution: None,
            rollouts: None,
        }
    }

    #[test]
    fn tries_answers_of_other_rows_that_are_wrong() {
        let tries = |own: &str, other: &str| {
            let probes = of(&subject(own), Some(&subject(other)), 1);
            probes
                .iter()
                .any(|probe| matches!(probe.purpose, Purpose::Mutant("the answer of another row")))
        };
        assert!(tries(r#"["coach"]"#, r#"["doctor","coach"]"#));
        assert!(!tries(r#"["doctor"]"#, r#"["doctor","coach"]"#));
    }
}
