//! A `text` task in a request. Checks the types and ranges of its fields.

use assay_core::{ErrorCode, Task, TaskError};
use serde::Deserialize;

/// Maximum number of golds of a task.
const MAX_GOLDS: usize = 64;

/// Maximum length of a gold, in bytes.
const MAX_GOLD_BYTES: usize = 64 << 10;

/// The gold: one text, or several of which any is accepted.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "`answer` must be a string or an array of strings"
)]
enum Answer {
    One(String),
    Any(Vec<String>),
}

/// How a text is compared with a gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Match {
    #[default]
    Exact,
    Normalised,
    Contains,
    Pattern,
}

impl Match {
    /// The name in tasks and evidence.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Normalised => "normalised",
            Self::Contains => "contains",
            Self::Pattern => "pattern",
        }
    }
}

/// Which part of a completion is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extract {
    #[default]
    Whole,
    Auto,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskBody {
    answer: Answer,
    #[serde(default, rename = "match")]
    by: Match,
    #[serde(default)]
    extract: Extract,
}

/// A validated task.
#[derive(Debug)]
pub(crate) struct TextTask {
    pub(crate) golds: Vec<String>,
    pub(crate) by: Match,
    pub(crate) extract: Extract,
}

impl TextTask {
    /// Reads a task.
    ///
    /// # Errors
    /// [`TaskError`] with a pointer to the field with the wrong type or range.
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let body: TaskBody = task.parse()?;
        let invalid =
            |message: String| Err(TaskError::new(ErrorCode::InvalidTask, "/answer", message));
        let golds = match body.answer {
            Answer::One(gold) => vec![gold],
            Answer::Any(golds) => golds,
        };
        if golds.is_empty() || golds.len() > MAX_GOLDS {
            return invalid(format!(
                "a task must have 1 to {MAX_GOLDS} golds, not {}",
                golds.len()
            ));
        }
        if golds.iter().any(|gold| gold.trim().is_empty()) {
            return invalid("a gold is empty".to_owned());
        }
        if golds.iter().any(|gold| gold.len() > MAX_GOLD_BYTES) {
            return invalid(format!("a gold must have at most {MAX_GOLD_BYTES} bytes"));
        }
        Ok(Self {
            golds,
            by: body.by,
            extract: body.extract,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_point_to_field() {
        for (json, pointer) in [
            (r#"{"type":"text","answer":[]}"#, "/answer"),
            (r#"{"type":"text","answer":" "}"#, "/answer"),
            (r#"{"type":"text","answer":"a","match":"fuzzy"}"#, "/match"),
            (
                r#"{"type":"text","answer":"a","extract":"box"}"#,
                "/extract",
            ),
            (r#"{"type":"text","answer":"a","mach":"exact"}"#, "/mach"),
        ] {
            let task = Task::from_json(json).unwrap();
            assert_eq!(
                TextTask::read(&task).unwrap_err().pointer,
                pointer,
                "{json}"
            );
        }
    }

    #[test]
    fn a_task_has_at_most_64_golds() {
        let read = |count: usize| {
            let golds = vec![r#""a""#; count].join(",");
            let task = Task::from_json(&format!(r#"{{"type":"text","answer":[{golds}]}}"#));
            TextTask::read(&task.unwrap()).map(|task| task.golds.len())
        };
        assert_eq!(read(64).unwrap(), 64);
        assert_eq!(
            read(65).unwrap_err().message,
            "a task must have 1 to 64 golds, not 65"
        );
    }
}
