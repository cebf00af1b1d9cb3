//! `POST /compat/openrlhf/get_reward`: the route of OpenRLHF's `serve_rm`, for `--remote_rm_url`.
//!
//! A query is a complete text, prompt and response with the special tokens of the chat template. As
//! in OpenRLHF, no special tokens are added, and the text ends with exactly one end-of-sequence
//! token. Unlike in OpenRLHF, a query that is too long is rejected, because truncation on the right
//! would remove the answer.
//!
//! With several URLs, the client sends its only query to the first and an empty list to the others.
//! It uses only the first reply, but retries every request that fails and then drops the reward. An
//! empty list is therefore answered with empty lists, without a model.
//!
//! `POST /compat/openrlhf/grade` has the same format, but grades the responses. The client requires
//! a number for every reward, so a sample without a reward is an error: the client logs it, and
//! fails before the optimizer step.

use std::borrow::Cow;

use assay_core::reward_model::{ModelInput, Truncate};
use assay_core::{Completion, Meta};
use assay_wire::RawObject;
use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::grading::{self, GradingQuery, Rollout, opens_think, to_json};
use super::peer_error::{PeerError, retry_after};
use super::reward::score_inputs;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiError;
use crate::query::Query;

/// The request. As in OpenRLHF, other fields such as `prompts` and `labels` are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = OpenRlhfRequest)]
struct RewardRequest {
    /// Complete texts, prompt and response.
    query: Vec<String>,
}

#[derive(Default, Serialize, ToSchema)]
#[schema(as = OpenRlhfReply)]
struct RewardReply {
    /// Raw scores.
    rewards: Vec<f32>,
    /// Scores by which the client filters prompts: the normalised score if the model has one,
    /// otherwise the raw score.
    scores: Vec<f32>,
    extra_logs: ExtraLogs,
}

#[derive(Default, Serialize, ToSchema)]
#[schema(as = OpenRlhfExtraLogs)]
struct ExtraLogs {
    dummy_scores: Vec<f32>,
}

/// Error body of OpenRLHF.
#[derive(Serialize, ToSchema)]
pub(super) struct ErrorBody {
    detail: String,
}

/// The error in OpenRLHF's format.
pub(super) fn error_response(error: PeerError) -> Response {
    let (status, detail, after) = error.parts(StatusCode::UNPROCESSABLE_ENTITY);
    retry_after((status, Json(ErrorBody { detail })).into_response(), after)
}

/// Scores complete texts, in OpenRLHF's format.
#[utoipa::path(post, path = "/compat/openrlhf/get_reward", tag = "compatibility",
    request_body(content = RewardRequest, content_type = "application/json", example = json!({
        "query": ["<|im_start|>user\nWhat is 1/6 + 1/6?<|im_end|>\n<|im_start|>assistant\nIt is \
                   1/3.<|im_end|>"],
        "prompts": ["What is 1/6 + 1/6?"], "labels": ["1/3"],
    })),
    responses(
        (status = 200, description = "One raw score for each query", body = RewardReply),
    ))]
pub(crate) async fn get_reward(api: Api, body: RequestBody) -> Result<Response, PeerError> {
    let (RewardRequest { query }, _permit) = body.lenient_json(&api, BodyKind::Batch).await?;
    if query.is_empty() {
        return Ok(Json(RewardReply::default()).into_response());
    }
    let inputs = query
        .into_iter()
        .map(|text| ModelInput::Bare {
            text: text.into(),
            ended: true,
        })
        .collect();
    let answer = score_inputs(&api, None, inputs, Truncate::Reject).await?;
    let rewards = answer.raw_scores(false)?;
    // The raw score has the precision of an f32 too.
    let scores = answer
        .scores
        .iter()
        .zip(&rewards)
        .map(|(score, raw)| score.score.map_or(*raw, |score| score as f32))
        .collect();
    let extra_logs = ExtraLogs {
        dummy_scores: rewards.clone(),
    };
    Ok(answer.reply(Json(RewardReply {
        rewards,
        scores,
        extra_logs,
    })))
}

/// The query of the route that grades samples.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct GradeQuery {
    /// The template with which the node makes a task from the row of a sample. Without it, the
    /// label is the task.
    template: Option<String>,
    /// The run in the record.
    run: Option<String>,
    /// The column of the row that has a label that is not an object, such as `answer`: the client's
    /// option `label_key`, which it does not send. By default, only the column `label` has it.
    label: Option<String>,
}

/// The request to grade samples. As in OpenRLHF, other fields are ignored.
#[derive(Deserialize, ToSchema)]
#[schema(as = OpenRlhfGradeRequest)]
struct GradeRequest {
    /// Complete texts, prompt and response.
    query: Vec<String>,
    /// The prompts, which are removed from the start of the texts.
    #[serde(default)]
    prompts: Vec<String>,
    /// For each text, the row of its sample: an object, possibly as JSON text, or any other value,
    /// which is then the column `label`. The prompt is the column `prompt`.
    #[schema(value_type = Vec<Value>)]
    labels: Vec<Box<RawValue>>,
}

