//! Log lines of batches with failed items, at a bounded rate: a broken grader may fail every batch.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_core::ErrorCode;
use assay_record::ItemGrade;

use crate::Batch;

/// Lines of a grader and code that are written without a pause.
const BURST: u32 = 10;

/// Time after which another line is written.
const INTERVAL: Duration = Duration::from_secs(10);

/// Longest message of a fault in a line, in bytes.
const MAX_MESSAGE: usize = 1_000;

/// Why items failed: grader and code.
type Kind = (Cow<'static, str>, ErrorCode);

/// Limits the lines of each grader and code, so that many failures of one kind do not hide others.
#[derive(Debug, Default)]
pub(crate) struct FailureLog {
    kinds: Mutex<BTreeMap<Kind, Allowed>>,
}

/// The lines of one grader and code.
#[derive(Debug)]
struct Allowed {
    /// Lines that may be written now.
    lines: u32,
    /// Monotonic time up to which `lines` were added.
    since: Duration,
    /// Batches without a line since the last line.
    omitted: u64,
}

impl FailureLog {
    /// Logs the failures of a finished batch in one line, unless there were too many such batches.
    /// The line describes the most frequent kind of failure.
    pub(crate) fn write<'g>(
        &self,
        batch: &Batch,
        grades: impl Iterator<Item = &'g ItemGrade>,
        now: Duration,
    ) {
        let mut kinds: BTreeMap<Kind, (usize, &ItemGrade)> = BTreeMap::new();
        for grade in grades.filter(|grade| grade.outcome == "failed") {
            let Some(fault) = &grade.error else { continue };
            let kind = (grade.grader.name.clone(), fault.code);
            kinds.entry(kind).or_insert((0, grade)).0 += 1;
        }
        let failed: usize = kinds.values().map(|(items, _)| items).sum();
        let Some((kind, (_, first))) = kinds.iter().max_by_key(|(_, (items, _))| *items) else {
            return;
        };
        let Some(omitted) = self.admit(kind, now) else {
            return;
        };
        let reason = first.error.as_ref().map_or("", |fault| &*fault.message);
        let all: Vec<String> = kinds
            .iter()
            .map(|((grader, code), (items, _))| format!("{grader} {code}: {items}"))
            .collect();
        tracing::warn!(
            failed,
            items = batch.items.len(),
            grader = %kind.0,
            code = kind.1.as_str(),
            reason = &reason[..reason.floor_char_boundary(MAX_MESSAGE)],
            all = all.join(", "),
            run = batch.run.as_deref(),
            step = batch.step,
            item = first.id.as_deref(),
            omitted,
            "items of a batch failed"
        );
    }

    /// Whether a line may be written: `Some` with the number of batches since the last one.
    fn admit(&self, kind: &Kind, now: Duration) -> Option<u64> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kinds.entry(kind.clone()).or_insert(Allowed {
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
        let at = |grader: &'static str, code, seconds| {
            log.admit(&(grader.into(), code), Duration::from_secs(seconds))
        };
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
