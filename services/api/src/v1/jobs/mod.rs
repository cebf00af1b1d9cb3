//! `/v1/jobs`: data sets that are graded in the background.

pub(crate) mod cancel;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod replay;
pub(crate) mod results;
pub(crate) mod submit;