/// Rewards of graded samples.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = OpenRlhfGradeReply)]
struct GradeReply {
    rewards: Vec<f64>,
    /// The rewards again, by which the client filters prompts.
    scores: Vec<f64>,
}

/// Grades samples, in OpenRLHF's format. A label is the task of its sample, or `template` names the
/// template that makes the task.
#[utoipa::path(post, path = "/compat/openrlhf/grade", tag = "compatibility",
    params(GradeQuery),
    request_body(content = GradeRequest, content_type = "application/json", example = json!({
        "query": ["What is 1/6 + 1/6? It is \\boxed{1/3}."], "prompts": ["What is 1/6 + 1/6?"],
        "labels": [{ "type": "math", "answer": "1/3" }],
    })),
    responses(
        (status = 200, description = "One reward for each query", body = GradeReply),
    ))]
pub(crate) async fn grade(
    api: Api,
    query: Result<Query<GradeQuery>, ApiError>,
    body: RequestBody,
) -> Result<Response, PeerError> {
    let GradeQuery {
        template,
        run,
        label: column,
    } = query?.0;
    let parameters = GradingQuery { template, run };
    let (request, permit) = body.lenient_json(&api, BodyKind::Batch).await?;
    let GradeRequest {
        query,
        prompts,
        labels,
    } = request;
    if query.is_empty() {
        return Ok(Json(GradeReply::default()).into_response());
    }
    if labels.len() != query.len() || (!prompts.is_empty() && prompts.len() != query.len()) {
        let message = "`query`, `prompts` and `labels` must have the same length";
        return Err(PeerError::Input(message.to_owned()));
    }
    let mut prompts = prompts.into_iter();
    let items = query.into_iter().zip(labels).map(|(text, label)| {
        let prompt = prompts.next().unwrap_or_default();
        let response = text.strip_prefix(prompt.as_str()).map(str::to_owned);
        let task = task(&parameters, column.as_deref(), label, &prompt)?;
        let prompt = (!prompt.is_empty()).then(|| Completion::Text(prompt.into()));
        Ok(Rollout {
            completion: Completion::Text(response.unwrap_or(text).into()),
            task,
            session: None,
            meta: Meta {
                think_open: prompt.as_ref().is_some_and(opens_think),
                ..Meta::default()
            },
            prompt,
        })
    });
    let items = items.collect::<Result<Vec<_>, PeerError>>()?;
    let graded = grading::grade(&api, &parameters, items, permit).await?;
    let rewards = graded.iter().enumerate().map(|(at, graded)| {
        graded.reward.ok_or_else(|| {
            let message = format!("sample {at} has no reward: {}", graded.reason());
            if graded.has_failed() {
                PeerError::NotReady(message)
            } else {
                PeerError::Input(message)
            }
        })
    });
    let rewards = rewards.collect::<Result<Vec<_>, PeerError>>()?;
    Ok(Json(GradeReply {
        scores: rewards.clone(),
        rewards,
    })
    .into_response())
}

/// The task of a sample.
fn task(
    parameters: &GradingQuery,
    column: Option<&str>,
    label: Box<RawValue>,
    prompt: &str,
) -> Result<Box<RawValue>, PeerError> {
    let fields = fields_of(&label)?;
    let label = match (&parameters.template, &fields) {
        (None, Some(fields)) => to_json(fields)?,
        _ => label,
    };
    let mut row = match fields {
        Some(fields) => fields,
        None => RawObject(
            column
                .map(|column| (column.to_owned(), label.clone()))
                .into_iter()
                .collect(),
        ),
    };
    row.0.insert("label".to_owned(), label);
    row.0.insert("prompt".to_owned(), to_json(&prompt)?);
    parameters.task(row, "label")
}

/// The fields of a label that is an object, possibly as JSON text.
fn fields_of(label: &RawValue) -> Result<Option<RawObject>, PeerError> {
    let text: Cow<'_, str> = if label.get().starts_with('"') {
        let text = serde_json::from_str(label.get());
        Cow::Owned(text.map_err(|error| PeerError::Input(format!("invalid label: {error}")))?)
    } else {
        Cow::Borrowed(label.get())
    };
    if !text.trim_start().starts_with('{') {
        return Ok(None);
    }
    match serde_json::from_str(&text) {
        Ok(fields) => Ok(Some(fields)),
        // A duplicate field. Other texts in braces are not JSON.
        Err(error) if error.is_data() => Err(PeerError::Input(format!("invalid label: {error}"))),
        Err(_) => Ok(None),
    }
}
