//! `assay runs`: the training runs of the record.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use assay_wire::grades::{RunBody, RunsBody};

use super::block_on;
use super::record::{Source, open};
use crate::arguments::Runs;
use crate::exit::Ended;
use crate::table::{self, cell};

pub(crate) fn run(file: Option<&Path>, arguments: &Runs) -> anyhow::Result<Ended> {
    let body = block_on(async {
        match open(file, &arguments.record).await? {
            Source::Server(client) => Ok(client.runs().await?),
            Source::Node(node) => {
                let store = node.engine().store().context("no database is configured; name one with `--database`")?;
                let runs = store.runs(1_000).await?.into_iter().map(RunBody::from).collect();
                node.stop().await;
                Ok(RunsBody { runs })
            }
        }
    })?;
    let mut out = std::io::stdout().lock();
    if arguments.output.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&body)?)?;
        return Ok(Ended::Done);
    }
    let rows: Vec<_> = body.runs.iter().map(row).collect();
    table::write(&mut out, ["RUN", "STEP", "GRADES", "GRADED", "UNGRADABLE", "FAILED", "PASSED", "MEAN"], &rows)?;
    Ok(Ended::Done)
}

fn row(run: &RunBody) -> [String; 8] {
    [
        run.run.clone(),
        cell(run.last_step),
        run.grades.to_string(),
        run.graded.to_string(),
        run.ungradable.to_string(),
        run.failed.to_string(),
        run.passed.to_string(),
        cell(run.mean_score.map(|mean| format!("{mean:.4}"))),
    ]
}
