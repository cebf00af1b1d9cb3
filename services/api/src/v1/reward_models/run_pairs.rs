//! `POST /v1/reward-models/{name}/pairs/from-run`: chooses preference pairs from graded rollouts.

use assay_record::pair::RunPairs;
use assay_review::pairs::PairsOfRun;
use assay_wire::pairs::RunPairsRequest;
use assay_wire::{Problem, ProblemBody};
use axum::Json;

use super::check_name;
use super::pairs::require_model;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;
use crate::path::PathParameter;

const DEFAULT_GRADES: u32 = 20_000;
const MAX_GRADES: u32 = 100_000;
const DEFAULT_PER_PROMPT: u32 = 8;
const MAX_PER_PROMPT: u32 = 32;

/// Chooses pairs of a right and a wrong completion of the same prompt from the grades of a run, and
/// stores them for a reward model. The reply is sent once the pairs are durable. Repeating a
/// request adds only pairs that are new.
#[utoipa::path(post, path = "/v1/reward-models/{name}/pairs/from-run", tag = "reward models",
    request_body = RunPairsRequest,
    params(("name" = String, Path, description = "Name of the model",
                pattern = "^[A-Za-z0-9_.-]{1,64}$")),
    responses(
        (status = 200, description = "Number of new and known pairs", body = RunPairs),
        (status = 404, description = "No reward model or run has this name", body = ProblemBody),
    ))]
pub(crate) async fn collect(
    api: Api,
    PathParameter(name): PathParameter,
    body: RequestBody,
) -> ApiResult<Json<RunPairs>> {
    check_name(&name)?;
    require_model(&api, &name)?;
    let (choice, _permit) = body.checked_json(&api, BodyKind::Settings, choice).await?;
    let _admitted = api.admit(1)?;
    let found = api
        .review()
        .collect_pairs_of_run(&name, &choice, api.caller().name());
    Ok(Json(found.await?))
}

fn choice(request: RunPairsRequest) -> Result<PairsOfRun, Problem> {
    let RunPairsRequest {
        run,
        channel,
        since_us,
        grades,
        per_prompt,
        min_certainty,
        reference,
    } = request;
    let invalid = |field: &str, message: String| Problem::invalid(format!("/{field}"), message);
    let within = |field: &str, value: u32, max: u32| {
        if (1..=max).contains(&value) {
            Ok(value)
        } else {
            Err(invalid(
                field,
                format!("`{field}` is {value}; it must be between 1 and {max}"),
            ))
        }
    };
    if let Some(certainty) = min_certainty.filter(|certainty| !(0.5..=1.0).contains(certainty)) {
        let message = format!("`min_certainty` is {certainty}; it must be between 0.5 and 1");
        return Err(invalid("min_certainty", message));
    }
    if let Some(pointer) = reference
        .as_ref()
        .filter(|pointer| !pointer.starts_with('/'))
    {
        let message =
            format!("`reference` is `{pointer}`; write it as a JSON pointer, such as `/answer`");
        return Err(invalid("reference", message));
    }
    Ok(PairsOfRun {
        run,
        channel,
        since_us,
        grades: within("grades", grades.unwrap_or(DEFAULT_GRADES), MAX_GRADES)?,
        per_prompt: within(
            "per_prompt",
            per_prompt.unwrap_or(DEFAULT_PER_PROMPT),
            MAX_PER_PROMPT,
        )? as usize,
        min_certainty,
        reference,
    })
}
