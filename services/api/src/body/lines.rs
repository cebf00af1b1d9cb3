//! Reads a body of JSON lines piece by piece, so that it may be larger than memory.

use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt as _;

use super::{JSON_TYPES, RequestBody, discard, incomplete, reject_other_media_types};
use crate::error::ApiResult;
use crate::ndjson::NDJSON;

/// A body that is being read.
pub(crate) struct BodyPieces(Body);

impl RequestBody {
    /// Reads the body in pieces.
    pub(crate) fn pieces(self) -> ApiResult<BodyPieces> {
        let Self { headers, body } = self;
        let [json, form, text] = JSON_TYPES;
        let accepted = [NDJSON, "application/jsonl", json, form, text];
        reject_other_media_types(&headers, &accepted)?;
        Ok(BodyPieces(body))
    }
}

impl BodyPieces {
    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> ApiResult<Option<Bytes>> {
        while let Some(frame) = self.0.frame().await {
            if let Ok(data) = frame.map_err(|error| incomplete(&error))?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// Discards the rest of the body of a request that is rejected, up to `max` bytes.
    pub(crate) async fn discard(self, max: usize) {
        discard(self.0, max).await;
    }
}
