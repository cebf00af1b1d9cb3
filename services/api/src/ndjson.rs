//! JSON lines: their media type, and whether a request accepts them.

use http::{HeaderMap, header};

/// The media type of JSON lines.
pub(crate) const NDJSON: &str = "application/x-ndjson";

/// Whether the client accepts JSON lines.
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|accept| {
            accept
                .split(',')
                .any(|media| media.trim().starts_with(NDJSON))
        })
}
