//! Log lines of failed items, at a bounded rate: a broken grader may fail every item.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_core::{ErrorCode, Fault};

use crate::Batch;

/// Lines of a grader and code that are written without a pause.
const BURST: u32 = 10;

/// Time after which another line is written.
const INTERVAL: Duration = Duration::from_secs(10);

/// Longest message of a fault in a line, in bytes.
const MAX_MESSAGE: usize = 1_000;

/// Limits the lines of each grader and code, so that many failures of one kind do not hide others.
#[derive(Debug, Default)]
pub(crate) struct FailureLog {
    kinds: Mutex<BTreeMap<(&'static str, ErrorCode), Kind>>,
}

/// The lines of one grader and code.
#[derive(Debug)]
struct Kind {
    /// Lines that may be written now.
    lines: u32,
    /// Monotonic time up to which `lines` were added.
    since: Duration,
    /// Failures without a line since the last line.
    omitted: u64,
}

impl FailureLog {
    /// Logs a failure of an item of `batch`, unless there were too many.
    pub(crate) fn write(
        &self,
        grader: &'static str,
        fault: &Fault,
        batch: &Batch,
        item: usize,
        now: Duration,
    ) {
        let Some(omitted) = self.admit((grader, fault.code), now) else {
            return;
        };
        let reason = &fault.message[..fault.message.floor_char_boundary(MAX_MESSAGE)];
        tracing::warn!(
            grader,
            code = fault.code.as_str(),
            reason,
            run = batch.run.as_deref(),
            step = batch.step,
            item = batch.items[item].id.as_deref(),
            omitted,
            "an item failed"
        );
    }

    /// Whether a line may be written: `Some` with the number of failures since the last one.
    fn admit(&self, kind: (&'static str, ErrorCode), now: Duration) -> Option<u64> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kinds.entry(kind).or_insert(Kind {
            lines: BURST,
            since: now,
            omitted: 0,
        });
        let intervals = now.saturating_sub(known.since).as_secs() / INTERVAL.as_secs();
        let intervals = u32::try_from(intervals).unwrap_or(u32::MAX);
        known.since += INTERVAL.saturating_mul(intervals);
        known.lines = known.lines.saturating_add(intervals).min(BURST);
        if known.lines == 0 {
            known.omitted += 1;
            return None;
        }
        known.lines -= 1;
        Some(std::mem::take(&mut known.omitted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_the_lines_of_each_grader_and_code() {
        let log = FailureLog::default();
        let at = |grader, code, seconds| log.admit((grader, code), Duration::from_secs(seconds));
        let flood: Vec<_> = (0..1_000)
            .filter_map(|_| at("math", ErrorCode::Internal, 5))
            .collect();
        assert_eq!(flood, [0; BURST as usize]);
        // Others have lines of their own.
        assert_eq!(at("sql", ErrorCode::Internal, 5), Some(0));
        assert_eq!(at("math", ErrorCode::GraderPanicked, 5), Some(0));
        // Later lines say how many are missing.
        assert_eq!(at("math", ErrorCode::Internal, 14), None);
        assert_eq!(at("math", ErrorCode::Internal, 15), Some(991));
        assert_eq!(at("math", ErrorCode::Internal, 16), None);
        let after_a_day = (0..100).filter_map(|_| at("math", ErrorCode::Internal, 86_400));
        assert_eq!(after_a_day.count(), BURST as usize);
    }
}
