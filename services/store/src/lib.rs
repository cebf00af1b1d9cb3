//! Owns the durable record: a spool that makes an entry survive before it is answered for, the
//! database behind it, and reads that see both as one. Owns no grading, no HTTP and no decision
//! about what is worth recording.
//!
//! ```text
//! record -> compress and frame -> one write and fdatasync for all that wait -> visible to reads -> answered
//!                                                                           \-> database, many entries a transaction
//! read   -> waiting entries, then one state of the database, merged exactly
//! ```
//!
//! - `spool`: segment files, group commit, recovery after a crash;
//! - `pending`: what is recorded and not in the database yet, in bounded memory;
//! - `writer`: applies entries to the database, however long it was unavailable, and sets aside
//!   those that it rejects;
//! - `health`: the health of the spool thread and the writer;
//! - `database`: what these ask of a database; `sqlite` answers it;
//! - `merge`: reads over both.

mod database;
#[doc(hidden)]
pub mod fuzzing;
mod health;
mod merge;
pub mod metrics;
mod options;
mod packs;
mod panics;
mod pending;
mod spool;
mod sqlite;
mod store;
mod totals;
mod writer;

pub use options::StoreOptions;
pub use spool::OpenSpoolError;
pub use store::{DurableStore, OpenError, set_aside_entries};

/// How long a claim under an idempotency key is kept: a day, in microseconds.
pub const CLAIM_LIFETIME_US: i64 = 24 * 60 * 60 * 1_000_000;
