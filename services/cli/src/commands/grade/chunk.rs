//! Results of a chunk of lines.

use std::io::Write;

use assay_base::visible::Visible;
use assay_mapping::invalid_line;
use assay_record::ItemGrade;
use assay_wire::{Selected, Selection};
use serde_json::Value;

use super::input::{InputLine, InvalidLine};

/// How results are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum ResultFormat {
    /// As JSON, one in a line.
    Json(Selection),
    /// As text for people.
    Explanation,
}

/// The results of one chunk.
pub(super) struct ChunkResults {
    /// Lines of output.
    pub(super) lines: Vec<u8>,
    /// Number of lines.
    pub(super) count: u64,
    /// Number of lines that are not valid items.
    pub(super) invalid: u64,
    /// The problem of the first such line.
    pub(super) problem: Option<String>,
}

/// Merges selected fields of grades with results for the invalid lines, in the order of the lines.
pub(super) fn merge_grades<'g>(
    lines: &[InputLine],
    selection: Selection,
    mut grades: impl Iterator<Item = &'g ItemGrade>,
) -> anyhow::Result<ChunkResults> {
    merge(lines, ResultFormat::Json(selection), |json| {
        if let Some(grade) = grades.next() {
            let selected = Selected {
                selection,
                streamed: false,
                grade,
            };
            selected.append_to(json)?;
        }
        Ok(())
    })
}

/// Merges the results of items with results for the invalid lines, in the order of the lines.
/// `append` appends the result of the next item.
pub(super) fn merge(
    lines: &[InputLine],
    format: ResultFormat,
    mut append: impl FnMut(&mut Vec<u8>) -> anyhow::Result<()>,
) -> anyhow::Result<ChunkResults> {
    let mut merged = ChunkResults {
        lines: Vec::new(),
        count: lines.len() as u64,
        invalid: 0,
        problem: None,
    };
    for line in lines {
        match line {
            InputLine::Item(number) => {
                if matches!(format, ResultFormat::Explanation) {
                    write!(merged.lines, "line {number}: ")?;
                }
                append(&mut merged.lines)?;
            }
            InputLine::Invalid(line) => {
                match format {
                    ResultFormat::Json(selection) => {
                        let result = invalid_result(line, selection)?;
                        serde_json::to_writer(&mut merged.lines, &result)?;
                    }
                    ResultFormat::Explanation => {
                        writeln!(merged.lines, "{}", Visible::line(&message(line)))?;
                    }
                }
                merged.invalid += 1;
                merged.problem.get_or_insert_with(|| message(line));
            }
        }
        merged.lines.push(b'\n');
    }
    Ok(merged)
}

/// The result of a line that is not a valid item. The outcome is `ungradable`, because the input is
/// at fault.
fn invalid_result(line: &InvalidLine, selection: Selection) -> serde_json::Result<Value> {
    let item = (line.id.clone(), line.group.clone());
    let error = invalid_line::fault(line.line, &line.problem);
    invalid_line::result("ungradable", item, error, (selection, false))
}

/// Where and why a line is not a valid item.
pub(super) fn message(line: &InvalidLine) -> String {
    invalid_line::message(line.line, &line.problem)
}
