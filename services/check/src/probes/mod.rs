//! Probes: completions with a known verdict. Golds and solutions must pass; empty, refusing and
//! wrong completions must not. One module per type of task.

mod choice;
mod code;
mod instructions;
mod math;
mod probe;
mod sql;
mod structured;
mod text;
mod token_changes;
mod tools;

use serde_json::Value;

use crate::subject::Subject;
use probe::text;

pub(crate) use probe::{Probe, Prober, Purpose};

/// Maximum number of golds of a task that are graded.
const MAX_GOLDS: usize = 8;

/// Maximum number of rollouts of a row that are graded.
const MAX_ROLLOUTS: usize = 256;

/// A refusal.
const REFUSAL: &str = "I'm sorry, but I can't help with that request.";

/// All probers. Tasks of other types are only checked for their shape.
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
