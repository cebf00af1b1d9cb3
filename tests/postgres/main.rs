//! Queries on a real PostgreSQL server, which these tests start and stop: what is graded, what
//! trespasses get, that nothing stays.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod builds;
mod fixtures;
mod grading;
mod server;
mod serving;
mod trespasses;
