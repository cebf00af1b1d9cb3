//! Compares calls as the AST checker of the Berkeley Function Calling Leaderboard does, including
//! its quirks: blanks, case and the characters `,./-_*^` in strings are ignored, so that `"1.5"`
//! equals `"15"` and `"-5"` equals `"5"`; arrays are compared one level deep; `True` equals 1.
//! Unlike that checker, several calls are not matched greedily, and functions in Java and
//! JavaScript accept values with types beside literals.

use assay_documents::Json;

use crate::compare::{ActualCall, Argument, Difference, ExpectedCall};
use crate::literals::{self, Language};
use crate::python;
use crate::tool::Tools;

/// Python's type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PythonType {
    Str,
    Int,
    Float,
    Bool,
    List,
    Dict,
    None,
}

impl PythonType {
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
            "string" | "any" | "String" | "char" => Self::Str,
            "integer" | "byte" | "short" | "long" | "Bigint" => Self::Int,
            "float" | "number" | "double" => Self::Float,
            "boolean" | "Boolean" => Self::Bool,
            "array" | "tuple" | "Array" | "ArrayList" | "Set" => Self::List,
            "dict" | "object" | "HashMap" | "Hashtable" => Self::Dict,
            _ => return None,
        })
    }
}

/// Whether BFCL knows the type of a parameter. Every value of another type is an error.
pub(crate) fn has_type(schema: &Json) -> bool {
    type_of(schema).is_some()
}

fn type_of(schema: &Json) -> Option<PythonType> {
    schema
        .get("type")
        .and_then(Json::text)
        .and_then(PythonType::named)
}

/// Checks that a call is the expected one.
///
/// # Errors
/// The first difference, with the name that BFCL uses for it.
pub(crate) fn compare<'a>(
    tools: &Tools,
    language: Language,
    expected: &'a ExpectedCall,
    actual: &'a ActualCall,
) -> Result<(), Difference<'a>> {
    let differs = |kind| Err(Difference::Bfcl(kind, None));
    if expected.name != actual.name {
        return Err(Difference::Name);
    }
    let Some(tool) = tools.get(&expected.name) else {
        return differs("unknown_function");
    };
    let is_absent = |name| actual.arguments.get(name).is_none();
    if tool.required().any(is_absent) {
        return differs("missing_required");
    }
    for (name, value) in actual.arguments.members() {
        let accepted = expected
            .arguments
            .iter()
            .find(|argument| argument.name == *name);
        let (Some(schema), Some(argument)) = (tool.parameter(name), accepted) else {
            return differs("unexpected_param");
        };
        self::argument(language, schema, argument, value)?;
    }
    let is_missing = |argument: &&Argument| {
        actual.arguments.get(&argument.name).is_none() && !is_optional(argument)
    };
    if expected.arguments.iter().find(is_missing).is_some() {
        return differs("missing_optional");
    }
    Ok(())
}

/// BFCL marks an optional argument by an empty string among its accepted values.
pub(crate) fn is_optional(argument: &Argument) -> bool {
    argument.optional || argument.accepted.iter().any(is_empty)
}

fn is_empty(value: &Json) -> bool {
    value.text() == Some("")
}

