//! Task schemas of graders as components of the document, with references to the shared values of a
//! request.

use assay_core::GraderTable;
use serde_json::{Map, Value, json};

/// The schema of a reference to a shared value.
const REFERENCE: &str = "#/components/schemas/SharedReference";

/// Adds a schema `Task_NAME` for each grader, and `Task`, which is one of them. A task is valid
/// with its values, so the schema of each part of it that is worth sharing has a reference as
/// another choice.
pub(super) fn embed(document: &mut Value, graders: &GraderTable) {
    let mut choices = Vec::new();
    let mut names = Map::new();
    for grader in graders.iter() {
        let spec = grader.spec();
        let component = format!("Task_{}", spec.name);
        let schema: Value = serde_json::from_str(spec.task_schema).unwrap_or_default();
        let reference = format!("#/components/schemas/{component}");
        let mut schema = embedded(schema, &reference);
        offer_references(&mut schema);
        document["components"]["schemas"][&component] = schema;
        choices.push(json!({ "$ref": reference }));
        names.insert(spec.name.to_owned(), reference.into());
    }
    document["components"]["schemas"]["Task"] = json!({
        "description": "What a completion should achieve and how to check it; `type` names the \
                        grader.",
        "oneOf": choices,
        "discriminator": { "propertyName": "type", "mapping": names },
    });
    document["components"]["schemas"]["SharedReference"] = json!({
        "description": "A reference to a value of `shared` of the request, which replaces it.",
        "type": "object",
        "required": ["$shared"],
        "properties": {
            "$shared": {
                "type": "string",
                "maxLength": 1024,
                "description": "Name of the value.",
                "example": "shop",
            },
        },
        "additionalProperties": false,
    });
}

/// Makes a reference another choice for each property, at any depth.
fn offer_references(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                match (keyword.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        for property in properties.values_mut() {
                            offer_references(property);
                            offer_reference(property);
                        }
                    }
                    (keyword, Value::Object(schemas)) if NAMED.contains(&keyword) => {
                        schemas.values_mut().for_each(offer_references);
                    }
                    (keyword, _) if DATA.contains(&keyword) => {}
                    (_, value) => offer_references(value),
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(offer_references),
        _ => {}
    }
}

/// Makes a reference another choice for a property, unless it is only a choice of words, a number
/// or a truth value, or any value already.
fn offer_reference(property: &mut Value) {
    let Some(keywords) = property.as_object_mut() else {
        return;
    };
    let is_choice = ["const", "enum"]
        .iter()
        .any(|key| keywords.contains_key(*key));
    let is_large = |name: &Value| matches!(name.as_str(), Some("string" | "array" | "object"));
    let is_shared = match keywords.get("type") {
        Some(Value::Array(names)) => names.iter().any(is_large),
        Some(name) => is_large(name),
        None => ["$ref", "oneOf", "anyOf", "allOf"]
            .iter()
            .any(|key| keywords.contains_key(*key)),
    };
    if is_choice || !is_shared {
        return;
    }
    let mut own = std::mem::take(keywords);
    for annotation in ["description", "default", "examples"] {
        keywords.extend(
            own.remove(annotation)
                .map(|value| (annotation.to_owned(), value)),
        );
    }
    keywords.insert("anyOf".to_owned(), json!([own, { "$ref": REFERENCE }]));
}

/// Embeds a standalone schema at `base` of a larger document and rewrites its references to itself
/// accordingly.
fn embedded(mut schema: Value, base: &str) -> Value {
    if let Some(top) = schema.as_object_mut() {
        // An `$id` would change the base of references.
        top.remove("$id");
        top.remove("$schema");
    }
    rebase(&mut schema, base);
    schema
}

/// Keywords whose values are data, not schemas.
const DATA: &[&str] = &["const", "enum", "default", "examples", "example"];

/// Keywords whose values are schemas by name.
const NAMED: &[&str] = &[
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];

fn rebase(schema: &mut Value, base: &str) {
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords {
                match (keyword.as_str(), value) {
                    ("$ref", Value::String(target)) => {
                        let local = target
                            .strip_prefix('#')
                            .filter(|rest| rest.is_empty() || rest.starts_with('/'));
                        if let Some(rest) = local {
                            *target = format!("{base}{rest}");
                        }
                    }
                    (keyword, Value::Object(schemas)) if NAMED.contains(&keyword) => {
                        schemas.values_mut().for_each(|schema| rebase(schema, base));
                    }
                    (keyword, _) if DATA.contains(&keyword) => {}
                    (_, value) => rebase(value, base),
                }
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(|schema| rebase(schema, base)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rebases_references_and_keeps_data() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.com/task",
            "properties": {
                "a": { "$ref": "#/$defs/x" },
                "whole": { "type": "array", "items": { "$ref": "#" } },
                "other": { "$ref": "https://example.com/s#/a" }, "anchor": { "$ref": "#name" },
                "$ref": { "const": { "$ref": "#/data" } }, "enum": { "$ref": "#/$defs/x" },
            },
            "anyOf": [{ "$ref": "#/$defs/x" }],
            "$defs": { "x": { "default": { "$ref": "#/data" } } },
        });
        let at = |rest: &str| format!("#/components/schemas/Task_t{rest}");
        assert_eq!(
            embedded(schema, &at("")),
            json!({
                "properties": {
                    "a": { "$ref": at("/$defs/x") },
                    "whole": { "type": "array", "items": { "$ref": at("") } },
                    "other": { "$ref": "https://example.com/s#/a" }, "anchor": { "$ref": "#name" },
                    "$ref": { "const": { "$ref": "#/data" } }, "enum": { "$ref": at("/$defs/x") },
                },
                "anyOf": [{ "$ref": at("/$defs/x") }],
                "$defs": { "x": { "default": { "$ref": "#/data" } } },
            })
        );
    }
}
