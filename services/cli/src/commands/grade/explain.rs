//! Explains a result as text for people.

use std::fmt::Write;

use assay_base::visible::Visible;
use assay_core::{Evidence, Item, Task};
use assay_engine::{Batch, BatchItem, Engine, EngineError};
use assay_record::ItemGrade;

/// The grade of an item and of its checks, each with its explanation: the intermediate values of a
/// `math` task, otherwise the evidence. Checks are graded again, because a grade does not have
/// their evidence.
pub(super) async fn grade(
    engine: &Engine,
    item: &BatchItem,
    grade: &ItemGrade,
) -> Result<String, EngineError> {
    let mut out = String::new();
    if let Some(id) = &item.id {
        push(&mut out, format_args!("`{}`: ", Visible::line(id)));
    }
    part(&mut out, &item.task, &item.item, grade);
    if item.checks.is_empty() {
        return Ok(out);
    }
    let checks = item.checks.iter();
    let checks = checks.map(|(_, task)| BatchItem::new(item.item.clone(), task.clone()));
    let batch = Batch::new("local", checks.collect());
    let reply = engine.grade_unrecorded(batch).await?;
    for ((name, task), grade) in item.checks.iter().zip(reply.grades()) {
        push(&mut out, format_args!("check `{}`: ", Visible::line(name)));
        part(&mut out, task, &item.item, grade);
    }
    Ok(out)
}

fn part(out: &mut String, task: &Task, item: &Item, grade: &ItemGrade) {
    let grader = task.kind.as_str();
    let outcome = &grade.outcome;
    match (&grade.error, &grade.verdict) {
        (Some(fault), _) => {
            let message = Visible::line(&fault.message);
            push(out, format_args!("{grader}: {outcome}: {message}\n"));
        }
        (None, verdict) => {
            let verdict = verdict.as_deref().unwrap_or_default();
            let score = grade.score.unwrap_or_default();
            push(out, format_args!("{grader}: {verdict}, score {score}\n"));
        }
    }
    let explained = (grader == assay_math::SPEC.name)
        .then(|| assay_math::explain(task, item).ok())
        .flatten();
    if let Some(explanation) = explained {
        for line in explanation.lines() {
            push(out, format_args!("  {line}\n"));
        }
    } else {
        let evidence = grade.evidence.as_ref().map(Evidence::facts);
        for (name, value) in evidence.into_iter().flatten() {
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
