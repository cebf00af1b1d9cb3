//! Discards the body of a request that is rejected.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt as _;

/// Longest pause of a body that is discarded.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// Reads a body of at most `max` bytes without keeping it, as long as it arrives without pauses: a
/// client that is still sending when the connection is closed may not see the reply.
pub(crate) async fn discard(mut body: Body, max: usize) {
    let mut read = 0_usize;
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(MAX_PAUSE, body.frame()).await {
        read = read.saturating_add(frame.data_ref().map_or(0, Bytes::len));
        if read > max {
            return;
        }
    }
}