/// Checks the value of one argument.
///
/// # Errors
/// The difference, with the name that BFCL uses for it.
pub(crate) fn argument<'a>(
    language: Language,
    schema: &Json,
    argument: &'a Argument,
    value: &Json,
) -> Result<(), Difference<'a>> {
    let converted = literals::value(language, schema, value);
    let value = converted.as_ref().unwrap_or(value);
    let accepted = &argument.accepted;
    let differs = |kind| Err(Difference::Bfcl(kind, Some(&argument.name)));
    let Some(declared) = type_of(schema) else {
        return differs("type_error:unknown");
    };
    let element_type = if declared == PythonType::List {
        schema.get("items").and_then(type_of)
    } else {
        None
    };
    // The checker of BFCL converts an integer to a float if the definition has a float.
    let widened = match value {
        Json::Number(digits)
            if declared == PythonType::Float && PythonType::of(value) == PythonType::Int =>
        {
            Some(Json::Number(format!("{digits}.0")))
        }
        _ => None,
    };
    let value = widened.as_ref().unwrap_or(value);
    let Some(is_variable) = fits(value, accepted, declared, element_type) else {
        return differs("type_error");
    };
    let is_equal = match declared {
        _ if is_variable => accepted
            .iter()
            .any(|accepted| python::equal(accepted, value)),
        PythonType::Dict => accepted
            .iter()
            .any(|accepted| !is_empty(accepted) && dictionary(value, accepted)),
        PythonType::List if element_type == Some(PythonType::Dict) => accepted
            .iter()
            .any(|accepted| dictionaries(value, accepted)),
        PythonType::Str => accepted.iter().any(|accepted| {
            PythonType::of(accepted) == PythonType::Str && same_standard(accepted, value)
        }),
        PythonType::List => accepted.iter().any(|accepted| list(value, accepted)),
        _ => accepted
            .iter()
            .any(|accepted| python::equal(accepted, value)),
    };
    if is_equal {
        Ok(())
    } else {
        differs("value_error")
    }
}

/// Whether a value has the declared type or that of the first accepted value. `Some(true)` if the
/// type of the accepted values differs from the declared one, which usually means that they are
/// names of variables; `None` if the value has neither type.
fn fits(
    value: &Json,
    accepted: &[Json],
    declared: PythonType,
    element_type: Option<PythonType>,
) -> Option<bool> {
    let accepted_type = accepted
        .iter()
        .find(|accepted| !is_empty(accepted))
        .map(PythonType::of);
    let is_variable = accepted_type.is_some_and(|accepted_type| accepted_type != declared);
    if PythonType::of(value) == declared {
        let Some(element_type) = element_type else {
            return Some(is_variable);
        };
        let elements = value.elements();
        let fits = |accepted: &Json| match accepted {
            Json::Array(accepted) => elements
                .iter()
                .all(|element| self::fits(element, accepted, element_type, None).is_some()),
            _ => true,
        };
        return accepted.iter().any(fits).then_some(is_variable);
    }
    (accepted_type == Some(PythonType::of(value))).then_some(true)
}

/// A string without `[ ,./\-_*^]`, in lower case, with one kind of quotes.
fn standard(text: &str) -> impl Iterator<Item = char> + '_ {
    let significant = text
        .chars()
        .filter(|c| !matches!(c, ' ' | ',' | '.' | '/' | '-' | '_' | '*' | '^'));
    significant
        .flat_map(char::to_lowercase)
        .map(|c| if c == '\'' { '"' } else { c })
}

fn same_standard(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Text(a), Json::Text(b)) => a == b || standard(a).eq(standard(b)),
        _ => python::equal(a, b),
    }
}

/// Compares lists, with the strings in them standardised one level deep. An accepted string is the
/// list of its characters.
fn list(value: &Json, accepted: &Json) -> bool {
    let characters: Vec<Json>;
    let accepted = match accepted {
        Json::Text(text) => {
            characters = text.chars().map(|c| Json::Text(c.to_string())).collect();
            &characters
        }
        accepted => accepted.elements(),
    };
    let value = value.elements();
    value.len() == accepted.len() && accepted.iter().zip(value).all(|(a, b)| same_standard(a, b))
}

/// Compares dictionaries. Each key has its own accepted values.
fn dictionary(value: &Json, accepted: &Json) -> bool {
    let is_accepted = |(key, value): &(String, Json)| {
        accepted.get(key).is_some_and(|accepted| {
            accepted
                .elements()
                .iter()
                .any(|accepted| same_standard(accepted, value))
        })
    };
    let is_present = |(key, accepted): &(String, Json)| {
        value.get(key).is_some() || accepted.elements().iter().any(is_empty)
    };
    value.members().iter().all(is_accepted) && accepted.members().iter().all(is_present)
}

fn dictionaries(value: &Json, accepted: &Json) -> bool {
    let (value, accepted) = (value.elements(), accepted.elements());
    value.len() == accepted.len()
        && value
            .iter()
            .zip(accepted)
            .all(|(value, accepted)| !is_empty(accepted) && dictionary(value, accepted))
}
