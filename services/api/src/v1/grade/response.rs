//! The response with the reply to a batch.

use assay_record::SealedReply;
use axum::response::{IntoResponse, Response};
use http::header;

pub(super) const JSON: &str = "application/json";

pub(super) fn response(sealed: SealedReply) -> Response {
    ([(header::CONTENT_TYPE, sealed.media)], sealed.body).into_response()
}
