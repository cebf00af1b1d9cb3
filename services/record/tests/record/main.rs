//! The guarantees of the record, on SQLite or, if `ASSAY_TEST_POSTGRES` is set, on PostgreSQL. The
//! tests in `sqlite` are for SQLite only.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

mod access;
mod acknowledging;
mod answers;
mod assignments;
mod batches;
mod channel_parts;
mod channels;
mod checks;
mod claims;
mod comments;
mod copying;
mod costs;
mod faults;
mod fixture;
mod jobs;
mod lists;
mod names;
mod pairs;
mod postgres;
mod prompts;
mod reads;
mod recent;
mod recovery;
mod retention;
mod run_notes;
mod searching;
mod set_aside;
mod shared;
mod sharing;
mod sqlite;
mod upgrading;
