//! Tables as text that is Markdown too. Owns their form and nothing that stands in them.

use std::fmt;

use crate::noise::experiments::{Cell, EARLIER_ERROR, Experiment};
use crate::noise::training::{Case, Mean, Outcome};

/// Rows of text under a heading, columns as wide as their widest text.
#[derive(Debug, Clone)]
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    /// Without rows.
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

/// What came out of each case, by case.
#[derive(Debug, Clone)]
pub(crate) struct Outcomes(pub(crate) Vec<(Case, Outcome)>);

impl Outcomes {
    /// Of this case; `None` if it was not run.
    pub(crate) fn of(&self, case: &Case) -> Option<Outcome> {
        self.0
            .iter()
            .find(|(known, _)| known == case)
            .map(|(_, outcome)| *outcome)
    }

    /// True accuracy after training, with its error and the earlier number.
    pub(crate) fn table(&self, experiment: &Experiment) -> Table {
        let mut table = Table::new(experiment.columns.iter().copied());
        for (label, cells) in &experiment.rows {
            let texts = cells
                .iter()
                .map(|cell| cell.map_or_else(String::new, |cell| self.text(&cell)));
            table.row(std::iter::once(label.clone()).chain(texts));
        }
        table
    }

    fn text(&self, cell: &Cell) -> String {
        let Some(outcome) = self.of(&cell.case) else {
            return String::new();
        };
        beside(outcome.accuracy, cell.earlier)
    }

    /// Comparisons with earlier accuracies: how many there are, and those that differ by more than
    /// twice the standard error of the difference. The earlier number of 8 seeds has at least the
    /// error that this scatter gives 8 seeds.
    pub(crate) fn agreement(&self, experiments: &[Experiment], seeds: u64) -> (usize, Vec<String>) {
        let of_eight = (f64::from(u32::try_from(seeds).unwrap_or(u32::MAX)) / 8.0).sqrt();
        let (mut seen, mut apart): (Vec<Case>, Vec<String>) = (Vec::new(), Vec::new());
        for experiment in experiments {
            for (label, cells) in &experiment.rows {
                for cell in cells.iter().flatten().filter(|cell| cell.earlier.is_some()) {
                    let (Some(earlier), Some(outcome)) = (cell.earlier, self.of(&cell.case)) else {
                        continue;
                    };
                    if seen.contains(&cell.case) {
                        continue;
                    }
                    seen.push(cell.case);
                    let Mean { value, error } = outcome.accuracy;
                    let errors =
                        (value - earlier) / error.hypot((of_eight * error).max(EARLIER_ERROR));
                    if errors.abs() > 2.0 {
                        let name = cell.case.estimator.name();
                        apart.push(format!(
                            "{}; {label}; {name}: {value:.3} for {earlier:.3}, {errors:+.1} \
                             standard errors",
                            experiment.title
                        ));
                    }
                }
            }
        }
        (seen.len(), apart)
    }
}

/// A mean, its error in the last digits, and the earlier number.
pub(crate) fn beside(mean: Mean, earlier: Option<f64>) -> String {
    let earlier = earlier.map_or_else(String::new, |earlier| format!(" [{earlier:.3}]"));
    format!("{:.3} ± {:.3}{earlier}", mean.value, mean.error)
}
