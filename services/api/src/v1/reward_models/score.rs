//! `POST /v1/reward-models/{name}/score`: scores inputs.

use assay_access::metered;
use assay_core::reward_model::ModelRequest;
use assay_wire::scoring::{DecodedScore, ScoreReply, ScoreRequest, decode_score};
use assay_wire::{DecodeLimits, ProblemBody};
use axum::Json;

use super::check_name;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;
use crate::path::PathParameter;

/// Scores inputs, all with the same version of the model. `raw` is the output of the model without
/// normalisation, `score` is `raw` after the model's configured normalisation. An input that the
/// model cannot score has an `error` instead and does not affect the other inputs.
#[utoipa::path(post, path = "/v1/reward-models/{name}/score", tag = "reward models",
    params(("name" = String, Path, description = "Name of the model",
                pattern = "^[A-Za-z0-9_.-]{1,64}$")),
    request_body(content = ScoreRequest, content_type = "application/json", example = json!({
        "items": [
            { "id": "a", "prompt": "What is 1/6 + 1/6?", "completion": "It is 1/3." },
            { "id": "b", "prompt": "What is 1/6 + 1/6?", "completion": "It is 2/12." },
        ],
    })),
    responses(
        (status = 200, description = "One result for each input, in order", body = ScoreReply),
        (status = 404, description = "No reward model has this name", body = ProblemBody),
        (status = 409, description = "The model does not have the expected version",
         body = ProblemBody),
        (status = 504, description = "Timed out in the queue after `timeout_ms`",
         body = ProblemBody),
    ))]
pub(crate) async fn score(
    api: Api,
    PathParameter(name): PathParameter,
    body: RequestBody,
) -> ApiResult<Json<ScoreReply>> {
    check_name(&name)?;
    let limits = DecodeLimits {
        items: api.limits().batch_items,
        shared_bytes: 0,
    };
    let decode = move |bytes: &[u8]| decode_score(bytes, &limits);
    let (decoded, _permit) = body.decoded(&api, BodyKind::Batch, decode).await?;
    let DecodedScore {
        inputs,
        truncate,
        expected_version,
        timeout,
        warnings,
    } = decoded;
    let _admitted = api.admit(inputs.len())?;
    let charge = api.charge(inputs.len(), 0)?;
    let (ids, inputs) = inputs
        .into_iter()
        .map(|decoded| (decoded.id, decoded.input))
        .unzip();
    let caller = api.caller().name().into();
    let request = ModelRequest {
        model: Some(name),
        caller,
        use_cache: true,
        inputs,
        truncate,
        expected_version,
        timeout,
    };
    let reply = metered(api.caller().share(), charge, api.models().score(request)).await?;
    Ok(Json(ScoreReply::new(reply, ids, warnings)))
}
