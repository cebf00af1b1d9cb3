//! An error in one line with what caused it: the outermost alone says little.

use std::error::Error;

/// The error and its causes, the outermost first, with colons between.
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
