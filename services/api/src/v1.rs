//! The endpoints under `/v1`, one a file.

pub(crate) mod grade;
pub(crate) mod graders;
pub(crate) mod grades;
pub(crate) mod runs;
