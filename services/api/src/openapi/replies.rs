//! Schemas of responses: every field is always present, null if it has no value, except those
//! listed here.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Fields that are omitted if they have no value, by schema.
const OPTIONAL: &[(&str, &[&str])] = &[
    (
        "NemoGymVerifyReply",
        &["_ng_failure_class", "_ng_failure_terminal"],
    ),
    ("PistonReply", &["compile"]),
    ("ScoreBody", &["steps", "labels", "classes", "embedding"]),
    ("TeiRank", &["text"]),
];

/// Marks every other field as required in schemas that only responses use. Schemas of requests are
/// not changed.
pub(super) fn require_fields(document: &mut Value) {
    let (mut in_requests, mut in_responses) = (BTreeSet::new(), BTreeSet::new());
    for operation in document["paths"]
        .as_object()
        .into_iter()
        .flatten()
        .flat_map(|(_, operations)| operations.as_object().into_iter().flat_map(Map::values))
    {
        collect(document, &operation["requestBody"], &mut in_requests);
        collect(document, &operation["responses"], &mut in_responses);
    }
    for name in in_responses.difference(&in_requests) {
        let optional = OPTIONAL
            .iter()
            .find(|(schema, _)| schema == name)
            .map_or(&[][..], |(_, fields)| fields);
        require(&mut document["components"]["schemas"][name], optional);
    }
}

/// Declares replies to requests with `fields`, in which results have only the chosen keys.
pub(super) fn declare_selections(document: &mut Value) {
    let schema = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let schemas = &mut document["components"]["schemas"];
    let mut result = schemas["ResultBody"].clone();
    result["description"] = json!(
        "The chosen keys of a result. If the item is not graded, `outcome` and `error` are present \
         too."
    );
    result["required"] = json!([]);
    let mut reply = schemas["GradeReply"].clone();
    reply["description"] = json!("Reply to a batch with `fields`");
    reply["required"] = json!(["batch", "results", "warnings"]);
    reply["properties"]["results"]["items"] = schema("SelectedResult");
    let position = result["properties"]["position"].clone();
    schemas["SelectedResult"] = result;
    schemas["SelectedReply"] = reply;
    schemas["SelectedLine"] = json!({
        "description": "A result in the streamed reply to a batch with `fields`",
        "allOf": [
            schema("SelectedResult"),
            {
                "type": "object",
                "required": ["type", "position"],
                "properties": {
                    "type": { "type": "string", "enum": ["result"] },
                    "position": position,
                },
            },
        ],
    });
    let content = &mut document["paths"]["/v1/grade"]["post"]["responses"]["200"]["content"];
    for (media, whole, selected) in [
        ("application/json", "GradeReply", "SelectedReply"),
        ("application/x-ndjson", "StreamLine", "SelectedLine"),
    ] {
        content[media]["schema"] = json!({ "anyOf": [schema(whole), schema(selected)] });
    }
}

/// Collects the names of the schemas that a part of the document references, directly or
/// indirectly.
fn collect(document: &Value, part: &Value, names: &mut BTreeSet<String>) {
    match part {
        Value::Object(fields) => {
            if let Some(target) = fields.get("$ref").and_then(Value::as_str) {
                let target = target.trim_start_matches('#');
                let name = target.strip_prefix("/components/schemas/");
                let is_new = name.is_none_or(|name| names.insert(name.to_owned()));
                if let Some(found) = document.pointer(target).filter(|_| is_new) {
                    collect(document, found, names);
                }
            }
            fields
                .values()
                .for_each(|value| collect(document, value, names));
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| collect(document, value, names)),
        _ => {}
    }
}

fn require(schema: &mut Value, optional: &[&str]) {
    for parts in ["allOf", "oneOf"] {
        let parts = schema.get_mut(parts).and_then(Value::as_array_mut);
        parts
            .into_iter()
            .flatten()
            .for_each(|part| require(part, optional));
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let required = properties
        .keys()
        .filter(|name| !optional.contains(&name.as_str()));
    schema["required"] = required.cloned().collect();
}
