//! `assay backup`: copies the record, also while a server uses it, and checks the copy.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use crate::arguments::BackupArguments;
use crate::commands::record::require_database;
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration_of, yield_to_others};
use crate::terminal;

/// What was copied.
#[derive(Serialize)]
struct BackupLine {
    /// The copied database.
    database: String,
    database_bytes: u64,
    spool_bytes: u64,
    batches: u64,
    grades: u64,
    bodies: u64,
    /// Segments of the spool.
    segments: u64,
    /// Entries that the database had rejected.
    set_aside: u64,
}

pub(crate) fn run(
    file: Option<&Path>,
    arguments: &BackupArguments,
) -> anyhow::Result<CommandStatus> {
    let config = configuration_of(file, arguments.database.as_deref())?;
    require_database(&config, "`--database`")?;
    yield_to_others();
    let copied = block_on(async {
        let copied = assay_node::backup(&config, &arguments.destination).await;
        copied.context("cannot back up the record")
    })?;
    let line = BackupLine {
        database: copied.database.display().to_string(),
        database_bytes: copied.database_bytes,
        spool_bytes: copied.spool_bytes,
        batches: copied.batches,
        grades: copied.grades,
        bodies: copied.bodies,
        segments: copied.segments,
        set_aside: copied.set_aside,
    };
    let mut out = terminal::stdout();
    if arguments.output.json {
        writeln!(out, "{}", terminal::pretty(&line)?)?;
    } else {
        writeln!(
            out,
            "copied and checked {} grades in {} batches, {} bodies and {} spool segments to `{}`",
            line.grades, line.batches, line.bodies, line.segments, line.database
        )?;
    }
    Ok(CommandStatus::Done)
}
