//! Splits URLs into their parts, and hides passwords in URLs that are printed.

use std::net::Ipv6Addr;

/// Replaces what is hidden.
const HIDDEN: &str = "***";

/// Query parameters whose values are printed. All others are hidden, because a password can be in
/// any of them.
const HARMLESS: &[&str] = &[
    "application_name",
    "cache",
    "connect_timeout",
    "dbname",
    "host",
    "immutable",
    "mode",
    "port",
    "sslmode",
    "ssl-mode",
    "user",
];

/// The parts of a URL, as they are written. Percent-encoding is not decoded. Has no `Debug`,
/// because a part can contain a password.
pub struct Url<'t> {
    /// The text before `://`.
    pub scheme: &'t str,
    /// The user name and, after a colon, the password; the text before the last `@` of the
    /// authority.
    pub user: Option<&'t str>,
    /// The host; an IPv6 address is in brackets. May be empty.
    pub host: &'t str,
    /// The port.
    pub port: Option<u16>,
    /// The path with its leading slash; may be empty.
    pub path: &'t str,
    /// The text between `?` and `#`.
    pub query: Option<&'t str>,
    /// The text after `#`.
    pub fragment: Option<&'t str>,
}

impl<'t> Url<'t> {
    /// Splits a URL with an authority, such as `http://host:1/path`; `None` for any other text.
    #[must_use]
    pub fn parse(text: &'t str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        // Some parsers read a backslash as a slash, and remove tabs and line breaks.
        let is_ambiguous = |c: char| c.is_whitespace() || c.is_control() || c == '\\';
        if !is_scheme(scheme) || rest.contains(is_ambiguous) {
            return None;
        }
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (rest, fragment) = split(rest, '#');
        let (path, query) = split(rest, '?');
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, authority),
        };
        let (host, port) = split_address(address)?;
        Some(Self {
            scheme,
            user,
            host,
            port,
            path,
            query,
            fragment,
        })
    }
}

/// The URL as it may be printed: passwords and all query values that can contain one are `***`. If
/// the text is not a URL, or may be one whose password contains a separator that is not
/// percent-encoded, only its scheme is printed.
#[must_use]
pub fn redacted(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    // An `@` after the authority may end a password such as `12/34`.
    let has_at = |part: &str| part.contains('@');
    let url = Url::parse(text).filter(|url| !has_at(url.path) && !url.fragment.is_some_and(has_at));
    let Some(url) = url else {
        return match text.split_once("://") {
            Some((scheme, _)) if is_scheme(scheme) => format!("{scheme}://{HIDDEN}"),
            _ => HIDDEN.to_owned(),
        };
    };
    let user = url.user.map(|user| redacted_user(url.scheme, user));
    let port = url.port.map(|port| format!(":{port}"));
    let query = url.query.map(|query| {
        let pairs: Vec<String> = query.split('&').map(redacted_pair).collect();
        format!("?{}", pairs.join("&"))
    });
    // A password in the query that contains `#` continues in the fragment.
    let fragment = url.fragment.map(|_| format!("#{HIDDEN}"));
    [
        url.scheme,
        "://",
        &user.unwrap_or_default(),
        url.host,
        &port.unwrap_or_default(),
        url.path,
        &query.unwrap_or_default(),
        &fragment.unwrap_or_default(),
    ]
    .concat()
}

/// The user name, an `@`, and whether there is a password.
fn redacted_user(scheme: &str, user: &str) -> String {
    let (name, password) = split(user, ':');
    // Without a password, the user name of an HTTP URL is usually a token.
    let is_token = password.is_none() && matches!(scheme, "http" | "https");
    let name = if is_plain(name) && !is_token {
        name
    } else {
        HIDDEN
    };
    match password {
        Some(_) => format!("{name}:{HIDDEN}@"),
        None => format!("{name}@"),
    }
}

fn redacted_pair(pair: &str) -> String {
    let is_printed = |text: &str| text.split('/').all(is_plain);
    match pair.split_once('=') {
        Some((key, value)) if HARMLESS.contains(&key) && is_printed(value) => pair.to_owned(),
        Some((key, _)) if is_plain(key) => format!("{key}={HIDDEN}"),
        None if pair.is_empty() => String::new(),
        _ => HIDDEN.to_owned(),
    }
}

