//! The OpenAPI document, built from the annotations of the endpoints and the specifications of the
//! graders.

mod access;
mod errors;
mod fields;
mod replies;
mod tasks;

use assay_core::GraderTable;
use serde_json::Value;
use utoipa::OpenApi;

use crate::roles::RoleTable;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Assay",
        description = "Verifiable rewards for reinforcement learning: POST batches of rollouts and \
            get their rewards. Request bodies can be compressed with `gzip` or `zstd` \
            (`Content-Encoding`).",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    components(schemas(
        assay_wire::Warning,
        assay_wire::TemplateTask,
        assay_wire::reply::StreamLine<'static>,
        assay_record::ItemGrade,
        assay_record::StoredGrade,
        assay_record::GradeSource,
        assay_record::Appeal,
        assay_record::ComponentGrade,
        assay_record::GroupResult,
        assay_wire::reply::ChannelBody<'static>,
        assay_core::Step,
        assay_core::Fault,
    )),
    tags(
        (name = "grading", description = "Grade batches of rollouts."),
        (name = "jobs", description = "Grade data sets in the background."),
        (name = "sessions", description = "Run code in interpreter sessions that live across \
            calls."),
        (name = "record", description = "Query and replay recorded grades, runs and dataset \
            checks."),
        (name = "noise", description = "Error rates of verifiers, adjudications, reward policies \
            and prompt selection."),
        (name = "reward models", description = "Load reward models, score inputs and collect \
            preference pairs."),
        (name = "compatibility", description = "Endpoints in the formats of other servers, for \
            their clients."),
        (name = "node", description = "Health, metrics and the available graders."),
    ),
)]
struct Document;

/// The document of these paths, for a node with these graders. `roles` has who may call each.
pub(crate) fn document(
    paths: utoipa::openapi::OpenApi,
    graders: &GraderTable,
    roles: &RoleTable,
) -> Value {
    let mut document = Document::openapi();
    document.merge(paths);
    // The document is plain data; serialising it cannot fail.
    let mut document = serde_json::to_value(document).unwrap_or_default();
    tasks::embed(&mut document, graders);
    fields::describe(&mut document);
    fields::name_unsigned(&mut document["paths"]);
    fields::name_unsigned(&mut document["components"]);
    access::declare(&mut document, roles);
    errors::declare(&mut document);
    replies::require_fields(&mut document);
    replies::declare_selections(&mut document);
    name_operations(&mut document);
    document
}

/// Makes every operation id unique by deriving it from method and path: handlers of several routes
/// have the same name.
fn name_operations(document: &mut Value) {
    for (path, operations) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in operations.as_object_mut().into_iter().flatten() {
            let segments = path
                .split(|letter: char| !letter.is_ascii_alphanumeric())
                .filter(|segment| !segment.is_empty());
            let id = segments.fold(method.clone(), |id, segment| format!("{id}_{segment}"));
            operation["operationId"] = id.into();
        }
    }
}
