//! Prepares the golds once for all completions of a task.

use std::sync::Arc;

use assay_core::grader::{Preparation, PrepareError};
use assay_core::{Checked, Grader, Nested, PrepareContext, Spec, Task, TaskError};
use serde_json::json;

use crate::grade::PreparedText;
use crate::matching::Matcher;
use crate::spec::SPEC;
use crate::task::{Extract, Match, TextTask};

/// The grader of `text` tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextGrader;

impl Grader for TextGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, cx: &PrepareContext<'_>) -> Checked {
        if read(task)?.0.consensus {
            cx.check_without_gold()?;
        }
        Ok(())
    }

    fn has_gold(&self, task: &Task) -> bool {
        TextTask::read(task).map_or(true, |task| !task.consensus)
    }

    fn prepare(&self, task: &Task, cx: &PrepareContext<'_>) -> Preparation {
        let (task, matcher) = read(task)?;
        let numbers = if task.by == Match::Number {
            let texts = task.golds.iter().chain(&task.rejected);
            texts
                .map(|text| number(text, cx))
                .collect::<Result<_, _>>()?
        } else {
            Vec::new()
        };
        let is_letter = |gold: &String| matches!(gold.trim().as_bytes(), [b'A'..=b'J']);
        let letters = !task.golds.is_empty() && task.golds.iter().all(is_letter);
        Ok(Arc::new(PreparedText {
            letters: letters && task.extract == Extract::Auto,
            task,
            matcher,
            numbers,
        }))
    }
}

fn read(task: &Task) -> Result<(TextTask, Matcher), TaskError> {
    let task = TextTask::read(task)?;
    let matcher = Matcher::new(&task)?;
    Ok((task, matcher))
}

/// The task that compares the number of a text with a gold.
fn number(gold: &str, cx: &PrepareContext<'_>) -> Result<Nested, PrepareError> {
    let task = json!({ "type": "math", "answer": gold });
    cx.nested(&Task::from_json(&task.to_string())?)
}
