//! Converts tool definitions with Python type names to JSON Schema.

use serde_json::{Map, Value, json};

/// Maximum nesting of a schema.
const MAX_DEPTH: usize = 64;

/// Tools whose `parameters` are a schema with Python type names, or descriptions by name, such as
/// `{"city": {"type": "str, optional", "default": ""}}`.
///
/// # Errors
/// What is wrong with a definition.
pub(crate) fn from_python(tools: &[Value]) -> Result<Vec<Value>, String> {
    let tools = tools.iter().map(|tool| {
        let name = tool["name"]
            .as_str()
            .ok_or("a tool has no `name`".to_owned())?;
        let parameters = match &tool["parameters"] {
            Value::Null => json!({ "type": "object", "properties": {} }),
            Value::Object(fields) if fields.get("properties").is_some_and(Value::is_object) => {
                schema(&tool["parameters"], 0)?
            }
            Value::Object(fields) => by_name(fields).map_err(|parameter| {
                format!("the parameter `{parameter}` of `{name}` is not an object")
            })?,
            _ => return Err(format!("the parameters of `{name}` are not an object")),
        };
        let description = tool["description"].as_str().unwrap_or_default();
        Ok(json!({ "name": name, "description": description, "parameters": parameters }))
    });
    tools.collect()
}

/// The schema of an object with these parameters. Those with a default, and those whose type says
/// so, are optional.
///
/// # Errors
/// The name of a parameter that has no description.
fn by_name(parameters: &Map<String, Value>) -> Result<Value, String> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, parameter) in parameters {
        if !parameter.is_object() {
            return Err(name.clone());
        }
        let kind = parameter["type"].as_str().unwrap_or_default();
        let is_optional = kind
            .split(',')
            .skip(1)
            .any(|part| part.trim() == "optional")
            || kind.starts_with("Optional[");
        if !is_optional && parameter.get("default").is_none_or(Value::is_null) {
            required.push(name.clone());
        }
        let mut property = Map::new();
        if let Some(name) = outer_type(kind) {
            property.insert("type".to_owned(), name.into());
        }
        if let Some(description) = parameter["description"].as_str() {
            property.insert("description".to_owned(), description.into());
        }
        if let Some(default) = parameter
            .get("default")
            .filter(|default| !default.is_null())
        {
            property.insert("default".to_owned(), default.clone());
        }
        properties.insert(name.clone(), Value::Object(property));
    }
    Ok(json!({ "type": "object", "properties": properties, "required": required }))
}

/// The JSON Schema type of a Python type such as `str, optional` or `List[int]`. The types of
/// members are left out, and so are unions.
fn outer_type(kind: &str) -> Option<&'static str> {
    let kind = kind.trim();
    let kind = kind
        .strip_prefix("Optional[")
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(kind);
    let outer = kind.split(['[', ',']).next()?.trim();
    match outer {
        "List" | "Tuple" | "Set" | "set" => Some("array"),
        "Dict" => Some("object"),
        other => json_type(other),
    }
}

/// A schema with the type names of JSON Schema.
fn schema(value: &Value, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err(format!("a schema nests deeper than {MAX_DEPTH} levels"));
    }
    let Value::Object(fields) = value else {
        return Ok(value.clone());
    };
    let mut converted = Map::new();
    for (key, value) in fields {
        let value = match (key.as_str(), value) {
            ("type", Value::String(name)) => match json_type(name) {
                Some(name) => Value::from(name),
                None => continue,
            },
            ("properties", Value::Object(properties)) => properties
                .iter()
                .map(|(name, value)| Ok((name.clone(), schema(value, depth + 1)?)))
                .collect::<Result<Map<_, _>, String>>()?
                .into(),
            ("items", value) => schema(value, depth + 1)?,
            // Other keywords are only descriptive, and some rows contain invalid ones.
            ("required" | "enum" | "default" | "description", value) => value.clone(),
            _ => continue,
        };
        converted.insert(key.clone(), value);
    }
    Ok(Value::Object(converted))
}

/// The JSON Schema type for a Python type; `None` if it allows several.
fn json_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "object" | "dict" | "HashMap" => "object",
        "array" | "list" | "tuple" | "ArrayList" | "Array" => "array",
        "string" | "str" | "String" | "char" => "string",
        "number" | "float" | "double" => "number",
        "integer" | "int" | "long" => "integer",
        "boolean" | "bool" | "Boolean" => "boolean",
        _ => return None,
    })
}
