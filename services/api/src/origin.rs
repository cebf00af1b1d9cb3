//! Rejects requests that a page of another site makes a browser send without the user's intent.
//! Also rejects requests to a name that someone else has pointed at this machine, because the
//! browser then treats their page as part of this site (DNS rebinding).
//!
//! Browsers report where a request comes from (`Sec-Fetch-Site`, older ones `Origin`). Trainers,
//! scripts and `curl` send neither header and are not affected.

use assay_core::ErrorCode;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method};

use crate::access::ProxyHeader;
use crate::error::ApiError;
use crate::host::{BadHost, Host, Origin, origin, requested};
use crate::state::Api;

/// Accepts requests of this site, and navigation from other sites.
pub(crate) async fn reject_other_sites(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Response {
    let gate = api.gate();
    let is_open = api.limits().local_names && !gate.requires_key() && !gate.is_off();
    let local_names = is_open || ProxyHeader::of(gate, &request).is_from_this_machine();
    let (method, headers, uri) = (request.method(), request.headers(), request.uri());
    match rejection(method, headers, uri, local_names) {
        Some(message) => ApiError::new(ErrorCode::OtherSite, message).into_response(),
        None => next.run(request).await,
    }
}

/// Why a request is rejected; `None` if it is accepted.
fn rejection(
    method: &Method,
    headers: &HeaderMap,
    uri: &http::Uri,
    local_names: bool,
) -> Option<String> {
    let host = match requested(headers, uri) {
        Ok(host) => host,
        Err(BadHost::Several) => {
            return Some("the request has several hosts; send one `Host` header".to_owned());
        }
        Err(BadHost::Unreadable(host)) => {
            return Some(format!(
                "malformed host `{}` in the request; send a name or address with an optional port",
                host.escape_debug()
            ));
        }
    };
    if local_names && host.as_ref().is_some_and(|host| !host.is_local()) {
        return Some(
            "the request was sent to a host name that may belong to another site, and comes from \
             this machine; send it to `localhost` or an address (a proxy on this machine must not \
             forward `Host`), require keys, or set `access.keys = \"off\"` behind a proxy that \
             authenticates"
                .to_owned(),
        );
    }
    let origin = origin(headers);
    if origin == Origin::Unreadable {
        return Some(
            "malformed `Origin` header; send a single origin such as `http://localhost:8080`"
                .to_owned(),
        );
    }
    if is_same_origin(headers, host.as_ref(), &origin)
        || (method.is_safe() && is_navigation(headers))
    {
        return None;
    }
    Some(
        "the request was sent by a page of another site; send it from `/ui`, or from outside a \
          browser"
            .to_owned(),
    )
}

/// Whether the request is a navigation, such as a followed link, and was not sent by a script.
fn is_navigation(headers: &HeaderMap) -> bool {
    headers
        .get("sec-fetch-mode")
        .is_some_and(|mode| mode == "navigate")
}

fn is_same_origin(headers: &HeaderMap, host: Option<&Host>, origin: &Origin) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").iter().peekable();
    if sites.peek().is_some() {
        return sites.all(|site| site == "same-origin" || site == "none");
    }
    match origin {
        Origin::Of(origin) => Some(origin) == host,
        Origin::Opaque | Origin::Unreadable => false,
        // All browsers send at least one of the two headers.
        Origin::Absent => true,
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn map(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let value = |text: &str| HeaderValue::from_bytes(text.as_bytes()).unwrap();
        pairs
            .iter()
            .map(|(name, text)| (HeaderName::from_static(name), value(text)))
            .collect()
    }

    fn rejected(method: &Method, pairs: &[(&'static str, &str)]) -> bool {
        rejection(method, &map(pairs), &"/".parse().unwrap(), true).is_some()
    }

    #[test]
    fn allows_only_navigation_from_other_sites() {
        let cross_site = ("sec-fetch-site", "cross-site");
        let navigate = ("sec-fetch-mode", "navigate");
        assert!(!rejected(&Method::GET, &[cross_site, navigate]));
        assert!(rejected(&Method::POST, &[cross_site, navigate]));
        assert!(rejected(
            &Method::GET,
            &[cross_site, ("sec-fetch-mode", "cors")]
        ));
        assert!(rejected(&Method::GET, &[cross_site]));
    }

    #[test]
    fn distinguishes_other_sites_from_this_one() {
        let rejected = |pairs| rejected(&Method::POST, pairs);
        assert!(!rejected(&[]));
        assert!(!rejected(&[
            ("sec-fetch-site", "same-origin"),
            ("origin", "http://127.0.0.1"),
            ("host", "127.0.0.1")
        ]));
        assert!(!rejected(&[("sec-fetch-site", "none")]));
        assert!(!rejected(&[
            ("sec-fetch-site", "same-origin"),
            ("origin", "null")
        ]));
        assert!(!rejected(&[
            ("origin", "http://127.0.0.1:8080"),
            ("host", "127.0.0.1:8080")
        ]));
        assert!(rejected(&[("sec-fetch-site", "cross-site")]));
        assert!(rejected(&[
            ("sec-fetch-site", "same-site"),
            ("origin", "http://[::1]"),
            ("host", "[::1]")
        ]));
        assert!(rejected(&[
            ("sec-fetch-site", "none"),
            ("sec-fetch-site", "cross-site")
        ]));
        assert!(rejected(&[
            ("origin", "http://evil.example"),
            ("host", "127.0.0.1:8080")
        ]));
        assert!(rejected(&[
            ("origin", "http://127.0.0.1:8081"),
            ("host", "127.0.0.1:8080")
        ]));
        assert!(rejected(&[("origin", "null"), ("host", "127.0.0.1:8080")]));
        assert!(rejected(&[
            ("sec-fetch-site", "same-origin"),
            ("origin", "http://a{b")
        ]));
    }

    #[test]
    fn compares_the_origin_with_the_authority_of_http2() {
        let headers = map(&[("origin", "http://localhost:1")]);
        let rejected =
            |uri: &str| rejection(&Method::POST, &headers, &uri.parse().unwrap(), true).is_some();
        assert!(!rejected("http://localhost:1/v1/grade"));
        assert!(rejected("http://localhost:2/v1/grade"));
    }

    #[test]
    fn rejects_malformed_hosts() {
        for host in [
            "a{b.evil.example",
            "a\"b",
            "a`b",
            "evil example",
            "%41.evil.example",
            "x@localhost",
            "",
            "localhost:",
        ] {
            assert!(
                rejected(&Method::GET, &[("host", host), ("sec-fetch-site", "none")]),
                "{host}"
            );
        }
        assert!(rejected(
            &Method::GET,
            &[("host", "localhost"), ("host", "localhost")]
        ));
        assert!(rejected(&Method::GET, &[("host", "evil.example")]));
        assert!(!rejected(&Method::GET, &[("host", "localhost:8080")]));
    }
}
