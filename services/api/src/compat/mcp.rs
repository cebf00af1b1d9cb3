//! `/compat/mcp`: a server of the Model Context Protocol over streamable HTTP, whose tools run code
//! in interpreter sessions. Replies are JSON; there are no streams.

use assay_core::ErrorCode;
use assay_wire::ProblemBody;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::interpreter::{Interpreter, output};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::{ApiError, ApiResult};
use crate::v1::sessions::{self, sender};

/// Versions of the protocol, the newest first. A client that asks for another one is offered the
/// first.
const VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26"];

/// The header with the id of a session of the protocol.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Maximum length of the id of a session of the protocol, in bytes.
const MAX_ID: usize = 200;

/// A tool: its name, the language and image of its code, and what it does.
struct Tool {
    name: &'static str,
    language: &'static str,
    image: Option<&'static str>,
    description: &'static str,
}

/// The tool whose language needs no image.
const SQL: &str = "run_sql";

#[rustfmt::skip]
const TOOLS: &[Tool] = &[
    Tool {
        name: "run_python", language: "python", image: Some("python-scientific"),
        description: "Runs Python. Names, imports and files remain for the next call. The value of \
                      the last expression is returned with what the code prints. There is no network.",
    },
    Tool {
        name: "run_javascript", language: "javascript", image: None,
        description: "Runs JavaScript. Global names remain for the next call. The value of the last \
                      expression is returned with what the code prints. There is no network.",
    },
    Tool {
        name: "run_cpp", language: "cpp", image: None,
        description: "Compiles and runs a C++ program with `main`. Files remain for the next call. \
                      There is no network.",
    },
    Tool {
        name: SQL, language: "sql", image: None,
        description: "Runs SQL statements on an SQLite database, which is empty at first and remains \
                      for the next call. The rows of the last query are returned.",
    },
];

/// Codes of errors of JSON-RPC.
const INVALID_REQUEST: i32 = -32_600;
const UNKNOWN_METHOD: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;

/// A message of JSON-RPC 2.0: a request, or a notification without an id.
#[derive(Deserialize, ToSchema)]
#[schema(as = McpMessage)]
struct Message {
    /// `2.0`.
    jsonrpc: String,
    /// A text or a number. Notifications have none.
    #[serde(default)]
    #[schema(value_type = Option<Value>)]
    id: Option<Value>,
    /// `initialize`, `ping`, `tools/list`, `tools/call`, or a notification.
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    #[schema(value_type = Option<Value>)]
    params: Value,
}

/// The parameters of a call of a tool.
#[derive(Deserialize)]
struct CallParams {
    name: String,
    arguments: Arguments,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    code: String,
}

/// Answers a message of the Model Context Protocol. `initialize` returns the header
/// `Mcp-Session-Id`; tools called with it share names and files.
#[utoipa::path(post, path = "/compat/mcp", tag = "compatibility",
    params((
        "Mcp-Session-Id" = Option<String>, Header,
        description = "Id from the reply to `initialize`; needed by `tools/call`",
    )),
    request_body(content = Message, content_type = "application/json", example = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list",
    })),
    responses(
        (status = 200, description = "A response of JSON-RPC: a result or an error", body = Value),
        (status = 202, description = "The message needs no response"),
    ))]
pub(crate) async fn message(
    api: Api,
    headers: HeaderMap,
    body: RequestBody,
) -> ApiResult<Response> {
    let (message, _permit) = body
        .lenient_json::<Message>(&api, BodyKind::Document)
        .await?;
    let (Some(id), Some(method)) = (message.id, message.method) else {
        // A notification, or the response to a request, which this server never sends.
        return Ok(StatusCode::ACCEPTED.into_response());
    };
    if message.jsonrpc != "2.0" {
        return Ok(error(&id, INVALID_REQUEST, "`jsonrpc` must be `2.0`"));
    }
    Ok(match method.as_str() {
        "initialize" => initialized(&api, &id, &message.params),
        "ping" => result(&id, &json!({})),
        "tools/list" => result(&id, &json!({ "tools": tools(&api) })),
        "tools/call" => match serde_json::from_value::<CallParams>(message.params) {
            Ok(params) => call(&api, &headers, &id, params).await?,
            Err(reason) => error(&id, INVALID_PARAMS, &reason.to_string()),
        },
        method => error(&id, UNKNOWN_METHOD, &format!("no method `{method}`")),
    })
}

