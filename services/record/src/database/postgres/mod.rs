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

mod codes;
mod connect;
pub(crate) mod holds;
mod schema;
mod size;
mod text;

use std::borrow::Cow;

pub(crate) use codes::{is_damage, may_be_caused_by_values};
pub(crate) use connect::{
    Location, connect, connect_access, connect_holders, connect_readers, connect_writer,
};
pub(crate) use schema::{HAS_COLUMN, HAS_TABLE, IS_EMPTY};
pub(crate) use size::size;
pub(crate) use text::{decode_text, encode_text};

/// Begins a transaction that sees one state of the database.
pub(crate) const BEGIN_READING: &str = "begin isolation level repeatable read read only";

/// Begins a transaction that writes. [`LOCK_WRITERS`] is its first statement.
pub(crate) const BEGIN_WRITING: &str = "begin";

/// Waits until no other node writes. The number is that of the lock.
pub(crate) const LOCK_WRITERS: &str = "select pg_advisory_xact_lock(4711046251)";

/// The statement for PostgreSQL: parameters have numbers, and there are no hints for indexes.
pub(crate) fn translate(sql: &str) -> String {
    let mut translated = String::with_capacity(sql.len() + 16);
    let mut rest = Cow::Borrowed(sql);
    while let Some((before, hint)) = rest.split_once(" indexed by ") {
        let after = hint.find(' ').map_or("", |end| &hint[end..]);
        rest = Cow::Owned(format!("{before}{after}"));
    }
    let mut parameters = rest.split('?');
    translated.extend(parameters.next());
    for (number, part) in parameters.enumerate() {
        translated.push('$');
        translated.push_str(&(number + 1).to_string());
        translated.push_str(part);
    }
    translated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_parameters_and_omits_hints() {
        let sql = "select no from batches indexed by batches_by_step where run = ? and step = ?";
        assert_eq!(
            translate(sql),
            "select no from batches where run = $1 and step = $2"
        );
        assert_eq!(translate("select $1"), "select $1");
        let sql = "select 1 from a indexed by x";
        assert_eq!(translate(sql), "select 1 from a");
    }
}
