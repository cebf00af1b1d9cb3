//! `/v1/reward-models/{name}/pairs`: what a reward model learns from while a policy trains.

use assay_core::ErrorCode;
use assay_engine::{Collected, NewPair};
use assay_wire::pairs::{CollectedBody, PairRequest, PairsBody, PairsRequest};
use assay_wire::{Problem, ProblemBody};
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use http::HeaderMap;
use serde::Deserialize;
use utoipa::IntoParams;

use super::list::unknown;
use super::path_name;
use crate::Api;
use crate::body::{self, BodyKind};
use crate::error::{ApiError, ApiResult};
use crate::v1::grade::LOCAL_CALLER;
use crate::v1::page;

/// Collects pairs of completions for a reward model: one that a rule accepted, and a worse one to
/// the same prompt. The answer comes when they survive a crash. The same pair is kept once, however
/// often it is sent.
#[utoipa::path(post, path = "/v1/reward-models/{name}/pairs", tag = "reward models", request_body = PairsRequest,
    params(("name" = String, Path, description = "Name of the model", pattern = "^[A-Za-z0-9_.-]{1,64}$")),
    responses(
        (status = 200, description = "How many were new", body = CollectedBody),
        (status = 404, description = "No reward model has this name", body = ProblemBody),
    ))]
pub(crate) async fn collect(
    State(api): State<Api>,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<CollectedBody>> {
    let name = path_name(path)?;
    // A slip in the name would collect pairs that no trainer asks for.
    if api.models().list().iter().all(|status| status.name != name) {
        return Err(unknown(&name).into());
    }
    let most = api.limits().batch_items;
    let check = move |PairsRequest { pairs }: PairsRequest| new_pairs(pairs, most);
    let (pairs, _held) = body::checked_json(&api, &headers, body, BodyKind::Batch, check).await?;
    let _admitted = api.engine().admission().admit(pairs.len())?;
    let Collected {
        added,
        known,
        total,
    } = api
        .engine()
        .collect_pairs(&name, pairs, LOCAL_CALLER)
        .await?;
    Ok(Json(CollectedBody {
        added,
        known,
        total,
    }))
}

fn new_pairs(pairs: Vec<PairRequest>, most: usize) -> Result<Vec<NewPair>, Problem> {
    if pairs.is_empty() {
        return Err(Problem::at(
            ErrorCode::EmptyBatch,
            "/pairs".to_owned(),
            "`pairs` is empty; send at least one pair",
        ));
    }
    if pairs.len() > most {
        let message = format!(
            "there are {} pairs, more than {most}; send them in several requests",
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
            Problem::at(
                ErrorCode::InvalidField,
                format!("/pairs/{at}/{field}"),
                message,
            )
        })?;
        // An object that came from JSON goes back into it.
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

/// Where a page starts.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Only pairs after this one: `next` of the page before; from the first without it.
    after: Option<u64>,
    /// Pairs of the page, 1 to 1,000; 100 unless given. A page of long pairs ends earlier.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// Pairs of a reward model in the order of arrival, one page at a time. `next` stays good: asked
/// again later, it gives what came since. Pairs of a model that is gone can still be read.
#[utoipa::path(get, path = "/v1/reward-models/{name}/pairs", tag = "reward models",
    params(("name" = String, Path, description = "Name of the model", pattern = "^[A-Za-z0-9_.-]{1,64}$"), PageQuery),
    responses(
        (status = 200, description = "A page of pairs", body = PairsBody),
    ))]
pub(crate) async fn page(
    State(api): State<Api>,
    path: Result<Path<String>, PathRejection>,
    query: Result<Query<PageQuery>, QueryRejection>,
) -> ApiResult<Json<PairsBody>> {
    let name = path_name(path)?;
    let Query(PageQuery { after, limit }) = query.map_err(|error| {
        ApiError::new(
            ErrorCode::InvalidParameter,
            error.body_text().to_lowercase(),
        )
    })?;
    let limit = page::limit(limit)?;
    let after = after.unwrap_or(0);
    Ok(Json(PairsBody::new(
        api.engine().pairs(&name, after, limit).await?,
        after,
    )))
}
