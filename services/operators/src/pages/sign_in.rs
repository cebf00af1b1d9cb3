//! Sign-in: exchanges a key for a cookie, with which a browser can open the pages.

use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::display::SafeText;
use crate::page::{Menu, Page};
use crate::query::Pairs;
use crate::site::Site;

/// Name of the cookie.
const COOKIE: &str = "assay_session";

/// How long a browser keeps the cookie. The session may end earlier.
const MAX_AGE: Duration = Duration::from_secs(8 * 60 * 60);

#[derive(Template)]
#[template(path = "sign_in.html")]
pub(crate) struct SignIn<'s> {
    menu: Menu,
    /// The page to show afterwards.
    then: String,
    message: Option<SafeText<'s>>,
}

/// The form.
pub(crate) async fn page(pairs: Pairs) -> Response {
    form(StatusCode::OK, then(&pairs), None)
}

/// The form with a message, in place of a page that needs a key.
pub(crate) fn form(status: StatusCode, then: String, message: Option<&str>) -> Response {
    let page = Page(SignIn {
        menu: Menu::new(None),
        then,
        message: message.map(SafeText),
    });
    (status, page).into_response()
}

/// Starts a session. It always has a new cookie: one that was set before, perhaps by someone else,
/// ends.
pub(crate) async fn sign_in(
    State(site): State<Site>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let pairs = Pairs::read(&body);
    let then = then(&pairs);
    if let Some(earlier) = session(&headers) {
        site.gate.sign_out(earlier);
    }
    if !site.gate.requires_key() {
        return Redirect::to(&then).into_response();
    }
    match site
        .gate
        .sign_in(pairs.get("key").unwrap_or_default().trim())
    {
        Ok(cookie) => {
            let age = MAX_AGE.as_secs();
            with_cookie(&site, &then, &format!("{cookie}; Max-Age={age}"))
        }
        Err(denied) => form(StatusCode::UNAUTHORIZED, then, Some(&denied.to_string())),
    }
}

/// Ends the session.
pub(crate) async fn sign_out(State(site): State<Site>, headers: HeaderMap) -> Response {
    if let Some(cookie) = session(&headers) {
        site.gate.sign_out(cookie);
    }
    with_cookie(&site, "/ui/sign-in", "; Max-Age=0")
}

/// A redirect that sets the cookie. Scripts cannot read it, and no request of another site has it.
fn with_cookie(site: &Site, address: &str, value: &str) -> Response {
    let mut response = Redirect::to(address).into_response();
    let secure = if site.secure { "; Secure" } else { "" };
    let cookie = format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict{secure}");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// The cookie of a request. If there are several, the browser was given one for a more specific
/// path by someone else, and none is used.
pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    let mut cookies = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='));
    cookies.next().filter(|_| cookies.next().is_none())
}

/// The page to show after the sign-in: one of this site.
fn then(pairs: &Pairs) -> String {
    let then = pairs.get("then").filter(|then| is_page(then));
    then.unwrap_or("/ui").to_owned()
}

fn is_page(address: &str) -> bool {
    let is_ui = address == "/ui" || address.starts_with("/ui/") || address.starts_with("/ui?");
    is_ui && !address.contains(|c: char| c.is_control() || c == '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_leads_only_to_pages() {
        let after = |query: &str| then(&Pairs::read(query));
        assert_eq!(after("then=/ui/runs%3Fa=b"), "/ui/runs?a=b");
        for query in [
            "",
            "then=//evil.example",
            "then=https://evil.example",
            "then=/ui//..%0d",
            "then=/uix",
            "then=/ui/%5c",
        ] {
            assert_eq!(after(query), "/ui", "{query}");
        }
    }

    #[test]
    fn reads_a_single_cookie() {
        let headers = |values: &[&'static str]| -> HeaderMap {
            let pair = |value: &&'static str| (header::COOKIE, HeaderValue::from_static(value));
            values.iter().map(pair).collect()
        };
        let of = |values: &[&'static str]| session(&headers(values)).map(str::to_owned);
        assert_eq!(of(&["a=b; assay_session=x"]), Some("x".to_owned()));
        assert_eq!(of(&["assay_session=x; assay_session=y"]), None);
        assert_eq!(of(&["assay_session=x", "assay_session=y"]), None);
        assert_eq!(of(&["xassay_session=x; assay_sessions=y"]), None);
    }
}
