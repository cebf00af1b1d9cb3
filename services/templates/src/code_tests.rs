//! Tests of `code` tasks, made of the inputs and outputs of a dataset.

use assay_base::has_large_integer;
use serde_json::{Value, json};

/// Tests from lists of inputs and outputs: of a program that reads standard input or, if `function`
/// is a name, of a function.
///
/// # Errors
/// What is wrong with an input or an output, and where.
pub(crate) fn from_lists(
    inputs: &[Value],
    outputs: &[Value],
    function: Option<&str>,
) -> Result<Vec<Value>, String> {
    if inputs.len() != outputs.len() {
        return Err(format!(
            "there must be as many inputs as outputs, but there are {} inputs and {} outputs",
            inputs.len(),
            outputs.len()
        ));
    }
    let pairs = inputs.iter().zip(outputs).enumerate();
    let tests = pairs.map(|(at, (input, output))| {
        let test = match function {
            Some(name) => call(name, input, output),
            None => standard_input(input, output),
        };
        test.map_err(|message| format!("test {at}: {message}"))
    });
    tests.collect()
}

/// Tests from a list of objects with `input` and `output`, or from an object with `inputs`,
/// `outputs` and optionally `fn_name`. The kind of each object of a list is its `testtype` or
/// `type`, and the function its `fn_name`.
///
/// # Errors
/// What is wrong with a test, and its position.
pub(crate) fn from_cases(cases: &Value, function: Option<&str>) -> Result<Vec<Value>, String> {
    let list = |name: &str| {
        let list = cases[name].as_array();
        list.ok_or_else(|| format!("the tests have no list `{name}`"))
    };
    let cases = match cases {
        Value::Array(cases) => cases,
        Value::Object(_) => {
            let function = cases["fn_name"].as_str().or(function);
            return from_lists(list("inputs")?, list("outputs")?, function);
        }
        _ => return Err("the tests are neither a list nor an object".to_owned()),
    };
    let tests = cases.iter().enumerate().map(|(at, case)| {
        let (input, output) = (&case["input"], &case["output"]);
        let test = match case["testtype"].as_str().or(case["type"].as_str()) {
            Some("stdin" | "stdin_stdout") => standard_input(input, output),
            Some("functional" | "function_call") => {
                let name = case["fn_name"].as_str().filter(|name| !name.is_empty());
                match name.or(function) {
                    Some(name) => call(name, input, output),
                    None => Err("the name of the function is missing".to_owned()),
                }
            }
            Some(other) => Err(format!("unknown kind of test `{other}`")),
            None => Err("the kind of the test is missing".to_owned()),
        };
        test.map_err(|message| format!("test {at}: {message}"))
    });
    tests.collect()
}

fn standard_input(input: &Value, output: &Value) -> Result<Value, String> {
    let stream = |name: &str, value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        // Some rows contain the lines as a list.
        Value::Array(lines) => lines
            .iter()
            .map(|line| match line {
                Value::String(line) => Ok(line.clone()),
                Value::Number(line) => Ok(line.to_string()),
                _ => Err(format!("the {name} contains a line that is not text")),
            })
            .collect::<Result<Vec<_>, _>>()
            .map(|lines| lines.join("\n")),
        Value::Null => Err(format!("the {name} is missing")),
        _ => Err(format!("the {name} is not text")),
    };
    Ok(json!({ "stdin": stream("input", input)?, "stdout": stream("output", output)? }))
}

/// A test that calls a function, or a method of `Solution`. The arguments are a list, or a text
/// with a JSON value on each line. An expected list with one element also accepts the element
/// itself: the rows do not show which of both is meant.
fn call(function: &str, input: &Value, output: &Value) -> Result<Value, String> {
    let is_name = function.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && function
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return Err(format!("`{function}` is not the name of a function"));
    }
    let arguments = match input {
        Value::Array(arguments) => arguments.clone(),
        Value::String(lines) => lines
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| parsed(&format!("an argument of `{function}`"), line))
            .collect::<Result<_, _>>()?,
        Value::Null => return Err("the input is missing".to_owned()),
        _ => return Err("the input is not a list of arguments".to_owned()),
    };
    let expected = match output {
        // A text is JSON if its input is.
        Value::String(text) if input.is_string() => parsed("the output", text)?,
        Value::Null => return Err("the output is missing".to_owned()),
        other => other.clone(),
    };
    match &expected {
        Value::Array(one) if one.len() == 1 && !input.is_string() => {
            Ok(json!({ "assert": either(function, &arguments, &expected) }))
        }
        _ => Ok(json!({ "call": function, "args": arguments, "returns": expected })),
    }
}

/// The value of a JSON text.
fn parsed(what: &str, text: &str) -> Result<Value, String> {
    if has_large_integer(text) {
        return Err(format!(
            "{what} has an integer of more than 64 bits, which would lose digits"
        ));
    }
    serde_json::from_str(text).map_err(|error| format!("{what} is not JSON: {error}"))
}

/// Python code that passes if the function returns a list or its only element.
fn either(function: &str, arguments: &[Value], expected: &Value) -> String {
    // A JSON string is a literal of Python too.
    let literal = |value: String| Value::String(value).to_string();
    let arguments = literal(Value::from(arguments).to_string());
    let expected = literal(expected.to_string());
    format!(
        "import json\n\
         try:\n    \
         function = {function}\n\
         except NameError:\n    \
         function = Solution().{function}\n\
         def plain(value):\n    \
         if isinstance(value, (list, tuple)):\n        \
         return [plain(part) for part in value]\n    \
         return value\n\
         returned = plain(function(*json.loads({arguments})))\n\
         expected = json.loads({expected})\n\
         assert returned == expected or returned == expected[0]\n"
    )
}
