//! Definitions of tools: names, schemas, the order and defaults of parameters.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use assay_core::{ErrorCode, TaskError};
use assay_documents::calls::{ArgumentTypes, Call};
use assay_documents::schema::{Dialect, MAX_PATTERN_BYTES, Violation, pattern_bytes};
use assay_documents::{Json, Schema};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Maximum number of tools of a task.
const MAX_TOOLS: usize = 512;

/// The tools of a task.
pub(crate) struct Tools {
    tools: Vec<Tool>,
    /// Indices by name, in which `.` is replaced if the task says so.
    by_name: HashMap<String, usize>,
    names: Names,
}

/// How names of tools are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Names {
    /// Character by character.
    #[default]
    Exact,
    /// A `.` equals a `_`, since most interfaces do not allow dots.
    Underscores,
}

impl Names {
    fn key(self, name: &str) -> Cow<'_, str> {
        match self {
            Self::Underscores if name.contains('.') => Cow::Owned(name.replace('.', "_")),
            Self::Underscores | Self::Exact => Cow::Borrowed(name),
        }
    }
}

/// One tool.
pub(crate) struct Tool {
    pub(crate) name: String,
    /// The JSON Schema of its arguments, as written in the task. In `bfcl` mode, its types may have
    /// BFCL's names.
    pub(crate) parameters: Json,
    compiled: OnceLock<Result<Arc<Schema>, String>>,
    /// The types of the texts of untyped forms.
    types: OnceLock<ArgumentTypes>,
}

impl Tools {
    /// Reads definitions, each with or without the wrapper `{"type": "function", "function": …}`.
    pub(crate) fn read(raw: &[&RawValue], names: Names) -> Result<Self, TaskError> {
        let invalid = |pointer: &str, message: String| {
            TaskError::new(ErrorCode::InvalidTask, pointer, message)
        };
        if raw.len() > MAX_TOOLS {
            return Err(invalid(
                "/tools",
                format!("a task has at most {MAX_TOOLS} tools"),
            ));
        }
        let mut tools: Vec<Tool> = Vec::with_capacity(raw.len());
        let mut by_name = HashMap::with_capacity(raw.len());
        for (at, raw) in raw.iter().enumerate() {
            let pointer = format!("/tools/{at}");
            let tool =
                Tool::read(field(raw, &pointer)?).map_err(|message| invalid(&pointer, message))?;
            let key = names.key(&tool.name).into_owned();
            if by_name.insert(key, at).is_some() {
                return Err(invalid(
                    &pointer,
                    format!("the tool `{}` is defined twice", tool.name),
                ));
            }
            tools.push(tool);
        }
        Ok(Self {
            tools,
            by_name,
            names,
        })
    }

    /// Compiles the schemas of all tools.
    ///
    /// # Errors
    /// The message names the tool with an invalid schema, and the reason, or says that the patterns
    /// of all schemas together need too much memory.
    pub(crate) fn compile(&self) -> Result<(), String> {
        let patterns = self
            .tools
            .iter()
            .filter(|tool| has_patterns(&tool.parameters))
            .map(|tool| pattern_bytes(&tool.parameters.to_value()));
        let bytes = patterns.fold(0, usize::saturating_add);
        if bytes > MAX_PATTERN_BYTES {
            return Err(format!(
                "the patterns of all tools need about {} MiB when compiled, more than {}; use \
                 fewer or shorter ones",
                bytes.div_ceil(1 << 20),
                MAX_PATTERN_BYTES >> 20
            ));
        }
        let compile = |tool: &Tool| match tool.schema() {
            Ok(_) => Ok(()),
            Err(reason) => Err(format!(
                "the parameters of the tool `{}` are not a valid JSON Schema: {reason}",
                tool.name
            )),
        };
        self.tools.iter().try_for_each(compile)
    }

