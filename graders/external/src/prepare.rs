//! The grader, and the preparation of its tasks.

use std::sync::Arc;

use assay_core::error::invalid;
use assay_core::grader::Preparation;
use assay_core::{Checked, Grader, PrepareContext, Spec, Task, TaskError};

use crate::grade::PreparedExternal;
use crate::judge::Judge;
use crate::judges::Judges;
use crate::lean::Statement;
use crate::settings::{Kind, ReplyForm};
use crate::spec::SPEC;
use crate::task::ExternalTask;

/// The grader of `external` tasks.
pub struct ExternalGrader {
    judges: Judges,
}

impl ExternalGrader {
    /// Creates a grader that asks `judges`.
    #[must_use]
    pub fn new(judges: Judges) -> Self {
        Self { judges }
    }

    fn judges_of(&self, task: &ExternalTask) -> Result<Vec<Arc<Judge>>, TaskError> {
        let judges = task.judges.iter().enumerate().map(|(at, name)| {
            let pointer = if task.judges.len() == 1 {
                "/judge".to_owned()
            } else {
                format!("/judge/{at}")
            };
            let judge = self
                .judges
                .get(name)
                .map_err(|message| invalid(&pointer, message))?;
            check_form(&pointer, judge, task)?;
            Ok(Arc::clone(judge))
        });
        let judges: Vec<Arc<Judge>> = judges.collect::<Result<_, TaskError>>()?;
        let forms = |judge: &Arc<Judge>| judge.reader.form;
        if judges
            .windows(2)
            .any(|pair| forms(&pair[0]) != forms(&pair[1]))
        {
            let message =
                "the judges have different settings of `reply`; name judges with the same one";
            return Err(invalid("/judge", message));
        }
        Ok(judges)
    }
}

/// A task must contain what its judge compares or decides.
fn check_form(pointer: &str, judge: &Judge, task: &ExternalTask) -> Result<(), TaskError> {
    let (name, form) = (&judge.name, judge.reader.form);
    if (form == ReplyForm::Pairwise) != task.other.is_some() {
        let message = if task.other.is_some() {
            format!("the judge `{name}` does not compare completions; omit `other`")
        } else {
            format!("the judge `{name}` compares two completions; add `other`")
        };
        return Err(invalid(pointer, message));
    }
    if form == ReplyForm::Criteria && task.criteria.is_empty() {
        let message = format!("the judge `{name}` decides criteria; add `criteria`");
        return Err(invalid(pointer, message));
    }
    check_data(judge, task)
}

/// Some kinds of judges read the fields of `data`.
fn check_data(judge: &Judge, task: &ExternalTask) -> Result<(), TaskError> {
    let data = task.data.as_ref();
    match judge.settings.kind {
        Kind::Chat | Kind::Http => Ok(()),
        Kind::NemoGym | Kind::Verifiers => {
            let is_object = data.is_none_or(|data| data.get().trim_start().starts_with('{'));
            let message = format!("the judge `{}` reads an object", judge.name);
            is_object
                .then_some(())
                .ok_or_else(|| invalid("/data", message))
        }
        Kind::Kimina => Statement::from_data(data)
            .map(drop)
            .map_err(|reason| invalid("/data", reason)),
    }
}

impl Grader for ExternalGrader {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check(&self, task: &Task, _cx: &PrepareContext<'_>) -> Checked {
        let task = ExternalTask::read(task)?;
        // A node without judges reports this for each item, as graders without their image do.
        if self.judges.is_empty() {
            return Ok(());
        }
        self.judges_of(&task).map(drop)
    }

    fn prepare(&self, task: &Task, _cx: &PrepareContext<'_>) -> Preparation {
        let task = ExternalTask::read(task)?;
        let judges = self.judges_of(&task)?;
        Ok(Arc::new(PreparedExternal { task, judges }))
    }

    /// Each judge is a channel of its own. Several judges together share the default one.
    fn family(&self, task: &Task) -> Option<String> {
        let task = ExternalTask::read(task).ok()?;
        match task.judges.as_slice() {
            [judge] => self.judges.get(judge).ok().map(|judge| judge.name.clone()),
            _ => None,
        }
    }

    fn unavailable(&self) -> Option<String> {
        let message = "no judge is configured; declare one under `[judges.NAME]`";
        self.judges.is_empty().then(|| message.to_owned())
    }
}
