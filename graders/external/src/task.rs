//! An `external` task in a request. Checks the types and ranges of its fields.

use std::collections::BTreeSet;
use std::sync::Arc;

use assay_core::error::invalid;
use assay_core::{RawJson, Task, TaskError};
use serde::Deserialize;

/// Maximum number of judges of a task.
pub(crate) const MAX_JUDGES: usize = 8;

/// Maximum number of criteria of a task.
const MAX_CRITERIA: usize = 64;

/// Maximum length of a text of a task, in bytes.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// Maximum length of the id of a criterion, in bytes.
const MAX_ID_BYTES: usize = 64;

/// Maximum absolute value of the points of a criterion.
const MAX_POINTS: f64 = 1_000.0;

/// One judge, or several whose scores are averaged.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "`judge` must be a name or an array of names")]
enum JudgeNames {
    One(String),
    Several(Vec<String>),
}

/// A criterion that a judge decides.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Criterion {
    pub(crate) id: String,
    pub(crate) text: String,
    #[serde(default = "one_point")]
    pub(crate) points: f64,
}

fn one_point() -> f64 {
    1.0
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskBody {
    judge: JudgeNames,
    question: Option<String>,
    reference: Option<String>,
    rubric: Option<String>,
    #[serde(default)]
    criteria: Vec<Criterion>,
    other: Option<String>,
    threshold: Option<f64>,
    data: Option<RawJson>,
}

/// A validated task. Texts are what the judge reads.
#[derive(Debug, Clone)]
pub(crate) struct ExternalTask {
    pub(crate) judges: Vec<String>,
    /// The question; without one, the prompt of the item.
    pub(crate) question: Option<Arc<str>>,
    pub(crate) reference: Option<Arc<str>>,
    pub(crate) rubric: Option<Arc<str>>,
    pub(crate) criteria: Vec<Criterion>,
    /// The other completion of a pair.
    pub(crate) other: Option<Arc<str>>,
    pub(crate) threshold: Option<f64>,
    /// What a judge of another kind than `chat` receives in addition.
    pub(crate) data: Option<RawJson>,
}

impl ExternalTask {
    /// Reads a task.
    ///
    /// # Errors
    /// [`TaskError`] with a pointer to the field with the wrong type or range.
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let body: TaskBody = task.parse()?;
        let judges = match body.judge {
            JudgeNames::One(name) => vec![name],
            JudgeNames::Several(names) => names,
        };
        if judges.is_empty() || judges.len() > MAX_JUDGES {
            let message = format!("a task must name 1 to {MAX_JUDGES} judges");
            return Err(invalid("/judge", message));
        }
        for (name, text) in [
            ("question", &body.question),
            ("reference", &body.reference),
            ("rubric", &body.rubric),
            ("other", &body.other),
        ] {
            check_text(&format!("/{name}"), name, text.as_deref())?;
        }
        if let Some(threshold) = body.threshold
            && !(0.0..=1.0).contains(&threshold)
        {
            return Err(invalid("/threshold", "a threshold must be in [0, 1]"));
        }
        check_criteria(&body.criteria)?;
        if let Some(data) = &body.data
            && data.get().len() > MAX_TEXT_BYTES
        {
            let message = format!("`data` must have at most {MAX_TEXT_BYTES} bytes");
            return Err(invalid("/data", message));
        }
        Ok(Self {
            judges,
            question: body.question.map(Into::into),
            reference: body.reference.map(Into::into),
            rubric: body.rubric.map(Into::into),
            criteria: body.criteria,
            other: body.other.map(Into::into),
            threshold: body.threshold,
            data: body.data,
        })
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.question, &self.reference, &self.rubric, &self.other];
        let criteria = self
            .criteria
            .iter()
            .map(|criterion| size_of::<Criterion>() + criterion.id.len() + criterion.text.len());
        texts
            .into_iter()
            .flatten()
            .map(|text| text.len())
            .sum::<usize>()
            + criteria.sum::<usize>()
            + self.data.as_ref().map_or(0, |data| data.get().len())
            + self.judges.iter().map(String::len).sum::<usize>()
    }
}

fn check_text(pointer: &str, name: &str, text: Option<&str>) -> Result<(), TaskError> {
    match text {
        Some(text) if text.trim().is_empty() => {
            Err(invalid(pointer, format!("`{name}` is empty; omit it")))
        }
        Some(text) if text.len() > MAX_TEXT_BYTES => {
            let message = format!("`{name}` must have at most {MAX_TEXT_BYTES} bytes");
            Err(invalid(pointer, message))
        }
        _ => Ok(()),
    }
}

fn check_criteria(criteria: &[Criterion]) -> Result<(), TaskError> {
    if criteria.len() > MAX_CRITERIA {
        let message = format!("a task must have at most {MAX_CRITERIA} criteria");
        return Err(invalid("/criteria", message));
    }
    let mut ids = BTreeSet::new();
    for (at, criterion) in criteria.iter().enumerate() {
        let at_field = |field: &str| format!("/criteria/{at}/{field}");
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let id = &criterion.id;
        if id.is_empty() || id.len() > MAX_ID_BYTES || !id.chars().all(is_allowed) {
            let message =
                format!("an id must have 1 to {MAX_ID_BYTES} letters, digits, `-`, `_` and `.`");
            return Err(invalid(&at_field("id"), message));
        }
        if !ids.insert(id) {
            return Err(invalid(
                &at_field("id"),
                format!("two criteria have the id `{id}`"),
            ));
        }
        check_text(&at_field("text"), "text", Some(&criterion.text))?;
        if !(-MAX_POINTS..=MAX_POINTS).contains(&criterion.points) {
            let message = format!("`points` must be from -{MAX_POINTS} to {MAX_POINTS}");
            return Err(invalid(&at_field("points"), message));
        }
    }
    if !criteria.is_empty() && criteria.iter().all(|criterion| criterion.points <= 0.0) {
        return Err(invalid(
            "/criteria",
            "at least one criterion must have points above 0",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_point_to_field() {
        for (fields, pointer) in [
            (r#""judge":[]"#, "/judge"),
            (r#""judge":1"#, "/judge"),
            (r#""judge":"a","reference":" ""#, "/reference"),
            (r#""judge":"a","threshold":2"#, "/threshold"),
            (r#""judge":"a","url":"http://a""#, "/url"),
            (
                r#""judge":"a","criteria":[{"id":"a b","text":"t"}]"#,
                "/criteria/0/id",
            ),
            (
                r#""judge":"a","criteria":[{"id":"a","text":"t"},{"id":"a","text":"t"}]"#,
                "/criteria/1/id",
            ),
            (
                r#""judge":"a","criteria":[{"id":"a","text":""}]"#,
                "/criteria/0/text",
            ),
            (
                r#""judge":"a","criteria":[{"id":"a","text":"t","points":-1}]"#,
                "/criteria",
            ),
        ] {
            let json = format!(r#"{{"type":"external",{fields}}}"#);
            let task = Task::from_json(&json).unwrap();
            let error = ExternalTask::read(&task).unwrap_err();
            assert_eq!(error.pointer, pointer, "{json}");
        }
    }
}
