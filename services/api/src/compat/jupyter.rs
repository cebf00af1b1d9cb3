//! `POST /compat/sandboxfusion/run_jupyter`: runs the cells of a notebook, in SandboxFusion's
//! format, in an interpreter session that ends with the request.

use std::collections::BTreeMap;

use assay_access::metered;
use assay_core::ErrorCode;
use assay_sessions::{Sender, SessionError, Sessions};
use assay_wire::sessions::{
    CallOutcome, CallReply, FileContent, OpenSession, SessionCall, SessionLimits,
};
use axum::Json;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::interpreter::written_errors;
use super::peer_error::PeerError;
use super::programs::from_base64;
use super::sandboxfusion::{RunResult, busy, unprocessable};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::{ApiError, ApiResult};
use crate::v1::sessions::sender;

/// The only kernel.
const KERNEL: &str = "python3";

/// Maximum work of one cell, in seconds.
const MAX_CELL_SECONDS: f64 = 60.0;

/// Maximum number of cells.
const MAX_CELLS: usize = 4_096;

/// The request. As in SandboxFusion, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = SandboxFusionJupyterRequest)]
struct RunJupyter {
    /// The code of each cell, at most 4,096.
    cells: Vec<String>,
    /// Work of each cell, in seconds; 0 for that of all cells.
    #[serde(default)]
    cell_timeout: f64,
    /// Work of all cells, in seconds.
    #[serde(default = "default_total_timeout")]
    total_timeout: f64,
    #[serde(default, rename = "memory_limit_MB")]
    memory_limit_mb: Option<i64>,
    /// `python3`.
    #[serde(default = "default_kernel")]
    kernel: String,
    /// Files in the folder of the cells: a path, and the content in base64.
    #[serde(default)]
    files: BTreeMap<String, Option<String>>,
    /// Paths of files to return. Those that do not exist after the last cell are omitted.
    #[serde(default)]
    fetch_files: Vec<String>,
}

fn default_total_timeout() -> f64 {
    45.0
}

fn default_kernel() -> String {
    KERNEL.to_owned()
}

/// The result of running cells.
#[derive(Serialize, ToSchema)]
#[schema(as = SandboxFusionJupyterReply)]
struct Reply {
    /// `Success`, also if cells raised exceptions; `Failed` if they exceeded a limit;
    /// `SandboxError` if they did not run.
    status: &'static str,
    message: String,
    driver: Option<RunResult>,
    /// The outputs of each cell; empty unless the status is `Success`.
    cells: Vec<Cell>,
    executor_pod_name: Option<String>,
    /// The files of `fetch_files` that exist, in base64.
    files: BTreeMap<String, String>,
}

/// The outputs of a cell.
#[derive(Serialize, ToSchema)]
#[schema(as = SandboxFusionCell)]
struct Cell {
    stdout: String,
    stderr: String,
    /// The value of the expression at the end, by media type.
    #[schema(value_type = Vec<Value>)]
    display: Vec<Value>,
    /// The exception, with `ename`, `evalue` and `traceback`.
    #[schema(value_type = Vec<Value>)]
    error: Vec<Value>,
}

/// Runs the cells of a notebook in order, in SandboxFusion's format. A cell that raises an
/// exception does not stop those after it.
#[utoipa::path(post, path = "/compat/sandboxfusion/run_jupyter", tag = "compatibility",
    request_body(content = RunJupyter, content_type = "application/json", example = json!({
        "cells": ["a = 20", "a + 1"], "total_timeout": 10,
    })),
    responses((status = 200, description = "The outputs of the cells", body = Reply)))]
pub(crate) async fn run_jupyter(api: Api, body: RequestBody) -> ApiResult<Response> {
    let (request, _permit) = body
        .lenient_json::<RunJupyter>(&api, BodyKind::Document)
        .await?;
    if request.kernel != KERNEL {
        return Ok(unprocessable(&format!("`kernel` must be `{KERNEL}`")));
    }
    if request.cells.len() > MAX_CELLS {
        return Ok(unprocessable(&format!(
            "`cells` has more than {MAX_CELLS} cells; split them"
        )));
    }
    let opening = match opening(&request) {
        Ok(opening) => opening,
        Err(message) => return Ok(unprocessable(&message)),
    };
    let _admitted = api.admit(1)?;
    let charge = api.charge(1, 0)?;
    let (sessions, sender) = (api.sessions().clone(), sender(&api));
    let ran = metered(
        api.caller().share(),
        charge,
        run_cells(&sessions, &sender, opening, request),
    );
    Ok(match ran.await {
        Ok(reply) => Json(reply).into_response(),
        Err(error @ SessionError::Invalid { .. }) => unprocessable(&error.to_string()),
        Err(error) => match ApiError::from(error).into() {
            PeerError::Busy(message, seconds) => busy(message, seconds),
            PeerError::Input(message)
            | PeerError::Failed(message)
            | PeerError::Rejected(_, message)
            | PeerError::NotReady(message)
            | PeerError::UnknownModel(message)
            | PeerError::Empty(message) => Json(Reply::sandbox_error(message)).into_response(),
        },
    })
}

