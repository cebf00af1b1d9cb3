//! Limits of a session, and those of all sessions of a node.

use std::path::PathBuf;
use std::time::Duration;

use assay_wire::sessions::{SessionBudget, SessionLimits};
use assay_worker::program::{Limits, WORK_PER_SECOND};

use crate::error::SessionError;

/// Maximum number of files of a call, also of those that it returns.
pub(crate) const MAX_FILES: usize = 256;

/// Maximum size of the files of a call in bytes, as those of a task.
pub(crate) const MAX_FILE_BYTES: usize = 4 << 20;

/// Maximum size of a journal in bytes. A fork has a copy of it.
pub(crate) const MAX_JOURNAL: u64 = 16 << 20;

/// Maximum number of calls of one session that run or wait. Later ones are rejected.
pub(crate) const MAX_WAITING: usize = 64;

/// Maximum number of forks of one request.
pub(crate) const MAX_FORKS: u32 = 256;

/// Maximum length of a name, in bytes.
const MAX_NAME: usize = 256;

/// Limits on all sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Folder of the files of sessions; `None` to keep them in memory only, until the node stops.
    pub folder: Option<PathBuf>,
    /// Bytes of states in memory. Beyond it, those used least recently are only in files; without a
    /// folder, calls that leave more are rejected.
    pub memory_bytes: u64,
    /// Bytes of states in files.
    pub disk_bytes: u64,
    /// Bytes of the state of one session.
    pub state_bytes: u64,
    /// Open sessions of all callers.
    pub open: usize,
    /// Open sessions of one caller.
    pub per_caller: usize,
    /// Time without a call after which a session ends.
    pub idle: Duration,
    /// Calls whose states are in memory for a worker at the same time, of which one caller has at
    /// most half.
    pub calls: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            folder: None,
            memory_bytes: 1 << 30,
            disk_bytes: 64 << 30,
            state_bytes: 64 << 20,
            open: 65_536,
            per_caller: 16_384,
            idle: Duration::from_secs(3_600),
            calls: 8,
        }
    }
}

/// Converts seconds of work, which are checked, to units of work.
pub(crate) fn work_of(seconds: f64) -> u64 {
    // At most 86,400 seconds of 2e10: below 2^53.
    (seconds * WORK_PER_SECOND as f64) as u64
}

/// Converts units of work to seconds.
pub(crate) fn seconds_of(work: u64) -> f64 {
    work as f64 / WORK_PER_SECOND as f64
}

/// Rejects limits that are out of range.
pub(crate) fn check(limits: &SessionLimits) -> Result<(), SessionError> {
    let SessionLimits {
        seconds,
        total_seconds,
        calls,
        memory_mb,
        output_kb,
        total_output_kb,
    } = *limits;
    check_seconds("/limits/seconds", seconds, 60.0)?;
    check_seconds("/limits/total_seconds", total_seconds, 86_400.0)?;
    let ranges = [
        ("calls", u64::from(calls), 1, 100_000),
        ("memory_mb", memory_mb, 96, 2_048),
        ("output_kb", output_kb, 1, 65_536),
        ("total_output_kb", total_output_kb, 1, 1 << 20),
    ];
    for (field, value, least, most) in ranges {
        if !(least..=most).contains(&value) {
            let message = format!("`{field}` must be {least} to {most}, not {value}");
            return Err(SessionError::invalid(format!("/limits/{field}"), message));
        }
    }
    Ok(())
}

/// Rejects a name that is empty or too long.
pub(crate) fn check_name(name: &str) -> Result<(), SessionError> {
    if (1..=MAX_NAME).contains(&name.len()) {
        return Ok(());
    }
    let message = format!("must have 1 to {MAX_NAME} bytes, not {}", name.len());
    Err(SessionError::invalid("/name", message))
}

/// Rejects seconds of work that are out of range.
pub(crate) fn check_seconds(pointer: &str, seconds: f64, most: f64) -> Result<(), SessionError> {
    if seconds > 0.0 && seconds <= most {
        return Ok(());
    }
    let message = format!("must be above 0 and at most {most}, not {seconds}");
    Err(SessionError::invalid(pointer, message))
}

/// What the calls of a session have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) calls: u32,
    pub(crate) work: u64,
    pub(crate) output_bytes: u64,
}

