//! `/v1/runs`: the recorded training runs.

pub(crate) mod annotate;
pub(crate) mod compare;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod shadow;
