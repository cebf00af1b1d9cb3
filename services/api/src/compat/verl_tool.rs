//! `POST /compat/verl-tool/get_observation`: runs the Python code in the actions of trajectories,
//! in the format of verl-tool's tool server. Each trajectory has an interpreter session of its own.

use std::collections::BTreeMap;

use assay_access::metered;
use axum::Json;
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::interpreter::{Interpreter, output};
use super::peer_error::{PeerError, retry_after};
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;
use crate::v1::sessions::sender;

/// Maximum number of actions of a request.
const MAX_ACTIONS: usize = 4_096;

/// Maximum length of the id of a trajectory, in bytes.
const MAX_ID: usize = 200;

/// The image of new sessions, unless it is not installed.
const IMAGE: &str = "python-scientific";

/// The tag of an observation.
const TAG: &str = "result";

/// The request. As in verl-tool, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = VerlToolRequest)]
struct Request {
    /// An id of each trajectory: texts or numbers.
    #[schema(value_type = Vec<Value>)]
    trajectory_ids: Vec<Value>,
    /// An action of each trajectory. Code is in `<python>` or in a fenced block of Python.
    actions: Vec<String>,
    /// Further fields of each action.
    #[serde(default)]
    extra_fields: Vec<Extra>,
    /// Whether each trajectory ends, if `extra_fields` do not say so.
    #[serde(default)]
    finish: Vec<bool>,
}

/// Further fields of an action.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[schema(as = VerlToolExtra)]
struct Extra {
    /// Whether the trajectory ends. The action is not run then.
    #[serde(default)]
    finish: bool,
    /// Standard input of the code.
    #[serde(default)]
    stdin: Option<String>,
}

/// The reply, in the order of the request.
#[derive(Serialize, ToSchema)]
#[schema(as = VerlToolReply)]
struct Reply {
    /// Texts, or objects with `obs` and a reason.
    #[schema(value_type = Vec<Value>)]
    observations: Vec<Value>,
    /// Whether each trajectory has ended.
    dones: Vec<bool>,
    /// Whether each action was valid. One that the service could not run is not.
    valids: Vec<bool>,
}

struct Observation {
    text: Value,
    done: bool,
    valid: bool,
}

/// An action of a trajectory.
struct Action {
    index: usize,
    text: String,
    extra: Extra,
}

/// Runs actions, in the format of verl-tool's server with the tool `ipython_code`. Actions of one
/// trajectory run in their order.
#[utoipa::path(post, path = "/compat/verl-tool/get_observation", tag = "compatibility",
    request_body(content = Request, content_type = "application/json", example = json!({
        "trajectory_ids": ["step-1-rollout-0"], "actions": ["<python>print(6 * 7)</python>"],
        "extra_fields": [{}],
    })),
    responses((status = 200, description = "An observation of each action", body = Reply)))]
pub(crate) async fn get_observation(api: Api, body: RequestBody) -> ApiResult<Response> {
    let (request, _permit) = body.lenient_json::<Request>(&api, BodyKind::Batch).await?;
    let count = request.actions.len();
    let by_trajectory = match by_trajectory(request) {
        Ok(by_trajectory) => by_trajectory,
        Err(message) => return Ok(message_response(StatusCode::BAD_REQUEST, message)),
    };
    let _admitted = api.admit(count)?;
    let charge = api.charge(count, 0)?;
    let (sessions, sender) = (api.sessions().clone(), sender(&api));
    let running = by_trajectory.into_iter().map(|(id, actions)| {
        let (sessions, sender) = (&sessions, &sender);
        async move {
            let trajectory = Trajectory(Interpreter {
                sessions,
                sender,
                name: format!("verl-tool/{id}"),
                language: "python",
                image: Some(IMAGE),
                idle_seconds: None,
            });
            let mut observed = Vec::with_capacity(actions.len());
            for action in actions {
                observed.push((action.index, trajectory.observe(action).await));
            }
            observed
        }
    });
    let mut running: FuturesUnordered<_> = running.collect();
    let mut observed = Vec::with_capacity(count);
    metered(api.caller().share(), charge, async {
        while let Some(some) = running.next().await {
            observed.extend(some);
        }
    })
    .await;
    observed.sort_by_key(|(index, _)| *index);
    let mut reply = Reply {
        observations: Vec::with_capacity(count),
        dones: Vec::with_capacity(count),
        valids: Vec::with_capacity(count),
    };
    for (_, observation) in observed {
        reply.observations.push(observation.text);
        reply.dones.push(observation.done);
        reply.valids.push(observation.valid);
    }
    Ok(Json(reply).into_response())
}

