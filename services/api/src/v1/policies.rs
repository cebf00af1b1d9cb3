//! `/v1/policies`: the reward policies.

use assay_access::metered;
use assay_core::ErrorCode;
use assay_mapping::batch::policy_problem;
use assay_mapping::render;
use assay_wire::channels::{PoliciesBody, PolicyBody};
use axum::Json;
use serde_json::Value;

use crate::Api;
use crate::body::{BodyKind, RequestBody};
use crate::error::{ApiError, ApiResult};
use crate::path::PathParameter;

/// Lists the reward policies of the node, with descriptions of their parts.
#[utoipa::path(get, path = "/v1/policies", tag = "noise", responses(
    (status = 200, description = "The policies", body = PoliciesBody),
))]
pub(crate) async fn list(api: Api) -> Json<PoliciesBody> {
    Json(PoliciesBody {
        policies: api
            .engine()
            .policies()
            .iter()
            .map(render::policy_body)
            .collect(),
    })
}

/// Returns one reward policy of the node.
#[utoipa::path(get, path = "/v1/policies/{name}", tag = "noise",
    params(("name" = String, Path, description = "Name of the policy")),
    responses(
        (status = 200, description = "The policy", body = PolicyBody),
        (status = 404, description = "No policy has this name", body = assay_wire::ProblemBody),
    ))]
pub(crate) async fn get(
    api: Api,
    PathParameter(name): PathParameter,
) -> ApiResult<Json<PolicyBody>> {
    let policy = api
        .engine()
        .policies()
        .iter()
        .find(|policy| policy.name() == name);
    let policy = policy.ok_or_else(|| {
        ApiError::new(ErrorCode::NotFound, format!("no policy is named `{name}`"))
    })?;
    Ok(Json(render::policy_body(policy)))
}

/// Validates a reward policy and describes its parts; for an invalid policy, the error contains a
/// pointer to the field.
#[utoipa::path(post, path = "/v1/policies/check", tag = "noise",
    request_body(content = Object, description = "The policy"),
    responses(
        (status = 200, description = "The policy with its defaults", body = PolicyBody),
    ))]
pub(crate) async fn check(api: Api, body: RequestBody) -> ApiResult<Json<PolicyBody>> {
    let (json, _permit) = body.json::<Value>(&api, BodyKind::Settings).await?;
    let charge = api.charge(0, 0)?;
    let policy = metered(api.caller().share(), charge, async {
        api.engine().inline_policy(&json)
    })
    .await
    .map_err(|error| policy_problem("", error))?;
    Ok(Json(render::policy_body(&policy)))
}
