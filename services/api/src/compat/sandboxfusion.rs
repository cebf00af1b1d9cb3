//! `POST /compat/sandboxfusion/run_code`: runs one program and answers as SandboxFusion does, so that verl's client and others need
//! only another address. Its clients retry nothing but a 504, which is what a full house answers.

use std::time::Duration;

use assay_core::ErrorCode;
use assay_core::execution::{Executed, Execution, ExecutionEnd, NotExecuted};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Api;
use crate::body::{self, BodyKind};
use crate::error::{ApiError, ApiResult};

/// Languages the peer knows, whether this node runs them or not.
#[rustfmt::skip]
const LANGUAGES: &[&str] = &[
    "python", "cpp", "nodejs", "go", "go_test", "java", "php", "csharp", "bash", "typescript", "sql", "rust", "cuda", "lua", "R",
    "perl", "D_ut", "ruby", "scala", "julia", "pytest", "junit", "kotlin_script", "jest", "verilog", "python_gpu", "lean", "swift",
    "racket",
];

/// The request. Other fields are ignored, as the peer does.
#[derive(Deserialize)]
struct RunCode {
    code: String,
    language: String,
    #[serde(default = "ten")]
    run_timeout: f64,
    #[serde(default, rename = "memory_limit_MB")]
    memory_limit_mb: Option<i64>,
    #[serde(default)]
    stdin: Option<String>,
}

fn ten() -> f64 {
    10.0
}

/// Runs one program, in SandboxFusion's format.
#[utoipa::path(post, path = "/compat/sandboxfusion/run_code", tag = "compatibility",
    request_body(content = Value, content_type = "application/json", example = json!({
        "code": "print(int(input()) * 2)", "language": "python", "stdin": "21", "run_timeout": 10,
    })),
    responses(
        (status = 200, description = "`status` is `Success`, `Failed` or `SandboxError`", body = Value),
        (status = 422, description = "A field is missing or wrong", body = Value),
        (status = 504, description = "Every cell is busy; send it again", body = Value),
    ))]
pub(crate) async fn run_code(State(api): State<Api>, headers: HeaderMap, body: Body) -> ApiResult<Response> {
    let (request, _held) = match body::lenient_json::<RunCode>(&api, &headers, body, BodyKind::Document).await {
        Ok(read) => read,
        Err(error) => return refused(error),
    };
    if !LANGUAGES.contains(&request.language.as_str()) {
        return Ok(unprocessable(&format!("`language` is one of {}", LANGUAGES.join(", "))));
    }
    let Ok(_admitted) = api.engine().admission().admit(1) else { return Ok(busy()) };
    let seconds = if request.run_timeout.is_finite() { request.run_timeout } else { ten() };
    let execution = Execution {
        language: request.language,
        text: request.code,
        stdin: request.stdin.unwrap_or_default().into_bytes(),
        seconds,
        memory_bytes: request
            .memory_limit_mb
            .and_then(|mib| u64::try_from(mib).ok())
            .filter(|mib| *mib > 0)
            .map(|mib| mib << 20),
        // Clients hang up ten seconds after the program's own time; before that they are told to come again.
        turn: Duration::from_secs(8),
    };
    Ok(match api.programs().execute(execution).await {
        Ok(executed) => Json(answer(&executed)).into_response(),
        Err(NotExecuted::Busy) => busy(),
        Err(NotExecuted::Failed(fault)) if fault.retryable => busy(),
        Err(NotExecuted::Failed(fault)) => Json(sandbox_error(&fault.message)).into_response(),
    })
}

fn answer(executed: &Executed) -> Value {
    let (status, code, failed) = match executed.end {
        ExecutionEnd::Exited(code) => ("Finished", json!(code), code != 0),
        ExecutionEnd::TimeLimit => ("TimeLimitExceeded", Value::Null, true),
    };
    json!({
        "status": if failed { "Failed" } else { "Success" },
        "message": "",
        "compile_result": null,
        "run_result": {
            "status": status,
            "execution_time": executed.seconds,
            "return_code": code,
            "stdout": String::from_utf8_lossy(&executed.stdout),
            "stderr": String::from_utf8_lossy(&executed.stderr),
        },
        "executor_pod_name": null,
        "files": {},
    })
}

/// The peer's word for a failure of its own: clients give such a program no score by it.
fn sandbox_error(message: &str) -> Value {
    let run = json!({"status": "Error", "execution_time": null, "return_code": null, "stdout": "", "stderr": message});
    json!({
        "status": "SandboxError", "message": message, "compile_result": null, "run_result": run,
        "executor_pod_name": null, "files": {},
    })
}

/// A body that cannot be read, as the peer says it. A full house is a 504: its clients repeat nothing else.
fn refused(error: ApiError) -> ApiResult<Response> {
    match error.problem().code {
        ErrorCode::MalformedJson | ErrorCode::InvalidField | ErrorCode::TooDeep => {
            Ok(unprocessable(&error.problem().message))
        }
        ErrorCode::Overloaded => Ok(busy()),
        _ => Err(error),
    }
}

fn unprocessable(message: &str) -> Response {
    let detail = json!({"detail": [{"loc": ["body"], "msg": message, "type": "value_error"}]});
    (StatusCode::UNPROCESSABLE_ENTITY, Json(detail)).into_response()
}

fn busy() -> Response {
    let detail = json!({"detail": "every cell is busy; send the program again"});
    (StatusCode::GATEWAY_TIMEOUT, Json(detail)).into_response()
}
