//! What templates may call beside Jinja's own: the few things that layouts of datasets need.

use assay_core::extraction::{Mode, Options, extract};
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value};

/// Adds filters and functions.
///
/// | call | gives |
/// |---|---|
/// | `text \| last_boxed` | what stands in the last `\boxed{…}` |
/// | `text \| fromjson` | the value of a JSON text |
/// | `asserts(texts)` | tests of `code` from a list of assertions |
/// | `stdio(inputs, outputs)` | tests of `code` from two lists of texts |
pub(crate) fn add(environment: &mut Environment<'static>) {
    assay_jinja::add_filter(environment, "last_boxed", last_boxed);
    assay_jinja::add_filter(environment, "fromjson", from_json);
    environment.add_function("asserts", asserts);
    environment.add_function("stdio", stdio);
}

fn refused(message: String) -> Error {
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
        None => Err(refused(
            "the text has no `\\boxed{…}` that is closed".to_owned(),
        )),
    }
}

fn from_json(text: &str) -> Result<Value, Error> {
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| refused(format!("`fromjson` was given no JSON: {error}")))?;
    Ok(Value::from(Serde(value)))
}

/// The elements of a list. A column that is not there is none.
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
        return Err(refused(format!(
            "there are {} inputs and {} outputs",
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
