//! A `rubric` task in a request. Checks the types and ranges of its fields.

use std::collections::BTreeSet;

use assay_core::error::invalid;
use assay_core::{PrepareContext, Task, TaskError};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Maximum number of criteria of a rubric.
pub(crate) const MAX_CRITERIA: usize = 64;

/// Maximum length of the name of a criterion, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Maximum absolute value of the points of a criterion.
const MAX_POINTS: f64 = 1_000.0;

/// Maximum number of a stage.
const MAX_STAGE: u8 = 15;

/// Maximum saturation.
const MAX_SATURATION: f64 = 100.0;

/// How the scores of criteria are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Combine {
    #[default]
    Points,
    Min,
    Product,
    AtLeast(usize),
}

/// What a criterion that could not be graded does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnFailure {
    #[default]
    Fail,
    Skip,
    Unmet,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CriterionBody {
    name: String,
    task: Box<RawValue>,
    #[serde(default = "one")]
    points: f64,
    met_from: Option<f64>,
    #[serde(default)]
    binary: bool,
    #[serde(default)]
    veto: bool,
    #[serde(default)]
    stage: u8,
    #[serde(default)]
    gate: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskBody {
    criteria: Vec<CriterionBody>,
    #[serde(default)]
    combine: Combine,
    #[serde(default)]
    saturation: f64,
    #[serde(default = "one")]
    threshold: f64,
    #[serde(default)]
    on_failure: OnFailure,
}

fn one() -> f64 {
    1.0
}

/// What a criterion contributes.
#[derive(Debug, Clone)]
pub(crate) struct Criterion {
    pub(crate) name: String,
    pub(crate) points: f64,
    pub(crate) met_from: Option<f64>,
    pub(crate) binary: bool,
    pub(crate) veto: bool,
    pub(crate) stage: u8,
    pub(crate) gate: bool,
}

/// A validated task: its criteria with their tasks, in the order of the request.
#[derive(Debug)]
pub(crate) struct RubricTask {
    pub(crate) criteria: Vec<(Criterion, Task)>,
    pub(crate) rules: Rules,
}

/// How the grades of criteria are combined.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) combine: Combine,
    pub(crate) saturation: f64,
    pub(crate) threshold: f64,
    pub(crate) on_failure: OnFailure,
}

impl RubricTask {
    /// Reads a task, without checking the tasks of its criteria.
    ///
    /// # Errors
    /// [`TaskError`] with a pointer to the field with the wrong type or range.
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let body: TaskBody = task.parse()?;
        let count = body.criteria.len();
        if count == 0 || count > MAX_CRITERIA {
            let message = format!("a rubric must have 1 to {MAX_CRITERIA} criteria, not {count}");
            return Err(invalid("/criteria", message));
        }
        if !(0.0..=MAX_SATURATION).contains(&body.saturation) {
            let message = format!("`saturation` must be from 0 to {MAX_SATURATION}");
            return Err(invalid("/saturation", message));
        }
        if !(body.threshold > 0.0 && body.threshold <= 1.0) {
            return Err(invalid(
                "/threshold",
                "`threshold` must be above 0 and at most 1",
            ));
        }
        let mut names = BTreeSet::new();
        let mut criteria = Vec::with_capacity(count);
        for (at, criterion) in body.criteria.into_iter().enumerate() {
            check_criterion(at, &criterion)?;
            if !names.insert(criterion.name.clone()) {
                let message = format!("two criteria are named `{}`", criterion.name);
                return Err(invalid(&format!("/criteria/{at}/name"), message));
            }
            let task = Task::from_raw(&criterion.task).map_err(|error| within(at, error))?;
            criteria.push((
                Criterion {
                    name: criterion.name,
                    points: criterion.points,
                    met_from: criterion.met_from,
                    binary: criterion.binary,
                    veto: criterion.veto,
                    stage: criterion.stage,
                    gate: criterion.gate,
                },
                task,
            ));
        }
        check_combination(body.combine, &criteria)?;
        Ok(Self {
            criteria,
            rules: Rules {
                combine: body.combine,
                saturation: body.saturation,
                threshold: body.threshold,
                on_failure: body.on_failure,
            },
        })
    }

    /// Checks the tasks of the criteria.
    ///
    /// # Errors
    /// [`TaskError`] with a pointer into the task of a criterion.
    pub(crate) fn check_nested(&self, cx: &PrepareContext<'_>) -> Result<(), TaskError> {
        for (at, (_, task)) in self.criteria.iter().enumerate() {
            cx.check_nested(task).map_err(|error| within(at, error))?;
        }
        Ok(())
    }
}

