//! The OpenAPI document: the endpoints from their code, the tasks from the graders' specs.

mod fields;
mod refusals;
mod replies;
mod tasks;

use assay_core::GraderTable;
use serde_json::Value;
use utoipa::OpenApi;

use crate::routes::documented;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Assay",
        description = "Verifiable rewards for reinforcement learning: POST batches of rollouts, \
            get rewards that can be trusted. Request bodies may be compressed with `gzip` or \
            `zstd` (`Content-Encoding`)",
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
        (name = "noise", description = "How wrong verifiers are, what is done about it, and what \
                                        rewards are made of."),
        (name = "reward models", description = "How good is it, to a model? Raw numbers, their \
            scale, and the version that gave them."),
        (name = "compatibility", description = "The formats of other servers, so that their \
            clients need only another address."),
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
    tasks::embed(&mut document, graders);
    fields::describe(&mut document);
    fields::name_unsigned(&mut document["paths"]);
    fields::name_unsigned(&mut document["components"]);
    refusals::declare(&mut document);
    replies::require_fields(&mut document);
    name_operations(&mut document);
    document
}

/// Makes every operation id unique by deriving it from method and path: handlers of several routes
/// have the same name.
fn name_operations(document: &mut Value) {
    for (path, operations) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in operations.as_object_mut().into_iter().flatten() {
            let words = path
                .split(|letter: char| !letter.is_ascii_alphanumeric())
                .filter(|word| !word.is_empty());
            let id = words.fold(method.clone(), |id, word| format!("{id}_{word}"));
            operation["operationId"] = id.into();
        }
    }
}
