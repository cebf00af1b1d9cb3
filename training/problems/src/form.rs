//! How a problem is put and how its answer has to be written.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::FamilyError;

/// How a problem is put, and in what form the answer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// As short as can be, for policies of single characters: `47+85=`, answered by `132`. A number
    /// or a list is graded as a JSON document that is the whole completion, so that the prompt
    /// copied is no answer to it.
    #[default]
    Plain,
    /// The plain prompt of a number, answered by `\boxed{132}` and graded by `math`. That grader
    /// accepts whatever is equal, so a policy may find out that `\boxed{47+85}` earns as much: a
    /// false positive to study.
    Boxed,
    /// A question in English that says all there is to know; the answer is graded as the plain one
    /// is.
    Words,
}

/// The options of a family that has no other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FormAlone {
    #[serde(default)]
    pub(crate) form: Form,
}

impl Form {
    /// The word of the configuration, which is part of a problem's key.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Boxed => "boxed",
            Self::Words => "words",
        }
    }

    /// This form, when the answers are no numbers.
    ///
    /// # Errors
    /// [`FamilyError::Boxed`].
    pub(crate) fn of_other_than_numbers(self) -> Result<Self, FamilyError> {
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

    /// The characters a solution may have around its number.
    pub(crate) fn characters(self) -> &'static str {
        match self {
            Self::Plain | Self::Words => "",
            Self::Boxed => "\\boxed{}",
        }
    }
}

/// The task whose answer is this value as a JSON document, and nothing beside it.
pub(crate) fn document(expected: &Value) -> Value {
    json!({ "type": "structured", "extract": "whole", "expected": expected })
}
