//! `assay runs`: lists recorded training runs, or summarises one by grader and step.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use assay_mapping::runs::run_detail;
use assay_record::RunSummary;
use assay_review::run_list;
use assay_wire::runs::{RunDetail, RunGraderBody, RunStepBody, RunsBody, SumsBody};

use super::record::{Source, open, record_of};
use crate::arguments::{RunSelection, Runs};
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::table::{self, cell};
use crate::terminal;

/// Maximum number of runs listed, which is the limit of `GET /v1/runs`.
const MAX_RUNS: u32 = 1_000;

pub(crate) fn run(file: Option<&Path>, arguments: &Runs) -> anyhow::Result<CommandStatus> {
    let answer = block_on(async {
        let source = open(file, &arguments.record).await?;
        let answer = match &arguments.name {
            Some(name) => one(&source, name, arguments.steps.into())
                .await
                .map(|run| Answer::One(Box::new(run))),
            None => all(&source, &arguments.selection).await.map(Answer::All),
        };
        source.close().await;
        answer
    })?;
    let mut out = terminal::stdout();
    match answer {
        Answer::All(body) if arguments.output.json => {
            terminal::json_lines(&mut out, &body.runs)?;
        }
        Answer::One(body) if arguments.output.json => {
            writeln!(out, "{}", terminal::pretty(&body)?)?;
        }
        Answer::All(body) => {
            let rows: Vec<_> = body.runs.iter().map(row).collect();
            table::write(
                &mut out,
                [
                    "RUN",
                    "STEP",
                    "GRADES",
                    "GRADED",
                    "UNGRADABLE",
                    "FAILED",
                    "PASSED",
                    "MEAN",
                    "REWARD",
                    "LAST GRADE",
                    "TAGS",
                ],
                &rows,
            )?;
        }
        Answer::One(body) => write_one(&mut out, &body)?,
    }
    Ok(CommandStatus::Done)
}

enum Answer {
    All(RunsBody),
    One(Box<RunDetail>),
}

async fn all(source: &Source, selection: &RunSelection) -> anyhow::Result<RunsBody> {
    let RunSelection {
        search,
        tag,
        archived,
        sort,
        order,
    } = selection;
    match source {
        Source::Server(client) => {
            let archived = archived.then(|| "true".to_owned());
            let query: Vec<_> = [
                ("search", search.clone()),
                ("tag", tag.clone()),
                ("archived", archived),
                ("sort", sort.clone()),
                ("order", order.clone()),
            ]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
            Ok(client.runs(&query).await?)
        }
        Source::Node(node) => {
            let filter = run_list::filter(search.as_deref(), tag.as_deref(), Some(*archived))?;
            let order = run_list::order(sort.as_deref(), order.as_deref())?;
            let runs = record_of(node)?.run_list(&filter, order, 0, MAX_RUNS);
            Ok(RunsBody {
                runs: runs.await?,
                next: None,
            })
        }
    }
}

async fn one(source: &Source, name: &str, steps: usize) -> anyhow::Result<RunDetail> {
    match source {
        Source::Server(client) => Ok(client.run(name, steps).await?),
        Source::Node(node) => match run_detail(record_of(node)?, name, steps).await? {
            Some(found) => Ok(found),
            None => bail!("{}", node.review().unknown_run(name).await?),
        },
    }
}

fn row(run: &RunSummary) -> [String; 11] {
    let mean = |mean: Option<f64>| cell(mean.map(|mean| format!("{mean:.4}")));
    [
        run.run.clone(),
        cell(run.last_step),
        run.grades.to_string(),
        run.graded.to_string(),
        run.ungradable.to_string(),
        run.failed.to_string(),
        run.passed.to_string(),
        mean(run.mean_score),
        mean(run.mean_reward),
        table::time(run.last_us),
        run.tags.join(" "),
    ]
}

/// Writes tables of graders, verdicts, causes of missing scores, and steps.
fn write_one(out: &mut impl Write, detail: &RunDetail) -> std::io::Result<()> {
    let graders: Vec<_> = detail
        .graders
        .iter()
        .map(|grader| with_sums([grader.grader.clone()], &grader.sums))
        .collect();
    let graders: Vec<[String; 9]> = graders
        .into_iter()
        .filter_map(|row| row.try_into().ok())
        .collect();
    table::write(
        out,
        [
            "GRADER",
            "GRADES",
            "GRADED",
            "UNGRADABLE",
            "FAILED",
            "PASSED",
            "SCORE",
            "GRADING",
            "WAITING",
        ],
        &graders,
    )?;
    let verdicts: Vec<_> = detail.graders.iter().flat_map(verdicts).collect();
    if !verdicts.is_empty() {
        writeln!(out)?;
        table::write(out, ["GRADER", "VERDICT", "GRADES", "SHARE"], &verdicts)?;
    }
    if !detail.causes.is_empty() {
        writeln!(out)?;
        let causes: Vec<_> = detail
            .causes
            .iter()
            .map(|cause| [cause.code.clone(), cause.grades.to_string()])
            .collect();
        table::write(out, ["CAUSE OF NO SCORE", "ITEMS"], &causes)?;
    }
    if !detail.steps.is_empty() {
        writeln!(out)?;
        let steps = detail
            .steps
            .iter()
            .map(step)
            .filter_map(|row| row.try_into().ok());
        let steps: Vec<[String; 10]> = steps.collect();
        table::write(
            out,
            [
                "STEP",
                "GRADER",
                "GRADES",
                "GRADED",
                "UNGRADABLE",
                "FAILED",
                "PASSED",
                "SCORE",
                "GRADING",
                "WAITING",
            ],
            &steps,
        )?;
    }
    Ok(())
}

fn step(step: &RunStepBody) -> Vec<String> {
    with_sums([cell(step.step), step.grader.clone()], &step.sums)
}

fn with_sums<const N: usize>(names: [String; N], sums: &SumsBody) -> Vec<String> {
    let score = sums
        .mean_score
        .zip(sums.score_deviation)
        .map(|(mean, deviation)| format!("{mean:.4} ± {deviation:.4}"));
    let counts = [
        sums.grades,
        sums.graded,
        sums.ungradable,
        sums.failed,
        sums.passed,
    ]
    .map(|count| count.to_string());
    let times = [sums.mean_grade_us, sums.mean_queue_us].map(|us| format!("{:.2} ms", us / 1e3));
    names
        .into_iter()
        .chain(counts)
        .chain([cell(score)])
        .chain(times)
        .collect()
}

fn verdicts(grader: &RunGraderBody) -> impl Iterator<Item = [String; 4]> {
    let graded = grader.sums.graded.max(1) as f64;
    grader.verdicts.iter().map(move |(verdict, grades)| {
        let share = format!("{:.1} %", 100.0 * *grades as f64 / graded);
        [
            grader.grader.clone(),
            verdict.clone(),
            grades.to_string(),
            share,
        ]
    })
}
