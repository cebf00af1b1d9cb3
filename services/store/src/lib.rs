//! Owns the record: a spool that makes entries durable before they are acknowledged, the database
//! to which they are applied, and reads that combine both. Does not grade, does not depend on HTTP,
//! and does not decide what is recorded.
//!
//! ```text
//! record -> compress and frame -> one write and fdatasync per group -> visible -> acknowledged
//!                                                                          \-> database
//! read   -> pending entries, then a state of the database, merged
//! ```
//!
//! - `spool`: segment files, group commit, recovery after a crash;
//! - `pending`: entries that are recorded but not in the database yet, in bounded memory;
//! - `writer`: applies entries to the database, retries while it is unavailable, and sets aside
//!   entries that it rejects;
//! - `health`: the health of the spool thread and the writer;
//! - `database`: the interface of a database, which `sqlite` implements;
//! - `merge`: reads that combine pending entries and the database.

mod backup;
mod database;
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod loaded_entry;
mod merge;
pub mod metrics;
mod options;
mod packs;
mod panics;
mod pending;
mod retention;
mod retention_step;
mod spool;
mod sqlite;
mod store;
mod totals;
mod verify;
mod writer;

pub use backup::{Backup, BackupError, backup};
pub use options::StoreOptions;
pub use spool::OpenSpoolError;
pub use sqlite::SqliteAccess;
pub use store::{
    DurableStore, OpenError, append_audit, database_file, open_access, set_aside_entries,
};
pub use verify::{Damage, Verification, verify};

/// How long a claim under an idempotency key is kept: a day, in microseconds.
pub const CLAIM_LIFETIME_US: i64 = 24 * 60 * 60 * 1_000_000;
