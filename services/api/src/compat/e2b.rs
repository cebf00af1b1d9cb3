//! `/compat/e2b`: sandboxes of E2B with their code interpreter, as its SDK and agents that use it
//! need them. A sandbox is a group of interpreter sessions of one caller. There are no shells,
//! files or networks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_sessions::Sender;
use assay_wire::sessions::CallReply;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::interpreter::{Interpreter, stopped, written_errors};
use super::peer_error::{PeerError, retry_after};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiError;
use crate::ndjson::NDJSON;
use crate::path::PathParameter;
use crate::v1::sessions::{self, sender};

/// The header with the id of a sandbox.
const SANDBOX: HeaderName = HeaderName::from_static("e2b-sandbox-id");

/// The language of code without one.
const PYTHON: &str = "python";

/// The image of Python, unless it is not installed.
const IMAGE: &str = "python-scientific";

/// The folder that contexts report.
const FOLDER: &str = "/home/user";

/// Version of E2B's agent in sandboxes, by which its SDK chooses what to send.
const AGENT_VERSION: &str = "0.2.0";

/// Seconds without a call after which a sandbox ends whose request has none.
const DEFAULT_TIMEOUT: u64 = 300;

/// The first call of a session in Python. Agents import Pillow before they know whether they need
/// it, so an empty module has its name: images are not available.
const PRELUDE: &str = "\
import importlib.util, sys, types
if importlib.util.find_spec('PIL') is None:
    sys.modules['PIL'] = types.ModuleType('PIL', 'Pillow is not installed.')
del importlib, sys, types";

/// Maximum length of the id of a sandbox, in bytes.
const MAX_ID: usize = 64;

/// A sandbox to create. Other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = E2bNewSandbox)]
#[serde(rename_all = "camelCase")]
struct NewSandbox {
    /// Its name is returned; each sandbox has the interpreters of the node.
    #[serde(rename = "templateID", default)]
    template_id: String,
    /// Seconds without a call after which it ends.
    #[serde(default)]
    timeout: Option<u64>,
    /// Must be empty.
    #[serde(default)]
    env_vars: Option<BTreeMap<String, String>>,
    /// Must be empty.
    #[serde(default)]
    envs: Option<BTreeMap<String, String>>,
}

/// A new sandbox.
#[derive(Serialize, ToSchema)]
#[schema(as = E2bSandbox)]
#[serde(rename_all = "camelCase")]
struct Sandbox {
    #[serde(rename = "templateID")]
    template_id: String,
    #[serde(rename = "sandboxID")]
    sandbox_id: String,
    #[serde(rename = "clientID")]
    client_id: &'static str,
    envd_version: &'static str,
    domain: Option<String>,
}

/// Code to run. Other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = E2bCode)]
struct Code {
    code: String,
    /// Id of a context, instead of a language.
    #[serde(default)]
    context_id: Option<String>,
    /// `python` by default.
    #[serde(default)]
    language: Option<String>,
    /// Must be empty.
    #[serde(default)]
    env_vars: Option<BTreeMap<String, String>>,
}

/// A context to create. Other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = E2bNewContext)]
struct NewContext {
    /// `python` by default.
    #[serde(default)]
    language: Option<String>,
}

/// A context: an interpreter of a sandbox.
#[derive(Serialize, ToSchema)]
#[schema(as = E2bContext)]
pub(crate) struct Context {
    id: String,
    language: String,
    cwd: &'static str,
}

/// Creates a sandbox, in the format of E2B's SDK.
#[utoipa::path(post, path = "/compat/e2b/v2/sandboxes", tag = "compatibility",
    request_body(content = NewSandbox, content_type = "application/json", example = json!({
        "templateID": "code-interpreter-v1", "timeout": 300,
    })),
    responses((status = 201, description = "The sandbox", body = Sandbox)))]
pub(crate) async fn create(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (request, _permit) = body
        .lenient_json::<NewSandbox>(&api, BodyKind::Document)
        .await?;
    reject_variables(request.env_vars)?;
    reject_variables(request.envs)?;
    let id = api.sessions().new_name();
    let idle_seconds = Some(request.timeout.unwrap_or(DEFAULT_TIMEOUT));
    let parts = Parts {
        api: &api,
        sender: sender(&api),
        id: &id,
        idle_seconds,
    };
    parts.start(PYTHON, PYTHON).await?;
    let created = Sandbox {
        template_id: request.template_id,
        sandbox_id: id,
        client_id: "assay",
        envd_version: AGENT_VERSION,
        domain: None,
    };
    Ok((StatusCode::CREATED, Json(created)).into_response())
}

