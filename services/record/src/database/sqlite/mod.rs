//! What is written for SQLite only.
//!
//! # Durability
//!
//! In WAL mode with `synchronous = normal`, a commit writes the log without syncing it. After `kill
//! -9` the kernel still has every written page, so nothing is lost. After a power loss the log is
//! valid up to some earlier commit (its checksums exclude the rest), and SQLite restores the state
//! of that commit. The progress of the spool is part of that state, so later entries are applied
//! again, provided that their segments still exist. They do: a segment is deleted only after a
//! checkpoint of the whole log, and a checkpoint syncs the log before it copies it and the database
//! file afterwards. `synchronous = full` would give the same guarantee but needs one more sync per
//! transaction, on the disk for whose syncs the replies wait. Only steps of retention, which can
//! fill the log as fast as the disk writes it, sync the log each time: a sync of everything that
//! they write until the next checkpoint would delay the syncs of the spool by hundreds of
//! milliseconds.
//!
//! This does not apply to a file that was deleted or replaced while the node runs: SQLite continues
//! to write to the open file, which no restart will find. The file at the path is therefore
//! compared with the open file before and after every transaction and after every checkpoint. While
//! they differ, nothing counts as applied and no segment is deleted.
//!
//! # Failed transactions
//!
//! If a disk is full or broken, SQLite rolls a transaction back by itself. The driver does not
//! notice: its connection counts the transaction as open and can never begin another. The
//! connection of a failed transaction is therefore closed, and the next transaction opens a new
//! one. An in-memory database exists only as long as its connection, which is rolled back instead.

mod begin;
mod check;
mod codes;
mod connect;
mod copied;
mod copy;
mod file;
mod log;
mod pages;
pub(crate) mod texts;

pub(crate) use begin::BEGIN_WRITING;
pub(crate) use check::{HAS_COLUMN, HAS_TABLE, IS_EMPTY, integrity_problems};
pub(crate) use codes::is_damage;
pub(super) use codes::may_be_caused_by_values;
pub(crate) use connect::Location;
#[cfg(test)]
pub(super) use connect::test_name;
pub(crate) use connect::{
    connect_durable, connect_existing, connect_one, connect_readers, connect_reading,
};
pub(crate) use copied::{COLUMNS, drop_triggers};
pub(crate) use copy::{copy_into, open_copy};
pub(super) use file::DatabaseFile;
pub(super) use log::{LogPages, checkpoint, truncate_log};
pub(super) use pages::{return_pages, size};

/// A hint that a table is read by this index, after the name of the table. Without statistics,
/// SQLite would choose another one.
macro_rules! indexed_by {
    ($index:literal) => {
        concat!(" indexed by ", $index)
    };
}

pub(super) use indexed_by;
