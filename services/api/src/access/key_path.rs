//! Keys in paths, for clients that cannot send headers: `/k/KEY/v1/grade` is `/v1/grade` with this
//! key. The path is rewritten before anything else sees it, so that the key is in no log, span or
//! error.

use axum::extract::{OriginalUri, Request};
use http::uri::PathAndQuery;
use http::{Uri, header};

/// Start of such paths.
pub(crate) const KEYED_PATHS: &str = "/k/";

/// What may follow the key. Pages may not: a browser would send the key in `Referer` and keep it in
/// its history.
const ALLOWED: &[&str] = &["/v1/", "/compat/"];

/// A key from the path of a request.
#[derive(Clone)]
pub(crate) struct PathKey(String);

impl PathKey {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Moves the key of a path to an extension of the request.
pub(crate) fn split_key<B>(mut request: Request<B>) -> Request<B> {
    // A page that was opened with a key in its address sends it here.
    if let Some(referer) = request.headers().get(header::REFERER)
        && contains(referer.as_bytes(), KEYED_PATHS.as_bytes())
    {
        request.headers_mut().remove(header::REFERER);
    }
    let Some(rest) = request.uri().path().strip_prefix(KEYED_PATHS) else {
        return request;
    };
    let (key, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let key = PathKey(key.to_owned());
    let path = if ALLOWED.iter().any(|start| path.starts_with(start)) {
        match request.uri().query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        }
    } else {
        // No route has this path.
        KEYED_PATHS.to_owned()
    };
    let mut parts = request.uri().clone().into_parts();
    // The path is part of one that was parsed, so it parses as well.
    parts.path_and_query = Some(
        PathAndQuery::try_from(path).unwrap_or_else(|_| PathAndQuery::from_static(KEYED_PATHS)),
    );
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_else(|_| Uri::from_static(KEYED_PATHS));
    request.extensions_mut().remove::<OriginalUri>();
    request.extensions_mut().insert(key);
    request
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The path and key after rewriting.
    fn split(uri: &str) -> (String, Option<String>) {
        let request = Request::builder().uri(uri).body(()).unwrap();
        let request = split_key(request);
        let key = request.extensions().get::<PathKey>();
        let key = key.map(|key| key.as_str().to_owned());
        (request.uri().to_string(), key)
    }

    #[test]
    fn moves_the_key_out_of_the_path() {
        let key = Some("K".to_owned());
        assert_eq!(
            split("/k/K/v1/grade"),
            ("/v1/grade".to_owned(), key.clone())
        );
        assert_eq!(
            split("/k/K/compat/tei/predict?a=/k/b"),
            ("/compat/tei/predict?a=/k/b".to_owned(), key.clone())
        );
        assert_eq!(
            split("http://localhost:1/k/K/v1/runs"),
            ("http://localhost:1/v1/runs".to_owned(), key)
        );
        assert_eq!(split("/v1/grade"), ("/v1/grade".to_owned(), None));
    }

    #[test]
    fn paths_with_a_key_lead_nowhere_else() {
        for path in [
            "/k/K",
            "/k/K/",
            "/k/K/ui",
            "/k/K//v1/grade",
            "/k//v1/grade/..",
            "/k/K/k/K/v1/grade",
            "/k/K%2fv1/grade",
            "/k/K/%76%31/grade",
            "/k/K/../v1/grade",
            "/k/K/v1",
            "/k/K/docs",
        ] {
            let (path, key) = split(path);
            // An empty key is refused as malformed.
            let is_empty = key.as_deref() == Some("");
            assert!(path == KEYED_PATHS || is_empty, "{path} {key:?}");
        }
    }

    #[test]
    fn removes_referers_with_a_key() {
        let request = Request::builder()
            .uri("/v1/runs")
            .header(header::REFERER, "http://h/k/K/v1/x")
            .body(());
        let request = split_key(request.unwrap());
        assert!(request.headers().get(header::REFERER).is_none());
    }
}
