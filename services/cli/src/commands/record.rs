//! The record, through a server or from the database itself.

use std::path::Path;

use assay_client::{Client, Retry};
use assay_node::Node;

use super::configuration;
use crate::arguments::Record;

pub(crate) enum Source {
    Server(Client),
    Node(Node),
}

/// Opens the record where the arguments say it is.
pub(crate) async fn open(file: Option<&Path>, record: &Record) -> anyhow::Result<Source> {
    if let Some(server) = &record.server {
        return Ok(Source::Server(Client::new(server, Retry::default())?));
    }
    let database = record.database.iter().map(|url| ("store", "database", url.clone().into()));
    Ok(Source::Node(Node::start(configuration(file, database.collect())?).await?))
}
