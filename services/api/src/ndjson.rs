//! JSON lines: their media type, and whether a request accepts them.

use http::{HeaderMap, header};

/// The media type of JSON lines.
pub(crate) const NDJSON: &str = "application/x-ndjson";

/// Whether the client accepts JSON lines.
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    accepts(headers, NDJSON)
}

/// Whether the client names a media type among those that it accepts.
pub(crate) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|accept| accept.split(','))
        .any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let is_named = parts
                .next()
                .is_some_and(|media| media.eq_ignore_ascii_case(wanted));
            let weight = parts.find_map(|parameter| parameter.strip_prefix("q=")?.parse().ok());
            is_named && weight.unwrap_or(1.0_f32) > 0.0
        })
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn reads_names_and_weights() {
        let accepts = |accept: &'static str| {
            let headers = [(header::ACCEPT, HeaderValue::from_static(accept))];
            is_accepted(&headers.into_iter().collect())
        };
        for accept in [
            "application/x-ndjson",
            "text/html, APPLICATION/X-NDJSON; charset=utf-8",
            "application/json;q=0.5, application/x-ndjson;q=0.1",
        ] {
            assert!(accepts(accept), "{accept}");
        }
        for accept in [
            "",
            "*/*",
            "application/x-ndjson2",
            "application/x-ndjson;q=0",
            "application/x-ndjson; q=0.000",
        ] {
            assert!(!accepts(accept), "{accept}");
        }
    }
}
