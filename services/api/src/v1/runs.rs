//! The training runs of the record.

pub(crate) mod get;
pub(crate) mod list;
