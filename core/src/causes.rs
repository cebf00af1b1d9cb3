//! Formats an error with its causes, because the outermost error alone often lacks the reason.

use std::error::Error;

/// The error and its causes, outermost first, separated by colons.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
