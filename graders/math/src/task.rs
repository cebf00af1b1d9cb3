//! A `math` task in a request. Checks the types and ranges of its fields; mathematics is not parsed
//! here.

use std::collections::BTreeMap;

use assay_core::{ErrorCode, Task, TaskError};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::number::Rational;
use crate::options::{Form, Options, Order, Percent, Points, Rounding, Tolerance, Units};

/// The gold: one answer, or several of which each is accepted.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "`answer` must be a string or an array of strings; write numbers in quotes"
)]
pub(crate) enum Answer {
    One(String),
    Any(Vec<String>),
}

/// Where in a completion the answer may be.
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
    #[serde(default)]
    answer: Option<Answer>,
    #[serde(default)]
    consensus: bool,
    #[serde(default, deserialize_with = "tolerance")]
    tolerance: Option<Tolerance>,
    #[serde(default)]
    rounding: Rounding,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    units: Units,
    #[serde(default)]
    choices: BTreeMap<String, String>,
    #[serde(default)]
    extract: Extract,
    #[serde(default)]
    percent: Percent,
    #[serde(default)]
    form: Form,
    #[serde(default)]
    language: Option<String>,
}

impl TaskBody {
    /// The golds; none for a task without a gold.
    fn golds(&self) -> Result<Vec<String>, TaskError> {
        let rejected = |pointer: &str, message: String| {
            Err(TaskError::new(ErrorCode::InvalidTask, pointer, message))
        };
        let golds = match (&self.answer, self.consensus) {
            (Some(_), true) => {
                let message = "the task has an `answer`, so it needs no consensus; remove one";
                return rejected("/consensus", message.to_owned());
            }
            (None, true) if self.tolerance.is_some() => {
                let message = "answers are compared by their normal forms, so a tolerance needs \
                               a gold; remove it";
                return rejected("/tolerance", message.to_owned());
            }
            (None, true) => return Ok(Vec::new()),
            (None, false) => {
                let message = "missing field `answer`; for a task without a gold write \
                               `\"consensus\": true`";
                return rejected("", message.to_owned());
            }
            (Some(Answer::One(gold)), false) => vec![gold.clone()],
            (Some(Answer::Any(golds)), false) => golds.clone(),
        };
        if golds.is_empty() || golds.len() > MAX_GOLDS {
            let message = format!("expected 1 to {MAX_GOLDS} answers, got {}", golds.len());
            return rejected("/answer", message);
        }
        Ok(golds)
    }
}

/// A validated task.
#[derive(Debug, Clone)]
pub(crate) struct MathTask {
    /// Empty for a task without a gold, whose answers are compared with each other.
    pub(crate) golds: Vec<String>,
    pub(crate) options: Options,
    pub(crate) extract: Extract,
    pub(crate) language: Option<String>,
}

/// Most golds of a task.
const MAX_GOLDS: usize = 64;

impl MathTask {
    /// Reads a task.
    ///
    /// # Errors
    /// [`TaskError`] with a pointer to the field with the wrong type or range.
    pub(crate) fn read(task: &Task) -> Result<Self, TaskError> {
        let body: TaskBody = task.parse()?;
        let golds = body.golds()?;
        for key in body.choices.keys() {
            if key.len() != 1 || !key.bytes().all(|b| b.is_ascii_alphabetic()) {
                let message = format!("the key of a choice must be one letter, not `{key}`");
                return Err(TaskError::new(ErrorCode::InvalidTask, "/choices", message));
            }
        }
        Ok(Self {
            golds,
            options: Options {
                tolerance: body.tolerance,
                rounding: body.rounding,
                order: body.order,
                units: body.units,
                percent: body.percent,
                form: body.form,
                points: body
                    .language
                    .as_deref()
                    .map_or(Points::Decimal, Points::of_language),
                choices: body.choices,
            },
            extract: body.extract,
            language: body.language,
        })
    }
}

/// A tolerance, as the exact decimal that is written. Errors show the two valid forms.
fn tolerance<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Tolerance>, D::Error> {
    let Some(written) = Option::<Value>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let members: Vec<_> = written.as_object().into_iter().flatten().collect();
    let (kind, number): (fn(Rational) -> Tolerance, _) = match members[..] {
        [(key, Value::Number(number))] if key == "relative" => (Tolerance::Relative, number),
        [(key, Value::Number(number))] if key == "absolute" => (Tolerance::Absolute, number),
        _ => {
            return Err(D::Error::custom(format!(
                "expected an object such as {{\"relative\": 1e-6}} or {{\"absolute\": 0.5}}, not `{written}`"
            )));
        }
    };
    let number = number.to_string();
    let exact = crate::parse::decimal(&number).filter(|value| !value.is_negative());
    let message = || format!("a tolerance must be a number of at least 0, not `{number}`");
    let exact = exact.ok_or_else(|| D::Error::custom(message()))?;
    Ok(Some(kind(exact)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<MathTask, TaskError> {
        MathTask::read(&Task::from_json(json).unwrap())
    }

    #[test]
    fn defaults_are_strict() {
        let task = read(r#"{"type":"math","answer":"1/2"}"#).unwrap();
        assert_eq!(task.options, Options::default());
        assert_eq!(task.golds, ["1/2"]);
    }

    #[test]
    fn a_task_without_a_gold_says_so() {
        let task = read(r#"{"type":"math","consensus":true}"#).unwrap();
        assert!(task.golds.is_empty());
        for (json, pointer) in [
            (r#"{"type":"math"}"#, ""),
            (r#"{"type":"math","consensus":false}"#, ""),
            (
                r#"{"type":"math","consensus":true,"answer":"1"}"#,
                "/consensus",
            ),
            (
                r#"{"type":"math","consensus":true,"tolerance":{"absolute":1}}"#,
                "/tolerance",
            ),
        ] {
            assert_eq!(read(json).unwrap_err().pointer, pointer, "{json}");
        }
    }

    #[test]
    fn reads_tolerances_exactly() {
        let task =
            read(r#"{"type":"math","answer":["1","2"],"tolerance":{"relative":1e-6}}"#).unwrap();
        assert_eq!(
            task.options.tolerance,
            Some(Tolerance::Relative(Rational::ratio(1, 1_000_000)))
        );
    }

    #[test]
    fn errors_point_to_field() {
        for (json, pointer) in [
            (r#"{"type":"math","answer":[]}"#, "/answer"),
            (
                r#"{"type":"math","answer":"1","tolerence":1}"#,
                "/tolerence",
            ),
            (
                r#"{"type":"math","answer":"1","tolerance":{"absolute":-1}}"#,
                "/tolerance",
            ),
            (
                r#"{"type":"math","answer":"A","choices":{"AB":"x"}}"#,
                "/choices",
            ),
        ] {
            assert_eq!(read(json).unwrap_err().pointer, pointer, "{json}");
        }
    }

    #[test]
    fn errors_show_valid_values() {
        let message = |field: &str| {
            let json = format!(r#"{{"type":"math","answer":"1",{field}}}"#);
            read(&json).unwrap_err().message
        };
        assert_eq!(
            message(r#""rounding":"golden""#),
            "unknown variant `golden`, expected one of `gold`, `auto`, `exact`; did you mean `gold`?"
        );
        assert_eq!(
            message(r#""tolerance":{"relative":1e-6,"absolute":1}"#),
            "expected an object such as {\"relative\": 1e-6} or {\"absolute\": 0.5}, not \
             `{\"absolute\":1,\"relative\":1e-6}`"
        );
        assert_eq!(
            message(r#""tolerance":{"absolute":-1}"#),
            "a tolerance must be a number of at least 0, not `-1`"
        );
    }
}
