//! Connections, and where the database is.

use std::str::FromStr;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use crate::database::sql::{Connection, Handle};

/// How long a read waits for a connection. Batches are graded without what they cannot read.
const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a statement of a read may take, in milliseconds.
const STATEMENT_TIMEOUT_MS: &str = "60000";

/// How long a statement waits for other nodes that write, in milliseconds. The writer retries by
/// itself.
const LOCK_TIMEOUT_MS: &str = "5000";

/// Statements that a connection keeps prepared: all those of the record.
const STATEMENTS: usize = 500;

/// The database to which a URL refers.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    options: PgConnectOptions,
}

impl Location {
    /// Parses `postgres://USER@HOST/NAME`; `None` if `url` is not of this form.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let is_postgres = url.starts_with("postgres://") || url.starts_with("postgresql://");
        let options = is_postgres.then(|| PgConnectOptions::from_str(url).ok())??;
        Some(Self { options })
    }

    fn options(&self) -> PgConnectOptions {
        self.options
            .clone()
            .application_name("assay")
            .statement_cache_capacity(STATEMENTS)
            .options([
                // Statements are short, and compiling one takes longer.
                ("jit", "off"),
                ("lock_timeout", LOCK_TIMEOUT_MS),
            ])
            .disable_statement_logging()
    }
}

/// Connects to the database without a pool.
pub(crate) async fn connect(location: &Location) -> Result<Connection, sqlx::Error> {
    let connection = location.options().connect().await?;
    Ok(Connection::Postgres(Handle::Single(Box::new(connection))))
}

fn pool(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(READ_TIMEOUT)
}

/// Connects to the database with the only connection that applies entries.
pub(crate) async fn connect_writer(location: &Location) -> Result<PgPool, sqlx::Error> {
    let writer = pool(1).idle_timeout(None).max_lifetime(None);
    writer.connect_with(location.options()).await
}

/// Connects to the database with the connection that reads and writes keys.
pub(crate) async fn connect_access(location: &Location) -> Result<PgPool, sqlx::Error> {
    pool(1).connect_with(location.options()).await
}

/// Connections that hold requests with idempotency keys.
const HOLDERS: u32 = 2;

/// The connections that hold requests.
pub(crate) fn connect_holders(location: &Location) -> PgPool {
    pool(HOLDERS).connect_lazy_with(location.options())
}

/// The connection that writes to the index of texts.
pub(crate) fn connect_texts(location: &Location) -> PgPool {
    pool(1).connect_lazy_with(location.options())
}

/// At most this many connections that read.
pub(crate) fn connect_readers(location: &Location, connections: u32) -> PgPool {
    let options = location.options().options([
        ("statement_timeout", STATEMENT_TIMEOUT_MS),
        // A plan depends on the values, such as the run.
        ("plan_cache_mode", "force_custom_plan"),
    ]);
    pool(connections).connect_lazy_with(options)
}
