//! A PostgreSQL server of the operator's that databases of tasks are made on and queries run on.
//! Owns roles, databases and limits there; the server itself, its memory and who may reach it are
//! the operator's.
//!
//! Each database of a task is a database of its own, made by its own role, from a template in which
//! nobody may call functions that reach beyond a query. A statement runs on a connection of its
//! own, of a role that may read that database and nothing else, as a cursor of one read-only
//! transaction. Limits are of time, so the same statement may end differently another time.

mod build;
mod connect;
mod describe;
mod ends;
mod kept;
mod opening;
mod roles;
mod run;
mod setup;
mod values;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_worker::query::{Limits, Ran, Served, Server, ServerError, Table};
use sqlx::{Connection, PgConnection};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};

use connect::{Address, Keys, Role};
use kept::Kept;

/// Statements and builds at once; a build has up to three connections.
const AT_ONCE: usize = 16;

/// Time a server has to end its processes before it is asked again.
const RESTART: Duration = Duration::from_secs(2);

/// What a node says of its server.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// URL of a superuser, as `postgres://user:password@host/database`. Its database is where the
    /// node keeps nothing.
    pub url: String,
    /// Wall time a statement may take.
    pub statement: Duration,
    /// Most databases of tasks on the server.
    pub databases: usize,
}

/// Runs queries on a PostgreSQL server. It is reached when first asked.
pub struct Postgres {
    address: Address,
    statement: Duration,
    databases: usize,
    /// There once the server was found to be as it must.
    keys: AsyncMutex<Option<Arc<Keys>>>,
    kept: Mutex<Kept>,
    permits: Semaphore,
}

impl Postgres {
    /// A server that is not reached yet.
    #[must_use]
    pub fn new(options: &PostgresOptions) -> Self {
        Self {
            address: Address::new(&options.url),
            statement: options.statement,
            databases: options.databases,
            keys: AsyncMutex::default(),
            kept: Mutex::default(),
            permits: Semaphore::new(AT_ONCE),
        }
    }

    /// The keys of the server's roles, which are made when first asked for.
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

    /// A connection of the reader's, to a database or its twin. One that was dropped meanwhile is
    /// made again, where its scripts are known.
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
            // The database is not there.
            Some("3D000") => {
                let scripts = self.kept().scripts(database);
                let scripts = scripts.ok_or_else(|| connect::unreachable(&error))?;
                build::build(&self.address, &keys, database, &scripts).await?;
            }
            // Somebody gave the role another password, or dropped it.
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

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
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
            if self.kept().use_again(&name) {
                return Ok(name);
            }
            let _permit = self.permit().await?;
            let keys = self.keys().await?;
            let built = build::build(&self.address, &keys, &name, scripts).await;
            if let Err(ServerError::Unreachable(_)) = &built {
                // Roles may not be what they were: next time they are made so.
                *self.keys.lock().await = None;
            }
            built?;
            self.kept().add(&name, scripts);
            let oldest_first = |names: &mut Vec<String>| self.kept().sort(names);
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
            self.kept().use_again(database);
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
            // A server that lost one of its processes ends all others, also one that has just let
            // somebody in, and starts again.
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
