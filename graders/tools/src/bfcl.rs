//! A call compared as the Berkeley Function Calling Leaderboard's AST checker compares it (Python
//! functions), including its quirks: blanks, case and the characters `,./-_*^` in strings are
//! ignored, so that `1.5` equals `15` and `-5` equals `5`; arrays are compared one level deep;
//! `True` equals
//! 1. Unlike there, several calls are not matched greedily.

use assay_documents::Json;

use crate::compare::{Argument, Difference, Expected, Made};
use crate::python;
use crate::tool::Tools;

/// Python's type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Str,
    Int,
    Float,
    Bool,
    List,
    Dict,
    None,
}

impl Kind {
    fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::None,
            Json::Bool(_) => Self::Bool,
            Json::Number(text) if text.contains(['.', 'e', 'E']) => Self::Float,
            Json::Number(_) => Self::Int,
            Json::Text(_) => Self::Str,
            Json::Array(_) => Self::List,
            Json::Object(_) => Self::Dict,
        }
    }

    /// The type that a definition names, in the terms of BFCL or of JSON Schema.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" | "any" => Self::Str,
            "integer" => Self::Int,
            "float" | "number" => Self::Float,
            "boolean" | "Boolean" => Self::Bool,
            "array" | "tuple" => Self::List,
            "dict" | "object" => Self::Dict,
            _ => return None,
        })
    }
}

/// Whether values of a parameter of this type are compared.
pub(crate) fn has_type(schema: &Json) -> bool {
    type_of(schema).is_some()
}

fn type_of(schema: &Json) -> Option<Kind> {
    schema
        .get("type")
        .and_then(Json::text)
        .and_then(Kind::named)
}

/// Checks that a call is the expected one.
///
/// # Errors
/// BFCL's name for the difference.
pub(crate) fn compare<'a>(
    tools: &Tools,
    expected: &'a Expected,
    made: &'a Made,
) -> Result<(), Difference<'a>> {
    let wrong = |word| Err(Difference::Bfcl(word, None));
    if expected.name != made.name {
        return Err(Difference::Name);
    }
    let Some(tool) = tools.get(&expected.name) else {
        return wrong("unknown_function");
    };
    let required = tool
        .parameters
        .get("required")
        .map(Json::elements)
        .unwrap_or_default();
    if required
        .iter()
        .filter_map(Json::text)
        .any(|name| made.arguments.get(name).is_none())
    {
        return wrong("missing_required");
    }
    for (name, value) in made.arguments.members() {
        let accepted = expected
            .arguments
            .iter()
            .find(|argument| argument.name == *name);
        let (Some(schema), Some(argument)) = (tool.parameter(name), accepted) else {
            return wrong("unexpected_param");
        };
        self::argument(schema, argument, value)?;
    }
    let left_out = |argument: &&Argument| {
        made.arguments.get(&argument.name).is_none() && !may_be_left_out(argument)
    };
    if expected.arguments.iter().find(left_out).is_some() {
        return wrong("missing_optional");
    }
    Ok(())
}

/// BFCL marks an optional argument by an empty string among its accepted values.
fn may_be_left_out(argument: &Argument) -> bool {
    argument.optional || argument.accepted.iter().any(is_empty)
}

fn is_empty(value: &Json) -> bool {
    value.text() == Some("")
}