    /// The tool with this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Tool> {
        let at = self.by_name.get(&*self.names.key(name))?;
        self.tools.get(*at)
    }

    /// The names of all tools.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.name.as_str())
    }

    /// Whether the task defines tools.
    pub(crate) fn are_defined(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let compiled = |tool: &Tool| match tool.compiled.get() {
            Some(Ok(schema)) => schema.bytes(),
            _ => 0,
        };
        self.tools
            .iter()
            .map(|tool| 2 * tool.parameters.bytes() + compiled(tool))
            .sum()
    }
}

/// Members of a definition with its parameters. Anthropic and the Model Context Protocol have names
/// of their own for them.
const PARAMETERS: &[&str] = &["parameters", "input_schema", "inputSchema"];

impl Tool {
    fn read(json: Json) -> Result<Self, String> {
        let definition = match json.get("function") {
            Some(_) => json.into_member("function").unwrap_or(Json::Null),
            None => json,
        };
        let name = definition
            .get("name")
            .and_then(Json::text)
            .filter(|name| !name.is_empty());
        let name = name.ok_or(
            "expected {\"type\": \"function\", \"function\": {\"name\", \"parameters\"}}, or the \
             inner object",
        )?;
        let name = name.to_owned();
        let key = PARAMETERS.iter().find(|key| definition.get(key).is_some());
        const OTHER_FIELDS: &[&str] = &["type", "name", "description", "strict"];
        let unknown = definition
            .members()
            .iter()
            .map(|(key, _)| key)
            .find(|key| !OTHER_FIELDS.contains(&key.as_str()));
        if let (None, Some(unknown)) = (key, unknown) {
            return Err(format!(
                "`{name}` has no `parameters`, and `{unknown}` is an unknown field; for a tool \
                 without parameters, set `parameters` to `{{}}`"
            ));
        }
        let parameters = match key.and_then(|key| definition.into_member(key)) {
            None | Some(Json::Null) => Json::Object(Vec::new()),
            Some(schema @ (Json::Object(_) | Json::Bool(_))) => schema,
            Some(_) => {
                return Err(format!(
                    "the parameters of `{name}` are not a JSON Schema object"
                ));
            }
        };
        Ok(Self {
            name,
            parameters,
            compiled: OnceLock::new(),
            types: OnceLock::new(),
        })
    }

    fn schema(&self) -> Result<&Schema, &str> {
        let compile = || Schema::shared(&self.parameters, Dialect::default());
        match self.compiled.get_or_init(compile) {
            Ok(schema) => Ok(schema),
            Err(reason) => Err(reason),
        }
    }

    /// The values that the text of an argument can be.
    fn readings(&self, argument: &str, text: &str) -> Vec<Json> {
        let types = self
            .types
            .get_or_init(|| ArgumentTypes::of(&self.parameters.to_value()));
        types.readings(argument, text)
    }

    /// The first violation of the schema by arguments.
    pub(crate) fn violation(&self, arguments: &Json) -> Option<Violation> {
        self.schema().ok()?.violation(arguments)
    }

    /// The default of a parameter.
    pub(crate) fn default_of(&self, parameter: &str) -> Option<&Json> {
        self.parameter(parameter)?.get("default")
    }

    /// The schema of one parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&Json> {
        self.parameters.get("properties")?.get(name)
    }

    /// The names of the required parameters.
    pub(crate) fn required(&self) -> impl Iterator<Item = &str> {
        let required = self.parameters.get("required").map(Json::elements);
        required.unwrap_or_default().iter().filter_map(Json::text)
    }

    /// The names of the parameters in the order of the definition.
    fn parameter_names(&self) -> impl Iterator<Item = &str> {
        let properties = self
            .parameters
            .get("properties")
            .map(Json::members)
            .unwrap_or_default();
        properties.iter().map(|(name, _)| name.as_str())
    }
}

