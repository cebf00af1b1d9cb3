//! Filters and functions for templates, in addition to those of Jinja.

use assay_base::has_large_integer;
use assay_core::option_order;
use assay_extraction::{Mode, Options, extract};
use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, Value};

use crate::{calls, code_tests, criteria as rubric_criteria, instructions, pickled, tool_schemas};

/// Maximum number of positions in a text at which an array is tried.
const MAX_STARTS: usize = 64;

/// Maximum number of values in a JSON text: each takes much more memory than its text.
const MAX_JSON_VALUES: usize = 2_000_000;

/// Adds the filters and functions that `docs/TEMPLATES.md` describes.
pub(crate) fn add(environment: &mut Environment<'static>) {
    assay_jinja::add_filter(environment, "string", string);
    assay_jinja::add_filter(environment, "last_boxed", last_boxed);
    assay_jinja::add_filter(environment, "fromjson", from_json);
    assay_jinja::add_filter(environment, "frompickle", from_pickle);
    assay_jinja::add_filter(environment, "frompython", from_python);
    assay_jinja::add_filter(environment, "first_array", first_array);
    assay_jinja::add_filter(environment, "without_nulls", without_nulls);
    environment.add_function("asserts", asserts);
    environment.add_function("stdio", stdio);
    environment.add_function("tests", tests);
    environment.add_function("python_tools", python_tools);
    environment.add_function("tool_calls", tool_calls);
    environment.add_function("instructions", instructions);
    environment.add_function("criteria", criteria);
    environment.add_function("shuffled", shuffled);
    environment.add_function("column", column);
    environment.add_function("judged", judged);
    environment.add_function("refuse", refuse);
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// The text of an argument. A missing column is an error of its own.
fn text(value: &Value) -> Result<&str, Error> {
    if value.is_undefined() || value.is_none() {
        return Err(ErrorKind::UndefinedError.into());
    }
    let text = value.as_str();
    text.ok_or_else(|| invalid(format!("expected a text, not {}", value.kind())))
}

/// Replaces Jinja's filter, which would turn a null into the gold `None`, a truth value into
/// `true`, and a list of answers into `["1", "2"]`.
fn string(value: &Value) -> Result<String, Error> {
    if value.is_undefined() || value.is_none() {
        return Err(ErrorKind::UndefinedError.into());
    }
    if matches!(
        value.kind(),
        ValueKind::Bool | ValueKind::Seq | ValueKind::Iterable | ValueKind::Map
    ) {
        return Err(invalid(format!(
            "expected a text or a number, not {}",
            value.kind()
        )));
    }
    Ok(value.to_string())
}

fn last_boxed(value: &Value) -> Result<String, Error> {
    let text = text(value)?;
    let options = Options {
        mode: Mode::Boxed,
        think_open: false,
        choices: false,
        yes_no: false,
        language: None,
    };
    match extract(text, &options) {
        Some(found) => Ok(found.text.into_owned()),
        None => Err(invalid("the text has no closed `\\boxed{…}`".to_owned())),
    }
}

fn from_json(value: &Value) -> Result<Value, Error> {
    parsed("fromjson", text(value)?).map(|value| Value::from(Serde(value)))
}

/// A value without the fields of its objects that are null, at every depth. Tables store null for
/// keys that only the objects of other rows have.
fn without_nulls(value: &Value) -> Result<Value, Error> {
    fn remove(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                fields.retain(|_, value| !value.is_null());
                fields.values_mut().for_each(remove);
            }
            serde_json::Value::Array(values) => values.iter_mut().for_each(remove),
            _ => {}
        }
    }
    if value.is_undefined() || value.is_none() {
        return Err(ErrorKind::UndefinedError.into());
    }
    let mut value = serde_json::to_value(value).map_err(|error| invalid(error.to_string()))?;
    remove(&mut value);
    Ok(Value::from(Serde(value)))
}

/// The value of a JSON text, which is the argument of `function`.
fn parsed(function: &str, text: &str) -> Result<serde_json::Value, Error> {
    if values_at_most(text) > MAX_JSON_VALUES {
        return Err(invalid(format!(
            "the argument of `{function}` has more than {MAX_JSON_VALUES} values"
        )));
    }
    if has_large_integer(text) {
        return Err(invalid(format!(
            "the argument of `{function}` has an integer of more than 64 bits, which would lose \
             digits"
        )));
    }
    serde_json::from_str(text)
        .map_err(|error| invalid(format!("the argument of `{function}` is not JSON: {error}")))
}

