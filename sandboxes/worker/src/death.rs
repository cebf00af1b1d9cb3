//! How the process of a worker ended.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The end of a process that should have answered. It is never the result of a request: a process
/// also dies when the system is out of memory or someone kills it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Death {
    reason: String,
    status: Option<ExitStatus>,
}

/// Signals that a process receives because of its own instructions.
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

    /// Whether the process was ended by its own instructions: not by an exit, nor by a signal such
    /// as the SIGKILL of the OOM killer.
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