/// Reports that the node serves requests, in the format of verl-tool's server.
#[utoipa::path(get, path = "/compat/verl-tool/health", tag = "compatibility", responses(
    (status = 200, description = "The node serves requests", body = Value),
))]
pub(crate) async fn health() -> Json<Value> {
    Json(json!({ "status": "healthy", "tools": ["ipython_code", "finish"] }))
}

/// The actions of each trajectory, in order.
fn by_trajectory(request: Request) -> Result<BTreeMap<String, Vec<Action>>, String> {
    let count = request.trajectory_ids.len();
    if count == 0 || count != request.actions.len() {
        return Err("`trajectory_ids` and `actions` must have the same length, at least 1".into());
    }
    if count > MAX_ACTIONS {
        return Err(format!(
            "there are more than {MAX_ACTIONS} actions; split them"
        ));
    }
    for (name, length) in [
        ("extra_fields", request.extra_fields.len()),
        ("finish", request.finish.len()),
    ] {
        if length != 0 && length != count {
            return Err(format!("`{name}` has another length than `trajectory_ids`"));
        }
    }
    let mut by_trajectory: BTreeMap<String, Vec<Action>> = BTreeMap::new();
    let (mut extras, mut finish) = (request.extra_fields.into_iter(), request.finish.into_iter());
    let actions = request.trajectory_ids.into_iter().zip(request.actions);
    for (index, (id, text)) in actions.enumerate() {
        let id = match id {
            Value::String(id) => id,
            Value::Number(id) => id.to_string(),
            _ => return Err("`trajectory_ids` must contain texts or numbers".into()),
        };
        if id.is_empty() || id.len() > MAX_ID {
            return Err(format!(
                "`trajectory_ids` must have 1 to {MAX_ID} bytes each"
            ));
        }
        let mut extra = extras.next().unwrap_or_default();
        extra.finish |= finish.next().unwrap_or_default();
        let action = Action { index, text, extra };
        by_trajectory.entry(id).or_default().push(action);
    }
    Ok(by_trajectory)
}

/// A trajectory, with its session.
struct Trajectory<'a>(Interpreter<'a>);

impl Trajectory<'_> {
    async fn observe(&self, action: Action) -> Observation {
        if action.extra.finish {
            return self.finish(&action.text);
        }
        let Some(code) = code(&action.text) else {
            let reason = "the action has no code in `<python>` or in a fenced block of Python";
            return Observation {
                text: json!({ "obs": "", "invalid_reason": reason }),
                done: false,
                valid: false,
            };
        };
        let stdin = input(&action.text)
            .or(action.extra.stdin)
            .unwrap_or_default();
        match self.0.run(code, stdin).await {
            Ok(called) => Observation {
                text: framed(&action.text, &output(&called)).into(),
                done: false,
                valid: true,
            },
            Err(error) => Observation {
                text: json!({ "obs": "", "error": error.to_string() }),
                done: true,
                valid: false,
            },
        }
    }

    /// Ends the trajectory and its session. The observation is the answer in a box, if any.
    fn finish(&self, action: &str) -> Observation {
        self.0.end();
        let boxed = action.split_once("\\boxed{").and_then(|(_, rest)| {
            let (answer, _) = rest.split_once('}')?;
            Some(answer.trim()).filter(|answer| !answer.is_empty())
        });
        Observation {
            text: boxed.unwrap_or(action.trim()).into(),
            done: true,
            valid: boxed.is_some() || action.is_empty(),
        }
    }
}

