//! `POST /v1/prompts/suggest`: chooses the prompts to sample next.

use assay_access::metered;
use assay_core::ErrorCode;
use assay_review::suggest::PromptRequest;
use assay_rewards::prompts::Suggest;
use assay_wire::Problem;
use assay_wire::channels::{SuggestRequest, SuggestionBody, SuggestionsBody};
use axum::Json;
use serde_json::Value;

use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;

/// Chooses prompts of a run by the results of their visits, and the number of rollouts for each.
#[utoipa::path(post, path = "/v1/prompts/suggest", tag = "noise", request_body = SuggestRequest,
    responses(
        (status = 200, description = "The prompts, best first", body = SuggestionsBody),
    ))]
pub(crate) async fn suggest(api: Api, body: RequestBody) -> ApiResult<Json<SuggestionsBody>> {
    let (request, _permit) = body.json(&api, BodyKind::Document).await?;
    let SuggestRequest {
        run,
        keys,
        categories,
        channel,
        seed,
        settings,
    } = request;
    let settings: Suggest =
        serde_path_to_error::deserialize(Value::Object(settings)).map_err(|error| {
            let pointer = assay_base::json_pointer(error.path());
            Problem::invalid(pointer, error.into_inner().to_string())
        })?;
    let channel = match channel {
        Some(channel) => Some(with_version(&api, channel)?),
        None => None,
    };
    let request = PromptRequest {
        run,
        keys,
        categories,
        channel,
        seed,
        settings,
    };
    let charge = api.charge(0, 0)?;
    let prompts = metered(api.caller().share(), charge, api.review().suggest(request))
        .await?
        .into_iter()
        .map(|chosen| SuggestionBody {
            prompt_key: chosen.prompt_key,
            rollouts: chosen.rollouts,
            value: chosen.value,
            visits: chosen.visits,
        });
    Ok(Json(SuggestionsBody {
        prompts: prompts.collect(),
    }))
}

/// The channel with the current version of its grader.
fn with_version(api: &Api, channel: String) -> ApiResult<(String, u32)> {
    let grader = channel.split('/').next().unwrap_or_default();
    match api.engine().graders().by_name(grader) {
        Some(grader) => Ok((channel, grader.spec().version)),
        None => {
            let message = format!(
                "no grader is named `{grader}`; a channel is a grader and a task family, such as \
                 `math/default`"
            );
            Err(Problem::at(ErrorCode::UnknownGrader, "/channel".to_owned(), message).into())
        }
    }
}