/// The number of values of a JSON text, or somewhat more.
fn values_at_most(text: &str) -> usize {
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

/// The elements of a list. A missing column is an error.
fn elements(list: &Value) -> Result<Vec<Value>, Error> {
    if list.is_undefined() || list.is_none() {
        return Err(ErrorKind::UndefinedError.into());
    }
    // The elements of a text would be its characters, and those of an object its keys.
    if !matches!(list.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(invalid(format!("expected a list, not {}", list.kind())));
    }
    Ok(list.try_iter()?.collect())
}

fn asserts(texts: &Value) -> Result<Value, Error> {
    let texts = elements(texts)?;
    let tests = texts
        .iter()
        .map(|text| serde_json::json!({ "assert": text }));
    Ok(Value::from(Serde(tests.collect::<Vec<_>>())))
}

/// The elements of a list as JSON.
fn json_elements(list: &Value) -> Result<Vec<serde_json::Value>, Error> {
    let elements = elements(list)?.into_iter();
    elements
        .map(|value| serde_json::to_value(value).map_err(|error| invalid(error.to_string())))
        .collect()
}

fn stdio(inputs: &Value, outputs: &Value, function: Option<&str>) -> Result<Value, Error> {
    let (inputs, outputs) = (json_elements(inputs)?, json_elements(outputs)?);
    let function = function.filter(|name| !name.is_empty());
    code_tests::from_lists(&inputs, &outputs, function)
        .map(|tests| Value::from(Serde(tests)))
        .map_err(invalid)
}

fn tests(cases: &Value, function: Option<&str>) -> Result<Value, Error> {
    if cases.is_undefined() || cases.is_none() {
        return Err(ErrorKind::UndefinedError.into());
    }
    let function = function.filter(|name| !name.is_empty());
    // Some rows contain the tests as JSON text.
    let cases = match cases.as_str() {
        Some(text) => parsed("tests", text)?,
        None => serde_json::to_value(cases).map_err(|error| invalid(error.to_string()))?,
    };
    code_tests::from_cases(&cases, function)
        .map(|tests| Value::from(Serde(tests)))
        .map_err(invalid)
}

fn from_pickle(value: &Value) -> Result<String, Error> {
    pickled::text(text(value)?).map_err(invalid)
}

fn python_tools(tools: &Value) -> Result<Value, Error> {
    tool_schemas::from_python(&json_elements(tools)?)
        .map(|tools| Value::from(Serde(tools)))
        .map_err(invalid)
}

fn tool_calls(value: &Value) -> Result<Value, Error> {
    calls::read(text(value)?)
        .map(|calls| Value::from(Serde(calls)))
        .map_err(invalid)
}

/// The first JSON array in a text that also contains prose.
fn first_array(value: &Value) -> Result<Value, Error> {
    let text = text(value)?;
    // Prose may contain unpaired quotes, so all marks count.
    let marks = text.bytes().filter(|byte| b",[{".contains(byte)).count();
    if marks > MAX_JSON_VALUES {
        return Err(invalid(format!(
            "the argument of `first_array` has more than {MAX_JSON_VALUES} values"
        )));
    }
    for (at, _) in text.match_indices('[').take(MAX_STARTS) {
        let mut values =
            serde_json::Deserializer::from_str(&text[at..]).into_iter::<Vec<serde_json::Value>>();
        if let Some(Ok(array)) = values.next()
            && array.iter().any(serde_json::Value::is_object)
        {
            return Ok(Value::from(Serde(array)));
        }
    }
    Err(invalid(
        "the text contains no JSON array of objects".to_owned(),
    ))
}

fn instructions(ids: &Value, arguments: &Value) -> Result<Value, Error> {
    let (ids, arguments) = (json_elements(ids)?, json_elements(arguments)?);
    match instructions::task(&ids, &arguments) {
        Ok(task) => Ok(Value::from(Serde(task))),
        Err(reason) => Err(refused(reason)),
    }
}

fn criteria(rubrics: &Value) -> Result<Value, Error> {
    rubric_criteria::from_rubrics(&json_elements(rubrics)?)
        .map(|criteria| Value::from(Serde(criteria)))
        .map_err(invalid)
}

/// The value of a column whose name is no identifier; undefined if the row lacks it or has null.
fn column(state: &State<'_, '_>, name: &str) -> Value {
    let value = state.lookup(name).filter(|value| !value.is_none());
    value.unwrap_or(Value::UNDEFINED)
}

/// The value of a Python literal, or of a JSON text.
fn from_python(value: &Value) -> Result<Value, Error> {
    let text = text(value)?;
    if values_at_most(text) > MAX_JSON_VALUES {
        return Err(invalid(format!(
            "the argument of `frompython` has more than {MAX_JSON_VALUES} values"
        )));
    }
    match assay_documents::calls::literal(text) {
        Some(literal) => Ok(Value::from(Serde(literal.to_value()))),
        None => parsed("frompython", text).map(|value| Value::from(Serde(value))),
    }
}

/// The texts of options in the order in which the key shuffles them, as `choice` does.
fn shuffled(options: &Value, key: &str) -> Result<Vec<String>, Error> {
    let options = elements(options)?;
    let is_missing = |option: &Value| option.is_undefined() || option.is_none();
    if options.iter().any(is_missing) {
        return Err(ErrorKind::UndefinedError.into());
    }
    let options: Vec<String> = options.iter().map(ToString::to_string).collect();
    let texts: Vec<&str> = options.iter().map(String::as_str).collect();
    let order = option_order(key, &texts);
    Ok(order
        .into_iter()
        .map(|option| options[option].clone())
        .collect())
}

fn judged(
    rubrics: &Value,
    judge: &str,
    stage: Option<u32>,
    gate: Option<bool>,
) -> Result<Value, Error> {
    let place = rubric_criteria::Place {
        stage: stage.unwrap_or_default(),
        gate: gate.unwrap_or_default(),
    };
    rubric_criteria::judged(&json_elements(rubrics)?, judge, place)
        .map(|criteria| Value::from(Serde(criteria)))
        .map_err(invalid)
}

fn refuse(reason: String) -> Result<Value, Error> {
    Err(refused(reason))
}

/// The reason why a template refuses a row.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refusal(String);

fn refused(reason: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, "the row is refused").with_source(Refusal(reason))
}

/// The reason, if an error is that of a refused row.
pub(crate) fn refusal(error: &Error) -> Option<String> {
    let refusal = std::error::Error::source(error)?.downcast_ref::<Refusal>()?;
    Some(refusal.0.clone())
}
