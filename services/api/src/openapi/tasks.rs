//! Task schemas of graders as components of the document.

use assay_core::GraderTable;
use serde_json::{Map, Value, json};

/// Adds a schema `Task_NAME` for each grader, and `Task`, which is one of them.
pub(super) fn embed(document: &mut Value, graders: &GraderTable) {
    let mut choices = Vec::new();
    let mut names = Map::new();
    for grader in graders.iter() {
        let spec = grader.spec();
        let component = format!("Task_{}", spec.name);
        let schema: Value = serde_json::from_str(spec.task_schema).unwrap_or_default();
        let reference = format!("#/components/schemas/{component}");
        document["components"]["schemas"][&component] = embedded(schema, &reference);
        choices.push(json!({ "$ref": reference }));
        names.insert(spec.name.to_owned(), reference.into());
    }
    document["components"]["schemas"]["Task"] = json!({
        "description": "What a completion should achieve and how to check it; `type` names the \
                        grader.",
        "oneOf": choices,
        "discriminator": { "propertyName": "type", "mapping": names },
    });
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