/// Creates a sandbox, in the format of older versions of E2B's SDK.
#[utoipa::path(post, path = "/compat/e2b/sandboxes", tag = "compatibility",
    request_body(content = NewSandbox, content_type = "application/json", example = json!({
        "templateID": "code-interpreter-v1", "timeout": 300,
    })),
    responses((status = 201, description = "The sandbox", body = Sandbox)))]
pub(crate) async fn create_before(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    create(api, body).await
}

/// Ends a sandbox.
#[utoipa::path(delete, path = "/compat/e2b/sandboxes/{id}", tag = "compatibility",
    params(("id" = String, Path, description = "Id of the sandbox")),
    responses((status = 204, description = "It has ended")))]
pub(crate) async fn end(
    api: Api,
    PathParameter(id): PathParameter,
) -> Result<StatusCode, PeerError> {
    match api.sessions().end_group(&sender(&api), &prefix(&id)) {
        0 => Err(unknown(&id)),
        _ => Ok(StatusCode::NO_CONTENT),
    }
}

/// Reports whether the sandbox in the header `E2b-Sandbox-Id` is open.
#[utoipa::path(get, path = "/compat/e2b/health", tag = "compatibility", responses(
    (status = 204, description = "It is open"),
    (status = 400, description = "The header is missing", body = ErrorBody),
    (status = 502, description = "It has ended"),
))]
pub(crate) async fn health(api: Api, headers: HeaderMap) -> Response {
    if let Err(error) = sandbox_id(&headers) {
        return error.into_response();
    }
    match Parts::open(&api, &headers) {
        Ok(_) => StatusCode::NO_CONTENT.into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

/// Creates a context: an interpreter whose names other contexts do not see.
#[utoipa::path(post, path = "/compat/e2b/contexts", tag = "compatibility",
    params(("E2b-Sandbox-Id" = String, Header, description = "Id of the sandbox")),
    request_body(content = NewContext, content_type = "application/json", example = json!({
        "language": "python",
    })),
    responses(
        (status = 200, description = "The context", body = Context),
        (status = 404, description = "No sandbox has the id", body = ErrorBody),
    ))]
pub(crate) async fn create_context(
    api: Api,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Json<Context>, PeerError> {
    let (request, _permit) = body
        .lenient_json::<NewContext>(&api, BodyKind::Document)
        .await?;
    let parts = Parts::open(&api, &headers)?;
    let language = known(request.language.as_deref());
    let id = format!("{language}-{}", api.sessions().new_name());
    parts.start(&id, language).await?;
    Ok(Json(Context {
        id,
        language: language.to_owned(),
        cwd: FOLDER,
    }))
}

/// Ends a context.
#[utoipa::path(delete, path = "/compat/e2b/contexts/{id}", tag = "compatibility",
    params(
        ("id" = String, Path, description = "Id of the context"),
        ("E2b-Sandbox-Id" = String, Header, description = "Id of the sandbox"),
    ),
    responses((status = 204, description = "It has ended")))]
pub(crate) async fn end_context(
    api: Api,
    headers: HeaderMap,
    PathParameter(id): PathParameter,
) -> Result<StatusCode, PeerError> {
    let parts = Parts::open(&api, &headers)?;
    parts.require(&id)?;
    api.sessions().end_named(&parts.sender, &parts.name(&id));
    Ok(StatusCode::NO_CONTENT)
}

/// Runs code in a sandbox, and returns what happened as JSON lines of E2B's code interpreter:
/// `stdout`, `stderr`, `result`, `error` and `number_of_executions`.
#[utoipa::path(post, path = "/compat/e2b/execute", tag = "compatibility",
    params(("E2b-Sandbox-Id" = String, Header, description = "Id of the sandbox")),
    request_body(content = Code, content_type = "application/json", example = json!({
        "code": "6 * 7",
    })),
    responses(
        (status = 200, description = "One line for each event", body = Value,
            content_type = "application/x-ndjson"),
        (status = 404, description = "No sandbox or context has the id", body = ErrorBody),
    ))]
