//! Connections as the operator, the author of a build, and the reader.

use std::str::FromStr;
use std::time::Duration;

use assay_worker::query::ServerError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, Error, PgConnection};

use super::errors;
use super::passwords::Passwords;
use super::roles::{OWNER, READER};

/// Timeout of connecting.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of attempts to reach a restarting server, one each second.
const ATTEMPTS: usize = 10;

/// The role that connects.
pub(super) enum Role<'a> {
    Operator,
    /// The author of a build, by its name.
    Author(&'a Passwords, &'a str),
    Reader(&'a Passwords),
}

/// The address of the server, or why its URL is invalid.
pub(super) struct Address(Result<PgConnectOptions, String>);

impl Address {
    pub(super) fn new(url: &str) -> Self {
        // Notices of the server are ignored.
        let quiet = |options: PgConnectOptions| {
            options
                .disable_statement_logging()
                .options([("client_min_messages", "error")])
        };
        let options = PgConnectOptions::from_str(url).map(quiet);
        Self(options.map_err(|error| {
            format!("`sql.postgres` is not a valid URL of a PostgreSQL server: {error}")
        }))
    }

    /// Connects to the named database, or to the database of the URL.
    pub(super) async fn connect(
        &self,
        role: &Role<'_>,
        database: Option<&str>,
    ) -> Result<PgConnection, Error> {
        let options = self
            .0
            .clone()
            .map_err(|message| Error::Configuration(message.into()))?;
        let options = match role {
            Role::Operator => options.options([("search_path", "pg_catalog")]),
            Role::Author(passwords, author) => options
                .username(author)
                .password(&passwords.password(author)),
            Role::Reader(passwords) => options
                .username(READER)
                .password(&passwords.password(READER)),
        };
        let options = match database {
            Some(database) => options.database(database),
            None => options,
        };
        let connecting = PgConnection::connect_with(&options);
        tokio::time::timeout(TIMEOUT, connecting)
            .await
            .unwrap_or_else(|_| {
                Err(Error::Io(std::io::Error::new(
                    std::io::ErrorKind::TimedOut,
                    "timed out while connecting",
                )))
            })
    }

    /// Connects as the operator to the named database, or to the database of the URL.
    pub(super) async fn connect_as_operator(
        &self,
        database: Option<&str>,
    ) -> Result<PgConnection, ServerError> {
        self.connect(&Role::Operator, database)
            .await
            .map_err(|error| unreachable(&error))
    }
}

/// Retries for several seconds until the server responds.
pub(super) async fn with_retries<T, F: Future<Output = Result<T, ServerError>>>(
    mut attempt: impl FnMut() -> F,
) -> Result<T, ServerError> {
    let mut last = attempt().await;
    for _ in 1..ATTEMPTS {
        if last.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        last = attempt().await;
    }
    last
}

/// Converts an error that is a fault of the server or its configuration.
pub(super) fn unreachable(error: &Error) -> ServerError {
    let message = match error {
        Error::Database(error) if matches!(error.code().as_deref(), Some("28P01" | "28000")) => {
            format!(
                "{}; allow password authentication for `{READER}` and members of `{OWNER}` \
                 (`+{OWNER}`) in `pg_hba.conf`",
                error.message()
            )
        }
        other => errors::message(other),
    };
    ServerError::Unreachable(message)
}
