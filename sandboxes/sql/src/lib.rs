//! Owns the execution of queries: databases as images, restricted statements, steps and limits.
//! Knows no grader and compares nothing; it is a [`Handler`](assay_worker::Handler) of a sandbox
//! worker.
//!
//! A database is an image that is mapped read-only into an SQLite connection and kept open. A
//! statement runs there under an authorizer that allows reading only, with a budget of steps, small
//! limits on lengths, rows and memory, replacements for functions with unbounded cost per
//! instruction, and no clock, randomness or files. So the same statement on the same image returns
//! the same rows after the same number of steps, on any machine under any load.
//!
//! Statements may also run on a PostgreSQL server of the operator ([`Postgres`]), which is used
//! without workers.

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
