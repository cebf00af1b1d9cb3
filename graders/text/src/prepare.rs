//! Prepares the golds once for all completions of a task.

use std::sync::Arc;

use assay_core::grader::Preparation;
use assay_core::{Checked, Grader, PrepareContext, Spec, Task, TaskError};

use crate::grade::PreparedText;
use crate::matching::Matcher;
use crate::spec::SPEC;
use crate::task::TextTask;

/// The grader of `text` tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextGrader;

impl Grader for TextGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, cx: &PrepareContext<'_>) -> Checked {
        if prepared(task)?.task.golds.is_empty() {
            cx.check_without_gold()?;
        }
        Ok(())
    }

    fn has_gold(&self, task: &Task) -> bool {
        TextTask::read(task).map_or(true, |task| !task.golds.is_empty())
    }

    fn prepare(&self, task: &Task, _cx: &PrepareContext<'_>) -> Preparation {
        Ok(Arc::new(prepared(task)?))
    }
}

fn prepared(task: &Task) -> Result<PreparedText, TaskError> {
    let task = TextTask::read(task)?;
    let matcher = Matcher::new(&task)?;
    Ok(PreparedText { task, matcher })
}
