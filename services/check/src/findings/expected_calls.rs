//! The expected calls of a `tools` task do not fit its tools (`call-invalid`), or are missing
//! although the prompt names a tool (`call-missing`).

use serde_json::{Map, Value};

use super::Sink;
use super::code::{Code, code};
use crate::graded_row::{GradedRow, excerpt};
use crate::reading::has_phrase;
use crate::subject::Subject;

pub(super) const INVALID: Code = code!("call-invalid", Error);
pub(super) const MISSING: Code = code!("call-missing", Warning);

pub(super) fn check(row: &GradedRow, sink: &mut Sink<'_>) {
    let (Some("tools"), Ok(subject)) = (row.kind(), &row.subject) else {
        return;
    };
    let tools = subject.body.get("tools").and_then(Value::as_array);
    let tools: Vec<Tool<'_>> = tools.into_iter().flatten().filter_map(Tool::read).collect();
    let Some(calls) = subject.body.get("expected").and_then(Value::as_array) else {
        return;
    };
    if calls.is_empty() {
        if let Some(name) = named_tool(subject, &tools) {
            let message = format!("no calls are expected, but the prompt names the tool `{name}`");
            sink.add(&MISSING, &row.location, &row.key, message);
        }
        return;
    }
    let is_bfcl = subject.text("mode") == Some("bfcl");
    let problem = calls.iter().find_map(|call| problem(call, &tools, is_bfcl));
    // The grader has reported a call that it rejects.
    if let Some(problem) = problem.filter(|_| !tools.is_empty() && row.fault().is_none()) {
        sink.add(&INVALID, &row.location, &row.key, problem);
    }
}

/// A tool that a call may use.
struct Tool<'a> {
    name: &'a str,
    parameters: Option<&'a Map<String, Value>>,
    required: Vec<&'a str>,
    is_open: bool,
}

impl<'a> Tool<'a> {
    fn read(tool: &'a Value) -> Option<Self> {
        let tool = tool.get("function").unwrap_or(tool);
        let schema = tool.get("parameters").or_else(|| tool.get("input_schema"));
        let required = schema.and_then(|schema| schema.get("required")?.as_array());
        Some(Self {
            name: tool.get("name")?.as_str()?,
            parameters: schema.and_then(|schema| schema.get("properties")?.as_object()),
            required: required
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect(),
            is_open: schema.is_some_and(|schema| {
                schema
                    .get("additionalProperties")
                    .is_some_and(|more| *more != Value::Bool(false))
                    || schema.get("patternProperties").is_some()
            }),
        })
    }
}

/// The tool whose name the prompt contains, in one piece or as words.
fn named_tool<'a>(subject: &Subject, tools: &[Tool<'a>]) -> Option<&'a str> {
    let prompt = subject.prompt.as_deref()?.to_lowercase();
    let is_named = |name: &&str| {
        let words = name.to_lowercase().replace(['_', '.', '-'], " ");
        words.contains(' ')
            && (has_phrase(&prompt, &words) || prompt.contains(&name.to_lowercase()))
    };
    tools.iter().map(|tool| tool.name).find(is_named)
}

fn problem(call: &Value, tools: &[Tool<'_>], is_bfcl: bool) -> Option<String> {
    let fields = call.as_object()?;
    let (name, arguments) = match fields
        .get("name")
        .and_then(Value::as_str)
        .filter(|_| !is_bfcl || fields.len() > 1)
    {
        Some(name) => (
            name,
            fields.get("arguments").or_else(|| fields.get("parameters")),
        ),
        None => fields
            .iter()
            .next()
            .map(|(name, arguments)| (name.as_str(), Some(arguments)))?,
    };
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        return Some(format!(
            "the expected call is to `{name}`, which is not one of the tools"
        ));
    };
    let none = Map::new();
    let arguments = arguments.and_then(Value::as_object).unwrap_or(&none);
    let known = tool.parameters?;
    for (argument, value) in arguments {
        let Some(schema) = known.get(argument) else {
            if tool.is_open {
                continue;
            }
            return Some(format!("`{name}` has no parameter `{argument}`"));
        };
        let values = match (is_bfcl, value) {
            (true, Value::Array(values)) => values.as_slice(),
            _ => std::slice::from_ref(value),
        };
        if !values.is_empty() && !values.iter().any(|value| fits(value, schema, is_bfcl)) {
            let kind = schema.get("type").map(Value::to_string).unwrap_or_default();
            return Some(format!(
                "the argument `{argument}` of `{name}` is `{}`, but its type is {kind}",
                excerpt(&value.to_string())
            ));
        }
    }
    let given = |argument: &&&str| {
        arguments.contains_key(**argument)
            || fields
                .get("any_of")
                .is_some_and(|any| any.get(**argument).is_some())
    };
    let missing = tool.required.iter().find(|argument| !given(argument))?;
    Some(format!(
        "the expected call of `{name}` lacks the required argument `{missing}`"
    ))
}

/// Whether a value has the type of its parameter. In `bfcl`, empty texts mean a left out argument,
/// and objects have lists of accepted values.
fn fits(value: &Value, schema: &Value, is_bfcl: bool) -> bool {
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return true,
    };
    if is_bfcl && value == "" || value.is_null() {
        return true;
    }
    types.iter().any(|name| match *name {
        "string" | "str" => value.is_string(),
        "integer" | "int" | "long" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" | "float" | "double" => value.is_number(),
        "boolean" | "bool" => value.is_boolean(),
        "array" | "list" | "tuple" => value.is_array(),
        "object" | "dict" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }) || is_bfcl && value.is_string() && !types.contains(&"boolean")
}
