//! The OpenAPI document: the endpoints from their code, the tasks from the graders' specs.

use assay_core::GraderTable;
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use crate::routes::documented;

/// Fields that are a text or an array of messages, and whether they may be null.
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
];

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Assay",
        description = "Verifiable rewards for reinforcement learning: POST batches of rollouts, get rewards that can be trusted.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(
        assay_wire::Warning,
        assay_wire::reply::StreamLine<'static>,
        assay_wire::reply::ResultBody<'static>,
        assay_wire::reply::GroupBody<'static>,
        assay_wire::reply::ChannelBody<'static>,
        assay_wire::reply::ComponentBody<'static>,
        assay_wire::reply::StepBody,
        assay_wire::reply::FaultBody<'static>,
    )),
    tags(
        (name = "grading", description = "Batches in, rewards out."),
        (name = "record", description = "Every grade is a stored, queryable, replayable fact."),
        (name = "noise", description = "How wrong verifiers are, what is done about it, and what rewards are made of."),
        (name = "reward models", description = "How good is it, to a model? Raw numbers, their scale, and the version that gave them."),
        (name = "compatibility", description = "The formats of other servers, so that their clients need only another address."),
        (name = "node", description = "Health, metrics and what the node can grade."),
    ),
)]
struct Document;

/// The document served at `/openapi.json`, for a node with these graders.
#[must_use]
pub fn document(graders: &GraderTable) -> Value {
    let (_, paths) = documented().split_for_parts();
    let mut document = Document::openapi();
    document.merge(paths);
    // The document is plain data; serialising it cannot fail.
    let mut document = serde_json::to_value(document).unwrap_or_default();
    let mut choices = Vec::new();
    let mut names = Map::new();
    for grader in graders.iter() {
        let spec = grader.spec();
        let name = format!("Task_{}", spec.name);
        let schema: Value = serde_json::from_str(spec.task_schema).unwrap_or_default();
        document["components"]["schemas"][&name] = schema;
        let reference = format!("#/components/schemas/{name}");
        choices.push(json!({ "$ref": reference }));
        names.insert(spec.name.to_owned(), reference.into());
    }
    let task = json!({
        "description": "What a completion should achieve and how to check it; `type` names the grader.",
        "oneOf": choices,
        "discriminator": { "propertyName": "type", "mapping": names },
    });
    document["components"]["schemas"]["Task"] = task;
    let schemas = &mut document["components"]["schemas"];
    let item = &mut schemas["ItemRequest"]["properties"];
    item["task"] = json!({ "$ref": "#/components/schemas/Task" });
    item["checks"]["additionalProperties"] = json!({ "$ref": "#/components/schemas/Task" });
    for (schema, field, nullable) in TEXTS_OR_MESSAGES {
        let described = schemas[schema]["properties"][field]["description"].take();
        let mut shapes = vec![
            json!({ "type": "string" }),
            json!({ "type": "array", "items": { "$ref": "#/components/schemas/Message" } }),
        ];
        if *nullable {
            shapes.push(json!({ "type": "null" }));
        }
        schemas[schema]["properties"][field] = json!({ "description": described, "oneOf": shapes });
    }
    document["components"]["schemas"]["Message"] = json!({
        "type": "object",
        "description": "One message of a chat. Fields not listed are kept for graders that read them.",
        "required": ["role"],
        "properties": {
            "role": { "type": "string", "examples": ["assistant"] },
            "content": { "description": "A string, an array of parts, or null beside tool calls." },
        },
    });
    document
}
