//! `assay audit`: shows or exports the audit log.

use std::io::Write;
use std::path::Path;

use assay_record::access::{AccessStore, AuditRecord};

use crate::arguments::Audit;
use crate::exit::CommandStatus;
use crate::process::{block_on, configuration_of};
use crate::{table, terminal};

/// Entries that are read at once.
const PAGE: u32 = 1_000;

pub(crate) fn run(file: Option<&Path>, arguments: &Audit) -> anyhow::Result<CommandStatus> {
    let config = configuration_of(file, arguments.database.as_deref())?;
    block_on(async {
        let store = assay_node::open_keys(&config).await?;
        if arguments.output.json {
            return export(store.as_ref()).await;
        }
        let entries = store.audit_log(None, arguments.lines).await?;
        let rows: Vec<_> = entries.iter().map(row).collect();
        table::write(
            &mut terminal::stdout(),
            [
                "NO",
                "TIME (UNIX)",
                "CALLER",
                "ROLE",
                "ACTION",
                "TARGET",
                "DETAILS",
            ],
            &rows,
        )?;
        Ok(())
    })?;
    Ok(CommandStatus::Done)
}

/// Writes all entries as JSON lines, newest first.
async fn export(store: &dyn AccessStore) -> anyhow::Result<()> {
    let mut out = terminal::stdout();
    let mut before = None;
    loop {
        let entries = store.audit_log(before, PAGE).await?;
        for entry in &entries {
            writeln!(out, "{}", terminal::json(entry)?)?;
        }
        match entries.last() {
            Some(last) if entries.len() == PAGE as usize => before = Some(last.no),
            _ => return Ok(()),
        }
    }
}

fn row(AuditRecord { no, entry }: &AuditRecord) -> [String; 7] {
    [
        no.to_string(),
        (entry.time_us / 1_000_000).to_string(),
        entry.caller.clone(),
        table::cell(entry.role),
        entry.action.clone(),
        entry.target.clone(),
        entry.details.to_string(),
    ]
}
