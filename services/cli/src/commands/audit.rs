//! `assay audit`: shows or exports the audit log of a server or of a database.

use std::path::Path;

use assay_client::Client;
use assay_record::access::AccessStore;
use assay_wire::audit::AuditBody;

use crate::arguments::Audit;
use crate::commands::record::require_database;
use crate::exit::CommandStatus;
use crate::process::{block_on, client, configuration_of};
use crate::target::named_server;
use crate::{table, terminal};

/// Number of entries that are read at once.
const PAGE: u32 = 1_000;

/// Where the log is read from.
enum Source {
    Server(Client),
    Database(Box<dyn AccessStore>),
}

impl Source {
    /// At most `limit` entries with a number below `before`, newest first.
    async fn page(&self, before: Option<i64>, limit: u32) -> anyhow::Result<Vec<AuditBody>> {
        Ok(match self {
            Self::Server(client) => client.audit_log(before, limit).await?.entries,
            Self::Database(store) => {
                let entries = store.audit_log(before, limit).await?;
                entries.into_iter().map(AuditBody::from).collect()
            }
        })
    }
}

pub(crate) fn run(file: Option<&Path>, arguments: &Audit) -> anyhow::Result<CommandStatus> {
    // Also read when a server is named, because it configures the log.
    let config = configuration_of(file, arguments.database.as_deref())?;
    block_on(async {
        let server = named_server(arguments.server.as_deref(), arguments.database.is_some());
        let source = match server {
            Some(server) => Source::Server(client(&server, &arguments.key)?),
            None => {
                require_database(&config, "`--database` or `--server`")?;
                Source::Database(assay_node::open_keys(&config).await?)
            }
        };
        if arguments.output.json {
            export(&source).await
        } else {
            show(&source, arguments.lines).await
        }
    })?;
    Ok(CommandStatus::Done)
}

/// Writes the newest entries as a table.
async fn show(source: &Source, lines: u32) -> anyhow::Result<()> {
    let (mut rows, mut before) = (Vec::new(), None);
    loop {
        let missing = lines.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        if missing == 0 {
            break;
        }
        let limit = missing.min(PAGE);
        let entries = source.page(before, limit).await?;
        rows.extend(entries.iter().map(row));
        before = entries.last().map(|last| last.no);
        if entries.len() < limit as usize {
            break;
        }
    }
    table::write(
        &mut terminal::stdout(),
        [
            "NO", "TIME", "CALLER", "ROLE", "ACTION", "TARGET", "DETAILS",
        ],
        &rows,
    )?;
    Ok(())
}

/// Writes all entries as JSON lines, newest first.
async fn export(source: &Source) -> anyhow::Result<()> {
    let mut out = terminal::stdout();
    let mut before = None;
    loop {
        let entries = source.page(before, PAGE).await?;
        terminal::json_lines(&mut out, &entries)?;
        match entries.last() {
            Some(last) if entries.len() == PAGE as usize => before = Some(last.no),
            _ => return Ok(()),
        }
    }
}

fn row(entry: &AuditBody) -> [String; 7] {
    [
        entry.no.to_string(),
        table::time(entry.time_us),
        entry.caller.clone(),
        table::cell(entry.role.as_ref()),
        entry.action.clone(),
        entry.target.clone(),
        entry.details.to_string(),
    ]
}
