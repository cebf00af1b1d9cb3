//! The record, through a server or from the database itself.

mod rows;

use std::path::Path;

use anyhow::{Context, ensure};
use assay_client::{Client, Retry};
use assay_node::Node;

use super::configuration;
use crate::arguments::Record;

pub(crate) use rows::{PAGE, Rows};

pub(crate) enum Source {
    Server(Client),
    Node(Box<Node>),
}

impl Source {
    /// Closes the record, if it was opened here.
    pub(crate) async fn close(self) {
        if let Self::Node(node) = self {
            node.stop().await;
        }
    }
}

/// Opens the record where the arguments say it is.
pub(crate) async fn open(file: Option<&Path>, record: &Record) -> anyhow::Result<Source> {
    let database = record
        .database
        .iter()
        .map(|url| ("store", "database", url.clone().into()));
    // Also for a server: it says how to log.
    let config = configuration(file, database.collect())?;
    if let Some(server) = &record.server {
        return Ok(Source::Server(Client::new(server, Retry::default())?));
    }
    refuse_to_create(&config.store.database)?;
    let node = Node::start(config).await;
    Ok(Source::Node(Box::new(node.context(
        "a record that a server holds is read with `--server URL`",
    )?)))
}

/// Serving creates its record; reading one that is not there is a slip.
pub(crate) fn refuse_to_create(database: &str) -> anyhow::Result<()> {
    if let Some(path) = database.strip_prefix("sqlite://") {
        ensure!(
            Path::new(path).exists(),
            "there is no database at `{path}`; name one with `--database` or `--server`"
        );
    }
    Ok(())
}
