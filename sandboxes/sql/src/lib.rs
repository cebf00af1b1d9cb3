//! Owns the running of queries: databases as images, statements under guard, steps and limits.
//! Knows no grader and compares nothing; it is one [`Handler`](assay_worker::Handler) of a worker.
//!
//! A database is an image that is mapped read-only into an SQLite connection and kept open. A
//! statement runs there under an authorizer that lets it read and nothing else, with a budget of
//! steps, small limits on lengths, rows and memory, functions whose cost one instruction would hide
//! replaced, and no clock, randomness or files. So the same statement on the same image gives the
//! same rows after the same number of steps, on any machine under any load.
//!
//! Beside that stands a PostgreSQL server of the operator's ([`Postgres`]), which is asked from
//! outside of workers.

mod build;
mod connection;
mod describe;
mod functions;
mod guard;
mod handler;
mod image;
mod meter;
mod pattern;
mod postgres;
mod run;
mod system;

pub use handler::Databases;
pub use postgres::{Postgres, PostgresOptions};
