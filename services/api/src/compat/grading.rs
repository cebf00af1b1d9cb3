//! Code of the routes that grade rollouts in the format of a trainer: a rollout becomes an item of
//! `POST /v1/grade`.

use assay_core::{Completion, Meta};
use assay_engine::MemoryPermit;
use assay_wire::{RawObject, TemplateTask};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::IntoParams;

use super::peer_error::PeerError;
use crate::Api;
use crate::v1::grade::grade_made;

/// The query of these routes.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct GradingQuery {
    /// The template with which the node makes a task from the row of a rollout. Without it, the row
    /// contains the task.
    pub(super) template: Option<String>,
    /// The run in the record.
    pub(super) run: Option<String>,
}

impl GradingQuery {
    /// The task of a row: the one in its field `field`, or that of the template.
    ///
    /// # Errors
    /// If there is no template, and the row has no such field.
    pub(super) fn task(&self, mut row: RawObject, field: &str) -> Result<Box<RawValue>, PeerError> {
        match &self.template {
            Some(template) => to_json(&TemplateTask {
                template: template.clone(),
                row: to_json(&row)?,
            }),
            None => match row.0.remove(field) {
                Some(task) if task.get().starts_with('{') => Ok(task),
                _ => Err(PeerError::Input(format!(
                    "`{field}` is not a task; add one, or `?template=NAME` to the URL"
                ))),
            },
        }
    }
}

/// A value as JSON.
pub(super) fn to_json(value: &impl Serialize) -> Result<Box<RawValue>, PeerError> {
    to_raw_value(value).map_err(|error| PeerError::Failed(format!("cannot write JSON: {error}")))
}

/// A request to `POST /v1/grade`.
#[derive(Serialize)]
struct Request<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    fields: [&'static str; 6],
    items: Vec<Rollout>,
}

/// A rollout, as an item of a request.
#[derive(Serialize)]
pub(super) struct Rollout {
    pub(super) completion: Completion,
    pub(super) task: Box<RawValue>,
    /// The prompt, if the trainer sends one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt: Option<Completion>,
    /// Id of the interpreter session that it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    pub(super) meta: Meta,
}

/// Whether a prompt ends inside `<think>`, so that the completion starts as reasoning.
pub(super) fn opens_think(prompt: &Completion) -> bool {
    matches!(prompt, Completion::Text(text) if text.trim_end().ends_with("<think>"))
}

/// The result of an item.
#[derive(Debug, Deserialize)]
pub(super) struct Graded {
    pub(super) outcome: String,
    pub(super) verdict: Option<String>,
    pub(super) reward: Option<f64>,
    pub(super) grade: Option<String>,
    pub(super) error: Option<GradedError>,
    #[serde(default)]
    pub(super) evidence: Value,
}

/// Why an item has no reward.
#[derive(Debug, Deserialize)]
pub(super) struct GradedError {
    pub(super) code: String,
    pub(super) message: String,
}

impl Graded {
    /// Why the item has no reward.
    pub(super) fn reason(&self) -> String {
        match &self.error {
            Some(error) => format!("{}, `{}`: {}", self.outcome, error.code, error.message),
            None => format!("{}, but without a reward", self.outcome),
        }
    }

    /// Whether the service is at fault.
    pub(super) fn has_failed(&self) -> bool {
        self.outcome == "failed"
    }
}

/// Grades rollouts. `permit` counts the body that they come from.
pub(super) async fn grade(
    api: &Api,
    query: &GradingQuery,
    items: Vec<Rollout>,
    permit: MemoryPermit,
) -> Result<Vec<Graded>, PeerError> {
    let request = Request {
        run: query.run.as_deref(),
        fields: ["outcome", "verdict", "reward", "grade", "error", "evidence"],
        items,
    };
    let request = serde_json::to_vec(&request)
        .map_err(|error| PeerError::Failed(format!("cannot write JSON: {error}")))?;
    let mut reply = grade_made(api, request, permit).await?;
    serde_json::from_value(reply["results"].take())
        .map_err(|error| PeerError::Failed(format!("cannot read the results: {error}")))
}

/// Grades one rollout. `permit` counts the body that it comes from.
pub(super) async fn grade_one(
    api: &Api,
    query: &GradingQuery,
    rollout: Rollout,
    permit: MemoryPermit,
) -> Result<Graded, PeerError> {
    let graded = grade(api, query, vec![rollout], permit).await?;
    graded
        .into_iter()
        .next()
        .ok_or_else(|| PeerError::Failed("the reply has no result".to_owned()))
}
