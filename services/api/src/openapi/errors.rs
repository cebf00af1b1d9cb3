//! Errors that routes share. The statuses that a route can return depend on what it accepts, so a
//! new route declares only its own errors. A route of an emulated server returns errors in that
//! server's format, with its statuses for the same causes.

use std::collections::BTreeSet;

use assay_core::ErrorCode;
use serde_json::{Map, Value, json};

use super::access::needs_key;
use crate::compat::peer::{PEERS, Peer};

/// The properties of an operation that determine its errors.
struct OperationTraits {
    has_body: bool,
    has_path_parameter: bool,
    has_parameter: bool,
    /// Whether it uses the engine or the record.
    uses_node: bool,
    /// Whether it is a route of an emulated server that uses a reward model.
    uses_model: bool,
    needs_key: bool,
}

type Applies = fn(&OperationTraits) -> bool;

/// Error codes by the properties of an operation.
const SHARED_ERRORS: &[(Applies, &[ErrorCode])] = &[
    (
        |_| true,
        &[
            ErrorCode::OtherSite,
            ErrorCode::MethodNotAllowed,
            ErrorCode::UnsupportedMedia,
            ErrorCode::Internal,
        ],
    ),
    (
        |traits| traits.needs_key,
        &[ErrorCode::Unauthenticated, ErrorCode::Forbidden],
    ),
    (
        |traits| traits.has_parameter,
        &[ErrorCode::InvalidParameter],
    ),
    (|traits| traits.has_path_parameter, &[ErrorCode::NotFound]),
    (
        |traits| traits.has_body,
        &[
            ErrorCode::MalformedJson,
            ErrorCode::InvalidField,
            ErrorCode::BodyTooLarge,
            ErrorCode::Overloaded,
            ErrorCode::QuotaExceeded,
        ],
    ),
    (|traits| traits.uses_node, &[ErrorCode::StoreUnavailable]),
    (
        |traits| traits.uses_model,
        &[
            ErrorCode::UnknownModel,
            ErrorCode::ModelUnavailable,
            ErrorCode::EmptyBatch,
        ],
    ),
];

/// Statuses that the HTTP server returns before a request is routed, without a body.
const BEFORE_ROUTING: &[u16] = &[414, 431];

/// Descriptions of statuses that a route does not describe itself.
const MEANINGS: &[(u16, &str)] = &[
    (
        400,
        "A parameter or field is invalid, or the body is not JSON",
    ),
    (401, "The node requires a key, and the request has none"),
    (
        403,
        "The key does not have the required role, or the request was sent by a page of another \
         site or to a host name of another machine",
    ),
    (404, "No resource has this id or name"),
    (
        405,
        "The path does not support this method; `Allow` lists the supported ones",
    ),
    (413, "The body has too many bytes or items"),
    (414, "The URL is too long"),
    (415, "The type or encoding of the body is not supported"),
    (422, "A field is invalid"),
    (424, "The model failed"),
    (429, "Too much work is in progress, or a quota is exceeded"),
    (431, "The header fields are too long"),
    (500, "Internal error"),
    (
        503,
        "The record, the model or the node is currently unavailable",
    ),
    (504, "Timed out waiting in the queue"),
];

/// Declares the shared errors at every operation that does not describe them itself.
pub(super) fn declare(document: &mut Value) {
    for peer in PEERS {
        document["components"]["schemas"][peer.name] =
            serde_json::to_value((peer.schema)()).unwrap_or_default();
    }
    let mut used = BTreeSet::new();
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, operations) in paths {
        let peer = Peer::for_path(path);
        for operation in operations
            .as_object_mut()
            .into_iter()
            .flat_map(Map::values_mut)
        {
            let traits = OperationTraits::new(path, operation, peer);
            let Some(responses) = operation["responses"].as_object_mut() else {
                continue;
            };
            for status in statuses(&traits, peer) {
                let name = component(status, peer);
                let reference = json!({ "$ref": format!("#/components/responses/{name}") });
                responses.entry(status.to_string()).or_insert(reference);
                used.insert((name, status, peer.map_or("ProblemBody", |peer| peer.name)));
            }
            for (status, response) in responses {
                add_headers(status, response);
            }
        }
    }
    for (name, status, schema) in used {
        document["components"]["responses"][name] = response(status, schema);
    }
}

impl OperationTraits {
    fn new(path: &str, operation: &Value, peer: Option<&Peer>) -> Self {
        let parameters = operation["parameters"].as_array();
        Self {
            has_body: operation.get("requestBody").is_some(),
            has_path_parameter: path.contains('{'),
            has_parameter: parameters.is_some_and(|parameters| !parameters.is_empty()),
            uses_node: path.starts_with("/v1/"),
            uses_model: peer.is_some_and(|peer| peer.uses_model),
            needs_key: needs_key(operation),
        }
    }
}

fn statuses(traits: &OperationTraits, peer: Option<&Peer>) -> BTreeSet<u16> {
    let codes = SHARED_ERRORS
        .iter()
        .filter(|(applies, _)| applies(traits))
        .flat_map(|(_, codes)| *codes);
    let status = |code: &ErrorCode| peer.map_or(code.status(), |peer| peer.status(*code).as_u16());
    codes
        .map(status)
        .chain(BEFORE_ROUTING.iter().copied())
        .collect()
}

fn component(status: u16, peer: Option<&Peer>) -> String {
    match peer {
        Some(peer) if !BEFORE_ROUTING.contains(&status) => format!("{}_{status}", peer.name),
        _ => format!("Problem_{status}"),
    }
}

fn response(status: u16, schema: &str) -> Value {
    let meaning = MEANINGS
        .iter()
        .find(|(known, _)| *known == status)
        .map_or("Error", |(_, meaning)| meaning);
    let mut response = json!({ "description": meaning });
    if !BEFORE_ROUTING.contains(&status) {
        let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
        response["content"] = json!({ "application/json": { "schema": schema } });
    }
    add_headers(&status.to_string(), &mut response);
    response
}

/// Declares the headers of responses with this status.
fn add_headers(status: &str, response: &mut Value) {
    if response.get("$ref").is_some() {
        return;
    }
    let (name, description, schema) = match status {
        "401" => ("WWW-Authenticate", "`Bearer`", json!({ "type": "string" })),
        "405" => (
            "Allow",
            "Methods that the path supports",
            json!({ "type": "string" }),
        ),
        "429" | "503" | "504" => (
            "Retry-After",
            "Seconds to wait before retrying the request, if a retry can succeed",
            json!({ "type": "integer", "minimum": 1 }),
        ),
        _ => return,
    };
    response["headers"][name] = json!({ "description": description, "schema": schema });
}
