//! `assay jobs`: submits data sets that a server grades in the background, lists, watches and
//! cancels them, and writes their results.

pub(crate) mod submit;
pub(crate) mod watch;

use std::io::Write;
use std::path::Path;

use assay_wire::jobs::JobBody;

use crate::arguments::{JobAction, JobArguments};
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration};
use crate::table;
use crate::{target, terminal};
use submit::Submission;

/// Jobs in the list.
const LISTED: u32 = 100;

pub(crate) fn run(file: Option<&Path>, arguments: &JobArguments) -> anyhow::Result<CommandStatus> {
    let client = target::client(file, &arguments.server)?;
    let json = arguments.output.json;
    match arguments.action.as_ref().unwrap_or(&JobAction::List) {
        JobAction::List => {
            let query = [("limit", LISTED.to_string())];
            let jobs = block_on(async { Ok(client.jobs(&query).await?) })?.jobs;
            let mut out = terminal::stdout();
            if json {
                terminal::json_lines(&mut out, &jobs)?;
            } else {
                write_list(&mut out, &jobs)?;
            }
            Ok(CommandStatus::Done)
        }
        JobAction::Submit(arguments) => {
            let templates = configuration(file, Vec::new())?.templates()?;
            let submission = Submission {
                file: &arguments.file,
                template: arguments.template.as_deref(),
                shared: arguments.shared.as_deref(),
                policy: arguments.policy.as_deref(),
                run: arguments.run.as_deref(),
                step: arguments.step,
            };
            block_on(async {
                let job = submit::submit(&client, &submission, &templates).await?;
                print(&job, json)?;
                if arguments.watch {
                    watch::watch(&client, &job.job).await
                } else {
                    Ok(CommandStatus::Done)
                }
            })
        }
        JobAction::Show { id } => {
            let job = block_on(async { Ok(client.job(id).await?) })?;
            print(&job, json)?;
            Ok(CommandStatus::Done)
        }
        JobAction::Watch { id } => block_on(watch::watch(&client, id)),
        JobAction::Results { id, output, follow } => {
            block_on(watch::write_results(&client, id, output, *follow))
        }
        JobAction::Cancel { ids } => {
            for id in ids {
                let job = block_on(async { Ok(client.cancel_job(id).await?) })?;
                print(&job, json)?;
            }
            Ok(CommandStatus::Done)
        }
    }
}

fn print(job: &JobBody, json: bool) -> anyhow::Result<()> {
    let mut out = terminal::stdout();
    if json {
        writeln!(out, "{}", terminal::pretty(job)?)?;
    } else {
        write_one(&mut out, job)?;
    }
    Ok(())
}

fn write_list(out: &mut impl Write, jobs: &[JobBody]) -> std::io::Result<()> {
    let rows: Vec<_> = jobs
        .iter()
        .map(|job| {
            [
                job.job.clone(),
                job.caller.clone(),
                table::cell(job.run.clone()),
                job.state.clone(),
                format!("{}/{}", job.finished, job.items),
                (job.failed + job.invalid + job.set_aside).to_string(),
                table::time(job.submitted_us),
            ]
        })
        .collect();
    let head = [
        "JOB",
        "CALLER",
        "RUN",
        "STATE",
        "LINES",
        "NOT GRADED",
        "SUBMITTED",
    ];
    table::write(out, head, &rows)
}

fn write_one(out: &mut impl Write, job: &JobBody) -> std::io::Result<()> {
    let rate = job.items_per_second.map(|rate| format!("{rate:.1}"));
    let rows = [
        ("job", job.job.clone()),
        ("state", job.state.clone()),
        ("caller", job.caller.clone()),
        ("run", table::cell(job.run.clone())),
        ("step", table::cell(job.step)),
        ("policy", table::cell(job.policy.clone())),
        ("lines", format!("{} of {}", job.finished, job.items)),
        (
            "graded",
            format!("{}, of which {} passed", job.graded, job.passed),
        ),
        (
            "not graded",
            format!(
                "{} ungradable, {} failed, {} invalid, {} set aside",
                job.ungradable, job.failed, job.invalid, job.set_aside
            ),
        ),
        (
            "shards",
            format!(
                "{} waiting, {} running, {} done, {} set aside",
                job.shards.waiting, job.shards.running, job.shards.done, job.shards.set_aside
            ),
        ),
        ("lines/s", table::cell(rate)),
        ("submitted", table::time(job.submitted_us)),
        ("ended", table::cell(job.ended_us.map(table::time))),
    ];
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        writeln!(out, "{name:<10} {}", table::printable(value))?;
    }
    for shard in &job.failing {
        let state = if shard.set_aside {
            "set aside"
        } else {
            "tried again"
        };
        writeln!(
            out,
            "shard {} (from line {}, {} lines): {state} after {} tries: {}",
            shard.shard,
            shard.first_line,
            shard.items,
            shard.tries,
            table::printable(&shard.reason)
        )?;
    }
    Ok(())
}
