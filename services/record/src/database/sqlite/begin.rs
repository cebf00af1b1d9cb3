//! How a transaction begins.

/// Begins a transaction that writes. Waits for other writers, so that it cannot fail later because
/// of one.
pub(crate) const BEGIN_WRITING: &str = "begin immediate";
