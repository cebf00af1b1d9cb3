//! `assay grades`: grades of the record, newest first.

use std::io::Write;
use std::path::Path;

use assay_wire::grades::GradeBody;

use super::block_on;
use super::record::{Rows, open};
use crate::arguments::Grades;
use crate::exit::Ended;
use crate::table::{self, cell};
use crate::terminal;

pub(crate) fn run(file: Option<&Path>, arguments: &Grades) -> anyhow::Result<Ended> {
    let grades = block_on(async {
        let source = open(file, &arguments.record).await?;
        let grades = Rows::new(&source, &arguments.which).next(arguments.limit).await;
        source.close().await;
        grades
    })?;
    let mut out = terminal::stdout();
    if arguments.output.json {
        for grade in &grades {
            writeln!(out, "{}", terminal::json(grade)?)?;
        }
        return Ok(Ended::Done);
    }
    let rows: Vec<_> = grades.iter().map(fields).collect();
    let head = ["GRADE", "RUN", "STEP", "ITEM", "GRADER", "VERDICT", "SCORE", "APPEAL", "REWARD", "EXTRACTED", "WHY"];
    table::write(&mut out, head, &rows)?;
    Ok(Ended::Done)
}

/// What a line says of a grade.
pub(super) fn fields(grade: &GradeBody) -> [String; 11] {
    let fact = |names: &[&str]| {
        let found = names.iter().find_map(|name| grade.evidence.pointer(name)?.as_str());
        found.unwrap_or_default().replace(['\n', '\r', '\t'], " ").chars().take(40).collect::<String>()
    };
    [
        grade.grade.clone(),
        cell(grade.run.as_deref()),
        cell(grade.step),
        cell(grade.id.as_deref()),
        grade.grader.clone(),
        grade.verdict.clone().unwrap_or_else(|| grade.outcome.clone()),
        cell(grade.score),
        cell(grade.appeal.as_ref().map(|appeal| if appeal.overturned { "overturned" } else { "looked at" })),
        cell(grade.reward),
        // What was graded, and why, by the names that graders give them.
        fact(&["/extracted", "/statement", "/program"]),
        fact(&["/rule", "/message", "/difference/what", "/first_failure/verdict"]),
    ]
}
