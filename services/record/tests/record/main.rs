//! The guarantees of the record. To test another database, open it in `fixture`.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, as tests do"
)]

mod access;
mod answers;
mod assignments;
mod backups;
mod batches;
mod channel_parts;
mod channels;
mod checks;
mod claims;
mod comments;
mod costs;
mod earlier;
mod faults;
mod fixture;
mod lists;
mod names;
mod pairs;
mod prompts;
mod reads;
mod recent;
mod recovery;
mod retention;
mod run_notes;
mod searching;
mod set_aside;
