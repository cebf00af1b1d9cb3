//! The section `[log]`: which events are logged and how, and where traces are exported.

use assay_base::url::Url;
use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{Directive, LevelFilter};

use super::error::shown;
use super::server_url::ServerUrl;

/// The filter by default.
const DEFAULT_FILTER: &str = "info";

/// A directive that precedes those of the configuration. Errors contain what this target logs.
const SILENCED: &str = "rustls_platform_verifier=off";

/// Prefix of the targets of this project's crates.
const OWN_TARGETS: &str = "assay";

/// `[log]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// Filter in the syntax of `tracing`, such as `info,assay_engine=debug`; empty for `info`.
    pub filter: String,
    /// Format of log lines: `text` or `json`.
    pub format: LogFormat,
    /// URL of an OpenTelemetry collector that receives traces over HTTP, such as
    /// `http://127.0.0.1:4318`; empty for none.
    pub traces: ServerUrl,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            filter: DEFAULT_FILTER.to_owned(),
            format: LogFormat::Text,
            traces: ServerUrl::default(),
        }
    }
}

impl Log {
    pub(super) fn check(&self) -> Result<(), String> {
        self.env_filter().map(drop)?;
        if self.traces.is_empty() {
            return Ok(());
        }
        check_traces(self.traces.reveal())
    }

    /// The filter of log lines.
    ///
    /// # Errors
    /// A message, if the filter is malformed or contains a directive that would match nothing.
    pub(crate) fn env_filter(&self) -> Result<EnvFilter, String> {
        let directives: Vec<&str> = self
            .filter
            .split(',')
            .map(str::trim)
            .filter(|directive| !directive.is_empty())
            .collect();
        for directive in &directives {
            check_directive(directive)?;
        }
        let filter = match directives.join(",") {
            none if none.is_empty() => DEFAULT_FILTER.to_owned(),
            some => some,
        };
        let filter = format!("{SILENCED},{filter}");
        EnvFilter::try_new(filter).map_err(|error| format!("`log.filter` is malformed: {error}"))
    }
}

/// Checks a directive of a filter: a level, or a target or span with or without a level.
///
/// `tracing` reads a word that is not a level as a target with the level `trace`. With a misspelt
/// level, nothing would be logged. Targets of other crates therefore need a level.
fn check_directive(directive: &str) -> Result<(), String> {
    let (target, rest) = directive.split_at(directive.find(['=', '[']).unwrap_or(directive.len()));
    // After a span such as `[batch{run=1}]`, or directly after the target.
    let level = rest.rsplit_once(']').map_or(rest, |(_, level)| level);
    let is_level = || rest.is_empty() && target.parse::<LevelFilter>().is_ok();
    let is_known = target.is_empty()
        || level.starts_with('=')
        || target.starts_with(OWN_TARGETS)
        || is_level();
    if !is_known || target.contains(char::is_whitespace) {
        return Err(format!(
            "unknown level `{}` in `log.filter`; use `off`, `error`, `warn`, `info`, `debug`, \
             `trace`, or a target with a level, such as `assay_engine=debug`",
            shown(directive)
        ));
    }
    directive.parse::<Directive>().map(drop).map_err(|error| {
        format!(
            "malformed directive `{}` in `log.filter`: {error}",
            shown(directive)
        )
    })
}

