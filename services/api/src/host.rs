//! Parses the host of a request from `Host`, `:authority` and `Origin`. Anything but a plain name
//! or address is rejected: if two parsers interpreted the same host differently, a page of another
//! site could pass for one of this service.

use std::net::{IpAddr, Ipv6Addr};

use http::{HeaderMap, Uri, header};

/// Maximum length of a host name (RFC 1035).
const MAX_NAME_LENGTH: usize = 253;

/// A host as a browser sends it: a lower-case name or an address, and a port unless it is the
/// scheme's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    /// Parses `name`, `name:port`, `[address]` or `[address]:port`. User information, percent
    /// escapes, empty labels and empty ports are rejected.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                (address.parse::<Ipv6Addr>().ok()?.to_string(), port)
            }
            None => {
                let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                // A trailing dot only marks the name as fully qualified.
                let name = name.strip_suffix('.').unwrap_or(name);
                (is_name(name).then(|| name.to_ascii_lowercase())?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            Some(digits) => Some(parse_port(digits)?),
            None if port.is_empty() => None,
            None => return None,
        };
        Some(Self { name, port })
    }

    /// Whether this is a name of the local machine or an address, neither of which another site can
    /// use as its own name.
    pub(crate) fn is_local(&self) -> bool {
        let name = self.name.as_str();
        name == "localhost" || name.ends_with(".localhost") || name.parse::<IpAddr>().is_ok()
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    name.len() <= MAX_NAME_LENGTH
        && name
            .split('.')
            .all(|label| !label.is_empty() && label.bytes().all(allowed))
}

fn parse_port(digits: &str) -> Option<u16> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Why the host of a request cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadHost {
    /// There are several `Host` headers, or `Host` differs from the request target.
    Several,
    /// It is not a name or address.
    Unreadable(String),
}

/// The host that a request was sent to; `None` if it has none, as HTTP/1.0 allows.
pub(crate) fn requested(headers: &HeaderMap, uri: &Uri) -> Result<Option<Host>, BadHost> {
    let mut values = headers.get_all(header::HOST).iter();
    let in_header = values
        .next()
        .map(|host| read(host.as_bytes()))
        .transpose()?;
    let in_target = uri
        .authority()
        .map(|authority| read(authority.as_str().as_bytes()))
        .transpose()?;
    let differs = matches!((&in_header, &in_target), (Some(one), Some(other)) if one != other);
    if values.next().is_some() || differs {
        return Err(BadHost::Several);
    }
    Ok(in_target.or(in_header))
}

fn read(bytes: &[u8]) -> Result<Host, BadHost> {
    let text = String::from_utf8_lossy(bytes);
    Host::parse(&text).ok_or_else(|| BadHost::Unreadable(text.into_owned()))
}

/// The value of `Origin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// No header: not a browser, or a plain navigation.
    Absent,
    /// `null`: the browser does not reveal it.
    Opaque,
    /// A page of this host.
    Of(Host),
    /// Several headers, or something that is not an origin.
    Unreadable,
}

/// Parses `Origin`.
pub(crate) fn origin(headers: &HeaderMap) -> Origin {
    let mut values = headers.get_all(header::ORIGIN).iter();
    let Some(value) = values.next() else {
        return Origin::Absent;
    };
    let host = value
        .to_str()
        .ok()
        .filter(|_| values.next().is_none())
        .and_then(|text| {
            if text == "null" {
                return Some(Origin::Opaque);
            }
            let (scheme, host) = text.split_once("://")?;
            let host = Host::parse(host)?;
            matches!(scheme, "http" | "https").then_some(Origin::Of(host))
        });
    host.unwrap_or(Origin::Unreadable)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(name: &header::HeaderName, values: &[&str]) -> HeaderMap {
        let value = |text: &&str| HeaderValue::from_bytes(text.as_bytes()).unwrap();
        values
            .iter()
            .map(|text| (name.clone(), value(text)))
            .collect()
    }

    #[test]
    fn parses_names_and_addresses() {
        let read = |text: &str| Host::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(
            read("LOCALHOST:8080"),
            Host {
                name: "localhost".into(),
                port: Some(8080)
            }
        );
        assert_eq!(
            read("[0:0::1]:80"),
            Host {
                name: "::1".into(),
                port: Some(80)
            }
        );
        assert_eq!(read("localhost.:1"), read("localhost:1"));
        assert_eq!(
            read("a-b_c.example"),
            Host {
                name: "a-b_c.example".into(),
                port: None
            }
        );
    }

    #[test]
    fn rejects_malformed_hosts() {
        let bad = [
            "",
            ":80",
            "a:",
            "a:b",
            "a:+1",
            "a:65536",
            "a:1:2",
            "a b",
            " a",
            "a{b",
            "a\"b",
            "a`b",
            "%41",
            "x@localhost",
            "localhost/",
            "a..b",
            ".a",
            "a..",
            ".",
            "[::1",
            "[::1]80",
            "[fe80::1%eth0]",
            "[127.0.0.1]",
            "::1",
            "é",
            "a,b",
        ];
        for text in bad {
            assert_eq!(Host::parse(text), None, "{text}");
        }
        assert_eq!(Host::parse(&"a".repeat(MAX_NAME_LENGTH + 1)), None);
    }

    #[test]
    fn distinguishes_local_hosts_from_names_of_other_sites() {
        let local = |text: &str| Host::parse(text).is_some_and(|host| host.is_local());
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "assay.localhost",
            "127.0.0.1:1",
            "[::1]:8080",
            "10.0.0.7",
        ] {
            assert!(local(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:8080",
            "127.0.0.1.evil.example",
            "2130706433",
        ] {
            assert!(!local(host), "{host}");
        }
    }

    #[test]
    fn rejects_several_hosts() {
        let target = |text: &str| text.parse::<Uri>().unwrap();
        let requested_by =
            |hosts: &[&str], uri: &str| requested(&headers(&header::HOST, hosts), &target(uri));
        assert_eq!(requested_by(&[], "/"), Ok(None));
        assert_eq!(
            requested_by(&["localhost"], "/"),
            Ok(Host::parse("localhost"))
        );
        assert_eq!(
            requested_by(&[], "http://localhost/"),
            Ok(Host::parse("localhost"))
        );
        assert_eq!(
            requested_by(&["LOCALHOST"], "http://localhost/"),
            Ok(Host::parse("localhost"))
        );
        assert_eq!(
            requested_by(&["localhost", "localhost"], "/"),
            Err(BadHost::Several)
        );
        assert_eq!(
            requested_by(&["localhost"], "http://evil.example/"),
            Err(BadHost::Several)
        );
        assert_eq!(
            requested_by(&["a b"], "/"),
            Err(BadHost::Unreadable("a b".into()))
        );
        assert_eq!(
            requested_by(&[""], "/"),
            Err(BadHost::Unreadable(String::new()))
        );
    }

    #[test]
    fn parses_origins() {
        let read = |values: &[&str]| origin(&headers(&header::ORIGIN, values));
        assert_eq!(read(&[]), Origin::Absent);
        assert_eq!(read(&["null"]), Origin::Opaque);
        assert_eq!(
            read(&["http://a:1"]),
            Origin::Of(Host::parse("a:1").unwrap())
        );
        for bad in [
            &["http://a", "http://a"][..],
            &["a"],
            &["http://"],
            &["http://x@a"],
            &["http://a/"],
            &["x://a"],
        ] {
            assert_eq!(read(bad), Origin::Unreadable, "{bad:?}");
        }
    }
}
