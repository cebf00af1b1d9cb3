//! The grader, and the preparation of its tasks: the order of the options, and which are right.

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_core::grader::{Preparation, PrepareError};
use assay_core::{Checked, Grader, Nested, PrepareContext, Spec, Task, option_order};
use serde_json::json;

use crate::grade::PreparedChoice;
use crate::select::Shown;
use crate::spec::SPEC;
use crate::task::ChoiceTask;
use crate::texts::comparable;

/// The grader of `choice` tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChoiceGrader;

impl Grader for ChoiceGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, _cx: &PrepareContext<'_>) -> Checked {
        ChoiceTask::read(task).map(drop)
    }

    fn prepare(&self, task: &Task, cx: &PrepareContext<'_>) -> Preparation {
        let task = ChoiceTask::read(task)?;
        let right = right_options(&task)?;
        let texts: Vec<&str> = task.texts.iter().map(String::as_str).collect();
        let order = task.shuffle.as_ref().map(|key| option_order(key, &texts));
        let shown_texts: Vec<String> = match &order {
            Some(order) => order
                .iter()
                .map(|option| task.texts[*option].clone())
                .collect(),
            None => task.texts.clone(),
        };
        let right = match &order {
            Some(order) => (0..order.len())
                .filter(|shown| right.contains(&order[*shown]))
                .collect(),
            None => right,
        };
        let values = shown_texts.iter().map(|text| value(text, cx)).collect();
        Ok(Arc::new(PreparedChoice {
            shown: Shown {
                comparable: shown_texts.iter().map(|text| comparable(text)).collect(),
                by_label: task
                    .labels
                    .iter()
                    .cloned()
                    .zip(shown_texts.iter().cloned())
                    .collect(),
                labels: task.labels,
                texts: shown_texts,
                values,
                extract: task.extract,
                language: task.language,
            },
            right,
            require: task.require,
            order,
        }))
    }
}

/// The positions of the right options in the task.
fn right_options(task: &ChoiceTask) -> Result<BTreeSet<usize>, PrepareError> {
    let of = |answer: &String| {
        let label = task
            .labels
            .iter()
            .position(|label| label.eq_ignore_ascii_case(answer.trim()));
        let same =
            |text: &String| !text.trim().is_empty() && comparable(text) == comparable(answer);
        label
            .or_else(|| task.texts.iter().position(same))
            .ok_or_else(|| {
                let shown: String = answer.chars().take(80).collect();
                PrepareError::task_at_fault(format!(
                    "the answer `{shown}` is neither a label nor the text of an option"
                ))
            })
    };
    let right: BTreeSet<usize> = task.answers.iter().map(of).collect::<Result<_, _>>()?;
    for (at, text) in task.texts.iter().enumerate() {
        let own = comparable(text);
        let twin = (0..at).find(|other| !own.is_empty() && comparable(&task.texts[*other]) == own);
        if let Some(other) = twin.filter(|other| right.contains(other) != right.contains(&at)) {
            return Err(PrepareError::task_at_fault(format!(
                "the options `{}` and `{}` have the same text, and one of them is wrong",
                task.labels[other], task.labels[at]
            )));
        }
    }
    Ok(right)
}

/// The task that compares an answer with the value of an option; `None` if the option is not a
/// value that the mathematics grader reads.
fn value(text: &str, cx: &PrepareContext<'_>) -> Option<Nested> {
    if !text.contains(|c: char| c.is_ascii_digit() || c == '\\') {
        return None;
    }
    let task = json!({ "type": "math", "answer": text, "extract": "whole" });
    let task = Task::from_json(&task.to_string()).ok()?;
    cx.nested(&task).ok()
}
