//! What grading again found: new verdicts by stored verdict, and grades that were not graded again.

use std::collections::BTreeSet;

use assay_wire::replays::{ReplaySummary, ReplayedGrader, VerdictPair};
use serde_json::{Map, Value};

use crate::display::{count, text};

/// What grading again found.
pub(crate) struct Replayed {
    pub(crate) matrices: Vec<Matrix>,
    pub(crate) missing: Vec<Missing>,
}

impl From<&ReplaySummary> for Replayed {
    fn from(summary: &ReplaySummary) -> Self {
        let missing = summary.missing.iter().map(|(reason, items)| Missing {
            items: count(*items),
            reason: text(reason),
        });
        Self {
            matrices: summary.graders.iter().map(Matrix::from).collect(),
            missing: missing.collect(),
        }
    }
}

/// Fields that were set in the tasks.
pub(crate) fn fields(options: &Map<String, Value>) -> String {
    let set = options
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    text(&set.collect::<Vec<_>>().join(", "))
}

/// Grades that were not graded again for one reason.
pub(crate) struct Missing {
    pub(crate) items: String,
    pub(crate) reason: String,
}

/// New verdicts by stored verdict, of one version of a grader.
pub(crate) struct Matrix {
    pub(crate) graders: String,
    pub(crate) items: String,
    pub(crate) flipped: String,
    /// The new verdicts.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<MatrixRow>,
}

pub(crate) struct MatrixRow {
    /// The stored verdict.
    pub(crate) name: String,
    pub(crate) cells: Vec<Cell>,
}

/// A number of items.
pub(crate) struct Cell {
    pub(crate) value: String,
    /// Whether the new verdict differs from the stored one.
    pub(crate) is_flip: bool,
}

impl From<&ReplayedGrader> for Matrix {
    fn from(grader: &ReplayedGrader) -> Self {
        let columns: BTreeSet<&str> = grader.verdicts.iter().map(|pair| &*pair.replayed).collect();
        let rows: BTreeSet<&str> = grader.verdicts.iter().map(|pair| &*pair.recorded).collect();
        let cell = |row: &str, column: &str| {
            let pair = |pair: &&VerdictPair| pair.recorded == row && pair.replayed == column;
            let items = grader
                .verdicts
                .iter()
                .find(pair)
                .map_or(0, |pair| pair.items);
            Cell {
                value: if items == 0 {
                    "·".to_owned()
                } else {
                    count(items)
                },
                is_flip: items > 0 && row != column,
            }
        };
        let row = |row: &str| MatrixRow {
            name: text(row),
            cells: columns.iter().map(|column| cell(row, column)).collect(),
        };
        Self {
            graders: if grader.recorded == grader.replayed {
                text(&grader.recorded)
            } else {
                text(&format!("{} → {}", grader.recorded, grader.replayed))
            },
            items: count(grader.items),
            flipped: count(grader.flipped),
            rows: rows.iter().map(|name| row(name)).collect(),
            columns: columns.iter().map(|name| text(name)).collect(),
        }
    }
}
