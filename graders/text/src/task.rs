//! A `text` task in a request. Checks the types and ranges of its fields.

use assay_core::error::invalid;
use assay_core::{Task, TaskError};
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

/// Which golds a text must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Require {
    #[default]
    Any,
    All,
}

/// How many words a text must have. A word is a run of letters, digits and underscores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    #[serde(default)]
    pub(crate) min: u32,
    #[serde(default = "unlimited")]
    pub(crate) max: u32,
}

fn unlimited() -> u32 {
    u32::MAX
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskBody {
    #[serde(default)]
    answer: Option<Answer>,
    #[serde(default)]
    consensus: bool,
    #[serde(default)]
    require: Require,
    #[serde(default)]
    reject: Vec<String>,
    words: Option<Words>,
    #[serde(default, rename = "match")]
    by: Match,
    #[serde(default)]
    extract: Extract,
}

impl TaskBody {
    /// The golds; none for a task without a gold.
    fn golds(&self) -> Result<Vec<String>, TaskError> {
        let golds = match (&self.answer, self.consensus) {
            (Some(_), true) => {
                let message = "the task has an `answer`, so it needs no consensus; remove one";
                return Err(invalid("/consensus", message));
            }
            (None, true) if !matches!(self.by, Match::Exact | Match::Normalised) => {
                let message = format!(
                    "`{}` compares with a gold; without one use `exact` or `normalised`",
                    self.by.as_str()
                );
                return Err(invalid("/match", message));
            }
            (None, true) if !self.reject.is_empty() || self.words.is_some() => {
                let message = "`reject` and `words` decide a verdict, which a task without a \
                               gold does not have; use a check";
                return Err(invalid("/consensus", message));
            }
            (None, true) => return Ok(Vec::new()),
            (None, false) => {
                let message = "missing field `answer`; for a task without a gold write \
                               `\"consensus\": true`";
                return Err(invalid("", message));
            }
            (Some(Answer::One(gold)), false) => vec![gold.clone()],
            (Some(Answer::Any(golds)), false) => golds.clone(),
        };
        if golds.is_empty() || golds.len() > MAX_GOLDS {
            let message = format!(
                "a task must have 1 to {MAX_GOLDS} golds, not {}",
                golds.len()
            );
            return Err(invalid("/answer", message));
        }
        Ok(golds)
    }
}

/// A validated task.
#[derive(Debug)]
pub(crate) struct TextTask {
    /// Empty for a task without a gold, whose answers are compared with each other.
    pub(crate) golds: Vec<String>,
    pub(crate) require: Require,
    /// Texts that must not match.
    pub(crate) rejected: Vec<String>,
    pub(crate) words: Option<Words>,
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
        let golds = body.golds()?;
        if body.reject.len() > MAX_GOLDS {
            let message = format!(
                "a task must have at most {MAX_GOLDS} rejected texts, not {}",
                body.reject.len()
            );
            return Err(invalid("/reject", message));
        }
        check_texts("/answer", "a gold", &golds)?;
        check_texts("/reject", "a rejected text", &body.reject)?;
        if let Some(words) = body.words
            && words.min > words.max
        {
            let message = format!(
                "the smallest number of words is larger than the largest: {} and {}",
                words.min, words.max
            );
            return Err(invalid("/words", message));
        }
        Ok(Self {
            golds,
            require: body.require,
            rejected: body.reject,
            words: body.words,
            by: body.by,
            extract: body.extract,
        })
    }
}

fn check_texts(pointer: &str, what: &str, texts: &[String]) -> Result<(), TaskError> {
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err(invalid(pointer, format!("{what} is empty")));
    }
    if texts.iter().any(|text| text.len() > MAX_GOLD_BYTES) {
        let message = format!("{what} must have at most {MAX_GOLD_BYTES} bytes");
        return Err(invalid(pointer, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_point_to_field() {
        for (json, pointer) in [
            (r#"{"type":"text","answer":[]}"#, "/answer"),
            (r#"{"type":"text","answer":" "}"#, "/answer"),
            (r#"{"type":"text"}"#, ""),
            (
                r#"{"type":"text","answer":"a","consensus":true}"#,
                "/consensus",
            ),
            (
                r#"{"type":"text","consensus":true,"match":"pattern"}"#,
                "/match",
            ),
            (
                r#"{"type":"text","consensus":true,"reject":["a"]}"#,
                "/consensus",
            ),
            (r#"{"type":"text","answer":"a","match":"fuzzy"}"#, "/match"),
            (
                r#"{"type":"text","answer":"a","extract":"box"}"#,
                "/extract",
            ),
            (r#"{"type":"text","answer":"a","mach":"exact"}"#, "/mach"),
            (r#"{"type":"text","answer":"a","reject":[""]}"#, "/reject"),
            (
                r#"{"type":"text","answer":"a","words":{"min":2,"max":1}}"#,
                "/words",
            ),
            (
                r#"{"type":"text","answer":"a","require":"some"}"#,
                "/require",
            ),
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
