//! Queries on a real PostgreSQL server, which these tests start and stop: verdicts, denied
//! statements, cleanup.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod builds;
mod denied;
mod fixtures;
mod grading;
mod server;
mod serving;
