//! Writers for standard output and standard error that escape untrusted text for the terminal.

use std::io::{StderrLock, StdoutLock};

use assay_core::visible::{self, VisibleWriter};
use serde::Serialize;

/// Standard output, for text.
pub(crate) fn stdout() -> VisibleWriter<StdoutLock<'static>> {
    VisibleWriter(std::io::stdout().lock())
}

/// Standard error, for text.
pub(crate) fn stderr() -> VisibleWriter<StderrLock<'static>> {
    VisibleWriter(std::io::stderr().lock())
}

/// Serialises a value as JSON on one line.
pub(crate) fn json(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string(value).map(|json| visible::json(&json))
}

/// Serialises a value as indented JSON.
pub(crate) fn pretty(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|json| visible::json(&json))
}
