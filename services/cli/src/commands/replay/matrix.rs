//! Tables of recorded verdicts against new verdicts, one for each pair of grader versions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use assay_wire::replays::{ReplaySummary, VerdictPair};

/// Label of the rows and the columns of a table.
const CORNER: &str = "RECORDED \\ REPLAYED";

/// Writes the tables of a summary. Rows are recorded verdicts, columns are new verdicts.
pub(crate) fn write(out: &mut impl Write, summary: &ReplaySummary) -> io::Result<()> {
    for grader in &summary.graders {
        writeln!(
            out,
            "recorded {}, replayed {}: {} items, {} flipped",
            grader.recorded, grader.replayed, grader.items, grader.flipped
        )?;
        write_table(out, &grader.verdicts)?;
    }
    if summary.graders.is_empty() {
        writeln!(out, "no item was graded again")?;
    }
    for (reason, items) in &summary.missing {
        writeln!(out, "{items} items not graded again: {reason}")?;
    }
    Ok(())
}

fn write_table(out: &mut impl Write, pairs: &[VerdictPair]) -> io::Result<()> {
    let cells: BTreeMap<(&str, &str), u64> = pairs
        .iter()
        .map(|pair| ((&*pair.recorded, &*pair.replayed), pair.items))
        .collect();
    let recorded: BTreeSet<&str> = pairs.iter().map(|pair| &*pair.recorded).collect();
    let replayed: BTreeSet<&str> = pairs.iter().map(|pair| &*pair.replayed).collect();
    let labels = recorded.iter().map(|label| label.len());
    let first = labels.chain([CORNER.len()]).max().unwrap_or(0);
    let widths: Vec<usize> = replayed.iter().map(|label| label.len().max(9)).collect();
    write!(out, "  {CORNER:first$}")?;
    for (label, width) in replayed.iter().zip(&widths) {
        write!(out, "  {label:>width$}")?;
    }
    writeln!(out)?;
    for row in recorded {
        write!(out, "  {row:first$}")?;
        for (column, width) in replayed.iter().zip(&widths) {
            let items = cells.get(&(row, *column));
            let text = items.map_or_else(|| "·".to_owned(), ToString::to_string);
            write!(out, "  {text:>width$}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use assay_wire::replays::ReplayedGrader;

    use super::*;

    #[test]
    fn rows_are_recorded_verdicts_and_columns_are_new_verdicts() {
        let pair = |recorded: &str, replayed: &str, items| VerdictPair {
            recorded: recorded.to_owned(),
            replayed: replayed.to_owned(),
            items,
        };
        let grader = ReplayedGrader {
            recorded: "math@1".to_owned(),
            replayed: "math@2".to_owned(),
            items: 16,
            flipped: 4,
            verdicts: vec![
                pair("correct", "correct", 12),
                pair("failed", "correct", 1),
                pair("wrong_answer", "correct", 2),
                pair("wrong_answer", "wrong_answer", 1),
            ],
        };
        let summary = ReplaySummary {
            items: 16,
            flipped: 4,
            graders: vec![grader],
            missing: BTreeMap::from([("gone".to_owned(), 2)]),
        };
        let mut out = Vec::new();
        write(&mut out, &summary).unwrap();
        let expected = "recorded math@1, replayed math@2: 16 items, 4 flipped\n  \
                        RECORDED \\ REPLAYED    correct  wrong_answer\n  \
                        correct                     12             ·\n  \
                        failed                       1             ·\n  \
                        wrong_answer                 2             1\n\
                        2 items not graded again: gone\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
