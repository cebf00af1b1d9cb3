//! Formats an error with its causes, because the outermost error alone often lacks the reason.

use std::error::Error;

/// The error and its causes, outermost first, separated by colons. A cause is left out if the text
/// contains it already, because the messages of many errors end with their cause.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let message = inner.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Failure {
        #[error("disk full")]
        Disk,
        #[error("cannot write: {0}")]
        Quoting(#[source] Box<Failure>),
        #[error("cannot copy")]
        Silent(#[source] Box<Failure>),
    }

    #[test]
    fn every_cause_is_named_once() {
        let quoting = Failure::Quoting(Box::new(Failure::Disk));
        assert_eq!(with_causes(&quoting), "cannot write: disk full");
        let silent = Failure::Silent(Box::new(quoting));
        assert_eq!(with_causes(&silent), "cannot copy: cannot write: disk full");
    }
}
