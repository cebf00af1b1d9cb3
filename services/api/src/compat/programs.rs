//! Code of the routes that emulate code-execution servers.

use std::time::Duration;

use assay_access::metered;
use assay_core::execution::{ExecuteError, Execution, ExecutionFile, ExecutionResult};
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine};

use super::peer_error::PeerError;
use crate::Api;

/// Maximum wait for a sandbox worker. Clients disconnect ten seconds or more after the time limit
/// of the program, and the error that asks them to retry must arrive before that.
pub(super) const QUEUE_TIMEOUT: Duration = Duration::from_secs(8);

/// The message if no worker becomes free.
pub(super) const BUSY: &str = "all sandbox workers are busy; retry";

/// Some encoders omit the padding. Line breaks, which others such as Python's `encodebytes` write,
/// are removed before decoding.
static BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why a program did not run.
pub(super) enum NotRun {
    /// The node is busy or shutting down, or a quota is exceeded. The message, and the seconds
    /// after which a retry can succeed.
    Busy(String, u64),
    /// The message about a request for which a retry cannot succeed.
    Failed(String),
}

impl NotRun {
    fn busy() -> Self {
        Self::Busy(BUSY.to_owned(), 1)
    }
}

pub(super) fn file(path: &str, bytes: &[u8]) -> ExecutionFile {
    ExecutionFile {
        path: path.to_owned(),
        bytes: bytes.to_vec(),
    }
}

/// Admits and runs one program.
///
/// # Errors
/// [`NotRun`] if it did not run.
pub(super) async fn execute(api: &Api, execution: Execution) -> Result<ExecutionResult, NotRun> {
    let Ok(_admitted) = api.admit(1) else {
        return Err(NotRun::busy());
    };
    // Clients retry when the node is busy, which is what an exceeded quota requires.
    let charge = api.charge(1, 0).map_err(|error| match error.into() {
        PeerError::Busy(message, seconds) => NotRun::Busy(message, seconds),
        _ => NotRun::busy(),
    })?;
    let share = api.caller().share();
    let executed = metered(share, charge, api.programs().execute(execution)).await;
    executed.map_err(|error| match error {
        ExecuteError::Failed(fault) if !fault.retryable => NotRun::Failed(fault.message),
        ExecuteError::Busy | ExecuteError::Failed(_) => NotRun::busy(),
    })
}

/// The end of a message about an unavailable language: the languages that this node runs.
pub(super) fn this_node_runs(names: &[String]) -> String {
    if names.is_empty() {
        return "no image is installed on this node".to_owned();
    }
    format!("this node runs {}", names.join(", "))
}

/// Decodes base64, with or without line breaks and padding.
///
/// # Errors
/// If a byte is not a base64 digit, or the last group of digits is incomplete.
pub(super) fn from_base64(text: String) -> Result<Vec<u8>, DecodeError> {
    let mut digits = text.into_bytes();
    digits.retain(|byte| !byte.is_ascii_whitespace());
    BASE64.decode(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_can_have_line_breaks_and_lack_padding() {
        for text in ["YWI=", "YWI", "Y\r\nWI=\n", " YW I"] {
            assert_eq!(from_base64(text.to_owned()), Ok(b"ab".to_vec()), "{text:?}");
        }
        for text in ["?", "YW_-", "Y", "YWI=YWI="] {
            assert!(from_base64(text.to_owned()).is_err(), "{text:?}");
        }
        assert_eq!(from_base64(String::new()), Ok(Vec::new()));
    }

    #[test]
    fn messages_list_the_languages_of_the_node() {
        let names = ["`python`", "`nodejs`"].map(str::to_owned);
        assert_eq!(this_node_runs(&names), "this node runs `python`, `nodejs`");
        assert!(this_node_runs(&[]).contains("no image"));
    }
}