impl Used {
    /// What is left of the limits.
    pub(crate) fn remaining(&self, limits: &SessionLimits) -> SessionBudget {
        SessionBudget {
            seconds: seconds_of(work_of(limits.total_seconds).saturating_sub(self.work)),
            calls: limits.calls.saturating_sub(self.calls),
            output_bytes: (limits.total_output_kb << 10).saturating_sub(self.output_bytes),
        }
    }

    /// The limits of the next call, whose request limits its work to `seconds`.
    ///
    /// # Errors
    /// [`SessionError::Exhausted`].
    pub(crate) fn next_call(
        &self,
        limits: &SessionLimits,
        seconds: Option<f64>,
    ) -> Result<Limits, SessionError> {
        let exhausted = |limit, what| Err(SessionError::Exhausted { limit, what });
        let work_left = work_of(limits.total_seconds).saturating_sub(self.work);
        let output_left = (limits.total_output_kb << 10).saturating_sub(self.output_bytes);
        if self.calls >= limits.calls {
            return exhausted("calls", "calls");
        }
        if work_left == 0 {
            return exhausted("total_seconds", "work");
        }
        if output_left == 0 {
            return exhausted("total_output_kb", "output");
        }
        let seconds = seconds.map_or(limits.seconds, |seconds| seconds.min(limits.seconds));
        Ok(Limits {
            work: work_of(seconds).clamp(1, work_left),
            memory_bytes: limits.memory_mb << 20,
            output_bytes: (limits.output_kb << 10).min(output_left),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_limits_out_of_range_with_their_place() {
        let pointer = |change: fn(&mut SessionLimits)| {
            let mut limits = SessionLimits::default();
            change(&mut limits);
            match check(&limits) {
                Err(SessionError::Invalid { pointer, .. }) => pointer,
                other => format!("{other:?}"),
            }
        };
        assert_eq!(pointer(|_| {}), "Ok(())");
        assert_eq!(pointer(|limits| limits.seconds = 0.0), "/limits/seconds");
        assert_eq!(pointer(|limits| limits.seconds = 61.0), "/limits/seconds");
        assert_eq!(
            pointer(|limits| limits.total_seconds = f64::NAN),
            "/limits/total_seconds"
        );
        assert_eq!(pointer(|limits| limits.calls = 0), "/limits/calls");
        assert_eq!(pointer(|limits| limits.memory_mb = 95), "/limits/memory_mb");
        assert_eq!(
            pointer(|limits| limits.output_kb = 1 << 20),
            "/limits/output_kb"
        );
        assert_eq!(
            pointer(|limits| limits.total_output_kb = 0),
            "/limits/total_output_kb"
        );
    }

    #[test]
    fn a_call_gets_what_the_session_has_left() {
        let limits = SessionLimits {
            seconds: 2.0,
            total_seconds: 3.0,
            calls: 4,
            output_kb: 2,
            total_output_kb: 3,
            ..SessionLimits::default()
        };
        let mut used = Used::default();
        let next = used.next_call(&limits, None).unwrap();
        assert_eq!((next.work, next.output_bytes), (2 * WORK_PER_SECOND, 2_048));
        let next = used.next_call(&limits, Some(0.5)).unwrap();
        assert_eq!(next.work, WORK_PER_SECOND / 2);
        used = Used {
            calls: 3,
            work: 2 * WORK_PER_SECOND,
            output_bytes: 2_048,
        };
        let next = used.next_call(&limits, Some(60.0)).unwrap();
        assert_eq!((next.work, next.output_bytes), (WORK_PER_SECOND, 1_024));
        assert_eq!(used.remaining(&limits).seconds, 1.0);
        let exhausted = |used: Used| match used.next_call(&limits, None) {
            Err(SessionError::Exhausted { limit, .. }) => limit,
            other => panic!("{other:?}"),
        };
        assert_eq!(exhausted(Used { calls: 4, ..used }), "calls");
        let work = 3 * WORK_PER_SECOND;
        assert_eq!(exhausted(Used { work, ..used }), "total_seconds");
        let output_bytes = 3 << 10;
        assert_eq!(
            exhausted(Used {
                output_bytes,
                ..used
            }),
            "total_output_kb"
        );
    }
}
