//! What pages of other sites have a browser send is refused: whoever reads such a page did not mean it.
//!
//! Browsers say where a request comes from (`Sec-Fetch-Site`, older ones `Origin`); trainers, scripts and `curl` say neither and are
//! not concerned.

use assay_core::ErrorCode;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, header};

use crate::error::ApiError;

/// Lets through what only reads, and what comes from here.
pub(crate) async fn refuse_other_sites(request: Request, next: Next) -> Response {
    if request.method().is_safe() || is_from_here(request.headers()) {
        return next.run(request).await;
    }
    let message = "the request was sent by a page of another site; send it from `/ui`, or from outside a browser";
    ApiError::new(ErrorCode::OtherSite, message).into_response()
}

fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match (text(HeaderName::from_static("sec-fetch-site")), text(header::ORIGIN), text(header::HOST)) {
        (Some(site), _, _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin), host) => origin.split_once("://").map(|(_, authority)| authority) == host,
        // No browser leaves out both.
        (None, None, _) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(pairs: &[(&'static str, &'static str)]) -> bool {
        let headers = pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        is_from_here(&headers.collect())
    }

    #[test]
    fn what_other_sites_send_is_told_apart() {
        assert!(is(&[]));
        assert!(is(&[("sec-fetch-site", "same-origin"), ("origin", "http://a"), ("host", "a")]));
        assert!(is(&[("sec-fetch-site", "none")]));
        assert!(is(&[("origin", "http://127.0.0.1:8080"), ("host", "127.0.0.1:8080")]));
        assert!(!is(&[("sec-fetch-site", "cross-site")]));
        assert!(!is(&[("sec-fetch-site", "same-site"), ("origin", "http://a"), ("host", "a")]));
        assert!(!is(&[("origin", "http://evil.example"), ("host", "127.0.0.1:8080")]));
        assert!(!is(&[("origin", "null"), ("host", "127.0.0.1:8080")]));
    }
}