/// Ends the interpreter sessions of a session of the protocol.
#[utoipa::path(delete, path = "/compat/mcp", tag = "compatibility",
    params(("Mcp-Session-Id" = String, Header, description = "Id from the reply to `initialize`")),
    responses(
        (status = 204, description = "They have ended"),
        (status = 400, description = "The header is missing", body = ProblemBody),
    ))]
pub(crate) async fn end(api: Api, headers: HeaderMap) -> ApiResult<StatusCode> {
    let id = session_id(&headers)?;
    let (sessions, sender) = (api.sessions(), sender(&api));
    for tool in TOOLS {
        sessions.end_named(&sender, &name_of(id, tool));
    }
    Ok(StatusCode::NO_CONTENT)
}

fn initialized(api: &Api, id: &Value, params: &Value) -> Response {
    let asked = params["protocolVersion"].as_str().unwrap_or_default();
    let version = VERSIONS.iter().find(|version| **version == asked);
    let result_body = json!({
        "protocolVersion": version.unwrap_or(&VERSIONS[0]),
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "assay", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Code runs in a sandbox without a network. The same calls always return \
                         the same.",
    });
    let mut response = result(id, &result_body);
    let session = api.sessions().new_name();
    if let Ok(session) = HeaderValue::from_str(&session) {
        response.headers_mut().insert(SESSION, session);
    }
    response
}

/// The tools whose languages this node runs.
fn tools(api: &Api) -> Vec<Value> {
    let installed =
        |tool: &&Tool| tool.name == SQL || api.programs().runtime(tool.language).is_some();
    let described = |tool: &Tool| {
        let code = json!({ "type": "string", "description": "The code to run." });
        json!({
            "name": tool.name,
            "description": tool.description,
            "inputSchema": {
                "type": "object",
                "properties": { "code": code },
                "required": ["code"],
                "additionalProperties": false,
            },
        })
    };
    TOOLS.iter().filter(installed).map(described).collect()
}

async fn call(
    api: &Api,
    headers: &HeaderMap,
    id: &Value,
    params: CallParams,
) -> ApiResult<Response> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == params.name) else {
        let message = format!("no tool `{}`", params.name);
        return Ok(error(id, INVALID_PARAMS, &message));
    };
    let name = name_of(session_id(headers)?, tool);
    let sender = sender(api);
    let interpreter = Interpreter {
        sessions: api.sessions(),
        sender: &sender,
        name,
        language: tool.language,
        image: tool.image,
        idle_seconds: None,
    };
    let running = interpreter.run(params.arguments.code, String::new());
    let called = sessions::call(api, running).await?;
    let content = json!([{ "type": "text", "text": output(&called) }]);
    let failed = called.outcome.as_str() != "ok";
    let result_body = json!({ "content": content, "isError": failed });
    Ok(result(id, &result_body))
}

/// The id of the session of the protocol.
fn session_id(headers: &HeaderMap) -> ApiResult<&str> {
    let id = headers.get(SESSION).and_then(|value| value.to_str().ok());
    id.filter(|id| (1..=MAX_ID).contains(&id.len()))
        .ok_or_else(|| {
            let message = "the header `Mcp-Session-Id` is missing or too long; send that of the \
                           reply to `initialize`";
            ApiError::new(ErrorCode::InvalidParameter, message)
        })
}

fn name_of(session: &str, tool: &Tool) -> String {
    format!("mcp/{session}/{}", tool.language)
}

fn result(id: &Value, result: &Value) -> Response {
    Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })).into_response()
}

fn error(id: &Value, code: i32, message: &str) -> Response {
    let error = json!({ "code": code, "message": message });
    Json(json!({ "jsonrpc": "2.0", "id": id, "error": error })).into_response()
}
