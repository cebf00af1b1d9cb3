//! `GET /v1/graders`: what the node can grade.

use assay_wire::grades::{GraderBody, GradersBody};
use axum::Json;
use axum::extract::State;

use crate::Api;

/// The graders of the node, in table order.
#[utoipa::path(get, path = "/v1/graders", tag = "node", responses(
    (status = 200, description = "The graders", body = GradersBody),
))]
pub(crate) async fn graders(State(api): State<Api>) -> Json<GradersBody> {
    let graders = api.engine().graders().iter();
    Json(GradersBody {
        graders: graders
            .map(|grader| GraderBody::new(grader.spec(), grader.unavailable()))
            .collect(),
    })
}
