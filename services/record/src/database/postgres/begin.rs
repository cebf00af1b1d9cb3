//! How transactions begin.

/// Begins a transaction that sees one state of the database.
pub(crate) const BEGIN_READING: &str = "begin isolation level repeatable read read only";

/// Begins a transaction that writes. [`LOCK_WRITERS`] is its first statement.
pub(crate) const BEGIN_WRITING: &str = "begin";

/// Waits until no other node writes. The number is that of the lock.
pub(crate) const LOCK_WRITERS: &str = "select pg_advisory_xact_lock(4711046251)";

/// Waits until no other node draws or adjudicates grades. The lock ends with the connection.
pub(crate) const LOCK_OPERATORS: &str = "select pg_advisory_lock(4711046253)";

/// Whether no other node deletes; it then waits for this one. The lock ends with the connection.
pub(crate) const TRY_LOCK_RETENTION: &str = "select pg_try_advisory_lock(4711046254)";

/// Waits until no other node writes to the index of texts.
pub(crate) const LOCK_TEXTS: &str = "select pg_advisory_xact_lock(4711046252)";