pub(crate) async fn execute(
    api: Api,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, PeerError> {
    let (request, _permit) = body.lenient_json::<Code>(&api, BodyKind::Document).await?;
    reject_variables(request.env_vars)?;
    let parts = Parts::open(&api, &headers)?;
    let (part, language) = match &request.context_id {
        Some(context) => {
            parts.require(context)?;
            // The id of a context begins with its language.
            let language = context.rsplit_once('-').map(|(language, _)| language);
            (&**context, language.unwrap_or_default())
        }
        None => {
            let language = known(request.language.as_deref());
            (language, language)
        }
    };
    if !parts.has(part) {
        parts.start(part, language).await?;
    }
    let code = match language {
        PYTHON => without_installs(&request.code),
        _ => request.code,
    };
    let interpreter = parts.interpreter(part, language);
    let called = sessions::call(&api, interpreter.run(code, String::new())).await?;
    // The prelude is not counted.
    let count = called.call - u32::from(language == PYTHON);
    let mut lines = String::new();
    for event in events(&called, count) {
        lines += &event.to_string();
        lines.push('\n');
    }
    Ok(([(header::CONTENT_TYPE, NDJSON)], lines).into_response())
}

/// What happened in a call, which is the `count`th of its context.
fn events(called: &CallReply, count: u32) -> Vec<Value> {
    let mut events = Vec::new();
    for (kind, text) in [
        ("stdout", &*called.stdout),
        ("stderr", written_errors(called)),
    ] {
        if !text.is_empty() {
            // The service reports no time of outputs.
            events.push(json!({ "type": kind, "text": text, "timestamp": 0 }));
        }
    }
    if let Some(value) = &called.value {
        events.push(json!({ "type": "result", "text": value, "is_main_result": true }));
    }
    let limit = stopped(called.outcome).map(|limit| ("Stopped", limit.to_owned(), limit));
    let exited = called.exit_status.filter(|status| *status != 0);
    let status = exited.map(|status| ("SystemExit", status.to_string(), ""));
    let raised = called.exception.as_ref().map(|exception| {
        let (name, value) = match exception.message.split_once(": ") {
            Some((name, value)) => (name, value),
            None => (exception.message.as_str(), ""),
        };
        (name, value.to_owned(), exception.traceback.as_str())
    });
    if let Some((name, value, traceback)) = raised.or(status).or(limit) {
        // Names of types have their module, unlike in E2B.
        let name = name.rsplit('.').next().unwrap_or(name);
        let error =
            json!({ "type": "error", "name": name, "value": value, "traceback": traceback });
        events.push(error);
    }
    events.push(json!({ "type": "number_of_executions", "execution_count": count }));
    events
}

/// Python without the commands that install packages, which agents send first: they report the
/// packages that there are. Only the first lines of the code are commands, so that no text in it is
/// changed. The numbers of lines stay.
fn without_installs(code: &str) -> String {
    let mut are_commands = true;
    let lines = code.split('\n').map(|line| {
        are_commands &= line.trim().is_empty() || install(line).is_some();
        match install(line) {
            Some(packages) if are_commands => Cow::Owned(report(packages)),
            _ => Cow::Borrowed(line),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The arguments of a command that installs packages.
fn install(line: &str) -> Option<&str> {
    let command = line.trim_start().strip_prefix(['!', '%'])?.trim_start();
    let arguments = command
        .strip_prefix("pip3")
        .or_else(|| command.strip_prefix("pip"))?;
    let arguments = arguments.trim_start().strip_prefix("install")?;
    (arguments.is_empty() || arguments.starts_with(' ')).then_some(arguments)
}

/// Code that prints which packages there are.
fn report(arguments: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let command = arguments.split([';', '&', '|']).next();
    let words = command.unwrap_or_default().split_whitespace();
    let names = words.filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
    let names = names.map(|name| {
        let end = name.find(|c| !is_of_name(c)).unwrap_or(name.len());
        format!("'{}', ", name[..end].replace('-', "_"))
    });
    let names: String = names.collect();
    format!(
        "[print(({FOUND:?} if __import__('importlib.util').util.find_spec(n) else {MISSING:?}) + \
         n) for n in ({names})];"
    )
}

/// What is printed about a package that there is.
const FOUND: &str = "Requirement already satisfied: ";

/// What is printed about a package that there is not.
const MISSING: &str = "ERROR: No matching distribution found for ";

/// The language that a session knows by another name.
fn known(language: Option<&str>) -> &str {
    match language {
        None | Some("" | "python3") => PYTHON,
        Some("js") => "javascript",
        Some(language) => language,
    }
}

/// The interpreter sessions of a sandbox: one for each language, and one for each context.
struct Parts<'a> {
    api: &'a Api,
    sender: Sender,
    id: &'a str,
    idle_seconds: Option<u64>,
}

impl<'a> Parts<'a> {
    /// Those of the sandbox of a request, which count as used: they expire together.
    fn open(api: &'a Api, headers: &'a HeaderMap) -> Result<Self, PeerError> {
        let (id, sender) = (sandbox_id(headers)?, sender(api));
        let idle_seconds = api.sessions().use_group(&sender, &prefix(id));
        Ok(Self {
            api,
            sender,
            id,
            idle_seconds: Some(idle_seconds.ok_or_else(|| unknown(id))?),
        })
    }

    /// Name of the session of a language or a context.
    fn name(&self, part: &str) -> String {
        format!("{}{part}", prefix(self.id))
    }

    fn has(&self, part: &str) -> bool {
        let name = self.name(part);
        self.api
            .sessions()
            .id_of_name(&self.sender, &name)
            .is_some()
    }

    /// Rejects a context that the sandbox does not have.
    fn require(&self, context: &str) -> Result<(), PeerError> {
        if self.has(context) {
            return Ok(());
        }
        let message = format!("the sandbox has no context `{context}`; it may have ended");
        Err(PeerError::Rejected(StatusCode::NOT_FOUND, message))
    }

    fn interpreter<'i>(&'i self, part: &str, language: &'i str) -> Interpreter<'i> {
        Interpreter {
            sessions: self.api.sessions(),
            sender: &self.sender,
            name: self.name(part),
            language,
            image: (language == PYTHON).then_some(IMAGE),
            idle_seconds: self.idle_seconds,
        }
    }

    /// Opens the session of a language or a context.
    async fn start(&self, part: &str, language: &str) -> Result<(), PeerError> {
        let interpreter = self.interpreter(part, language);
        interpreter.open().await.map_err(ApiError::from)?;
        if language == PYTHON {
            let prelude = interpreter.run(PRELUDE.to_owned(), String::new());
            sessions::call(self.api, prelude).await?;
        }
        Ok(())
    }
}

/// With which the names of the sessions of a sandbox begin.
fn prefix(id: &str) -> String {
    format!("e2b/{id}/")
}

/// The id of the sandbox of a request.
fn sandbox_id(headers: &HeaderMap) -> Result<&str, PeerError> {
    let id = headers.get(SANDBOX).and_then(|value| value.to_str().ok());
    let is_id = |id: &&str| {
        (1..=MAX_ID).contains(&id.len()) && id.chars().all(|c| c.is_ascii_alphanumeric())
    };
    id.filter(is_id).ok_or_else(|| {
        PeerError::Input("the header `E2b-Sandbox-Id` is missing or is not an id".to_owned())
    })
}

/// The error about a sandbox that the caller does not have.
fn unknown(id: &str) -> PeerError {
    let message = format!("no sandbox has the id `{id}`; it may have ended");
    PeerError::Rejected(StatusCode::NOT_FOUND, message)
}

fn reject_variables(variables: Option<BTreeMap<String, String>>) -> Result<(), PeerError> {
    if variables.unwrap_or_default().is_empty() {
        return Ok(());
    }
    let message = "sandboxes have no environment variables; set `os.environ` in the code";
    Err(PeerError::Input(message.to_owned()))
}

/// Error body of E2B's servers.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    code: u16,
    message: String,
}

/// The error in the format of E2B's servers.
pub(super) fn error_response(error: PeerError) -> Response {
    let (status, message, seconds) = error.parts(StatusCode::BAD_REQUEST);
    let code = status.as_u16();
    retry_after(
        (status, Json(ErrorBody { code, message })).into_response(),
        seconds,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installing_reports_what_there_is() {
        let code = "!pip install a==1.2; echo\n\n % pip3 install -q num-py>=2 scipy[all]\n\
                    s = '''\n!pip install b\n'''";
        let changed = without_installs(code);
        let lines: Vec<&str> = changed.split('\n').collect();
        assert!(lines[0].ends_with("for n in ('a', )];"), "{changed}");
        assert!(
            lines[2].ends_with("for n in ('num_py', 'scipy', )];"),
            "{changed}"
        );
        assert_eq!((lines[1], lines[4]), ("", "!pip install b"));
        for other in [
            "!pip list",
            "!pipx install a",
            "!pip installed",
            "pip install a",
        ] {
            assert_eq!(without_installs(other), other);
        }
    }
}
