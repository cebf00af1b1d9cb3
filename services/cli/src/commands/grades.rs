//! `assay grades`: lists recorded grades, newest first.

use std::path::Path;

use assay_record::StoredGrade;
use assay_review::explanation;
use serde_json::Value;

use super::record::{Rows, open};
use crate::arguments::Grades;
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::table::{self, cell};
use crate::terminal;

pub(crate) fn run(file: Option<&Path>, arguments: &Grades) -> anyhow::Result<CommandStatus> {
    let grades = block_on(async {
        let source = open(file, &arguments.record).await?;
        let grades = Rows::new(&source, &arguments.selection)
            .next_of_run(arguments.limit)
            .await;
        source.close().await;
        grades
    })?;
    let mut out = terminal::stdout();
    if arguments.output.json {
        terminal::json_lines(&mut out, &grades)?;
        return Ok(CommandStatus::Done);
    }
    let rows: Vec<_> = grades.iter().map(fields).collect();
    table::write(&mut out, HEAD, &rows)?;
    Ok(CommandStatus::Done)
}

pub(super) const COLUMNS: usize = 14;

/// Column names.
pub(super) const HEAD: [&str; COLUMNS] = [
    "GRADE",
    "TIME",
    "CALLER",
    "RUN",
    "STEP",
    "ITEM",
    "CHANNEL",
    "GRADER",
    "VERDICT",
    "SCORE",
    "APPEAL",
    "REWARD",
    "EXTRACTED",
    "REASON",
];

/// Longest texts in a row, in characters.
const EXTRACTED_LENGTH: usize = 40;
const REASON_LENGTH: usize = 80;

/// The row of a grade.
pub(super) fn fields(StoredGrade { source, grade }: &StoredGrade) -> [String; COLUMNS] {
    let short = |text: String, length| {
        text.replace(['\n', '\r', '\t'], " ")
            .chars()
            .take(length)
            .collect::<String>()
    };
    let evidence = grade.evidence.as_ref();
    let evidence = evidence.map_or(Value::Null, |facts| Value::Object(facts.facts()));
    [
        grade.grade.to_string(),
        table::time(grade.time_us),
        source.caller.to_string(),
        cell(source.run.as_deref()),
        cell(source.step),
        cell(grade.id.as_deref()),
        grade.channel.to_string(),
        grade.grader.to_string(),
        grade.verdict.as_ref().unwrap_or(&grade.outcome).to_string(),
        cell(grade.score),
        cell(grade.appeal.as_ref().map(|appeal| {
            if appeal.overturned {
                "overturned"
            } else {
                "reviewed"
            }
        })),
        cell(grade.reward),
        short(explanation::extracted(&evidence), EXTRACTED_LENGTH),
        short(
            explanation::cause(grade, &evidence, &Value::Null),
            REASON_LENGTH,
        ),
    ]
}
