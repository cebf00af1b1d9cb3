//! `execute_python` of NeMo Gym's resources servers: calls of a rollout in an interpreter session.
//! A cookie names the rollout; agents send the cookies of the last reply with the next request.

use assay_core::ErrorCode;
use assay_sessions::{Sender, Sessions};
use assay_wire::sessions::CallReply;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::compat::interpreter::{Interpreter, stopped, written_errors};
use crate::compat::peer_error::PeerError;
use crate::v1::sessions::{call, sender};

/// The cookie with the name of a rollout.
const COOKIE: &str = "assay_rollout";

/// Maximum length of the name of a rollout, in bytes.
const MAX_NAME: usize = 64;

/// The image of new sessions, unless it is not installed.
const IMAGE: &str = "python-scientific";

/// Seconds without a call after which a session ends. Agents verify a rollout soon after its last
/// call, and may verify it again.
const IDLE_SECONDS: u64 = 900;

/// The interpreter session of a rollout, by the name of the rollout.
pub(super) struct ToolSession(String);

impl ToolSession {
    /// That of the rollout which the cookie of a request names.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let cookies = headers.get_all(header::COOKIE).iter();
        let pairs = cookies
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'));
        let named = pairs.filter_map(|pair| pair.trim().split_once('='));
        let mut names = named.filter(|(name, _)| *name == COOKIE);
        let (_, name) = names.next()?;
        let is_name = |c: char| c.is_ascii_alphanumeric();
        ((1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_name))
            .then(|| Self(name.to_owned()))
    }

    /// That of the rollout of a request, or of a new one.
    fn of_or_new(headers: &HeaderMap, sessions: &Sessions) -> Self {
        Self::of(headers).unwrap_or_else(|| Self(sessions.new_name()))
    }

    fn name(&self) -> String {
        format!("nemo-gym/{}", self.0)
    }

    /// Its id, if it is open.
    pub(super) fn id(&self, sessions: &Sessions, sender: &Sender) -> Option<String> {
        sessions.id_of_name(sender, &self.name())
    }

    /// Ends it, if it is open.
    pub(super) fn end(&self, sessions: &Sessions, sender: &Sender) {
        sessions.end_named(sender, &self.name());
    }

    /// A reply with the cookie.
    fn reply(&self, body: impl Serialize) -> Response {
        let mut response = Json(body).into_response();
        let cookie = format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Lax", self.0);
        // A name consists of letters and digits.
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        response
    }
}

/// Code to run in the session of a rollout.
#[derive(Deserialize, ToSchema)]
#[schema(as = NemoGymCode)]
struct Code {
    code: String,
}

/// What the code returned.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = NemoGymCodeReply)]
pub(crate) struct CodeReply {
    /// Whether the code ran to its end.
    success: bool,
    stdout: String,
    stderr: String,
    /// The exception, or the limit that the code exceeded.
    error_message: Option<String>,
    /// The value of the expression at the end.
    result: Option<String>,
}

impl From<CallReply> for CodeReply {
    fn from(called: CallReply) -> Self {
        let stderr = written_errors(&called).to_owned();
        let limit = stopped(called.outcome).map(|limit| format!("stopped: {limit}"));
        let exited = called.exit_status.filter(|status| *status != 0);
        let error_message = called
            .exception
            .map(|exception| exception.message)
            .or(limit)
            .or(exited.map(|status| format!("SystemExit: {status}")));
        Self {
            success: error_message.is_none(),
            stdout: called.stdout,
            stderr,
            error_message,
            result: called.value,
        }
    }
}

/// Runs Python in the interpreter session of a rollout, in the format of NeMo Gym's resources
/// server `math_with_code`. The cookie of the reply names the rollout.
#[utoipa::path(post, path = "/compat/nemo-gym/execute_python", tag = "compatibility",
    request_body(content = Code, content_type = "application/json", example = json!({
        "code": "print(6 * 7)",
    })),
    responses((status = 200, description = "What the code returned", body = CodeReply)))]
pub(crate) async fn execute_python(
    api: Api,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, PeerError> {
    let (Code { code }, _permit) = body.lenient_json(&api, BodyKind::Document).await?;
    let (sessions, sender) = (api.sessions(), sender(&api));
    let session = ToolSession::of_or_new(&headers, sessions);
    let interpreter = Interpreter {
        sessions,
        sender: &sender,
        name: session.name(),
        language: "python",
        image: Some(IMAGE),
        idle_seconds: Some(IDLE_SECONDS),
    };
    let running = interpreter.run(code, String::new());
    match call(&api, running).await {
        Ok(called) => Ok(session.reply(CodeReply::from(called))),
        // The model reads it, and may answer without another call.
        Err(error) if error.problem().code == ErrorCode::SessionExhausted => {
            Ok(session.reply(CodeReply {
                error_message: Some(error.problem().message.to_string()),
                ..CodeReply::default()
            }))
        }
        Err(error) => Err(error.into()),
    }
}

/// Ends the interpreter session of a rollout.
#[utoipa::path(post, path = "/compat/nemo-gym/end_session", tag = "compatibility",
    responses((status = 200, description = "It has ended", body = CodeReply)))]
pub(crate) async fn end_session(api: Api, headers: HeaderMap) -> Json<CodeReply> {
    if let Some(session) = ToolSession::of(&headers) {
        session.end(api.sessions(), &sender(&api));
    }
    Json(CodeReply {
        success: true,
        ..CodeReply::default()
    })
}

/// Starts a rollout, which the cookie of the reply names.
#[utoipa::path(post, path = "/compat/nemo-gym/seed_session", tag = "compatibility",
    responses((status = 200, description = "An empty object", body = serde_json::Value)))]
pub(crate) async fn seed_session(api: Api, headers: HeaderMap) -> Response {
    ToolSession::of_or_new(&headers, api.sessions()).reply(json!({}))
}

/// The reply about the end of a session.
#[derive(Serialize, ToSchema)]
#[schema(as = NemoGymCloseReply)]
pub(crate) struct CloseReply {
    object: &'static str,
    status: &'static str,
    released: bool,
}

/// Ends the interpreter session of a rollout, if it has one.
#[utoipa::path(post, path = "/compat/nemo-gym/close_session", tag = "compatibility",
    responses((status = 200, description = "Nothing is left to release", body = CloseReply)))]
pub(crate) async fn close_session(api: Api, headers: HeaderMap) -> Json<CloseReply> {
    let _ended = end_session(api, headers).await;
    Json(CloseReply {
        object: "nemo_gym.session.close",
        status: "closed",
        released: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_names_the_rollout() {
        let rollout = |cookie: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, HeaderValue::from_str(cookie).unwrap());
            ToolSession::of(&headers).map(|session| session.name())
        };
        assert_eq!(
            rollout("a=b; assay_rollout=01K; c=d").as_deref(),
            Some("nemo-gym/01K")
        );
        for other in [
            "a=b",
            "assay_rollout=",
            "assay_rollout=a/b",
            "xassay_rollout=1",
        ] {
            assert_eq!(rollout(other), None, "{other}");
        }
    }
}
