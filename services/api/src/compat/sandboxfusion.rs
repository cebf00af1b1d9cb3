//! `POST /compat/sandboxfusion/run_code`: runs one program, in SandboxFusion's format, so that
//! verl's client and others work with another address. Its clients retry only a 504, which is
//! therefore the status of a busy node.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::execution::{CompileStep, Execution, ExecutionEnd, ExecutionFile, ExecutionResult};
use axum::Json;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use super::peer_error::{PeerError, retry_after};
use super::programs::{NotRun, QUEUE_TIMEOUT, from_base64, this_node_runs};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;

/// Languages of SandboxFusion, whether this node runs them or not.
#[rustfmt::skip]
const LANGUAGES: &[&str] = &[
    "python", "cpp", "nodejs", "go", "go_test", "java", "php", "csharp", "bash", "typescript",
    "sql", "rust", "cuda", "lua", "R", "perl", "D_ut", "ruby", "scala", "julia", "pytest", "junit",
    "kotlin_script", "jest", "verilog", "python_gpu", "lean", "swift", "racket",
];

/// The language name of programs that are pytest files.
const PYTEST: &str = "pytest";

/// Maximum number of files in a reply.
const MAX_FETCHED: usize = 256;

/// The request. As in SandboxFusion, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = SandboxFusionRequest)]
struct RunCode {
    code: String,
    /// A language of SandboxFusion. One that this node does not run returns `SandboxError`.
    #[schema(schema_with = languages)]
    language: String,
    /// Time limit, in seconds.
    #[serde(default = "default_timeout_s")]
    run_timeout: f64,
    #[serde(default, rename = "memory_limit_MB")]
    memory_limit_mb: Option<i64>,
    #[serde(default)]
    stdin: Option<String>,
    /// Files in the folder of the program: a path, and the content in base64, with or without line
    /// breaks and padding. Files whose content is `null` are ignored.
    #[serde(default)]
    files: BTreeMap<String, Option<String>>,
    /// Paths of files to return, at most 256 different ones. Those that do not exist after the run
    /// are omitted.
    #[serde(default)]
    fetch_files: Vec<String>,
}

fn languages() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(LANGUAGES.iter().copied()))
        .build()
}

fn default_timeout_s() -> f64 {
    10.0
}

/// Runs one program, in SandboxFusion's format.
#[utoipa::path(post, path = "/compat/sandboxfusion/run_code", tag = "compatibility",
    request_body(content = RunCode, content_type = "application/json", example = json!({
        "code": "print(int(input()) * 2)", "language": "python", "stdin": "21", "run_timeout": 10,
    })),
    responses(
        (status = 200, description = "`status` is `Success`, `Failed` or `SandboxError`",
         body = RunReply),
    ))]
pub(crate) async fn run_code(api: Api, body: RequestBody) -> ApiResult<Response> {
    let (request, _permit) = body
        .lenient_json::<RunCode>(&api, BodyKind::Document)
        .await?;
    if !LANGUAGES.contains(&request.language.as_str()) {
        return Ok(unprocessable(&format!(
            "`language` must be one of {}",
            LANGUAGES.join(", ")
        )));
    }
    let (files, fetch) = match (decoded(request.files), distinct(request.fetch_files)) {
        (Ok(files), Ok(fetch)) => (files, fetch),
        (Err(message), _) | (_, Err(message)) => return Ok(unprocessable(&message)),
    };
    if !is_available(&api, &request.language) {
        let message = unavailable(&api, &request.language);
        return Ok(Json(RunReply::sandbox_error(&message)).into_response());
    }
    let seconds = if request.run_timeout.is_finite() {
        request.run_timeout
    } else {
        default_timeout_s()
    };
    let execution = Execution {
        language: request.language,
        text: request.code,
        stdin: request.stdin.unwrap_or_default().into_bytes(),
        files,
        fetch,
        seconds,
        memory_bytes: request
            .memory_limit_mb
            .and_then(|mib| u64::try_from(mib).ok())
            .filter(|mib| *mib > 0)
            .map(|mib| mib.saturating_mul(1 << 20)),
        queue_timeout: QUEUE_TIMEOUT,
        ..Execution::default()
    };
    Ok(match super::programs::execute(&api, execution).await {
        Ok(executed) => Json(RunReply::completed(&executed)).into_response(),
        Err(NotRun::Busy(message, seconds)) => busy(message, seconds),
        Err(NotRun::Failed(message)) => Json(RunReply::sandbox_error(&message)).into_response(),
    })
}

