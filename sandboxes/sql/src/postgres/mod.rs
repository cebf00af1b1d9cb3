//! A PostgreSQL server of the operator, on which databases of tasks are built and queries run.
//! Owns roles, databases and limits there; the server itself, its memory and network access are
//! managed by the operator.
//!
//! Each database of a task is a separate database, built by its own role from a template in which
//! functions with effects beyond a query cannot be called. A statement runs on a separate
//! connection of a role that may only read that database, as a cursor of one read-only
//! transaction. Limits are in time, so the same statement may end differently another time.

mod build;
mod connect;
mod databases;
mod describe;
mod ends;
mod opening;
mod roles;
mod run;
mod setup;
mod values;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_worker::query::{Limits, Ran, Served, Server, ServerError, Table};
use connect::{Address, Keys, Role};
use databases::KnownDatabases;
use sqlx::{Connection, PgConnection};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};

/// Most concurrent statements and builds; a build has up to three connections.
const AT_ONCE: usize = 16;

/// Time that a server has to end its processes before the next attempt.
const RESTART: Duration = Duration::from_secs(2);

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// URL of a superuser, as `postgres://user:password@host/database`. Its database is where the
    /// node keeps nothing.
    pub url: String,
    /// Time limit of a statement.
    pub statement: Duration,
    /// Most databases of tasks on the server.
    pub databases: usize,
}

/// Runs queries on a PostgreSQL server, to which it connects on first use.
pub struct Postgres {
    address: Address,
    statement: Duration,
    databases: usize,
    /// Present once the server passed its checks.
    keys: AsyncMutex<Option<Arc<Keys>>>,
    known: Mutex<KnownDatabases>,
    permits: Semaphore,
}

impl Postgres {
    /// A server without a connection yet.
    #[must_use]
    pub fn new(options: &PostgresOptions) -> Self {
        Self {
            address: Address::new(&options.url),
            statement: options.statement,
            databases: options.databases,
            keys: AsyncMutex::default(),
            known: Mutex::default(),
            permits: Semaphore::new(AT_ONCE),
        }
    }

    /// The passwords of the server's roles, created on first use.
    async fn keys(&self) -> Result<Arc<Keys>, ServerError> {
        let mut known = self.keys.lock().await;
        if let Some(keys) = &*known {
            return Ok(Arc::clone(keys));
        }
        let keys = Arc::new(setup::set_up(&self.address).await?);
        if let Err(error) = build::drop_left_over(&self.address).await {
            tracing::warn!(%error, "databases of interrupted builds could not be dropped");
        }
        *known = Some(Arc::clone(&keys));
        Ok(keys)
    }

    /// A connection of the reader to a database or its reversed copy. A database that was dropped
    /// meanwhile is rebuilt if its scripts are known.
    async fn reader(&self, database: &str, reverse: bool) -> Result<PgConnection, ServerError> {
        let keys = self.keys().await?;
        let name = if reverse {
            build::twin(database)
        } else {
            database.to_owned()
        };
        let error = match self
            .address
            .connect(&Role::Reader(&keys), Some(&name))
            .await
        {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        match ends::code(&error).as_deref() {
            // The database does not exist.
            Some("3D000") => {
                let scripts = self.known().scripts(database);
                let scripts = scripts.ok_or_else(|| connect::unreachable(&error))?;
                build::build(&self.address, &keys, database, &scripts).await?;
            }
            // The role has another password or was dropped.
            Some("28P01" | "28000") => *self.keys.lock().await = None,
            _ => return Err(connect::unreachable(&error)),
        }
        let keys = self.keys().await?;
        let connected = self
            .address
            .connect(&Role::Reader(&keys), Some(&name))
            .await;
        connected.map_err(|error| connect::unreachable(&error))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, KnownDatabases> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn permit(&self) -> Result<tokio::sync::SemaphorePermit<'_>, ServerError> {
        self.permits
            .acquire()
            .await
            .map_err(|error| ServerError::Unreachable(error.to_string()))
    }
}

impl Server for Postgres {
    fn build<'a>(&'a self, scripts: &'a [String]) -> Served<'a, String> {
        Box::pin(async move {
            let name = build::name(scripts);
            if self.known().use_again(&name) {
                return Ok(name);
            }
            let _permit = self.permit().await?;
            let keys = self.keys().await?;
            let built = build::build(&self.address, &keys, &name, scripts).await;
            if let Err(ServerError::Unreachable(_)) = &built {
                // Roles may have changed: the next attempt restores them.
                *self.keys.lock().await = None;
            }
            built?;
            self.known().add(&name, scripts);
            let oldest_first = |names: &mut Vec<String>| self.known().sort(names);
            if let Err(error) =
                build::drop_beyond(&self.address, self.databases, oldest_first).await
            {
                tracing::warn!(%error, "databases of tasks could not be dropped");
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
        reverse: bool,
    ) -> Served<'a, Ran> {
        Box::pin(async move {
            let _permit = self.permit().await?;
            self.known().use_again(database);
            let query = run::Query {
                sql,
                limits,
                reverse,
                time: self.statement,
            };
            let mut connection = self.reader(database, reverse).await?;
            let lost = match run::run(&mut connection, query).await {
                Ok(ran) => {
                    run::leave(connection, &ran).await;
                    return Ok(ran);
                }
                Err(lost) => lost,
            };
            // A server that lost one of its processes ends all others, including one that just
            // accepted a connection, and restarts.
            tokio::time::sleep(RESTART).await;
            let mut connection = connect::patiently(|| self.reader(database, reverse)).await?;
            match run::run(&mut connection, query).await {
                Ok(ran) => {
                    run::leave(connection, &ran).await;
                    Ok(ran)
                }
                Err(_) => {
                    connect::patiently(|| self.reader(database, reverse)).await?;
                    Ok(run::ended(assay_worker::query::End::Error(format!(
                        "the server ends, twice: {lost}"
                    ))))
                }
            }
        })
    }
}