/// The error of the task of a criterion, with a pointer from the rubric.
fn within(at: usize, error: TaskError) -> TaskError {
    TaskError {
        pointer: format!("/criteria/{at}/task{}", error.pointer),
        ..error
    }
}

fn check_criterion(at: usize, criterion: &CriterionBody) -> Result<(), TaskError> {
    let at_field = |field: &str| format!("/criteria/{at}/{field}");
    if criterion.name.trim().is_empty() || criterion.name.len() > MAX_NAME_BYTES {
        let message = format!("a name must have 1 to {MAX_NAME_BYTES} bytes");
        return Err(invalid(&at_field("name"), message));
    }
    if !(-MAX_POINTS..=MAX_POINTS).contains(&criterion.points) {
        let message = format!("`points` must be from -{MAX_POINTS} to {MAX_POINTS}");
        return Err(invalid(&at_field("points"), message));
    }
    if let Some(met_from) = criterion.met_from
        && !(0.0..=1.0).contains(&met_from)
    {
        return Err(invalid(
            &at_field("met_from"),
            "`met_from` must be in [0, 1]",
        ));
    }
    if criterion.stage > MAX_STAGE {
        return Err(invalid(
            &at_field("stage"),
            format!("`stage` must be at most {MAX_STAGE}"),
        ));
    }
    Ok(())
}

fn check_combination(combine: Combine, criteria: &[(Criterion, Task)]) -> Result<(), TaskError> {
    for (at, (criterion, _)) in criteria.iter().enumerate() {
        let is_fault = criterion.points < 0.0;
        let reason = match combine {
            Combine::Points if criterion.veto => "a veto",
            Combine::Points => continue,
            _ => "this `combine`",
        };
        if is_fault {
            let message = format!(
                "points below 0 have no meaning with {reason}; state what is right instead"
            );
            return Err(invalid(&format!("/criteria/{at}/points"), message));
        }
    }
    match combine {
        Combine::Points
            if criteria
                .iter()
                .all(|(criterion, _)| criterion.points <= 0.0) =>
        {
            Err(invalid(
                "/criteria",
                "at least one criterion must have points above 0",
            ))
        }
        Combine::AtLeast(count) if count == 0 || count > criteria.len() => {
            let message = format!("`at_least` must be from 1 to {}", criteria.len());
            Err(invalid("/combine/at_least", message))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &str) -> Result<RubricTask, TaskError> {
        RubricTask::read(&Task::from_json(&format!(r#"{{"type":"rubric",{fields}}}"#)).unwrap())
    }

    #[test]
    fn errors_point_to_field() {
        let criterion =
            |more: &str| format!(r#""criteria":[{{"name":"a","task":{{"type":"text"}}{more}}}]"#);
        for (fields, pointer) in [
            (r#""criteria":[]"#.to_owned(), "/criteria"),
            (criterion(r#","points":2000"#), "/criteria/0/points"),
            (criterion(r#","points":-1"#), "/criteria"),
            (
                criterion(r#","points":-1,"veto":true"#),
                "/criteria/0/points",
            ),
            (
                format!(r#"{},"combine":"min""#, criterion(r#","points":-1"#)),
                "/criteria/0/points",
            ),
            (criterion(r#","met_from":2"#), "/criteria/0/met_from"),
            (criterion(r#","stage":16"#), "/criteria/0/stage"),
            (criterion(r#","weight":1"#), "/criteria/0/weight"),
            (format!(r#"{},"threshold":0"#, criterion("")), "/threshold"),
            (
                format!(r#"{},"saturation":-1"#, criterion("")),
                "/saturation",
            ),
            (
                format!(r#"{},"combine":{{"at_least":2}}"#, criterion("")),
                "/combine/at_least",
            ),
            (
                r#""criteria":[{"name":"a","task":{}}]"#.to_owned(),
                "/criteria/0/task/type",
            ),
        ] {
            assert_eq!(read(&fields).unwrap_err().pointer, pointer, "{fields}");
        }
        let twice = r#"{"name":"a","task":{"type":"text"}}"#;
        let fields = format!(r#""criteria":[{twice},{twice}]"#);
        assert_eq!(read(&fields).unwrap_err().pointer, "/criteria/1/name");
    }
}
