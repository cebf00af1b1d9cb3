//! The style sheet, the script and the icon, which are embedded in the binary. Browsers revalidate
//! them on every page and receive `304` until the binary changes.

use std::sync::LazyLock;

use assay_core::Hash;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};

use crate::failure::Failure;

struct Asset {
    name: &'static str,
    media: &'static str,
    content: &'static str,
    etag: String,
}

static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        (
            "pages.css",
            "text/css; charset=utf-8",
            include_str!("../assets/pages.css"),
        ),
        (
            "pages.js",
            "text/javascript; charset=utf-8",
            include_str!("../assets/pages.js"),
        ),
        (
            "icon.svg",
            "image/svg+xml",
            include_str!("../assets/icon.svg"),
        ),
    ]
    .map(|(name, media, content)| Asset {
        name,
        media,
        content,
        etag: format!("\"{}\"", Hash::of(content.as_bytes())),
    })
});

pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return Failure::not_found(format!("no asset `{name}`")).into_response();
    };
    let cached = [
        (header::ETAG, asset.etag.as_str()),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    // The compression layer makes the tag weak.
    if known
        .split(',')
        .any(|tag| tag.trim().trim_start_matches("W/") == asset.etag)
    {
        return (StatusCode::NOT_MODIFIED, cached).into_response();
    }
    (cached, [(header::CONTENT_TYPE, asset.media)], asset.content).into_response()
}
