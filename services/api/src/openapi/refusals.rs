//! Errors that routes share. Which statuses a route can return depends on what it accepts, so a new
//! route declares only its own errors. A route of an emulated server returns errors in that
//! server's format, with its statuses for the same causes.

use std::collections::BTreeSet;

use assay_core::ErrorCode;
use serde_json::{Map, Value, json};

use crate::compat::peer::{PEERS, Peer};

/// What an operation of the document accepts, as far as it determines the errors.
struct Takes {
    body: bool,
    path_parameter: bool,
    parameter: bool,
    /// The engine or the record.
    node: bool,
    /// A route of an emulated server that uses a reward model.
    model: bool,
}

type Applies = fn(&Takes) -> bool;

/// Error codes by what a route accepts.
const SHARED: &[(Applies, &[ErrorCode])] = &[
    (
        |_| true,
        &[
            ErrorCode::OtherSite,
            ErrorCode::MethodNotAllowed,
            ErrorCode::UnsupportedMedia,
            ErrorCode::Internal,
        ],
    ),
    (|takes| takes.parameter, &[ErrorCode::InvalidParameter]),
    (|takes| takes.path_parameter, &[ErrorCode::NotFound]),
    (
        |takes| takes.body,
        &[
            ErrorCode::MalformedJson,
            ErrorCode::InvalidField,
            ErrorCode::BodyTooLarge,
            ErrorCode::Overloaded,
        ],
    ),
    (|takes| takes.node, &[ErrorCode::StoreUnavailable]),
    (
        |takes| takes.model,
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
        "A parameter or field is wrong, or the body is not JSON",
    ),
    (
        403,
        "Sent by a page of another site, or to a host name of another machine",
    ),
    (404, "There is nothing with this id or name"),
    (
        405,
        "The path does not support this method; `Allow` lists the supported ones",
    ),
    (413, "The body has too many bytes or items"),
    (414, "The URL is too long"),
    (415, "The type or encoding of the body is not supported"),
    (422, "A field is wrong"),
    (424, "The model failed"),
    (429, "Too much work is in progress"),
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
        let peer = Peer::of(path);
        for operation in operations
            .as_object_mut()
            .into_iter()
            .flat_map(Map::values_mut)
        {
            let takes = Takes::of(path, operation, peer);
            let Some(responses) = operation["responses"].as_object_mut() else {
                continue;
            };
            for status in statuses(&takes, peer) {
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

impl Takes {
    fn of(path: &str, operation: &Value, peer: Option<&Peer>) -> Self {
        let parameters = operation["parameters"].as_array();
        Self {
            body: operation.get("requestBody").is_some(),
            path_parameter: path.contains('{'),
            parameter: parameters.is_some_and(|parameters| !parameters.is_empty()),
            node: path.starts_with("/v1/"),
            model: peer.is_some_and(|peer| peer.asks_model),
        }
    }
}

fn statuses(takes: &Takes, peer: Option<&Peer>) -> BTreeSet<u16> {
    let codes = SHARED
        .iter()
        .filter(|(applies, _)| applies(takes))
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
