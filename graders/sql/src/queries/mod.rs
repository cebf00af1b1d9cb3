//! Where statements run: SQLite in cells, PostgreSQL on a server of the operator's. Both are asked the same way.

mod cells;

use std::sync::Arc;

use assay_cell::Cells;
use assay_cell::query::{Build, End, Limits, Ran, Server, ServerError, Table, TableRows};
use assay_core::{ErrorCode, Fault};
use serde_bytes::ByteBuf;

use crate::task::{Dialect, Source};
use cells::{Held, InCells};

/// How statements are run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// What each may use.
    pub(crate) limits: Limits,
    /// Whether rows are asked for in another order where the statement leaves it open.
    pub(crate) reverse: bool,
}

/// One run of a statement, and whether running again would give the same.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) ran: Arc<Ran>,
    pub(crate) deterministic: bool,
}

/// Why there is no database.
pub(crate) enum Unbuilt {
    /// The task is at fault, and how.
    Task(String),
    /// We are.
    Ours(Fault),
}

/// A database that statements are run on. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) enum Database {
    Image(Held),
    OnServer(Arc<str>),
}

impl Database {
    /// Bytes of it that are held here.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Image(held) => held.bytes(),
            Self::OnServer(_) => 0,
        }
    }

    /// A name of its content.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Image(held) => held.name(),
            Self::OnServer(name) => name,
        }
    }
}

/// Runs queries. Cheap to clone: clones share cells, server and what is kept.
#[derive(Clone)]
pub struct Queries {
    cells: InCells,
    server: Option<Arc<dyn Server>>,
}

impl Queries {
    /// Queries in these cells, and on this server where there is one.
    #[must_use]
    pub fn new(cells: Cells, server: Option<Arc<dyn Server>>) -> Self {
        Self { cells: InCells::new(cells), server }
    }

    fn server(&self) -> Result<&dyn Server, Fault> {
        self.server.as_deref().ok_or_else(|| {
            let message = "no PostgreSQL server is configured; name one in `sql.postgres`";
            Fault::lasting(ErrorCode::GraderUnavailable, message)
        })
    }

    /// Makes a database of what a task gives.
    pub(crate) async fn build(&self, dialect: Dialect, source: &Source) -> Result<Database, Unbuilt> {
        match dialect {
            Dialect::Sqlite => {
                let image = source.image.clone().map(ByteBuf::from);
                let build = Build { image, scripts: source.scripts.clone(), rows: None };
                self.cells.build(build).await.map(Database::Image)
            }
            Dialect::Postgres => {
                let server = self.server().map_err(Unbuilt::Ours)?;
                match server.build(&source.scripts).await {
                    Ok(name) => Ok(Database::OnServer(name.into())),
                    Err(ServerError::Scripts(message)) => Err(Unbuilt::Task(message)),
                    Err(error) => Err(Unbuilt::Ours(unreachable(&error))),
                }
            }
        }
    }

    /// Makes a database like another, with other rows.
    pub(crate) async fn with_rows(&self, base: &Database, rows: Vec<TableRows>) -> Result<Database, Unbuilt> {
        match base {
            Database::Image(held) => self.cells.with_rows(held, rows).await.map(Database::Image),
            Database::OnServer(_) => Err(Unbuilt::Task("variants are generated for SQLite only".to_owned())),
        }
    }

    /// What a database is made of.
    pub(crate) async fn describe(&self, database: &Database) -> Result<Vec<Table>, Fault> {
        match database {
            Database::Image(held) => self.cells.describe(held).await,
            Database::OnServer(name) => self.server()?.describe(name).await.map_err(|error| unreachable(&error)),
        }
    }

    /// Runs statements, each on these databases in order, within the number of steps of each where steps are counted. What is given
    /// for a statement ends with the first database on which it does not give rows.
    pub(crate) async fn run(
        &self,
        statements: &[&str],
        terms: Terms,
        on: &[(&Database, u64)],
    ) -> Result<Vec<Vec<Attempt>>, Fault> {
        let held: Vec<(&Held, u64)> = on
            .iter()
            .filter_map(|(database, steps)| match database {
                Database::Image(held) => Some((held, *steps)),
                Database::OnServer(_) => None,
            })
            .collect();
        if held.len() == on.len() {
            return self.cells.run(statements, terms, &held).await;
        }
        let mut all = Vec::with_capacity(statements.len());
        for sql in statements {
            let mut attempts = Vec::with_capacity(on.len());
            for (database, _) in on {
                let ran = self.server()?.run(database.name(), sql, terms.limits, terms.reverse).await;
                let ran = ran.map_err(|error| unreachable(&error))?;
                let ended = ran.end != End::Rows;
                attempts.push(Attempt { ran: Arc::new(ran), deterministic: false });
                if ended {
                    break;
                }
            }
            all.push(attempts);
        }
        Ok(all)
    }
}

fn unreachable(error: &ServerError) -> Fault {
    Fault::passing(ErrorCode::GraderUnavailable, error.to_string())
}