/// Whether a schema may contain patterns.
fn has_patterns(schema: &Json) -> bool {
    let in_member = |(key, value): &(String, Json)| {
        ["pattern", "patternProperties"].contains(&key.as_str()) || has_patterns(value)
    };
    schema.members().iter().any(in_member) || schema.elements().iter().any(has_patterns)
}

/// The arguments of a call by name and with types. Positional arguments get their names from the
/// definition, untyped texts their types from the schema. If a text can be several values, it is
/// the one that the task `expects` of this argument, or else the first one.
///
/// # Errors
/// Why the positional arguments cannot be assigned to parameters.
pub(crate) fn arguments(
    call: &mut Call,
    tool: Option<&Tool>,
    expects: &dyn Fn(&str, &Json) -> bool,
) -> Result<Vec<(String, Json)>, String> {
    if call.positional.is_empty() && !call.untyped {
        return Ok(std::mem::take(&mut call.arguments));
    }
    let mut arguments = Vec::with_capacity(call.positional.len() + call.arguments.len());
    if !call.positional.is_empty() {
        let Some(tool) = tool else {
            return Err(format!(
                "the call has positional arguments, but the task does not define `{}`",
                call.name
            ));
        };
        let mut names = tool.parameter_names();
        for value in &call.positional {
            let Some(name) = names.next() else {
                return Err("the call has more arguments than the tool has parameters".to_owned());
            };
            arguments.push((name.to_owned(), value.clone()));
        }
    }
    // Named arguments have distinct names; only positional ones can clash with them.
    let positional = arguments.len();
    for (name, value) in &call.arguments {
        if arguments[..positional]
            .iter()
            .any(|(before, _)| before == name)
        {
            return Err(format!("duplicate argument `{name}`"));
        }
        let value = match value {
            Json::Text(text) if call.untyped => read_text(text, name, tool, expects),
            value => value.clone(),
        };
        arguments.push((name.clone(), value));
    }
    Ok(arguments)
}

/// The value of an untyped text. Values that the schema does not allow are expected only by golds
/// of BFCL that violate it.
fn read_text(
    text: &str,
    argument: &str,
    tool: Option<&Tool>,
    expects: &dyn Fn(&str, &Json) -> bool,
) -> Json {
    let untyped = || ArgumentTypes::default().readings(argument, text);
    let mut readings = tool.map_or_else(untyped, |tool| tool.readings(argument, text));
    if let Some(at) = readings.iter().position(|value| expects(argument, value)) {
        return readings.swap_remove(at);
    }
    let expected = untyped().into_iter().find(|value| expects(argument, value));
    expected.unwrap_or_else(|| readings.swap_remove(0))
}

/// Parses the JSON of a field and rejects duplicate keys.
pub(crate) fn field(raw: &RawValue, pointer: &str) -> Result<Json, TaskError> {
    Json::read(raw.get())
        .map_err(|error| TaskError::new(ErrorCode::InvalidTask, pointer, error.reason))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    /// So many tools, whose schemas each have 2,000 patterns.
    fn with_patterns(count: usize) -> Tools {
        let names = (0..2_000).map(|at| (format!("x{at}"), json!({})));
        let parameters =
            json!({ "type": "object", "patternProperties": serde_json::Map::from_iter(names) });
        let tools: Vec<Box<RawValue>> = (0..count)
            .map(|at| json!({ "name": format!("tool{at}"), "parameters": parameters }))
            .map(|tool| to_raw_value(&tool).unwrap())
            .collect();
        let tools: Vec<&RawValue> = tools.iter().map(AsRef::as_ref).collect();
        Tools::read(&tools, Names::Exact).unwrap()
    }

    #[test]
    fn bounds_the_memory_of_the_patterns_of_all_tools() {
        with_patterns(1).compile().unwrap();
        let error = with_patterns(20).compile().unwrap_err();
        assert!(
            error.starts_with("the patterns of all tools need about 3")
                && error.contains(" MiB when compiled, more than 160; "),
            "{error}"
        );
    }
}
