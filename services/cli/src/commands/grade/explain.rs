//! Explains a result as text for people.

use std::fmt::Write;

use assay_core::visible::Visible;
use assay_core::{Item, Outcome, Task};
use assay_engine::{BatchItem, ItemResult};

/// The outcome of an item and of its checks, each with its explanation: the intermediate values of
/// a `math` task, otherwise the evidence.
pub(super) fn result(item: &BatchItem, result: &ItemResult) -> String {
    let mut out = String::new();
    if let Some(id) = &item.id {
        push(&mut out, format_args!("`{}`: ", Visible::line(id)));
    }
    part(&mut out, &item.task, &item.item, &result.outcome);
    for (component, (name, task)) in result.check_components.iter().zip(&item.checks) {
        push(&mut out, format_args!("check `{}`: ", Visible::line(name)));
        part(&mut out, task, &item.item, &component.outcome);
    }
    out
}

fn part(out: &mut String, task: &Task, item: &Item, outcome: &Outcome) {
    let grader = task.kind.as_str();
    match outcome {
        Outcome::Graded(grade) => {
            let score = grade.score.get();
            push(
                out,
                format_args!("{grader}: {}, score {score}\n", grade.verdict),
            );
        }
        Outcome::Ungradable(fault) | Outcome::Failed(fault) => {
            let message = Visible::line(&fault.message);
            push(
                out,
                format_args!("{grader}: {}: {message}\n", outcome.as_str()),
            );
        }
    }
    let explained = (grader == assay_math::SPEC.name)
        .then(|| assay_math::explain(task, item).ok())
        .flatten();
    if let Some(explanation) = explained {
        for line in explanation.lines() {
            push(out, format_args!("  {line}\n"));
        }
    } else if let Some(grade) = outcome.grade() {
        for (name, value) in grade.evidence.as_map() {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            push(out, format_args!("  {name}: {}\n", Visible::line(&value)));
        }
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a `String` cannot fail.
    let _ = out.write_fmt(text);
}