/// The code of an action: all elements `<python>`, or else all fenced blocks of Python.
fn code(action: &str) -> Option<String> {
    let elements = between(action, &["<python>"], "</python>");
    let blocks = match elements.is_empty() {
        true => between(action, &["```python", "```\npython"], "```"),
        false => elements,
    };
    let blocks: Vec<&str> = blocks.into_iter().map(str::trim).collect();
    (!blocks.is_empty()).then(|| blocks.join("\n"))
}

/// The standard input that an action contains, in a fenced block `input`.
fn input(action: &str) -> Option<String> {
    let blocks = between(action, &["```input\n"], "\n```");
    blocks.first().map(|input| input.trim().to_owned())
}

/// The texts between one of `starts` and the next `end`.
fn between<'a>(text: &'a str, starts: &[&str], end: &str) -> Vec<&'a str> {
    let (mut found, mut rest) = (Vec::new(), text);
    loop {
        let start = starts
            .iter()
            .filter_map(|start| Some((rest.find(start)?, start.len())))
            .min();
        let Some((at, length)) = start else {
            return found;
        };
        let inside = &rest[at + length..];
        let Some(close) = inside.find(end) else {
            return found;
        };
        found.push(&inside[..close]);
        rest = &inside[close + end.len()..];
    }
}

/// An observation with the marks that belong to the form of its action.
fn framed(action: &str, output: &str) -> String {
    if action.contains("```python") || action.contains("```output") {
        if action.matches("```").count().is_multiple_of(2) {
            format!("\n```{TAG}\n{output}\n```\n")
        } else {
            format!("\n{output}\n```\n")
        }
    } else if action.contains("</tool_call>") {
        format!("\n<tool_response>\n```{TAG}\n{output}\n```\n</tool_response>\n")
    } else if action.trim_matches([' ', '\n']).ends_with("<result>") {
        format!("\n{output}\n</{TAG}>\n")
    } else {
        format!("\n<{TAG}>\n{output}\n</{TAG}>\n")
    }
}

/// Error body of verl-tool's server.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    detail: String,
}

/// The error in the format of verl-tool's server.
pub(super) fn error_response(error: PeerError) -> Response {
    let (status, message, seconds) = error.parts(StatusCode::BAD_REQUEST);
    retry_after(message_response(status, message), seconds)
}

fn message_response(status: StatusCode, detail: String) -> Response {
    (status, Json(ErrorBody { detail })).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_code_of_an_action() {
        for (action, expected) in [
            (
                "so <python> x = 1\n</python> and <python>x</python>",
                Some("x = 1\nx"),
            ),
            ("```python\nx = 1\n```", Some("x = 1")),
            ("```\npython\nx = 1\n```", Some("x = 1")),
            ("<python>a</python> ```python\nb\n```", Some("a")),
            ("```\nx = 1\n```", None),
            ("<python>x = 1", None),
            ("", None),
        ] {
            assert_eq!(code(action).as_deref(), expected, "{action}");
        }
        let action = "```python\ninput()\n```\n```input\n1 2\n```";
        assert_eq!(input(action).as_deref(), Some("1 2"));
    }

    #[test]
    fn observations_have_the_form_of_their_actions() {
        for (action, expected) in [
            ("<python>x</python>", "\n<result>\n7\n</result>\n"),
            ("<python>x</python><result>", "\n7\n</result>\n"),
            ("```python\nx\n```", "\n```result\n7\n```\n"),
            ("```python\nx\n```\n```output", "\n7\n```\n"),
        ] {
            assert_eq!(framed(action, "7"), expected, "{action}");
        }
    }
}