/// Whether a text consists of letters, digits and punctuation that separates nothing in a URL. True
/// for an empty text.
fn is_plain(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// The text before and after the first `separator`.
fn split(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// The host and port; `None` if either is malformed.
fn split_address(address: &str) -> Option<(&str, Option<u16>)> {
    let end = if address.starts_with('[') {
        address.find(']')? + 1
    } else {
        address.find(':').unwrap_or(address.len())
    };
    let (host, rest) = address.split_at(end);
    let is_host = match host.strip_prefix('[') {
        Some(address) => address.strip_suffix(']')?.parse::<Ipv6Addr>().is_ok(),
        None => host
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | '%' | ',')),
    };
    let port = match rest.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().ok()?)
        }
        None if rest.is_empty() => None,
        _ => return None,
    };
    is_host.then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_urls() {
        let url = Url::parse("http://me:p@ss@[::1]:80/a/b?c=d?#e").unwrap();
        assert_eq!(
            (url.scheme, url.user, url.host, url.port),
            ("http", Some("me:p@ss"), "[::1]", Some(80))
        );
        assert_eq!(
            (url.path, url.query, url.fragment),
            ("/a/b", Some("c=d?"), Some("e"))
        );
        let url = Url::parse("postgres:///db").unwrap();
        assert_eq!((url.user, url.host, url.port), (None, "", None));
        assert_eq!((url.path, url.query, url.fragment), ("/db", None, None));
        for malformed in [
            "",
            "/",
            "host:80",
            "://host",
            "a b://host",
            "http://host:99999",
            "http://host:",
            "http://host:+1",
            "http://a b",
            "http://a\\b",
            "http://[::1",
            "http://[::1]x",
            "http://[x]",
            "http://***",
        ] {
            assert!(Url::parse(malformed).is_none(), "{malformed}");
        }
    }

    #[test]
    fn prints_urls_without_passwords_as_they_are() {
        for url in [
            "",
            "http://127.0.0.1:4318",
            "https://huggingface.co",
            "https://host/a/b/",
            "http://[::1]:80",
            "postgres://me@host:5432/db?sslmode=require&host=/run/postgresql",
            "postgres:///db",
            "sqlite:///tmp/assay.db?mode=rwc",
            "mysql://x",
        ] {
            assert_eq!(redacted(url), url);
        }
    }

    #[test]
    fn hides_passwords() {
        for (url, printed) in [
            (
                "postgres://me:a@b:c@host:5/db",
                "postgres://me:***@host:5/db",
            ),
            (
                "postgres://me@host/db?password=a@b",
                "postgres://me@host/db?password=***",
            ),
            (
                "postgres://host:5432/db?user=me&password=p@ss",
                "postgres://host:5432/db?user=me&password=***",
            ),
            (
                "postgres://host/db?password=x&password=SECRET",
                "postgres://host/db?password=***&password=***",
            ),
            (
                "postgres://host/db?pass%77ord=SECRET",
                "postgres://host/db?***",
            ),
            ("postgres://host/db?SECRET", "postgres://host/db?***"),
            ("postgres://host?user=me:SECRET", "postgres://host?user=***"),
            (
                "postgres://host/db?password=a#SECRET",
                "postgres://host/db?password=***#***",
            ),
            ("postgres://me%3ASECRET@host", "postgres://***@host"),
            ("http://me:SECRET@host:1", "http://me:***@host:1"),
            ("https://SECRET@host", "https://***@host"),
            // Passwords with separators that are not percent-encoded.
            ("postgres://me:SEC/RET@host/db", "postgres://***"),
            ("postgres://me:12/SECRET@host/db", "postgres://***"),
            ("postgres://me:12#SECRET@host/db", "postgres://***"),
            ("postgres://me:12?SECRET@host/db", "postgres://me:12?***"),
            ("postgres://me:SEC RET@host/db", "postgres://***"),
            ("postgres://me:SECRET", "postgres://***"),
            ("me:SECRET@host", "***"),
            ("me:SECRET://host", "***"),
            ("SECRET", "***"),
        ] {
            assert_eq!(redacted(url), printed, "{url}");
            assert_eq!(redacted(printed), printed, "the result has no password");
        }
    }
}
