//! `/v1/reward-models/{name}/pairs`: preference pairs on which a reward model is trained.

use assay_core::ErrorCode;
use assay_record::pair::Collected;
use assay_review::pairs::NewPair;
use assay_wire::pairs::{PairRequest, PairsBody, PairsRequest};
use assay_wire::{Problem, ProblemBody};
use axum::Json;
use serde::Deserialize;
use utoipa::IntoParams;

use super::check_name;
use super::list::unknown_model;
use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::ApiResult;
use crate::path::PathParameter;
use crate::query::Query;
use crate::v1::page::{self, PageLimit};

/// Stores preference pairs for a reward model: an accepted and a rejected completion of the same
/// prompt. The reply is sent once the pairs are durable. Duplicate pairs are stored once.
#[utoipa::path(post, path = "/v1/reward-models/{name}/pairs", tag = "reward models",
    request_body = PairsRequest,
    params(("name" = String, Path, description = "Name of the model",
                pattern = "^[A-Za-z0-9_.-]{1,64}$")),
    responses(
        (status = 200, description = "Number of new and known pairs", body = Collected),
        (status = 404, description = "No reward model has this name", body = ProblemBody),
    ))]
pub(crate) async fn collect(
    api: Api,
    PathParameter(name): PathParameter,
    body: RequestBody,
) -> ApiResult<Json<Collected>> {
    check_name(&name)?;
    require_model(&api, &name)?;
    let max = api.limits().batch_items;
    let check = move |PairsRequest { pairs }: PairsRequest| new_pairs(pairs, max);
    let (pairs, _permit) = body.checked_json(&api, BodyKind::Batch, check).await?;
    let _admitted = api.admit(pairs.len())?;
    let collected = api
        .review()
        .collect_pairs(&name, pairs, api.caller().name());
    Ok(Json(collected.await?))
}

/// Checks that a model has this name: pairs under a misspelled name would never be read by a
/// trainer.
pub(super) fn require_model(api: &Api, name: &str) -> ApiResult<()> {
    if api.models().list().iter().any(|status| status.name == name) {
        Ok(())
    } else {
        Err(unknown_model(name).into())
    }
}

fn new_pairs(pairs: Vec<PairRequest>, max: usize) -> Result<Vec<NewPair>, Problem> {
    if pairs.is_empty() {
        return Err(Problem::at(
            ErrorCode::EmptyBatch,
            "/pairs".to_owned(),
            "`pairs` is empty; send at least one pair",
        ));
    }
    if pairs.len() > max {
        let message = format!(
            "the request has {} pairs, more than {max}; split it into several requests",
            pairs.len()
        );
        return Err(Problem::at(
            ErrorCode::TooManyItems,
            "/pairs".to_owned(),
            message,
        ));
    }
    let checked = pairs.into_iter().enumerate().map(|(at, mut pair)| {
        pair.check().map_err(|(field, message)| {
            Problem::invalid(format!("/pairs/{at}/{field}"), message)
        })?;
        // Serialising an object that was parsed from JSON cannot fail.
        let source_json = pair
            .source
            .take()
            .and_then(|source| serde_json::to_string(&source).ok());
        Ok(NewPair {
            pair: pair.into(),
            source_json,
        })
    });
    checked.collect()
}

/// The position and size of a page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// List only pairs after this one: `next` of the previous page. The oldest pairs if omitted.
    after: Option<u64>,
    /// Maximum number of pairs on the page, 1 to 1,000; 100 by default. A page of long pairs has
    /// fewer.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<PageLimit>,
}

/// Lists the pairs of a reward model in order of arrival, in pages. `next` stays valid: used again
/// later, it returns the pairs that arrived since. Pairs of an unloaded model can still be read.
#[utoipa::path(get, path = "/v1/reward-models/{name}/pairs", tag = "reward models",
    params(("name" = String, Path, description = "Name of the model",
            pattern = "^[A-Za-z0-9_.-]{1,64}$"), PageQuery),
    responses(
        (status = 200, description = "A page of pairs", body = PairsBody),
    ))]
pub(crate) async fn page(
    api: Api,
    Query(query): Query<PageQuery>,
    PathParameter(name): PathParameter,
) -> ApiResult<Json<PairsBody>> {
    check_name(&name)?;
    let PageQuery { after, limit } = query;
    let limit = page::limit(limit);
    let after = after.unwrap_or(0);
    Ok(Json(PairsBody::new(
        api.review().pairs(&name, after, limit).await?,
        after,
    )))
}
