//! `assay grades`: grades of the record, newest first.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use assay_core::store::GradeFilter;
use assay_wire::grades::{GradeBody, GradesBody};

use super::block_on;
use super::record::{Source, open};
use crate::arguments::Grades;
use crate::exit::Ended;
use crate::table::{self, cell};

pub(crate) fn run(file: Option<&Path>, arguments: &Grades) -> anyhow::Result<Ended> {
    let body = block_on(async {
        match open(file, &arguments.record).await? {
            Source::Server(client) => Ok(client.grades(&query(arguments)).await?),
            Source::Node(node) => {
                let store = node.engine().store().context("no database is configured; name one with `--database`")?;
                let page = store.grades(&filter(arguments)?, None, arguments.limit).await?;
                node.stop().await;
                Ok(GradesBody {
                    grades: page.grades.iter().map(GradeBody::from).collect(),
                    next: page.next.map(|id| id.to_string()),
                })
            }
        }
    })?;
    let mut out = std::io::stdout().lock();
    if arguments.output.json {
        for grade in &body.grades {
            writeln!(out, "{}", serde_json::to_string(grade)?)?;
        }
        return Ok(Ended::Done);
    }
    let rows: Vec<_> = body.grades.iter().map(row).collect();
    let head = ["GRADE", "RUN", "STEP", "ITEM", "GRADER", "VERDICT", "SCORE", "APPEAL", "REWARD", "EXTRACTED", "WHY"];
    table::write(&mut out, head, &rows)?;
    Ok(Ended::Done)
}

fn row(grade: &GradeBody) -> [String; 11] {
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

fn filter(arguments: &Grades) -> anyhow::Result<GradeFilter> {
    Ok(GradeFilter {
        run: arguments.run.clone(),
        step: arguments.step,
        grader: arguments.grader.clone(),
        channel: arguments.channel.clone(),
        outcome: arguments.outcome.clone(),
        verdict: arguments.verdict.clone(),
        appeal: arguments.appeal.clone(),
        batch: arguments.batch.as_deref().map(str::parse).transpose()?,
        item: arguments.id.clone(),
        group: arguments.group.clone(),
        score_min: arguments.score_min,
        score_max: arguments.score_max,
        since_us: None,
        until_us: None,
    })
}

fn query(arguments: &Grades) -> Vec<(&'static str, String)> {
    let texts = [
        ("run", &arguments.run),
        ("grader", &arguments.grader),
        ("channel", &arguments.channel),
        ("outcome", &arguments.outcome),
        ("verdict", &arguments.verdict),
        ("appeal", &arguments.appeal),
        ("batch", &arguments.batch),
        ("id", &arguments.id),
        ("group", &arguments.group),
    ];
    let mut query: Vec<_> = texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))).collect();
    query.extend(arguments.step.map(|step| ("step", step.to_string())));
    query.extend(arguments.score_min.map(|score| ("score_min", score.to_string())));
    query.extend(arguments.score_max.map(|score| ("score_max", score.to_string())));
    query.push(("limit", arguments.limit.to_string()));
    query
}
