//! Which databases each statement has been run on.

use assay_worker::query::End;

use super::{Attempt, Each};

/// For each statement the number of databases that are done; all of them if no further one is
/// needed.
pub(super) struct Progress {
    done: Vec<usize>,
    databases: usize,
}

impl Progress {
    pub(super) fn new(statements: usize, databases: usize) -> Self {
        Self {
            done: vec![0; statements],
            databases,
        }
    }

    /// The first unfinished statement and its next database; `None` at the end.
    pub(super) fn next(&self) -> Option<(usize, usize)> {
        let statement = self.done.iter().position(|done| *done < self.databases)?;
        Some((statement, self.done[statement]))
    }

    /// The statement of [`Self::next`], and later ones that are next on the same database and whose
    /// run there is not `known`.
    pub(super) fn batch(&self, known: impl Fn(usize) -> bool) -> Vec<usize> {
        let Some((first, database)) = self.next() else {
            return Vec::new();
        };
        let others = first + 1..self.done.len();
        let wanted = others.filter(|other| self.done[*other] == database && !known(*other));
        std::iter::once(first).chain(wanted).collect()
    }

    /// Passes on a run of the statement of [`Self::next`].
    pub(super) fn record(&mut self, attempt: Attempt, each: &mut Each<'_>) {
        if let Some((statement, _)) = self.next() {
            self.record_for(statement, attempt, each);
        }
    }

    /// Passes on a run of a statement, unless it is finished.
    pub(super) fn record_for(&mut self, statement: usize, attempt: Attempt, each: &mut Each<'_>) {
        if self.done[statement] < self.databases {
            let gave_rows = attempt.ran.end == End::Rows;
            let goes_on = each(statement, attempt) && gave_rows;
            self.done[statement] = if goes_on {
                self.done[statement] + 1
            } else {
                self.databases
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_worker::query::Ran;

    use super::*;

    fn attempt(end: End) -> Attempt {
        Attempt {
            ran: Arc::new(Ran::ended(end)),
            deterministic: true,
        }
    }

    #[test]
    fn statements_run_on_all_databases_in_order() {
        let mut progress = Progress::new(2, 2);
        let mut seen = Vec::new();
        let mut each = |statement: usize, _: Attempt| {
            seen.push(statement);
            true
        };
        assert_eq!(progress.batch(|_| false), [0, 1]);
        assert_eq!(progress.batch(|other| other == 1), [0]);
        progress.record(attempt(End::Rows), &mut each);
        assert_eq!(
            (progress.next(), progress.batch(|_| false)),
            (Some((0, 1)), vec![0])
        );
        progress.record(attempt(End::Rows), &mut each);
        progress.record_for(1, attempt(End::Rows), &mut each);
        progress.record_for(1, attempt(End::Rows), &mut each);
        assert_eq!((progress.next(), seen), (None, vec![0, 0, 1, 1]));
    }

    #[test]
    fn a_statement_stops_without_rows_or_on_request() {
        for (end, wanted) in [(End::OutOfSteps, true), (End::Rows, false)] {
            let mut progress = Progress::new(1, 3);
            let mut seen = 0;
            let mut each = |_: usize, _: Attempt| {
                seen += 1;
                wanted
            };
            progress.record_for(0, attempt(end), &mut each);
            progress.record_for(0, attempt(End::Rows), &mut each);
            assert_eq!((progress.next(), seen), (None, 1));
        }
    }

    #[test]
    fn rejects_tasks_without_databases() {
        assert_eq!(Progress::new(3, 0).next(), None);
    }
}
