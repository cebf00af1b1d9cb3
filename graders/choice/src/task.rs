//! A `choice` task in a request. Checks the types and ranges of its fields.

use std::collections::BTreeMap;

use assay_core::error::invalid;
use assay_core::{Task, TaskError};
use serde::Deserialize;

/// Maximum number of options of a task.
const MAX_OPTIONS: usize = 64;

/// Number of options that have letters as labels.
const MAX_LETTERS: usize = 26;

/// Maximum length of a label, in bytes.
const MAX_LABEL_BYTES: usize = 16;

/// Maximum length of the text of an option or of the key, in bytes.
const MAX_TEXT_BYTES: usize = 16 << 10;

/// The options: texts by label, or a list, whose labels are letters from `A`.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "`options` must be an object of texts by label, or a list of texts"
)]
enum Options {
    List(Vec<String>),
    Labelled(BTreeMap<String, String>),
}

/// The right options: a label or the text of an option, or a list of these.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "`answer` must be a label or the text of an option, or a list of these"
)]
enum Answer {
    One(String),
    Many(Vec<String>),
}

/// Which of the right options must be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Require {
    /// All of them and no others.
    #[default]
    All,
    /// One of them and no others.
    Any,
}

/// Where in a completion the choice may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extract {
    #[default]
    Auto,
    Boxed,
    Whole,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskBody {
    options: Options,
    answer: Answer,
    #[serde(default)]
    require: Require,
    shuffle: Option<String>,
    #[serde(default)]
    extract: Extract,
    language: Option<String>,
}

/// A validated task.
#[derive(Debug)]
pub(crate) struct ChoiceTask {
    /// Labels in the order in which options are shown.
    pub(crate) labels: Vec<String>,
    /// Texts in the order of the task.
    pub(crate) texts: Vec<String>,
    /// Labels or texts of the right options.
    pub(crate) answers: Vec<String>,
    pub(crate) require: Require,
    pub(crate) shuffle: Option<String>,
    pub(crate) extract: Extract,
    pub(crate) language: Option<String>,
}

impl ChoiceTask {
    /// Reads a task.
    ///
    /// # Errors
    /// [`TaskError`] with a pointer to the field with the wrong type or range.
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let body: TaskBody = task.parse()?;
        let (labels, texts): (Vec<String>, Vec<String>) = match body.options {
            Options::List(texts) if texts.len() > MAX_LETTERS => {
                let message = format!(
                    "a list must have at most {MAX_LETTERS} options; use an object with labels"
                );
                return Err(invalid("/options", message));
            }
            Options::List(texts) => (
                ('A'..='Z').map(String::from).take(texts.len()).collect(),
                texts,
            ),
            Options::Labelled(options) => options.into_iter().unzip(),
        };
        if labels.len() < 2 || labels.len() > MAX_OPTIONS {
            let message = format!(
                "a task must have 2 to {MAX_OPTIONS} options, not {}",
                labels.len()
            );
            return Err(invalid("/options", message));
        }
        let is_label = |label: &String| {
            !label.is_empty()
                && label.len() <= MAX_LABEL_BYTES
                && label.chars().all(char::is_alphanumeric)
        };
        if let Some(label) = labels.iter().find(|label| !is_label(label)) {
            let message = format!(
                "a label must have 1 to {MAX_LABEL_BYTES} letters and digits, not `{label}`"
            );
            return Err(invalid("/options", message));
        }
        let answers = match body.answer {
            Answer::One(answer) => vec![answer],
            Answer::Many(answers) => answers,
        };
        if answers.len() > labels.len() {
            return Err(invalid(
                "/answer",
                "there are more right options than options",
            ));
        }
        let long = |text: &String| text.len() > MAX_TEXT_BYTES;
        if texts.iter().chain(&body.shuffle).any(long) {
            let message = format!("a text must have at most {MAX_TEXT_BYTES} bytes");
            return Err(invalid("/options", message));
        }
        Ok(Self {
            labels,
            texts,
            answers,
            require: body.require,
            shuffle: body.shuffle,
            extract: body.extract,
            language: body.language,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_point_to_field() {
        for (json, pointer) in [
            (
                r#"{"type":"choice","options":["x"],"answer":"A"}"#,
                "/options",
            ),
            (
                r#"{"type":"choice","options":{"A)":"x","B)":"y"},"answer":"A"}"#,
                "/options",
            ),
            (
                r#"{"type":"choice","options":["x","y"],"answer":1}"#,
                "/answer",
            ),
            (
                r#"{"type":"choice","options":["x","y"],"answer":["A","B","C"]}"#,
                "/answer",
            ),
            (
                r#"{"type":"choice","options":["x","y"],"answer":"A","require":"x"}"#,
                "/require",
            ),
            (
                r#"{"type":"choice","options":["x","y"],"answer":"A","shufle":"x"}"#,
                "/shufle",
            ),
        ] {
            let task = Task::from_json(json).unwrap();
            assert_eq!(
                ChoiceTask::read(&task).unwrap_err().pointer,
                pointer,
                "{json}"
            );
        }
    }
}
