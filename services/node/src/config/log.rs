//! The section `[log]`: which events are logged and how, and where traces are exported.

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{Directive, LevelFilter};

use super::error::shown;
use super::server_url::ServerUrl;

/// The filter by default.
const DEFAULT_FILTER: &str = "info";

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
        self.env_filter().map(drop)
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
        log.env_filter().map(|filter| filter.to_string())
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
