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
        .flat_map(|accept| accept.split(','))
        .any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let is_named = parts
                .next()
                .is_some_and(|media| media.eq_ignore_ascii_case(NDJSON));
            is_named && !parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0" | "q=0.00"))
        })
}
