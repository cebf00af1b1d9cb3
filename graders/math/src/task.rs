//! A `math` task in a request. Checks the types and ranges of its fields; mathematics is not parsed
//! here.

use std::collections::BTreeMap;

use assay_core::{ErrorCode, Task, TaskError};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

use crate::options::{Form, Options, Order, Percent, Rounding, Tolerance, Units};

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

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum RawTolerance {
    Relative(Number),
    Absolute(Number),
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

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawRounding {
    Gold,
    #[default]
    Exact,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawOrder {
    #[default]
    Auto,
    Ordered,
    Unordered,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawUnits {
    #[default]
    Compare,
    Ignore,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawPercent {
    #[default]
    Exact,
    Loose,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawForm {
    #[default]
    Any,
    Decimal,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskBody {
    answer: Answer,
    #[serde(default, deserialize_with = "either_tolerance")]
    tolerance: Option<RawTolerance>,
    #[serde(default)]
    rounding: RawRounding,
    #[serde(default)]
    order: RawOrder,
    #[serde(default)]
    units: RawUnits,
    #[serde(default)]
    choices: BTreeMap<String, String>,
    #[serde(default)]
    extract: Extract,
    #[serde(default)]
    percent: RawPercent,
    #[serde(default)]
    form: RawForm,
    #[serde(default)]
    language: Option<String>,
}

/// A validated task.
#[derive(Debug, Clone)]
pub(crate) struct MathTask {
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
        let golds = match body.answer {
            Answer::One(gold) => vec![gold],
            Answer::Any(golds) => golds,
        };
        if golds.is_empty() || golds.len() > MAX_GOLDS {
            let message = format!("expected 1 to {MAX_GOLDS} answers, got {}", golds.len());
            return Err(TaskError::new(ErrorCode::InvalidTask, "/answer", message));
        }
        for key in body.choices.keys() {
            if key.len() != 1 || !key.bytes().all(|b| b.is_ascii_alphabetic()) {
                let message = format!("the key of a choice must be one letter, not `{key}`");
                return Err(TaskError::new(ErrorCode::InvalidTask, "/choices", message));
            }
        }
        let tolerance = body
            .tolerance
            .as_ref()
            .map(tolerance)
            .transpose()
            .map_err(|message| TaskError::new(ErrorCode::InvalidTask, "/tolerance", message))?;
        Ok(Self {
            golds,
            options: Options {
                tolerance,
                rounding: match body.rounding {
                    RawRounding::Gold => Rounding::Gold,
                    RawRounding::Exact => Rounding::Exact,
                },
                order: match body.order {
                    RawOrder::Auto => Order::Auto,
                    RawOrder::Ordered => Order::Ordered,
                    RawOrder::Unordered => Order::Unordered,
                },
                units: match body.units {
                    RawUnits::Compare => Units::Compare,
                    RawUnits::Ignore => Units::Ignore,
                },
                percent: match body.percent {
                    RawPercent::Exact => Percent::Exact,
                    RawPercent::Loose => Percent::Loose,
                },
                form: match body.form {
                    RawForm::Any => Form::Any,
                    RawForm::Decimal => Form::Decimal,
                },
                choices: body.choices,
            },
            extract: body.extract,
            language: body.language,
        })
    }
}

/// A tolerance, or an error that shows the two valid forms.
fn either_tolerance<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RawTolerance>, D::Error> {
    let written = Option::<Value>::deserialize(deserializer)?;
    let read = |written: Value| {
        let wrong = || {
            D::Error::custom(format!(
                "expected an object such as {{\"relative\": 1e-6}} or {{\"absolute\": 0.5}}, not `{written}`"
            ))
        };
        RawTolerance::deserialize(&written).map_err(|_| wrong())
    };
    written.map(read).transpose()
}

/// The tolerance as the exact decimal that is written.
fn tolerance(raw: &RawTolerance) -> Result<Tolerance, String> {
    let exact = |number: &Number| {
        let text = number.to_string();
        let value = crate::parse::decimal(&text);
        value
            .filter(|value| !value.is_negative())
            .ok_or_else(|| format!("a tolerance must be a number of at least 0, not `{text}`"))
    };
    Ok(match raw {
        RawTolerance::Relative(number) => Tolerance::Relative(exact(number)?),
        RawTolerance::Absolute(number) => Tolerance::Absolute(exact(number)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Rational;

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
}
