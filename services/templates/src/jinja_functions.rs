//! Filters and functions for templates, in addition to those of Jinja.

use assay_extraction::{Mode, Options, extract};
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value};

/// Adds filters and functions.
///
/// | call | result |
/// |---|---|
/// | `text \| last_boxed` | content of the last `\boxed{…}` |
/// | `text \| fromjson` | value of a JSON text |
/// | `asserts(texts)` | tests of a `code` task from a list of assertions |
/// | `stdio(inputs, outputs)` | tests of a `code` task from inputs and expected outputs |
pub(crate) fn add(environment: &mut Environment<'static>) {
    assay_jinja::add_filter(environment, "last_boxed", last_boxed);
    assay_jinja::add_filter(environment, "fromjson", from_json);
    environment.add_function("asserts", asserts);
    environment.add_function("stdio", stdio);
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

fn last_boxed(text: &str) -> Result<String, Error> {
    let options = Options {
        mode: Mode::Boxed,
        think_open: false,
        choices: false,
        language: None,
    };
    match extract(text, &options) {
        Some(found) => Ok(found.text.into_owned()),
        None => Err(invalid("the text has no closed `\\boxed{…}`".to_owned())),
    }
}

fn from_json(text: &str) -> Result<Value, Error> {
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| invalid(format!("the argument of `fromjson` is not JSON: {error}")))?;
    Ok(Value::from(Serde(value)))
}

/// The elements of a list. A missing column is an error.
fn elements(list: &Value) -> Result<Vec<Value>, Error> {
    if list.is_undefined() || list.is_none() {
        return Err(ErrorKind::UndefinedError.into());
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

fn stdio(inputs: &Value, outputs: &Value) -> Result<Value, Error> {
    let (inputs, outputs) = (elements(inputs)?, elements(outputs)?);
    if inputs.len() != outputs.len() {
        return Err(invalid(format!(
            "`stdio` needs as many inputs as outputs, but got {} inputs and {} outputs",
            inputs.len(),
            outputs.len()
        )));
    }
    let tests = inputs
        .iter()
        .zip(&outputs)
        .map(|(stdin, stdout)| serde_json::json!({ "stdin": stdin, "stdout": stdout }));
    Ok(Value::from(Serde(tests.collect::<Vec<_>>())))
}
