//! Tables of recorded verdicts against new verdicts, one for each pair of grader versions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use assay_wire::grades::{ReplayBody, ReplaySide};
use serde::Serialize;

/// Label of the rows and the columns of a table.
const CORNER: &str = "RECORDED \\ REPLAYED";

/// The verdict of a graded item, otherwise the outcome.
pub(super) fn label(side: &ReplaySide) -> &str {
    side.verdict.as_deref().unwrap_or(&side.outcome)
}

/// The tables, by recorded grader and current grader.
#[derive(Default)]
pub(super) struct Matrices(BTreeMap<(String, String), Matrix>);

#[derive(Default)]
struct Matrix {
    /// Numbers of items by recorded verdict and new verdict.
    cells: BTreeMap<(String, String), u64>,
    flips: u64,
}

impl Matrices {
    pub(super) fn add(&mut self, replay: &ReplayBody) {
        let matrix = self
            .0
            .entry((
                replay.recorded.grader.clone(),
                replay.replayed.grader.clone(),
            ))
            .or_default();
        *matrix
            .cells
            .entry((
                label(&replay.recorded).to_owned(),
                label(&replay.replayed).to_owned(),
            ))
            .or_default() += 1;
        matrix.flips += u64::from(replay.flipped);
    }

    /// Number of items whose outcome, verdict or score changed.
    pub(super) fn flips(&self) -> u64 {
        self.0.values().map(|matrix| matrix.flips).sum()
    }

    /// Writes all tables. Rows are recorded verdicts, columns are new verdicts.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for ((recorded, replayed), matrix) in &self.0 {
            let items: u64 = matrix.cells.values().sum();
            writeln!(
                out,
                "recorded {recorded}, replayed {replayed}: {items} items, {} flipped",
                matrix.flips
            )?;
            matrix.write(out)?;
        }
        if self.0.is_empty() {
            writeln!(out, "no item was graded again")?;
        }
        Ok(())
    }

    /// The tables as a JSON value.
    pub(super) fn summary<'m>(&'m self, missing: &'m BTreeMap<String, u64>) -> Summary<'m> {
        let graders = self
            .0
            .iter()
            .map(|((recorded, replayed), matrix)| GraderSummary {
                recorded,
                replayed,
                items: matrix.cells.values().sum(),
                flipped: matrix.flips,
                verdicts: matrix
                    .cells
                    .iter()
                    .map(|((recorded, replayed), items)| VerdictPair {
                        recorded,
                        replayed,
                        items: *items,
                    })
                    .collect(),
            });
        let graders: Vec<_> = graders.collect();
        Summary {
            items: graders.iter().map(|grader| grader.items).sum(),
            flipped: self.flips(),
            graders,
            missing,
        }
    }
}

impl Matrix {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let replayed: BTreeSet<&str> = self
            .cells
            .keys()
            .map(|(_, replayed)| replayed.as_str())
            .collect();
        let recorded: BTreeSet<&str> = self
            .cells
            .keys()
            .map(|(recorded, _)| recorded.as_str())
            .collect();
        let first = recorded
            .iter()
            .map(|label| label.len())
            .chain([CORNER.len()])
            .max()
            .unwrap_or(0);
        let widths: Vec<usize> = replayed.iter().map(|label| label.len().max(9)).collect();
        write!(out, "  {CORNER:first$}")?;
        for (label, width) in replayed.iter().zip(&widths) {
            write!(out, "  {label:>width$}")?;
        }
        writeln!(out)?;
        for row in recorded {
            write!(out, "  {row:first$}")?;
            for (column, width) in replayed.iter().zip(&widths) {
                let items = self
                    .cells
                    .get(&(row.to_owned(), (*column).to_owned()))
                    .copied()
                    .unwrap_or(0);
                let text = if items == 0 {
                    "·".to_owned()
                } else {
                    items.to_string()
                };
                write!(out, "  {text:>width$}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// The last line of `--json`.
#[derive(Serialize)]
pub(super) struct Summary<'m> {
    items: u64,
    flipped: u64,
    graders: Vec<GraderSummary<'m>>,
    /// Numbers of items that were not graded again, by reason.
    missing: &'m BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct GraderSummary<'m> {
    recorded: &'m str,
    replayed: &'m str,
    items: u64,
    flipped: u64,
    verdicts: Vec<VerdictPair<'m>>,
}

#[derive(Serialize)]
struct VerdictPair<'m> {
    recorded: &'m str,
    replayed: &'m str,
    items: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(recorded: Option<&str>, replayed: Option<&str>) -> ReplayBody {
        let side = |verdict: Option<&str>| ReplaySide {
            grader: "math@1".to_owned(),
            outcome: if verdict.is_some() {
                "graded"
            } else {
                "failed"
            }
            .to_owned(),
            verdict: verdict.map(str::to_owned),
            score: None,
        };
        ReplayBody {
            grade: "g".to_owned(),
            flipped: recorded != replayed,
            recorded: side(recorded),
            replayed: side(replayed),
            evidence: serde_json::Value::Null,
        }
    }

    #[test]
    fn rows_are_recorded_verdicts_and_columns_are_new_verdicts() {
        let mut matrices = Matrices::default();
        for (recorded, replayed, times) in [
            (Some("correct"), Some("correct"), 12),
            (Some("wrong_answer"), Some("correct"), 3),
            (None, Some("correct"), 1),
        ] {
            (0..times).for_each(|_| matrices.add(&replay(recorded, replayed)));
        }
        let mut out = Vec::new();
        matrices.write(&mut out).unwrap();
        let expected = "recorded math@1, replayed math@1: 16 items, 4 flipped\n  \
                        RECORDED \\ REPLAYED    correct\n  \
                        correct                     12\n  \
                        failed                       1\n  \
                        wrong_answer                 3\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!(matrices.flips(), 4);
        let missing = BTreeMap::new();
        let summary = serde_json::to_value(matrices.summary(&missing)).unwrap();
        assert_eq!(
            (&summary["items"], &summary["flipped"]),
            (&16.into(), &4.into())
        );
        assert_eq!(
            summary["graders"][0]["verdicts"][2]["recorded"],
            "wrong_answer"
        );
    }
}
