//! How far statements are on their way through databases.

use assay_cell::query::End;

use super::{Attempt, Each};

/// For each statement the number of databases that are done; all of them when no further one is wanted.
pub(super) struct Progress {
    done: Vec<usize>,
    databases: usize,
}

impl Progress {
    pub(super) fn new(statements: usize, databases: usize) -> Self {
        Self { done: vec![0; statements], databases }
    }

    /// The first statement that is not through, and the database it comes to; `None` at the end.
    pub(super) fn next(&self) -> Option<(usize, usize)> {
        let statement = self.done.iter().position(|done| *done < self.databases)?;
        Some((statement, self.done[statement]))
    }

    /// The statement of [`Self::next`], and those behind it that come to the same database and are not `known` there.
    pub(super) fn beside(&self, known: impl Fn(usize) -> bool) -> Vec<usize> {
        let Some((first, database)) = self.next() else { return Vec::new() };
        let others = first + 1..self.done.len();
        let wanted = others.filter(|other| self.done[*other] == database && !known(*other));
        std::iter::once(first).chain(wanted).collect()
    }

    /// Hands over a run of the statement of [`Self::next`].
    pub(super) fn take(&mut self, attempt: Attempt, each: &mut Each<'_>) {
        if let Some((statement, _)) = self.next() {
            self.take_of(statement, attempt, each);
        }
    }

    /// Hands over a run of a statement, unless no further one is wanted.
    pub(super) fn take_of(&mut self, statement: usize, attempt: Attempt, each: &mut Each<'_>) {
        if self.done[statement] < self.databases {
            let gave_rows = attempt.ran.end == End::Rows;
            let goes_on = each(statement, attempt) && gave_rows;
            self.done[statement] = if goes_on { self.done[statement] + 1 } else { self.databases };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_cell::query::Ran;

    use super::*;

    fn attempt(end: End) -> Attempt {
        Attempt { ran: Arc::new(Ran::ended(end)), deterministic: true }
    }

    #[test]
    fn statements_go_through_all_databases_one_after_another() {
        let mut progress = Progress::new(2, 2);
        let mut seen = Vec::new();
        let mut each = |statement: usize, _: Attempt| {
            seen.push(statement);
            true
        };
        assert_eq!(progress.beside(|_| false), [0, 1]);
        assert_eq!(progress.beside(|other| other == 1), [0]);
        progress.take(attempt(End::Rows), &mut each);
        assert_eq!((progress.next(), progress.beside(|_| false)), (Some((0, 1)), vec![0]));
        progress.take(attempt(End::Rows), &mut each);
        progress.take_of(1, attempt(End::Rows), &mut each);
        progress.take_of(1, attempt(End::Rows), &mut each);
        assert_eq!((progress.next(), seen), (None, vec![0, 0, 1, 1]));
    }

    #[test]
    fn a_statement_ends_without_rows_and_when_no_more_are_wanted() {
        for (end, wanted) in [(End::OutOfSteps, true), (End::Rows, false)] {
            let mut progress = Progress::new(1, 3);
            let mut seen = 0;
            let mut each = |_: usize, _: Attempt| {
                seen += 1;
                wanted
            };
            progress.take_of(0, attempt(end), &mut each);
            progress.take_of(0, attempt(End::Rows), &mut each);
            assert_eq!((progress.next(), seen), (None, 1));
        }
    }

    #[test]
    fn without_databases_there_is_nothing_to_run() {
        assert_eq!(Progress::new(3, 0).next(), None);
    }
}