/// Checks the URL of a collector, which may contain a password: no message contains it.
fn check_traces(url: &str) -> Result<(), String> {
    let is_http = |url: &Url<'_>| ["http", "https"].contains(&url.scheme);
    // Other hosts and paths are not sent as they are written.
    let is_host = |host: &str| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        !host.is_empty() && (host.starts_with('[') || host.chars().all(is_name))
    };
    let is_path = |path: &str| {
        path.chars()
            .all(|c| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c))
    };
    let url = Url::parse(url)
        .filter(|url| is_http(url) && is_host(url.host) && is_path(url.path))
        .ok_or("`log.traces` must be an HTTP URL such as `http://127.0.0.1:4318`")?;
    if url.user.is_some() {
        return Err(
            "`log.traces` must not contain a user name or password, which are not sent; set \
             headers with `OTEL_EXPORTER_OTLP_HEADERS`"
                .to_owned(),
        );
    }
    if url.query.is_some() || url.fragment.is_some() {
        return Err("`log.traces` must not contain a query or a fragment".to_owned());
    }
    if url.path.trim_end_matches('/').ends_with("/v1/traces") {
        return Err("leave out `/v1/traces` in `log.traces`; it is added".to_owned());
    }
    Ok(())
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(text: &str) -> Result<String, String> {
        let log = Log {
            filter: text.to_owned(),
            ..Log::default()
        };
        log.check()?;
        log.env_filter().map(|filter| {
            let printed = filter.to_string();
            let own = printed
                .split(',')
                .filter(|directive| *directive != SILENCED);
            own.collect::<Vec<_>>().join(",")
        })
    }

    #[test]
    fn accepts_levels_and_targets() {
        for (text, printed) in [
            ("info", "info"),
            ("WARN", "warn"),
            ("Off", "off"),
            ("4", "debug"),
            ("", "info"),
            (" , ", "info"),
            ("assay_engine", "assay_engine=trace"),
            ("tokio=debug", "tokio=debug"),
            ("tokio=", "tokio=trace"),
            ("tokio=5", "tokio=trace"),
        ] {
            assert_eq!(filter(text).as_deref(), Ok(printed), "{text}");
        }
        for text in [
            "info, assay_engine=debug",
            "off,assay::commands::serve=info",
            "[batch]",
            "[batch]=debug",
            "[{run=1}]=debug",
            "assay_engine[batch]",
            "hyper[request]=info",
        ] {
            assert!(filter(text).is_ok(), "{text}");
        }
    }

    fn traces(url: &str) -> Result<(), String> {
        let log = Log {
            traces: url.into(),
            ..Log::default()
        };
        log.check()
    }

    #[test]
    fn accepts_urls_of_collectors() {
        for url in [
            "",
            "http://127.0.0.1:4318",
            "http://127.0.0.1:4318/",
            "https://collector.example.org/otlp",
            "https://collector.example.org/v1",
            "http://[::1]:4318",
        ] {
            assert_eq!(traces(url), Ok(()), "{url}");
        }
    }

    #[test]
    fn rejects_urls_to_which_nothing_can_be_exported() {
        for (url, expected) in [
            ("/", "must be an HTTP URL"),
            ("127.0.0.1:4318", "must be an HTTP URL"),
            ("ftp://a", "must be an HTTP URL"),
            ("grpc://a:4317", "must be an HTTP URL"),
            ("http://", "must be an HTTP URL"),
            ("http://x:99999", "must be an HTTP URL"),
            ("http://a b", "must be an HTTP URL"),
            ("http://a/secret@b", "must be an HTTP URL"),
            ("http://a?key=secret", "a query or a fragment"),
            ("http://a#secret", "a query or a fragment"),
            ("http://me:secret@a", "`OTEL_EXPORTER_OTLP_HEADERS`"),
            ("http://a/v1/traces", "leave out `/v1/traces`"),
            ("http://a/otlp/v1/traces/", "leave out `/v1/traces`"),
        ] {
            let error = traces(url).unwrap_err();
            assert!(
                error.contains(expected)
                    && error.contains("`log.traces`")
                    && !error.contains("secret"),
                "{error}"
            );
        }
    }

    #[test]
    fn rejects_misspelt_levels() {
        for text in [
            "inof",
            "debgu",
            "warning",
            "6",
            "info;debug",
            "info debug",
            "tokio",
            "tokio[span]",
            "assay_engine=debug,inof",
            "assay_engine =debug",
        ] {
            let error = filter(text).unwrap_err();
            let directive = text.rsplit(',').next().unwrap();
            assert!(
                error.starts_with(&format!("unknown level `{directive}` in `log.filter`; ")),
                "{error}"
            );
        }
        for text in ["assay_engine=inof", "info,=[", "assay[batch"] {
            let error = filter(text).unwrap_err();
            assert!(error.contains("malformed directive"), "{error}");
        }
        let error = filter("postgres://me:secret@host").unwrap_err();
        assert!(error.contains("`***`"), "{error}");
    }
}
