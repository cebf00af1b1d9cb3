//! Schemas of fields that accept more than their Rust types show: strings or messages, policies,
//! statistics, settings.

use assay_rewards::Statistic;
use assay_wire::Selection;
use serde_json::{Value, json};

/// Fields that are a string or an array of messages, and whether they may be null.
const TEXTS_OR_MESSAGES: &[(&str, &str, bool)] = &[
    ("ItemRequest", "prompt", true),
    ("ItemRequest", "completion", false),
    ("InputRequest", "prompt", true),
    ("InputRequest", "completion", true),
    ("PairRequest", "prompt", false),
    ("PairRequest", "accepted", false),
    ("PairRequest", "rejected", false),
    ("PairBody", "prompt", false),
    ("PairBody", "accepted", false),
    ("PairBody", "rejected", false),
    ("GradeDetail", "prompt", true),
    ("GradeDetail", "completion", true),
];

/// Fields that are the name of a policy or a policy object.
const POLICIES: &[(&str, &str)] = &[("GradeRequest", "policy"), ("ItemRequest", "policy")];

/// Writes the schemas of these fields into the document.
pub(super) fn describe(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    let task = json!({ "oneOf": [
        { "$ref": "#/components/schemas/Task" },
        { "$ref": "#/components/schemas/TemplateTask" },
    ] });
    schemas["ItemRequest"]["properties"]["checks"]["additionalProperties"] = task.clone();
    replace(schemas, "ItemRequest", "task", task);
    let shared = json!({
        "type": "object",
        "maxProperties": 256,
        "propertyNames": { "maxLength": 1024 },
        "additionalProperties": { "description": "Any value without a `SharedReference`." },
        "example": { "shop": { "stock": { "apple": 3 } } },
    });
    replace(schemas, "GradeRequest", "shared", shared);
    for (schema, field, nullable) in TEXTS_OR_MESSAGES {
        let mut shapes = vec![
            json!({ "type": "string" }),
            json!({ "type": "array", "items": { "$ref": "#/components/schemas/Message" } }),
        ];
        if *nullable {
            shapes.push(json!({ "type": "null" }));
        }
        replace(schemas, schema, field, json!({ "oneOf": shapes }));
    }
    for (schema, field) in POLICIES {
        replace(
            schemas,
            schema,
            field,
            json!({ "type": ["string", "object", "null"], "example": "default" }),
        );
    }
    let statistics: Vec<_> = Statistic::ALL
        .iter()
        .map(|statistic| statistic.name())
        .collect();
    schemas["GradeRequest"]["properties"]["statistics"]["items"] =
        json!({ "type": "string", "enum": statistics });
    schemas["GradeRequest"]["properties"]["fields"]["items"] =
        json!({ "type": "string", "enum": Selection::names().collect::<Vec<_>>() });
    schemas["SuggestRequest"]["allOf"][0] = settings();
    schemas["Message"] = json!({
        "type": "object",
        "description": "One message of a chat. Other fields are passed to graders that use them.",
        "required": ["role"],
        "properties": {
            "role": { "type": "string", "examples": ["assistant"] },
            "content": { "description": "A string, an array of parts, or null in a message with \
                tool calls." },
        },
    });
}

/// Sets the format of unsigned integers: derived schemas use `int32` and `int64`, which have half
/// the maximum value.
pub(super) fn name_unsigned(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            let unsigned = keywords
                .get("minimum")
                .and_then(Value::as_f64)
                .is_some_and(|minimum| minimum >= 0.0);
            match keywords.get_mut("format") {
                Some(Value::String(format))
                    if unsigned && (format == "int32" || format == "int64") =>
                {
                    format.insert(0, 'u');
                }
                _ => {}
            }
            keywords.values_mut().for_each(name_unsigned);
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(name_unsigned),
        _ => {}
    }
}

/// Replaces the schema of a field and keeps its description.
fn replace(schemas: &mut Value, schema: &str, field: &str, mut shape: Value) {
    let Some(current) = property(&mut schemas[schema], field) else {
        return;
    };
    shape["description"] = current["description"].take();
    *current = shape;
}

/// The property of a schema or of one of the parts of its `allOf`.
fn property<'s>(schema: &'s mut Value, field: &str) -> Option<&'s mut Value> {
    if schema.get("allOf").is_some() {
        let parts = schema["allOf"].as_array_mut()?;
        return parts
            .iter_mut()
            .find_map(|part| part.get_mut("properties")?.get_mut(field));
    }
    schema.get_mut("properties")?.get_mut(field)
}

/// Settings of the prompt selection, which [`assay_rewards::prompts::Suggest`] validates.
fn settings() -> Value {
    let share = || json!({ "type": "number", "minimum": 0, "maximum": 1 });
    let count = |max: u64| json!({ "type": "integer", "minimum": 1, "maximum": max });
    let strength = || json!({ "type": "number", "minimum": 0.01, "maximum": 1000 });
    json!({
        "type": "object",
        "description": "How prompts are chosen. Every field has a default; unknown fields are \
                        errors.",
        "properties": {
            "strategy": { "enum": ["mopps", "vade", "sec", "dump", "filter"] },
            "allocation": { "enum": ["even", "knapsack", "dars", "dars_hw"] },
            "count": count(100_000),
            "rollouts": count(4_096),
            "min_rollouts": count(4_096),
            "max_rollouts": count(4_096),
            "budget": { "type": ["integer", "null"], "minimum": 1, "maximum": 1_000_000 },
            "target": share(),
            "band": { "type": ["array", "null"], "items": share(), "minItems": 2, "maxItems": 2 },
            "rates": { "type": ["object", "null"] },
            "discount": share(),
            "slow_discount": share(),
            "prior": {
                "type": "object", "required": ["alpha", "beta"],
                "properties": { "alpha": strength(), "beta": strength() },
            },
            "thompson": { "type": "boolean" },
            "step_size": { "type": "number", "exclusiveMinimum": 0, "maximum": 1 },
            "window": count(u64::from(u32::MAX)),
            "temperature": { "type": "number", "minimum": 0.001, "maximum": 1000 },
            "unvisited": share(),
        },
    })
}
