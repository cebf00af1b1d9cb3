//! Tracks the databases on which each statement has run.

use assay_worker::query::End;

use super::run::{Attempt, Each};

/// The progress of several statements through the same databases.
pub(super) struct Progress {
    /// The number of completed databases for each statement; all of them if no further one is
    /// needed.
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

    /// The first unfinished statement and its next database; `None` if all statements are finished.
    pub(super) fn next(&self) -> Option<(usize, usize)> {
        let statement = self.done.iter().position(|done| *done < self.databases)?;
        Some((statement, self.done[statement]))
    }

    /// The statement of [`Self::next`], and the later statements that have the same next database
    /// and whose run there is not `known`.
    pub(super) fn batch(&self, known: impl Fn(usize) -> bool) -> Vec<usize> {
        let Some((first, database)) = self.next() else {
            return Vec::new();
        };
        let others = first + 1..self.done.len();
        let on_same = others.filter(|other| self.done[*other] == database && !known(*other));
        std::iter::once(first).chain(on_same).collect()
    }

    /// Records a run of the statement of [`Self::next`], and passes it to `each`.
    pub(super) fn record(&mut self, attempt: Attempt, each: &mut Each<'_>) {
        if let Some((statement, _)) = self.next() {
            self.record_for(statement, attempt, each);
        }
    }

    /// Records a run of a statement and passes it to `each`, unless the statement is finished.
    pub(super) fn record_for(&mut self, statement: usize, attempt: Attempt, each: &mut Each<'_>) {
        if self.done[statement] < self.databases {
            let returned_rows = attempt.ran.end == End::Rows;
            let continues = each(statement, attempt) && returned_rows;
            self.done[statement] = if continues {
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
    fn stops_a_statement_without_rows_or_on_request() {
        for (end, continues) in [(End::OutOfSteps, true), (End::Rows, false)] {
            let mut progress = Progress::new(1, 3);
            let mut seen = 0;
            let mut each = |_: usize, _: Attempt| {
                seen += 1;
                continues
            };
            progress.record_for(0, attempt(end), &mut each);
            progress.record_for(0, attempt(End::Rows), &mut each);
            assert_eq!((progress.next(), seen), (None, 1));
        }
    }

    #[test]
    fn is_finished_without_databases() {
        assert_eq!(Progress::new(3, 0).next(), None);
    }
}
