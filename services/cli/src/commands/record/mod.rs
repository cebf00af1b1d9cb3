//! Access to the record through a server or by opening the database.

mod rows;

use std::path::Path;

use anyhow::{Context, bail, ensure};
use assay_client::{Client, ClientError};
use assay_core::GradeId;
use assay_mapping::grades::grade_detail;
use assay_node::{Config, Node};
use assay_record::StoredGrade;
use assay_wire::grades::GradeDetail;

use crate::arguments::Record;
use crate::process::{client, configuration_of};
use crate::target::{Target, target};

pub(crate) use rows::{PAGE, Rows, selection_query};

pub(crate) enum Source {
    Server(Client),
    Node(Box<Node>),
}

/// The record of a node.
pub(crate) fn record_of(node: &Node) -> anyhow::Result<&assay_record::Record> {
    let record = node.engine().record();
    record.context("no database is configured; name one with `--database`")
}

impl Source {
    /// A recorded grade with its texts.
    pub(crate) async fn grade(&self, id: &str) -> anyhow::Result<GradeDetail> {
        match self {
            Self::Server(client) => Ok(client.get(id).await?),
            Self::Node(node) => {
                let record = record_of(node)?;
                let id: GradeId = id.parse()?;
                let stored = record.grade(id).await?;
                let stored = stored.with_context(|| format!("no grade has the id `{id}`"))?;
                Ok(grade_detail(record, stored).await?)
            }
        }
    }

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

    /// A grade of a list with its texts; `None` if it was deleted since the list was read.
    pub(crate) async fn with_texts(
        &self,
        stored: StoredGrade,
    ) -> anyhow::Result<Option<GradeDetail>> {
        match self {
            Self::Server(client) => match client.get(&stored.grade.grade.to_string()).await {
                Ok(detail) => Ok(Some(detail)),
                Err(ClientError::Refused { status: 404, .. }) => Ok(None),
                Err(error) => Err(error.into()),
            },
            Self::Node(node) => Ok(Some(grade_detail(record_of(node)?, stored).await?)),
        }
    }

    /// Closes the database if this process opened it.
    pub(crate) async fn close(self) {
        if let Self::Node(node) = self {
            node.stop().await;
        }
    }
}

/// Connects to the server or opens the database that the command reads; see [`target`].
pub(crate) async fn open(file: Option<&Path>, record: &Record) -> anyhow::Result<Source> {
    match target(file, record.server.as_deref(), record.database.as_deref())? {
        Target::Server(server) => Ok(Source::Server(client(&server, &record.key)?)),
        Target::Database(config) => start(*config).await,
    }
}

/// Opens the database that the arguments name.
pub(crate) async fn open_database(file: Option<&Path>, record: &Record) -> anyhow::Result<Source> {
    let config = configuration_of(file, record.database.as_deref())?;
    require_database(&config, "`--database`")?;
    start(config).await
}

async fn start(config: Config) -> anyhow::Result<Source> {
    let server = assay_node::published_server(&config);
    let node = Node::start(config).await.with_context(|| match server {
        Some(url) => {
            format!("cannot open the record; name the server that uses it: `--server {url}`")
        }
        None => "cannot open the record; if a server uses it, name the server with `--server URL`"
            .to_owned(),
    })?;
    Ok(Source::Node(Box::new(node)))
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