/// Why SandboxFusion's routes for its datasets are not available; `None` for other paths.
pub(crate) fn refusal(path: &str) -> Option<&'static str> {
    let route = path.strip_prefix("/compat/sandboxfusion/")?;
    [
        "list_datasets",
        "list_ids",
        "get_prompts",
        "get_prompt_by_id",
        "submit",
        "get_metrics",
        "get_metrics_function",
    ]
    .contains(&route)
    .then_some(
        "this node has none of SandboxFusion's datasets; grade rows of your own dataset with \
         `POST /v1/grade` and a template",
    )
}

/// Whether this node runs programs in a language of SandboxFusion.
fn is_available(api: &Api, language: &str) -> bool {
    if language == PYTEST {
        let runtimes = api.programs().runtimes();
        return runtimes.iter().any(|runtime| runtime.runs_pytest);
    }
    api.programs().runtime(language).is_some()
}

/// The message about a language that this node does not run.
fn unavailable(api: &Api, language: &str) -> String {
    let available = LANGUAGES.iter().filter(|name| is_available(api, name));
    let names: Vec<String> = available.map(|name| format!("`{name}`")).collect();
    format!(
        "the language `{language}` is not available; {}",
        this_node_runs(&names)
    )
}

/// The files of a request.
fn decoded(files: BTreeMap<String, Option<String>>) -> Result<Vec<ExecutionFile>, String> {
    let given = files
        .into_iter()
        .filter_map(|(path, content)| Some((path, content?)));
    given
        .map(|(path, content)| match from_base64(content) {
            Ok(bytes) => Ok(ExecutionFile { path, bytes }),
            Err(error) => Err(format!(
                "`files`: the content of `{path}` is not base64: {error}"
            )),
        })
        .collect()
}

/// The paths of files to return, without duplicates, in order.
fn distinct(mut paths: Vec<String>) -> Result<Vec<String>, String> {
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert(path.clone()));
    if paths.len() > MAX_FETCHED {
        return Err(format!(
            "`fetch_files` has {} different paths, more than {MAX_FETCHED}; request fewer files",
            paths.len()
        ));
    }
    Ok(paths)
}

/// The result of running a program.
#[derive(Serialize, ToSchema)]
#[schema(as = SandboxFusionReply)]
pub(super) struct RunReply {
    /// `Success`, `Failed` or `SandboxError`.
    status: &'static str,
    message: String,
    /// Null if the language has no compile step.
    compile_result: Option<RunResult>,
    /// Null if the program did not compile.
    run_result: Option<RunResult>,
    executor_pod_name: Option<String>,
    /// The files of `fetch_files` that exist, in base64, up to 16 MiB in total.
    files: BTreeMap<String, String>,
}

