//! What pages of other sites have a browser send is refused: whoever reads such a page did not mean it. So is what a browser sends to a
//! name that somebody lets point to this machine, which makes a page of his one of ours to the browser (DNS rebinding).
//!
//! Browsers say where a request comes from (`Sec-Fetch-Site`, older ones `Origin`); trainers, scripts and `curl` say neither and are
//! not concerned.

use std::net::IpAddr;

use assay_core::ErrorCode;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, header};

use crate::error::ApiError;
use crate::state::Api;

/// Lets through what comes from here, and links that others follow to here.
pub(crate) async fn refuse_other_sites(State(api): State<Api>, request: Request, next: Next) -> Response {
    if api.limits().local_names {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()?.parse().ok());
        let host: Option<&Authority> = host.as_ref().or(request.uri().authority());
        if let Some(host) = host.filter(|host| !is_local(host)) {
            let message = format!(
                "the request was sent to `{host}`, and the service listens to this machine alone; send it to `localhost` or an address, \
                 or set `server.insecure = true` behind a proxy that authenticates"
            );
            return ApiError::new(ErrorCode::OtherSite, message).into_response();
        }
    }
    let headers = request.headers();
    if is_from_here(headers) || (request.method().is_safe() && is_followed(headers)) {
        return next.run(request).await;
    }
    let message = "the request was sent by a page of another site; send it from `/ui`, or from outside a browser";
    ApiError::new(ErrorCode::OtherSite, message).into_response()
}

/// Whether a host is this machine or an address: what no other site can make its own name.
fn is_local(host: &Authority) -> bool {
    let name = host.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost") || name.parse::<IpAddr>().is_ok()
}

/// Whether somebody follows a link, instead of a page asking behind his back.
fn is_followed(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
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
    fn names_of_other_sites_are_not_local() {
        let is = |host: &str| is_local(&host.parse().unwrap());
        assert!(
            ["localhost", "LOCALHOST:8080", "assay.localhost", "127.0.0.1:1", "[::1]:8080", "10.0.0.7"]
                .map(is)
                .iter()
                .all(|is| *is)
        );
        assert!(
            !["evil.example", "localhost.evil.example:8080", "127.0.0.1.evil.example"].map(is).iter().any(|is| *is)
        );
    }

    #[test]
    fn links_may_be_followed_and_nothing_else() {
        let is = |mode: &'static str| {
            is_followed(&HeaderMap::from_iter([(HeaderName::from_static("sec-fetch-mode"), mode.parse().unwrap())]))
        };
        assert!(is("navigate"));
        assert!(!is("cors") && !is("no-cors") && !is_followed(&HeaderMap::new()));
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
