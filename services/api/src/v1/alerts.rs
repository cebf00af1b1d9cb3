//! `GET /v1/alerts`: the open problems of the node, and its rules.

use assay_wire::alerts::AlertsBody;
use axum::Json;

use crate::Api;

/// Lists the open problems: the most severe first, then the oldest first. Also lists the rules that
/// find them.
#[utoipa::path(get, path = "/v1/alerts", tag = "record", responses(
    (status = 200, description = "Open problems and rules", body = AlertsBody),
))]
pub(crate) async fn list(api: Api) -> Json<AlertsBody> {
    Json(api.alerts().current())
}
