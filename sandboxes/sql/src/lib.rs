//! Owns the execution of queries: images of databases, restrictions of statements, steps and
//! limits. Does not depend on graders or compare results; it is the
//! [`Handler`](assay_worker::Handler) of sandbox workers for queries.
//!
//! A database is an image that is opened read-only by an SQLite connection and cached. Statements
//! run under an authorizer that allows only reading, with a budget of steps and limits on lengths,
//! rows and memory. Functions with unbounded cost per instruction are replaced. The clock is fixed,
//! random numbers have a fixed seed, and there are no files. The same statement on the same image
//! therefore returns the same rows after the same number of steps, on any machine under any load.
//!
//! Statements may also run on a PostgreSQL server of the operator ([`Postgres`]), without workers.

mod build;
mod connection;
mod ddl;
mod describe;
mod empty;
mod functions;
mod guard;
mod handler;
mod image;
mod meter;
mod pattern;
mod postgres;
mod reversed;
mod run;
mod session;
mod system;

pub use handler::Databases;
pub use postgres::{Postgres, PostgresOptions};

/// The version of SQLite, such as `3.50.2`.
#[must_use]
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}