fn argument<'a>(schema: &Json, argument: &'a Argument, value: &Json) -> Result<(), Difference<'a>> {
    let accepted = &argument.accepted;
    let wrong = |word| Err(Difference::Bfcl(word, Some(&argument.name)));
    let Some(kind) = type_of(schema) else {
        return wrong("type_error:unknown");
    };
    let nested = if kind == Kind::List {
        schema.get("items").and_then(type_of)
    } else {
        None
    };
    // BFCL's checker converts an integer to a float if the definition has a float.
    let widened = match value {
        Json::Number(digits) if kind == Kind::Float && Kind::of(value) == Kind::Int => {
            Some(Json::Number(format!("{digits}.0")))
        }
        _ => None,
    };
    let value = widened.as_ref().unwrap_or(value);
    let Some(is_variable) = fits(value, accepted, kind, nested) else {
        return wrong("type_error");
    };
    let is_right = match kind {
        _ if is_variable => accepted
            .iter()
            .any(|accepted| python::equal(accepted, value)),
        Kind::Dict => accepted
            .iter()
            .any(|accepted| !is_empty(accepted) && dictionary(value, accepted)),
        Kind::List if nested == Some(Kind::Dict) => accepted
            .iter()
            .any(|accepted| dictionaries(value, accepted)),
        Kind::Str => accepted
            .iter()
            .any(|accepted| Kind::of(accepted) == Kind::Str && same_standard(accepted, value)),
        Kind::List => accepted.iter().any(|accepted| list(value, accepted)),
        _ => accepted
            .iter()
            .any(|accepted| python::equal(accepted, value)),
    };
    if is_right {
        Ok(())
    } else {
        wrong("value_error")
    }
}

/// Whether a value has the definition's type, or that of the first accepted value (which then is a
/// variable's name, as a rule): `Some(is a variable)`, `None` for neither.
fn fits(value: &Json, accepted: &[Json], kind: Kind, nested: Option<Kind>) -> Option<bool> {
    let of_accepted = accepted
        .iter()
        .find(|accepted| !is_empty(accepted))
        .map(Kind::of);
    let is_variable = of_accepted.is_some_and(|of_accepted| of_accepted != kind);
    if Kind::of(value) == kind {
        let Some(nested) = nested else {
            return Some(is_variable);
        };
        let elements = value.elements();
        let fits = |accepted: &Json| match accepted {
            Json::Array(accepted) => elements
                .iter()
                .all(|element| self::fits(element, accepted, nested, None).is_some()),
            _ => true,
        };
        return accepted.iter().any(fits).then_some(is_variable);
    }
    (of_accepted == Some(Kind::of(value))).then_some(true)
}

/// A string without `[ ,./\-_*^]`, in lower case, with one kind of quotes.
fn standard(text: &str) -> impl Iterator<Item = char> + '_ {
    let kept = text
        .chars()
        .filter(|c| !matches!(c, ' ' | ',' | '.' | '/' | '-' | '_' | '*' | '^'));
    kept.flat_map(char::to_lowercase)
        .map(|c| if c == '\'' { '"' } else { c })
}

fn same_standard(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Text(a), Json::Text(b)) => a == b || standard(a).eq(standard(b)),
        _ => python::equal(a, b),
    }
}

/// Strings of a list are standardised one level deep. An accepted empty string is an empty list,
/// another string its characters.
fn list(value: &Json, accepted: &Json) -> bool {
    let spelled: Vec<Json>;
    let accepted = match accepted {
        Json::Text(text) => {
            spelled = text.chars().map(|c| Json::Text(c.to_string())).collect();
            &spelled
        }
        accepted => accepted.elements(),
    };
    let value = value.elements();
    value.len() == accepted.len() && accepted.iter().zip(value).all(|(a, b)| same_standard(a, b))
}

/// Each key has its own accepted values.
fn dictionary(value: &Json, accepted: &Json) -> bool {
    let is_accepted = |(key, value): &(String, Json)| {
        accepted.get(key).is_some_and(|accepted| {
            accepted
                .elements()
                .iter()
                .any(|accepted| same_standard(accepted, value))
        })
    };
    let is_there = |(key, accepted): &(String, Json)| {
        value.get(key).is_some() || accepted.elements().iter().any(is_empty)
    };
    value.members().iter().all(is_accepted) && accepted.members().iter().all(is_there)
}

fn dictionaries(value: &Json, accepted: &Json) -> bool {
    let (value, accepted) = (value.elements(), accepted.elements());
    value.len() == accepted.len()
        && value
            .iter()
            .zip(accepted)
            .all(|(value, accepted)| !is_empty(accepted) && dictionary(value, accepted))
}
