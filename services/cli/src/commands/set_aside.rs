//! `assay record set-aside`: lists entries of the record that the database rejected, or applies
//! them again.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use assay_node::Node;
use assay_record::SetAside;
use serde::Serialize;
use serde_json::json;

use crate::arguments::SetAsideArguments;
use crate::commands::record::require_database;
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration_of};
use crate::{table, terminal};

/// An entry and, with `--apply`, the result.
#[derive(Serialize)]
struct EntryLine {
    /// Name of the entry.
    entry: String,
    /// Its batch; `None` if the entry cannot be decoded.
    batch: Option<String>,
    grades: u64,
    bytes: u64,
    /// Why the database rejected it.
    reason: String,
    /// When it was rejected, in microseconds since the Unix epoch.
    time_us: i64,
    /// Whether it was applied now.
    applied: bool,
    /// Why it was rejected again.
    error: Option<String>,
}

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &SetAsideArguments,
) -> anyhow::Result<CommandStatus> {
    let config = configuration_of(file, arguments.database.as_deref())?;
    require_database(&config, "`--database`")?;
    let lines = block_on(async {
        let node = Node::start(config).await;
        let node = node.context("cannot open the record; stop the server that uses it first")?;
        let lines = entries(&node, arguments.apply).await;
        node.stop().await;
        lines
    })?;
    let rejected = lines.iter().any(|line| line.error.is_some());
    let mut out = terminal::raw_results();
    if arguments.output.json {
        terminal::json_lines(&mut out, &lines)?;
    } else if lines.is_empty() {
        writeln!(out, "no entries are set aside")?;
    } else {
        let rows: Vec<_> = lines.iter().map(row).collect();
        table::write(
            &mut out,
            ["ENTRY", "BATCH", "GRADES", "BYTES", "STATE", "REASON"],
            &rows,
        )?;
    }
    Ok(if rejected {
        CommandStatus::Findings
    } else {
        CommandStatus::Done
    })
}

async fn entries(node: &Node, apply: bool) -> anyhow::Result<Vec<EntryLine>> {
    let store = node
        .engine()
        .record()
        .context("no database is configured; set one with `--database`")?;
    if apply {
        let tried = store.apply_set_aside().await?;
        let applied = tried.iter().filter(|(_, error)| error.is_none()).count();
        let details = json!({ "applied": applied, "rejected": tried.len() - applied });
        node.gate()
            .audit_command("record.apply_set_aside", "record", details)
            .await;
        return Ok(tried
            .into_iter()
            .map(|(entry, error)| line(entry, error.is_none(), error))
            .collect());
    }
    let listed = store.set_aside().await?;
    Ok(listed
        .into_iter()
        .map(|entry| line(entry, false, None))
        .collect())
}

fn line(entry: SetAside, applied: bool, error: Option<String>) -> EntryLine {
    let SetAside {
        name,
        batch,
        grades,
        bytes,
        reason,
        time_us,
    } = entry;
    EntryLine {
        entry: name,
        batch: batch.map(|batch| batch.to_string()),
        grades,
        bytes,
        reason,
        time_us,
        applied,
        error,
    }
}

fn row(line: &EntryLine) -> [String; 6] {
    let state = match (line.applied, &line.error) {
        (true, _) => "applied",
        (false, Some(_)) => "rejected again",
        (false, None) => "set aside",
    };
    [
        line.entry.clone(),
        line.batch.clone().unwrap_or_else(|| "-".to_owned()),
        line.grades.to_string(),
        line.bytes.to_string(),
        state.to_owned(),
        line.error.clone().unwrap_or_else(|| line.reason.clone()),
    ]
}
