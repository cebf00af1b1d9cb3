//! How transactions begin.

/// Begins a transaction that sees one state of the database.
pub(crate) const BEGIN_READING: &str = "begin isolation level repeatable read read only";

/// Begins a transaction that writes. [`LOCK_WRITERS`] is its first statement.
pub(crate) const BEGIN_WRITING: &str = "begin";

/// Waits until no other node writes. The number is that of the lock.
pub(crate) const LOCK_WRITERS: &str = "select pg_advisory_xact_lock(4711046251)";
