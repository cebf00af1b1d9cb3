//! Markdown tables.

use std::fmt;

use crate::noise::experiments::Experiment;
use crate::noise::training::{Case, Mean, Outcome};

/// A heading and rows of text; columns are as wide as their widest text.
#[derive(Debug, Clone)]
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    /// A table without rows.
    pub(crate) fn new<Text: Into<String>>(columns: impl IntoIterator<Item = Text>) -> Self {
        Self(vec![columns.into_iter().map(Into::into).collect()])
    }

    /// Adds a row, which may be shorter than the heading.
    pub(crate) fn row<Text: Into<String>>(&mut self, cells: impl IntoIterator<Item = Text>) {
        self.0.push(cells.into_iter().map(Into::into).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.0.first().map_or(0, Vec::len);
        let text = |row: &'_ [String], at: usize| row.get(at).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|at| {
                self.0
                    .iter()
                    .map(|row| text(row, at).chars().count())
                    .max()
                    .unwrap_or(0)
                    .max(3)
            })
            .collect();
        for (number, row) in self.0.iter().enumerate() {
            for (at, width) in widths.iter().enumerate() {
                write!(f, "| {:width$} ", text(row, at))?;
            }
            writeln!(f, "|")?;
            if number == 0 {
                widths
                    .iter()
                    .try_for_each(|width| write!(f, "|{:-<1$}", "", width + 2))?;
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

/// Outcomes by case.
#[derive(Debug, Clone)]
pub(crate) struct Outcomes(pub(crate) Vec<(Case, Outcome)>);

impl Outcomes {
    /// The outcome of a case; `None` if it was not run.
    pub(crate) fn of(&self, case: &Case) -> Option<Outcome> {
        self.0
            .iter()
            .find(|(known, _)| known == case)
            .map(|(_, outcome)| *outcome)
    }

    /// True accuracy after training with its standard error.
    pub(crate) fn table(&self, experiment: &Experiment) -> Table {
        let mut table = Table::new(experiment.columns.iter().copied());
        for (label, cases) in &experiment.rows {
            let texts = cases.iter().map(|case| {
                let outcome = case.and_then(|case| self.of(&case));
                outcome.map_or_else(String::new, |outcome| with_error(outcome.accuracy))
            });
            table.row(std::iter::once(label.clone()).chain(texts));
        }
        table
    }
}

/// Formats a mean with its standard error.
pub(crate) fn with_error(mean: Mean) -> String {
    format!("{:.3} ± {:.3}", mean.value, mean.error)
}
