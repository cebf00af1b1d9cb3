//! `GET /v1/graders`: the graders of the node.

use assay_wire::grades::{GraderBody, GradersBody};
use axum::Json;

use crate::Api;

/// Lists the graders of the node, in the order of their table.
#[utoipa::path(get, path = "/v1/graders", tag = "node", responses(
    (status = 200, description = "The graders", body = GradersBody),
))]
pub(crate) async fn graders(api: Api) -> Json<GradersBody> {
    let graders = api.engine().graders().iter();
    Json(GradersBody {
        graders: graders
            .map(|grader| GraderBody::new(grader.spec(), grader.unavailable()))
            .collect(),
    })
}