/// The result of one step: compiling or running.
#[derive(Serialize, ToSchema)]
#[schema(as = SandboxFusionRunResult)]
pub(super) struct RunResult {
    /// `Finished`, `TimeLimitExceeded` or `Error`.
    pub(super) status: &'static str,
    /// Run time, in seconds. Null for a compile step, which is not timed.
    pub(super) execution_time: Option<f64>,
    pub(super) return_code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl RunReply {
    fn completed(executed: &ExecutionResult) -> Self {
        let (status, return_code, failed) = match executed.end {
            ExecutionEnd::Exited(code) => ("Finished", Some(code), code != 0),
            ExecutionEnd::TimeLimit => ("TimeLimitExceeded", None, true),
        };
        let result = RunResult {
            status,
            execution_time: Some(executed.seconds),
            return_code,
            stdout: String::from_utf8_lossy(&executed.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&executed.stderr).into_owned(),
        };
        let (compile_result, run_result) = match executed.compile {
            CompileStep::None => (None, Some(result)),
            CompileStep::Succeeded => (Some(RunResult::compiled()), Some(result)),
            CompileStep::Failed => {
                let compile = RunResult {
                    execution_time: None,
                    ..result
                };
                (Some(compile), None)
            }
        };
        let files = executed.files.iter();
        Self {
            status: if failed { "Failed" } else { "Success" },
            message: String::new(),
            compile_result,
            run_result,
            executor_pod_name: None,
            files: files
                .map(|file| (file.path.clone(), STANDARD.encode(&file.bytes)))
                .collect(),
        }
    }

    /// The reply for a test of a program that was graded with this verdict.
    pub(super) fn tested(verdict: &str, message: &str) -> Self {
        let run = RunResult {
            status: match verdict {
                "time_limit" => "TimeLimitExceeded",
                _ => "Finished",
            },
            execution_time: None,
            return_code: match verdict {
                "time_limit" => None,
                "accepted" | "wrong_answer" | "presentation" => Some(0),
                _ => Some(1),
            },
            stdout: String::new(),
            stderr: message.to_owned(),
        };
        Self {
            status: if run.return_code == Some(0) {
                "Success"
            } else {
                "Failed"
            },
            message: String::new(),
            compile_result: None,
            run_result: Some(run),
            executor_pod_name: None,
            files: BTreeMap::new(),
        }
    }

    /// The reply for an internal error: clients do not score a program with this status.
    fn sandbox_error(message: &str) -> Self {
        let run = RunResult {
            status: "Error",
            execution_time: None,
            return_code: None,
            stdout: String::new(),
            stderr: message.to_owned(),
        };
        Self {
            status: "SandboxError",
            message: message.to_owned(),
            compile_result: None,
            run_result: Some(run),
            executor_pod_name: None,
            files: BTreeMap::new(),
        }
    }
}

impl RunResult {
    /// The result of a compile step without errors.
    fn compiled() -> Self {
        Self {
            status: "Finished",
            execution_time: None,
            return_code: Some(0),
            stdout: String::new(),
            stderr: String::new(),
        }
    }
}

/// Error body of SandboxFusion: a message, or a list of invalid fields.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    #[schema(inline)]
    detail: Detail,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum Detail {
    Message(String),
    Fields(#[schema(inline)] [InvalidField; 1]),
}

#[derive(Serialize, ToSchema)]
struct InvalidField {
    loc: [&'static str; 1],
    msg: String,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// The error in SandboxFusion's format. Its clients retry only a 504.
pub(super) fn error_response(error: PeerError) -> Response {
    match error {
        PeerError::Input(message) | PeerError::Empty(message) => unprocessable(&message),
        PeerError::Busy(message, seconds) => busy(message, seconds),
        PeerError::NotReady(message) => busy(message, 1),
        PeerError::UnknownModel(message) => message_response(StatusCode::NOT_FOUND, message),
        PeerError::Failed(message) => message_response(StatusCode::INTERNAL_SERVER_ERROR, message),
        PeerError::Rejected(status, message) => message_response(status, message),
    }
}

fn message_response(status: StatusCode, message: impl Into<String>) -> Response {
    (
        status,
        Json(ErrorBody {
            detail: Detail::Message(message.into()),
        }),
    )
        .into_response()
}

pub(super) fn unprocessable(message: &str) -> Response {
    let field = InvalidField {
        loc: ["body"],
        msg: message.to_owned(),
        kind: "value_error",
    };
    (
        StatusCode::UNPROCESSABLE_ENTITY,
        Json(ErrorBody {
            detail: Detail::Fields([field]),
        }),
    )
        .into_response()
}

pub(super) fn busy(message: String, seconds: u64) -> Response {
    let response = message_response(StatusCode::GATEWAY_TIMEOUT, message);
    retry_after(response, Some(seconds))
}
