//! Logs, panics and metrics of the process, set up once by the binary.

mod collector;
mod export;
mod fields;
mod traces;

pub use collector::metrics;
pub(crate) use collector::sum_regularly;

use std::io::IsTerminal;
use std::time::Duration;

use tracing::Metadata;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::ConfigError;
use crate::config::{Log, LogFormat};
use crate::log_lines::{self, JsonLogLines, LogLines};

/// Waits until the log and the traces are written, for at most `timeout` each. Called before the
/// process exits.
pub fn flush(timeout: Duration) {
    traces::flush(timeout);
    log_lines::flush(timeout);
}

/// Sets up logging to stderr and the export of traces, and logs panics. Logging neither blocks nor
/// ends the process: lines that cannot be written are dropped.
///
/// # Errors
/// If the filter is malformed, or the export of traces or the thread of the log cannot be started.
/// Further calls have no effect and are not errors.
pub fn logs(log: &Log) -> Result<(), ConfigError> {
    let invalid = |origin: &str, message: String| ConfigError::Invalid {
        origin: origin.to_owned(),
        message,
    };
    let filter = log
        .env_filter()
        .map_err(|message| invalid("`log`", message))?;
    let writer = LogLines::stderr().map_err(|error| {
        invalid(
            "`log`",
            format!("cannot start the thread that writes the log: {error}"),
        )
    })?;
    let provider = (!log.traces.is_empty())
        .then(|| traces::provider(log.traces.reveal()))
        .transpose()
        .map_err(|reason| invalid("`log.traces`", reason))?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .with_ansi(std::io::stderr().is_terminal())
        // The default hook prints to stderr, and panics if that fails.
        .log_internal_errors(false);
    let lines = match log.format {
        LogFormat::Text => lines.fmt_fields(fields::visible()).boxed(),
        LogFormat::Json => lines.json().map_writer(JsonLogLines).boxed(),
    };
    let set = tracing_subscriber::registry()
        // The filter applies to events. Spans that lines contain are always created: an error has
        // the id of its request at any level. Without the hints, every trace event of libraries
        // would be passed to the filters, and the engine logs several for each exception.
        .with(
            lines.with_filter(
                filter_fn(traces::is_in_lines)
                    .with_max_level_hint(LevelFilter::INFO)
                    .or(filter.and(filter_fn(is_event).with_max_level_hint(LevelFilter::TRACE))),
            ),
        )
        .with(provider.as_ref().map(traces::layer))
        .try_init();
    if set.is_ok() {
        std::panic::set_hook(Box::new(|panic| {
            let location = panic
                .location()
                .map(ToString::to_string)
                .unwrap_or_default();
            tracing::error!(
                location,
                message = panic.payload_as_str().unwrap_or_default(),
                "a panic was caught"
            );
        }));
    }
    Ok(())
}

fn is_event(metadata: &Metadata<'_>) -> bool {
    metadata.is_event()
}
