//! Compares a call with an expected one and describes the first difference.

mod strings;

use std::fmt;
use std::ops::Range;

use assay_documents::Json;
use assay_documents::calls::Form;
use assay_documents::json::{number, same_members};
use assay_documents::schema::Violation;
use serde_json::{Value, json};

pub(crate) use strings::Strings;

use crate::tool::Tools;

/// An expected call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExpectedCall {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Argument>,
    /// Whether the tool rejects the call. It changes nothing and need not be made.
    pub(crate) refused: bool,
}

/// An argument of an expected call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    /// The accepted values, at least one.
    pub(crate) accepted: Vec<Json>,
    pub(crate) optional: bool,
}

impl Argument {
    pub(crate) fn new(name: String, accepted: Vec<Json>) -> Self {
        Self {
            name,
            accepted,
            optional: false,
        }
    }
}

/// A call in a completion, with its arguments by name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ActualCall {
    pub(crate) name: String,
    /// An object.
    pub(crate) arguments: Json,
    /// Why the tool would reject the call, whatever the task expects.
    pub(crate) error: Option<CallError>,
    /// Whether a message of the tool reports an error of the call.
    pub(crate) failed: bool,
    /// The form in which it is written, and its byte range in the text.
    pub(crate) form: Form,
    pub(crate) span: Range<usize>,
}

/// Why a tool would reject a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallError {
    /// No tool has this name.
    UnknownTool,
    /// The arguments cannot be assigned to parameters.
    Arguments(String),
    /// The arguments violate the tool's schema.
    Schema(Violation),
}

/// How a call differs from an expected one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Difference<'a> {
    Name,
    InvalidCall,
    Missing(&'a str),
    Unexpected(&'a str),
    Value(&'a str),
    /// BFCL's name of the difference, and the argument.
    Bfcl(&'static str, Option<&'a str>),
}

/// Compares calls in the modes that do not reproduce other systems.
#[derive(Clone, Copy)]
pub(crate) struct Comparator<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) strings: Strings,
    pub(crate) tolerance: f64,
}

impl Comparator<'_> {
    /// Checks that a call is the expected one.
    ///
    /// An argument with the default value of its schema equals a missing one, because the tool
    /// receives the same value.
    ///
    /// # Errors
    /// The first difference.
    pub(crate) fn compare<'a>(
        &self,
        expected: &'a ExpectedCall,
        actual: &'a ActualCall,
    ) -> Result<(), Difference<'a>> {
        if expected.name != actual.name {
            return Err(Difference::Name);
        }
        if actual.error.is_some() {
            return Err(Difference::InvalidCall);
        }
        let tool = self.tools.get(&expected.name);
        let default_of = |name: &str| tool.and_then(|tool| tool.default_of(name));
        for argument in &expected.arguments {
            let accepts = |value: &Json| {
                argument
                    .accepted
                    .iter()
                    .any(|accepted| self.same(accepted, value))
            };
            match actual.arguments.get(&argument.name) {
                Some(value) if accepts(value) => {}
                Some(_) => return Err(Difference::Value(&argument.name)),
                None if argument.optional || default_of(&argument.name).is_some_and(accepts) => {}
                None => return Err(Difference::Missing(&argument.name)),
            }
        }
        for (name, value) in actual.arguments.members() {
            let is_expected = expected
                .arguments
                .iter()
                .any(|argument| argument.name == *name);
            if !is_expected && !default_of(name).is_some_and(|default| self.same(default, value)) {
                return Err(Difference::Unexpected(name));
            }
        }
        Ok(())
    }

    /// Whether two values are equal by [`assay_documents::json::same`], with strings compared as
    /// the task specifies.
    pub(crate) fn same(&self, a: &Json, b: &Json) -> bool {
        match (a, b) {
            (Json::Text(a), Json::Text(b)) => self.strings.same(a, b),
            (Json::Number(a), Json::Number(b)) => number::close(a, b, self.tolerance),
            (Json::Array(a), Json::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(a, b))
            }
            (Json::Object(a), Json::Object(b)) => same_members(a, b, &|a, b| self.same(a, b)),
            _ => assay_documents::json::same(a, b, self.tolerance),
        }
    }
}

impl Difference<'_> {
    /// The difference as evidence, with the actual value and the accepted ones.
    pub(crate) fn describe(self, expected: &ExpectedCall, actual: &ActualCall) -> Value {
        let accepted = |name: &str| {
            let argument = expected
                .arguments
                .iter()
                .find(|argument| argument.name == name);
            let values = argument.map(|argument| {
                argument
                    .accepted
                    .iter()
                    .take(5)
                    .map(short)
                    .collect::<Vec<_>>()
            });
            values.unwrap_or_default()
        };
        let got = |name: &str| actual.arguments.get(name).map(short);
        match self {
            Self::Name => json!({"kind": "name", "got": actual.name}),
            Self::InvalidCall => actual
                .error
                .as_ref()
                .map_or(Value::Null, CallError::describe),
            Self::Missing(name) => {
                json!({"kind": "missing_argument", "argument": name, "accepted": accepted(name)})
            }
            Self::Unexpected(name) => {
                json!({"kind": "unexpected_argument", "argument": name, "got": got(name)})
            }
            Self::Value(name) => {
                let (got, accepted) = (got(name), accepted(name));
                json!({"kind": "wrong_value", "argument": name, "got": got, "accepted": accepted})
            }
            Self::Bfcl(kind, argument) => json!({"kind": kind, "argument": argument}),
        }
    }

    /// How similar the call is to the expected one. Higher is more similar.
    pub(crate) fn similarity(self) -> u8 {
        match self {
            Self::Name => 0,
            Self::InvalidCall | Self::Bfcl(..) => 1,
            Self::Missing(_) | Self::Unexpected(_) => 2,
            Self::Value(_) => 3,
        }
    }
}

impl CallError {
    /// The error as evidence.
    pub(crate) fn describe(&self) -> Value {
        match self {
            Self::UnknownTool => json!({"kind": "unknown_tool"}),
            Self::Arguments(reason) => json!({"kind": "arguments", "reason": reason}),
            Self::Schema(Violation {
                pointer,
                keyword,
                reason,
            }) => {
                json!({"kind": "schema", "place": pointer, "keyword": keyword, "reason": reason})
            }
        }
    }
}

/// Maximum length of a value in evidence and messages, in characters.
const MAX_LENGTH: usize = 200;

/// A value as JSON, truncated for evidence and messages.
pub(crate) fn short(value: &Json) -> String {
    let mut start = Start(String::new());
    // Fails if the text is longer than what is kept of it.
    let _ = value.write(&mut start);
    let Start(mut text) = start;
    if text.len() > MAX_LENGTH
        && let Some((end, _)) = text.char_indices().nth(MAX_LENGTH)
    {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The start of a text: all of it, or more than [`MAX_LENGTH`] characters.
struct Start(String);

impl fmt::Write for Start {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // A character has at most four bytes.
        if self.0.len() > 4 * MAX_LENGTH {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
