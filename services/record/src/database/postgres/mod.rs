//! What is written for PostgreSQL only.
//!
//! # Several nodes
//!
//! Each node applies its own spool. A transaction that writes takes a lock that all nodes share, so
//! that they write in turn, as processes do that share a file of SQLite: numbers of batches and of
//! packs follow each other without gaps. What differs between nodes is the progress of each spool.
//!
//! # Durability
//!
//! A commit is on the disk of the server when it returns, so that segments of the spool are deleted
//! without a checkpoint.

mod begin;
mod codes;
mod connect;
mod copied;
pub(crate) mod holds;
pub(crate) mod quota_uses;
mod schema;
mod size;
mod text;
pub(crate) mod texts;
mod time;
mod translate;

pub(crate) use begin::{
    BEGIN_READING, BEGIN_WRITING, LOCK_OPERATORS, LOCK_TEXTS, LOCK_WRITERS, TRY_LOCK_RETENTION,
};
pub(crate) use codes::{is_damage, may_be_caused_by_values};
pub(crate) use connect::{
    Location, connect, connect_access, connect_holders, connect_readers, connect_texts,
    connect_writer,
};
pub(crate) use copied::{COLUMNS, OTHERS, continue_numbers, set_triggers};
pub(crate) use schema::{HAS_COLUMN, HAS_TABLE, IS_EMPTY};
pub(crate) use size::size;
pub(crate) use text::{decode_text, encode_text};
pub(crate) use translate::translate;
