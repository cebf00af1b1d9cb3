//! Builds databases of tasks and runs queries on a PostgreSQL server of the operator. Owns the
//! roles, databases and limits there. The operator manages the server, its memory and its network
//! access.
//!
//! Each database is built by a separate role from a template that revokes functions with side
//! effects. A statement runs as a cursor of one read-only transaction, on a separate connection of
//! a role that can only read. Limits are in wall time, so repeating a statement may end
//! differently.

mod build;
mod classify;
mod connect;
mod databases;
mod describe;
mod errors;
mod passwords;
mod roles;
mod run;
mod setup;
mod values;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_core::{FairPermit, FairPermits, worker_use};
use assay_worker::query::{Limits, Ran, ReadOrder, Served, Server, ServerError, Table};
use sqlx::{Connection, PgConnection};
use tokio::sync::Mutex as AsyncMutex;

use connect::{Address, Role};
use databases::KnownDatabases;
use passwords::Passwords;

/// Maximum number of concurrent statements and builds. A build has up to three connections.
const MAX_CONCURRENT: usize = 16;

/// Maximum number of attempts to connect to a database: other nodes may drop it whenever no client
/// is connected.
const CONNECT_ATTEMPTS: u32 = 5;

/// Delay before the next attempt, in which the server can end its processes.
const RESTART_DELAY: Duration = Duration::from_secs(2);

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// URL of a superuser, `postgres://user:password@host/database`. The node stores nothing in
    /// this database.
    pub url: String,
    /// Time limit of a statement.
    pub statement: Duration,
    /// Maximum number of databases of tasks on the server.
    pub databases: usize,
}

/// Runs queries on a PostgreSQL server, to which it connects on first use.
pub struct Postgres {
    address: Address,
    statement: Duration,
    databases: usize,
    /// Set once the server is set up.
    passwords: AsyncMutex<Option<Arc<Passwords>>>,
    known: Mutex<KnownDatabases>,
    permits: FairPermits,
}

impl Postgres {
    /// Creates the client; it does not connect yet.
    #[must_use]
    pub fn new(options: &PostgresOptions) -> Self {
        Self {
            address: Address::new(&options.url),
            statement: options.statement,
            databases: options.databases,
            passwords: AsyncMutex::default(),
            known: Mutex::default(),
            permits: FairPermits::new(MAX_CONCURRENT, MAX_CONCURRENT),
        }
    }

    /// The passwords of the roles. Sets up the server on first use.
    async fn passwords(&self) -> Result<Arc<Passwords>, ServerError> {
        let mut cached = self.passwords.lock().await;
        if let Some(passwords) = &*cached {
            return Ok(Arc::clone(passwords));
        }
        let passwords = Arc::new(setup::set_up(&self.address).await?);
        if let Err(error) = build::drop_leftovers(&self.address).await {
            tracing::warn!(%error, "cannot drop databases of interrupted builds");
        }
        *cached = Some(Arc::clone(&passwords));
        Ok(passwords)
    }

    /// Connects as the reader to a database or its reversed copy. If the database was dropped and
    /// its scripts are known, it is rebuilt.
    async fn reader(&self, database: &str, reverse: bool) -> Result<PgConnection, ServerError> {
        let name = if reverse {
            build::reversed_copy(database)
        } else {
            database.to_owned()
        };
        let mut attempt = 1;
        loop {
            let passwords = self.passwords().await?;
            let role = Role::Reader(&passwords);
            let error = match self.address.connect(&role, Some(&name)).await {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            match errors::code(&error).as_deref() {
                _ if attempt == CONNECT_ATTEMPTS => return Err(connect::unreachable(&error)),
                // The database does not exist.
                Some("3D000") => {
                    let scripts = self.known().scripts(database);
                    let scripts = scripts.ok_or_else(|| connect::unreachable(&error))?;
                    build::build(&self.address, &passwords, database, &scripts).await?;
                }
                // The role has another password or was dropped.
                Some("28P01" | "28000") => *self.passwords.lock().await = None,
                _ => return Err(connect::unreachable(&error)),
            }
            attempt += 1;
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, KnownDatabases> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn permit(&self) -> Result<FairPermit, ServerError> {
        worker_use::waiting(self.permits.acquire(&worker_use::caller()))
            .await
            .map_err(|error| ServerError::Unreachable(error.to_string()))
    }
}

impl Server for Postgres {
    fn build<'a>(&'a self, scripts: &'a [String]) -> Served<'a, String> {
        Box::pin(async move {
            let name = build::name(scripts);
            if self.known().touch(&name) {
                return Ok(name);
            }
            let _permit = self.permit().await?;
            let passwords = self.passwords().await?;
            let built = build::build(&self.address, &passwords, &name, scripts).await;
            if let Err(ServerError::Unreachable(_)) = &built {
                // Roles may have changed. The next attempt restores them.
                *self.passwords.lock().await = None;
            }
            built?;
            self.known().add(&name, scripts);
            let oldest_first = |names: &mut Vec<String>| self.known().sort(names);
            if let Err(error) =
                build::drop_excess(&self.address, self.databases, oldest_first).await
            {
                tracing::warn!(%error, "cannot drop databases of tasks");
            }
            Ok(name)
        })
    }

    fn describe<'a>(&'a self, database: &'a str) -> Served<'a, Vec<Table>> {
        Box::pin(async move {
            let _permit = self.permit().await?;
            let mut connection = self.reader(database, false).await?;
            let tables = describe::describe(&mut connection)
                .await
                .map_err(|error| connect::unreachable(&error))?;
            let _ = connection.close().await;
            Ok(tables)
        })
    }

    fn run<'a>(
        &'a self,
        database: &'a str,
        sql: &'a str,
        limits: Limits,
        order: ReadOrder,
    ) -> Served<'a, Ran> {
        let reverse = order != ReadOrder::Stored;
        Box::pin(async move {
            let _permit = self.permit().await?;
            self.known().touch(database);
            let query = run::Query {
                sql,
                limits,
                reverse,
                time: self.statement,
            };
            let mut connection = self.reader(database, reverse).await?;
            let lost = match run::run(&mut connection, query).await {
                Ok(ran) => {
                    run::close_after(connection, &ran).await;
                    return Ok(ran);
                }
                Err(lost) => lost,
            };
            // If a process of the server crashes, the server ends all its processes, including
            // those of new connections, and restarts.
            tokio::time::sleep(RESTART_DELAY).await;
            let mut connection = connect::with_retries(|| self.reader(database, reverse)).await?;
            match run::run(&mut connection, query).await {
                Ok(ran) => {
                    run::close_after(connection, &ran).await;
                    Ok(ran)
                }
                Err(_) => {
                    connect::with_retries(|| self.reader(database, reverse)).await?;
                    Ok(run::ended(assay_worker::query::End::Error(format!(
                        "the connection was lost twice: {lost}"
                    ))))
                }
            }
        })
    }
}