/// The session in which the cells run.
fn opening(request: &RunJupyter) -> Result<OpenSession, String> {
    let mut files = BTreeMap::new();
    for (path, content) in &request.files {
        let Some(content) = content else { continue };
        let bytes = from_base64(content.clone())
            .map_err(|error| format!("`files`: the content of `{path}` is not base64: {error}"))?;
        let base64 = STANDARD.encode(bytes);
        files.insert(path.clone(), FileContent::Bytes { base64 });
    }
    let limits = SessionLimits::default();
    let positive = |seconds: f64| Some(seconds).filter(|seconds| *seconds > 0.0);
    let total = positive(request.total_timeout).unwrap_or(default_total_timeout());
    let cell = positive(request.cell_timeout).unwrap_or(total);
    let memory = request
        .memory_limit_mb
        .and_then(|mib| u64::try_from(mib).ok())
        .filter(|mib| *mib > 0);
    Ok(OpenSession {
        name: None,
        language: "python".to_owned(),
        image: None,
        seed: 0,
        files,
        limits: SessionLimits {
            seconds: cell.min(MAX_CELL_SECONDS),
            total_seconds: total.min(86_400.0),
            calls: u32::try_from(request.cells.len().max(1)).unwrap_or(limits.calls),
            memory_mb: memory.map_or(limits.memory_mb, |mib| mib.clamp(96, 2_048)),
            ..limits
        },
        idle_seconds: None,
    })
}

/// Ends a session when it is dropped, also if the client is gone.
struct Ending<'a> {
    sessions: &'a Sessions,
    sender: &'a Sender,
    id: String,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.sessions.end(self.sender, &self.id);
    }
}

async fn run_cells(
    sessions: &Sessions,
    sender: &Sender,
    opening: OpenSession,
    request: RunJupyter,
) -> Result<Reply, SessionError> {
    let session = Ending {
        sessions,
        sender,
        id: sessions.create(sender, opening).await?.id,
    };
    let (mut cells, mut seconds, mut files) = (Vec::new(), 0.0, BTreeMap::new());
    let last = request.cells.len();
    for (number, code) in (1..).zip(request.cells) {
        let fetch = if number == last {
            request.fetch_files.clone()
        } else {
            Vec::new()
        };
        let call = SessionCall {
            code,
            stdin: String::new(),
            files: BTreeMap::new(),
            fetch,
            seconds: None,
        };
        let called = match sessions.run(sender, &session.id, call).await {
            Ok(called) => called,
            // All cells together have used up their work.
            Err(error) if error.code() == ErrorCode::SessionExhausted => {
                return Ok(Reply::stopped(
                    "TimeLimitExceeded",
                    seconds,
                    error.to_string(),
                ));
            }
            Err(error) => return Err(error),
        };
        seconds += called.seconds;
        if let Some(status) = stopped(called.outcome) {
            let message = format!("cell {number}: {}", called.outcome.as_str());
            return Ok(Reply::stopped(status, seconds, message));
        }
        let fetched = called.files.iter();
        files.extend(fetched.map(|(path, content)| (path.clone(), base64_of(content))));
        cells.push(Cell::of(called));
    }
    Ok(Reply {
        status: "Success",
        message: String::new(),
        driver: Some(driver("Finished", seconds, String::new())),
        cells,
        executor_pod_name: None,
        files,
    })
}

/// The status of a driver whose cell exceeded a limit.
fn stopped(outcome: CallOutcome) -> Option<&'static str> {
    match outcome {
        CallOutcome::Ok | CallOutcome::Exception | CallOutcome::Exited => None,
        CallOutcome::OutOfWork => Some("TimeLimitExceeded"),
        CallOutcome::OutOfMemory | CallOutcome::OutOfOutput | CallOutcome::TooLarge => {
            Some("Error")
        }
    }
}

fn base64_of(content: &FileContent) -> String {
    match content {
        FileContent::Text(text) => STANDARD.encode(text),
        FileContent::Bytes { base64 } => base64.clone(),
    }
}

fn driver(status: &'static str, seconds: f64, stderr: String) -> RunResult {
    RunResult {
        status,
        execution_time: Some(seconds),
        return_code: (status == "Finished").then_some(0),
        stdout: String::new(),
        stderr,
    }
}

impl Cell {
    fn of(called: CallReply) -> Self {
        let stderr = written_errors(&called).to_owned();
        let display = called.value.map(|value| json!({ "text/plain": value }));
        let exited = called.exit_status.map(|status| {
            json!({ "ename": "SystemExit", "evalue": status.to_string(), "traceback": [] })
        });
        let raised = called.exception.map(|exception| {
            let (name, value) = match exception.message.split_once(": ") {
                Some((name, value)) => (name, value),
                None => (exception.message.as_str(), ""),
            };
            let traceback: Vec<&str> = exception.traceback.lines().collect();
            json!({ "ename": name, "evalue": value, "traceback": traceback })
        });
        Self {
            stdout: called.stdout,
            stderr,
            display: display.into_iter().collect(),
            error: raised.or(exited).into_iter().collect(),
        }
    }
}

impl Reply {
    fn stopped(status: &'static str, seconds: f64, message: String) -> Self {
        Self {
            status: "Failed",
            driver: Some(driver(status, seconds, message)),
            ..Self::sandbox_error(String::new())
        }
    }

    fn sandbox_error(message: String) -> Self {
        Self {
            status: "SandboxError",
            message,
            driver: None,
            cells: Vec::new(),
            executor_pod_name: None,
            files: BTreeMap::new(),
        }
    }
}
