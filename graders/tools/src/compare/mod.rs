//! Compares a call with an expected one and describes the first difference.

mod strings;

use std::ops::Range;

use assay_documents::Json;
use assay_documents::calls::Form;
use assay_documents::json::number;
use assay_documents::schema::Violation;
use serde_json::{Value, json};

pub(crate) use strings::Strings;

use crate::tool::Tools;

/// An expected call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expected {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Argument>,
}

/// An argument of an expected call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    /// Any of these; never empty.
    pub(crate) accepted: Vec<Json>,
    pub(crate) optional: bool,
}

impl Argument {
    pub(crate) fn new(name: &str, accepted: Vec<Json>) -> Self {
        Self {
            name: name.to_owned(),
            accepted,
            optional: false,
        }
    }
}

/// A call made, its arguments by name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Made {
    pub(crate) name: String,
    /// An object.
    pub(crate) arguments: Json,
    /// Why the tool would reject the call, whatever the task expects.
    pub(crate) unsound: Option<Unsound>,
    /// The form it was written in, and its position.
    pub(crate) form: Form,
    pub(crate) span: Range<usize>,
}

/// Why a tool would reject a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Unsound {
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
    Unsound,
    Missing(&'a str),
    Unexpected(&'a str),
    Value(&'a str),
    /// BFCL's name for the difference, and the argument.
    Bfcl(&'static str, Option<&'a str>),
}

/// How calls are compared outside the modes that reproduce other systems.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) strings: Strings,
    pub(crate) tolerance: f64,
}

impl Terms<'_> {
    /// Checks that a call is the expected one.
    ///
    /// An argument with its schema's default value equals a missing one: the tool
    /// sees no difference.
    ///
    /// # Errors
    /// The first difference.
    pub(crate) fn compare<'a>(
        &self,
        expected: &'a Expected,
        made: &'a Made,
    ) -> Result<(), Difference<'a>> {
        if expected.name != made.name {
            return Err(Difference::Name);
        }
        if made.unsound.is_some() {
            return Err(Difference::Unsound);
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
            match made.arguments.get(&argument.name) {
                Some(value) if accepts(value) => {}
                Some(_) => return Err(Difference::Value(&argument.name)),
                None if argument.optional || default_of(&argument.name).is_some_and(accepts) => {}
                None => return Err(Difference::Missing(&argument.name)),
            }
        }
        for (name, value) in made.arguments.members() {
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

    /// Whether two values are equal: by [`assay_documents::json::same`], strings as the task
    /// asks.
    pub(crate) fn same(&self, a: &Json, b: &Json) -> bool {
        match (a, b) {
            (Json::Text(a), Json::Text(b)) => self.strings.same(a, b),
            (Json::Number(a), Json::Number(b)) => number::close(a, b, self.tolerance),
            (Json::Array(a), Json::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(a, b))
            }
            (Json::Object(left), Json::Object(right)) if self.strings == Strings::Folded => {
                let other = |name: &str| {
                    right
                        .iter()
                        .find(|(key, _)| key == name)
                        .map(|(_, value)| value)
                };
                left.len() == right.len()
                    && left
                        .iter()
                        .all(|(name, a)| other(name).is_some_and(|b| self.same(a, b)))
            }
            _ => assay_documents::json::same(a, b, self.tolerance),
        }
    }
}

impl Difference<'_> {
    /// As evidence, with the actual value and the accepted ones.
    pub(crate) fn describe(self, expected: &Expected, made: &Made) -> Value {
        let accepted = |name: &str| {
            let argument = expected
                .arguments
                .iter()
                .find(|argument| argument.name == name);
            let shown = argument.map(|argument| {
                argument
                    .accepted
                    .iter()
                    .take(5)
                    .map(short)
                    .collect::<Vec<_>>()
            });
            shown.unwrap_or_default()
        };
        let got = |name: &str| made.arguments.get(name).map(short);
        match self {
            Self::Name => json!({"kind": "name", "got": made.name}),
            Self::Unsound => made.unsound.as_ref().map_or(Value::Null, Unsound::describe),
            Self::Missing(name) => {
                json!({"kind": "missing_argument", "argument": name, "accepted": accepted(name)})
            }
            Self::Unexpected(name) => {
                json!({"kind": "unexpected_argument", "argument": name, "got": got(name)})
            }
            Self::Value(name) => {
                json!({"kind": "wrong_value", "argument": name, "got": got(name), "accepted": accepted(name)})
            }
            Self::Bfcl(word, argument) => json!({"kind": word, "argument": argument}),
        }
    }

    /// How similar the call is: higher means more in common.
    pub(crate) fn nearness(self) -> u8 {
        match self {
            Self::Name => 0,
            Self::Unsound | Self::Bfcl(..) => 1,
            Self::Missing(_) | Self::Unexpected(_) => 2,
            Self::Value(_) => 3,
        }
    }
}

impl Unsound {
    /// As evidence.
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

/// A value, formatted for people.
pub(crate) fn short(value: &Json) -> String {
    const LONGEST: usize = 200;
    let text = value.to_string();
    match text
        .char_indices()
        .nth(LONGEST)
        .filter(|_| text.len() > LONGEST)
    {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
