//! `POST /compat/sandboxfusion/run_code`: runs one program and answers as SandboxFusion does, so
//! that verl's client and others need only another address. Its clients retry nothing but a 504,
//! which is what a full house answers.

use std::time::Duration;

use assay_core::execution::{Executed, Execution, ExecutionEnd, NotExecuted};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use super::reward::{Trouble, retry_after};
use crate::Api;
use crate::body::{self, BodyKind};
use crate::error::ApiResult;

/// Languages the peer knows, whether this node runs them or not.
#[rustfmt::skip]
const LANGUAGES: &[&str] = &[
    "python", "cpp", "nodejs", "go", "go_test", "java", "php", "csharp", "bash", "typescript", "sql", "rust", "cuda", "lua", "R",
    "perl", "D_ut", "ruby", "scala", "julia", "pytest", "junit", "kotlin_script", "jest", "verilog", "python_gpu", "lean", "swift",
    "racket",
];

/// The request. Other fields are ignored, as the peer does.
#[derive(Deserialize, ToSchema)]
#[schema(as = SandboxFusionRequest)]
struct RunCode {
    code: String,
    /// A language that SandboxFusion knows; this node runs those whose image is installed.
    #[schema(schema_with = languages)]
    language: String,
    /// Seconds.
    #[serde(default = "ten")]
    run_timeout: f64,
    #[serde(default, rename = "memory_limit_MB")]
    memory_limit_mb: Option<i64>,
    #[serde(default)]
    stdin: Option<String>,
}

fn languages() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(LANGUAGES.iter().copied()))
        .build()
}

fn ten() -> f64 {
    10.0
}

/// Runs one program, in SandboxFusion's format.
#[utoipa::path(post, path = "/compat/sandboxfusion/run_code", tag = "compatibility",
    request_body(content = RunCode, content_type = "application/json", example = json!({
        "code": "print(int(input()) * 2)", "language": "python", "stdin": "21", "run_timeout": 10,
    })),
    responses(
        (status = 200, description = "`status` is `Success`, `Failed` or `SandboxError`", body = Ran),
    ))]
pub(crate) async fn run_code(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let (request, _held) =
        body::lenient_json::<RunCode>(&api, &headers, body, BodyKind::Document).await?;
    if !LANGUAGES.contains(&request.language.as_str()) {
        return Ok(unprocessable(&format!(
            "`language` is one of {}",
            LANGUAGES.join(", ")
        )));
    }
    let Ok(_admitted) = api.engine().admission().admit(1) else {
        return Ok(busy());
    };
    let seconds = if request.run_timeout.is_finite() {
        request.run_timeout
    } else {
        ten()
    };
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
        // Clients hang up ten seconds after the program's own time; before that they are told to
        // come again.
        turn: Duration::from_secs(8),
    };
    Ok(match api.programs().execute(execution).await {
        Ok(executed) => Json(Ran::of(&executed)).into_response(),
        Err(NotExecuted::Busy) => busy(),
        Err(NotExecuted::Failed(fault)) if fault.retryable => busy(),
        Err(NotExecuted::Failed(fault)) => Json(Ran::sandbox_error(&fault.message)).into_response(),
    })
}

/// The result of running a program.
#[derive(Serialize, ToSchema)]
#[schema(as = SandboxFusionReply)]
struct Ran {
    /// `Success`, `Failed` or `SandboxError`.
    status: &'static str,
    message: String,
    #[schema(value_type = Option<()>)]
    compile_result: Option<()>,
    run_result: RunResult,
    executor_pod_name: Option<String>,
    /// Always empty.
    #[schema(value_type = Object)]
    files: Map<String, Value>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SandboxFusionRunResult)]
struct RunResult {
    /// `Finished`, `TimeLimitExceeded` or `Error`.
    status: &'static str,
    /// Seconds.
    execution_time: Option<f64>,
    return_code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn of(executed: &Executed) -> Self {
        let (status, return_code, failed) = match executed.end {
            ExecutionEnd::Exited(code) => ("Finished", Some(code), code != 0),
            ExecutionEnd::TimeLimit => ("TimeLimitExceeded", None, true),
        };
        let run = RunResult {
            status,
            execution_time: Some(executed.seconds),
            return_code,
            stdout: String::from_utf8_lossy(&executed.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&executed.stderr).into_owned(),
        };
        Self::new(if failed { "Failed" } else { "Success" }, "", run)
    }

    /// SandboxFusion's status for an internal failure: clients do not score such a program.
    fn sandbox_error(message: &str) -> Self {
        let (stdout, stderr) = (String::new(), message.to_owned());
        let run = RunResult {
            status: "Error",
            execution_time: None,
            return_code: None,
            stdout,
            stderr,
        };
        Self::new("SandboxError", message, run)
    }

    fn new(status: &'static str, message: &str, run_result: RunResult) -> Self {
        let (message, files) = (message.to_owned(), Map::new());
        Self {
            status,
            message,
            compile_result: None,
            run_result,
            executor_pod_name: None,
            files,
        }
    }
}

/// Error body of SandboxFusion: a sentence, or a list of the wrong fields.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    #[schema(inline)]
    detail: Detail,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum Detail {
    Sentence(String),
    Fields(#[schema(inline)] [WrongField; 1]),
}

#[derive(Serialize, ToSchema)]
struct WrongField {
    loc: [&'static str; 1],
    msg: String,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// The error in SandboxFusion's format. Its clients retry only a 504.
pub(super) fn refuse(trouble: Trouble) -> Response {
    match trouble {
        Trouble::Input(message) | Trouble::Empty(message) => unprocessable(&message),
        Trouble::Busy(..) | Trouble::Unready(_) => busy(),
        Trouble::NoModel(message) => sentence(StatusCode::NOT_FOUND, message),
        Trouble::Failed(message) => sentence(StatusCode::INTERNAL_SERVER_ERROR, message),
        Trouble::Rejected(status, message) => sentence(status, message),
    }
}

fn sentence(status: StatusCode, message: impl Into<String>) -> Response {
    (
        status,
        Json(ErrorBody {
            detail: Detail::Sentence(message.into()),
        }),
    )
        .into_response()
}

fn unprocessable(message: &str) -> Response {
    let wrong = WrongField {
        loc: ["body"],
        msg: message.to_owned(),
        kind: "value_error",
    };
    (
        StatusCode::UNPROCESSABLE_ENTITY,
        Json(ErrorBody {
            detail: Detail::Fields([wrong]),
        }),
    )
        .into_response()
}

fn busy() -> Response {
    retry_after(
        sentence(
            StatusCode::GATEWAY_TIMEOUT,
            "all sandbox workers are busy; retry",
        ),
        Some(1),
    )
}
