//! `GET /v1/prompts`: the prompts of a run with the results of their visits.
//! `POST /v1/prompts/suggest`: chooses the prompts to sample next.

use assay_access::metered;
use assay_core::ErrorCode;
use assay_record::prompt_list::PromptFilter;
use assay_review::prompt_list;
use assay_review::suggest::PromptRequest;
use assay_rewards::prompts::Suggest;
use assay_wire::Problem;
use assay_wire::channels::{SuggestRequest, SuggestionBody, SuggestionsBody};
use assay_wire::runs::PromptsBody;
use axum::Json;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::{ApiError, ApiResult};
use crate::query::{Query, Within};
use crate::v1::grades::record_of;
use crate::v1::page::{self, PageLimit};

/// Largest offset of a page; a run has fewer prompts.
const MAX_OFFSET: u32 = 100_000_000;

/// Which prompts to list, and the position of the page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PromptsQuery {
    /// Name of the run.
    run: String,
    /// Only prompts with this status: `never_solved`, `always_solved`, `lost`, `gained`, `noisy` or
    /// `gold_suspect`.
    #[param(pattern = "^(never_solved|always_solved|lost|gained|noisy|gold_suspect)$")]
    status: Option<String>,
    /// First step whose visits count, inclusive.
    step_min: Option<i64>,
    /// Last step whose visits count, inclusive.
    step_max: Option<i64>,
    /// `visits` (most first, the default), `lowest_rate`, `highest_rate`, `last_step` (latest
    /// first) or `key`.
    #[param(pattern = "^(visits|lowest_rate|highest_rate|last_step|key)$")]
    order: Option<String>,
    /// Number of prompts before the page: `next` of the previous page.
    #[param(value_type = Option<u32>, minimum = 0, maximum = 100_000_000)]
    offset: Option<Within<0, MAX_OFFSET>>,
    /// Number of prompts on the page, 1 to 1,000; 100 by default.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<PageLimit>,
}

/// Lists the prompts of a run with the results of their visits and their most frequent wrong
/// answer, in pages, and counts those that are never solved, always solved, lost, gained and noisy,
/// and those whose expected answer may be wrong.
#[utoipa::path(get, path = "/v1/prompts", tag = "record", params(PromptsQuery), responses(
    (status = 200, description = "A page of prompts", body = PromptsBody),
    (status = 404, description = "No run has this name", body = assay_wire::ProblemBody),
))]
pub(crate) async fn list(
    api: Api,
    Query(query): Query<PromptsQuery>,
) -> ApiResult<Json<PromptsBody>> {
    let filter = PromptFilter {
        step_min: query.step_min,
        step_max: query.step_max,
        status: prompt_list::status(query.status.as_deref())?,
    };
    let order = prompt_list::order(query.order.as_deref())?;
    let (offset, limit) = (
        query.offset.map_or(0, Within::get),
        page::limit(query.limit),
    );
    let (record, run) = (record_of(&api)?, &query.run);
    if record.run(run).await?.is_none() {
        let message = api.review().unknown_run(run).await?;
        return Err(ApiError::new(ErrorCode::NotFound, message));
    }
    let counts = record.prompt_counts(run, &filter).await?;
    let prompts = record.prompt_list(run, &filter, order, offset, limit + 1);
    let (prompts, more) = page::split(prompts.await?, limit);
    Ok(Json(PromptsBody {
        counts,
        prompts,
        next: more.then_some(offset + limit),
    }))
}

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
