//! Access to the record through a server or by opening the database.

mod rows;

use std::path::Path;

use anyhow::{Context, bail, ensure};
use assay_client::Client;
use assay_node::{Config, Node};

use crate::arguments::Record;
use crate::process::{client, configuration_of, server_of};

pub(crate) use rows::{PAGE, Rows};

pub(crate) enum Source {
    Server(Client),
    Node(Box<Node>),
}

impl Source {
    /// Fails if no recorded grade has the name of the run.
    pub(crate) async fn require_run(&self, name: &str) -> anyhow::Result<()> {
        match self {
            Self::Server(client) => {
                client.run(name, 0).await?;
            }
            Self::Node(node) => {
                if let Some(store) = node.engine().record()
                    && store.run(name).await?.is_none()
                {
                    bail!("{}", node.review().unknown_run(name).await?);
                }
            }
        }
        Ok(())
    }

    /// Closes the database if this process opened it.
    pub(crate) async fn close(self) {
        if let Self::Node(node) = self {
            node.stop().await;
        }
    }
}

/// Connects to the server or opens the database that the arguments name.
pub(crate) async fn open(file: Option<&Path>, record: &Record) -> anyhow::Result<Source> {
    match server_of(record.server.as_deref(), record.database.is_some()) {
        Some(server) => {
            // It also configures the log.
            configuration_of(file, None)?;
            Ok(Source::Server(client(&server, &record.key)?))
        }
        None => open_database(file, record).await,
    }
}

/// Opens the database that the arguments name.
pub(crate) async fn open_database(file: Option<&Path>, record: &Record) -> anyhow::Result<Source> {
    let config = configuration_of(file, record.database.as_deref())?;
    require_database(&config, "`--database` or `--server`")?;
    let node = Node::start(config).await;
    Ok(Source::Node(Box::new(node.context(
        "cannot open the record; if a server uses it, name the server with `--server URL`",
    )?)))
}

/// Fails if the database does not exist; `options` are those that name another. Opening it would
/// create it, and only `assay serve`, `assay grade` and `assay keys create` should.
pub(crate) fn require_database(config: &Config, options: &str) -> anyhow::Result<()> {
    if let Some(path) = assay_node::database_file(config) {
        ensure!(
            path.exists(),
            "no database at `{}`; name one with {options}",
            path.display()
        );
    }
    Ok(())
}

/// The record of a node.
pub(crate) fn record_of(node: &Node) -> anyhow::Result<&assay_record::Record> {
    let record = node.engine().record();
    record.context("no database is configured; name one with `--database`")
}
