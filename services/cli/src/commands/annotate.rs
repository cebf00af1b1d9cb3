//! `assay annotate`: sets the tags and the note of a run, or archives it.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use assay_record::RunSummary;
use assay_record::run_notes::RunChanges;
use serde_json::json;

use super::record::{Source, open, record_of};
use crate::arguments::AnnotateArguments;
use crate::exit::CommandStatus;
use crate::process::block_on;
use crate::terminal;

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &AnnotateArguments,
) -> anyhow::Result<CommandStatus> {
    let changes = changes(arguments);
    if changes == RunChanges::default() {
        bail!("nothing to change; use `--tags`, `--note`, `--archive` or `--restore`");
    }
    changes.check()?;
    let run = block_on(async {
        let source = open(file, &arguments.record).await?;
        let run = annotate(&source, &arguments.run, &changes).await;
        source.close().await;
        run
    })?;
    let mut out = terminal::results();
    if arguments.output.json {
        writeln!(out, "{}", terminal::pretty(&run)?)?;
    } else {
        let archived = if run.archived { "yes" } else { "no" };
        writeln!(out, "tags: {}", run.tags.join(" "))?;
        writeln!(out, "note: {}", run.note)?;
        writeln!(out, "archived: {archived}")?;
    }
    Ok(CommandStatus::Done)
}

fn changes(arguments: &AnnotateArguments) -> RunChanges {
    let tags = arguments.tags.as_deref().map(|tags| {
        let tags = tags.split(',').map(str::trim);
        tags.filter(|tag| !tag.is_empty())
            .map(str::to_owned)
            .collect()
    });
    RunChanges {
        tags,
        note: arguments.note.clone(),
        archived: (arguments.archive || arguments.restore).then_some(arguments.archive),
    }
}

async fn annotate(source: &Source, run: &str, changes: &RunChanges) -> anyhow::Result<RunSummary> {
    match source {
        Source::Server(client) => Ok(client.annotate_run(run, changes).await?),
        Source::Node(node) => match record_of(node)?.annotate_run(run, changes).await? {
            Some(changed) => {
                node.gate()
                    .audit_command("run.annotate", run, json!(changes))
                    .await;
                Ok(changed)
            }
            None => bail!("{}", node.review().unknown_run(run).await?),
        },
    }
}
