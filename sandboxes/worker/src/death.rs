//! How the process of a worker ended.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The end of a process that did not answer a request. It is never the result of the request: a
/// process may also die because the system is out of memory or because it is killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    reason: String,
    status: Option<ExitStatus>,
}

/// Signals that a process's own instructions cause.
const CRASHES: [i32; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
];

impl Death {
    pub(crate) fn new(reason: impl Into<String>, status: Option<ExitStatus>) -> Self {
        Self {
            reason: reason.into(),
            status,
        }
    }

    /// Whether a signal caused by its own instructions ended the process, rather than an exit or a
    /// signal from outside, such as the SIGKILL of the OOM killer.
    #[must_use]
    pub fn is_crash(&self) -> bool {
        self.status
            .and_then(|status| status.signal())
            .is_some_and(|signal| CRASHES.contains(&signal))
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "{}; the process ended with {status}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_signals_from_its_own_instructions_are_crashes() {
        let ended = |raw| Death::new("no answer", Some(ExitStatus::from_raw(raw)));
        assert!(ended(libc::SIGSEGV).is_crash() && ended(libc::SIGABRT).is_crash());
        assert!(!ended(libc::SIGKILL).is_crash() && !ended(libc::SIGTERM).is_crash());
        assert!(!ended(1 << 8).is_crash(), "an exit with status 1");
        assert!(!Death::new("no answer", None).is_crash());
    }
}
