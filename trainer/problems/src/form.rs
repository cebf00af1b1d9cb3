//! Forms of prompts and answers.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::FamilyError;

/// How the prompt is phrased, and in what form the answer is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A minimal prompt, for policy models with single characters as tokens: `47+85=`, answered by
    /// `132`. A number or a list is graded as a JSON document that is the whole completion, so that
    /// a copy of the prompt is not accepted.
    #[default]
    Plain,
    /// The plain prompt, answered by `\boxed{132}` and graded by `math`. That grader accepts any
    /// equal value, so a policy model can learn that `\boxed{47+85}` earns the same reward: a false
    /// positive to study.
    Boxed,
    /// A self-contained question in English; the answer is graded as in `plain`.
    Words,
}

/// The options of a family whose only option is its form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FormOnly {
    #[serde(default)]
    pub(crate) form: Form,
}

impl Form {
    /// The name in configurations, which is part of a problem's key.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Boxed => "boxed",
            Self::Words => "words",
        }
    }

    /// Returns this form for a family whose answers are not numbers.
    ///
    /// # Errors
    /// [`FamilyError::Boxed`].
    pub(crate) fn for_non_numeric_answers(self) -> Result<Self, FamilyError> {
        if self == Self::Boxed {
            Err(FamilyError::Boxed)
        } else {
            Ok(self)
        }
    }

    /// The task and the solution of a problem whose answer is a number.
    pub(crate) fn number(self, answer: i64) -> (Value, String) {
        match self {
            Self::Plain | Self::Words => (document(&answer.into()), answer.to_string()),
            Self::Boxed => {
                let task =
                    json!({ "type": "math", "extract": "boxed", "answer": answer.to_string() });
                (task, format!("\\boxed{{{answer}}}"))
            }
        }
    }

    /// The characters around the number in a solution.
    pub(crate) fn characters(self) -> &'static str {
        match self {
            Self::Plain | Self::Words => "",
            Self::Boxed => "\\boxed{}",
        }
    }
}

/// The task whose answer is this value as a JSON document, without any other text.
pub(crate) fn document(expected: &Value) -> Value {
    json!({ "type": "structured", "extract": "whole", "expected": expected })
}
