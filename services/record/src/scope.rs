//! What one caller sees of the record: only what it recorded itself, with the names that it gave
//! its runs. What belongs to others does not exist for it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::access::{own_run, recorded_run};
use crate::job::Job;
use crate::{GradeFilter, RecordError, RunSummary, StoredGrade};

/// What a [`Record`](crate::Record) shows.
///
/// Bodies are not restricted: they are found only by hashes, which come from grades. Neither are
/// counts of channels, from which rewards are computed, names, for whose limits those of all
/// callers count, nor dataset checks.
#[derive(Debug, Clone)]
pub(crate) enum Scope {
    All,
    Caller(Arc<str>),
}

impl Scope {
    pub(crate) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Fails for a caller, who cannot delete.
    pub(crate) fn require_all(&self) -> Result<(), RecordError> {
        if self.is_all() {
            return Ok(());
        }
        Err(RecordError::Unavailable(
            "a caller cannot delete from the record; use a key of an operator".to_owned(),
        ))
    }

    /// The name under which a run is recorded.
    pub(crate) fn recorded<'r>(&self, run: &'r str) -> Cow<'r, str> {
        match self {
            Self::All => run.into(),
            Self::Caller(caller) => recorded_run(caller, run).into(),
        }
    }

    /// The filter with the caller and the recorded run; `None` if it matches only grades of others.
    pub(crate) fn own_filter(&self, filter: &GradeFilter) -> Option<GradeFilter> {
        let Self::Caller(own) = self else {
            return Some(filter.clone());
        };
        let other = filter.caller.as_ref();
        if other.is_some_and(|caller| **caller != **own) {
            return None;
        }
        Some(GradeFilter {
            caller: Some(own.to_string()),
            run: filter.run.as_deref().map(|run| recorded_run(own, run)),
            ..filter.clone()
        })
    }

    /// The grade with the name that its caller gave its run; `None` if it belongs to another
    /// caller.
    pub(crate) fn own_grade(&self, mut stored: StoredGrade) -> Option<StoredGrade> {
        let Self::Caller(own) = self else {
            return Some(stored);
        };
        if *stored.source.caller != **own {
            return None;
        }
        let run = stored.source.run.as_deref();
        stored.source.run = run.and_then(|run| own_run(own, run)).map(Into::into);
        Some(stored)
    }

    /// The caller whose jobs are shown; `None` for those of all.
    pub(crate) fn caller(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Caller(own) => Some(own),
        }
    }

    /// The job with the name that its caller gave its run.
    pub(crate) fn own_job(&self, job: Job) -> Job {
        let Self::Caller(own) = self else {
            return job;
        };
        let run = job.run.as_deref();
        let run = run.and_then(|run| own_run(own, run)).map(Into::into);
        Job { run, ..job }
    }

    /// The summary with the name that its caller gave the run; `None` if it belongs to another
    /// caller.
    pub(crate) fn own_summary(&self, mut summary: RunSummary) -> Option<RunSummary> {
        if let Self::Caller(own) = self {
            summary.run = own_run(own, &summary.run)?.to_owned();
        }
        Some(summary)
    }
}
