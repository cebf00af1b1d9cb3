//! The endpoints under `/v1`, one per file.

pub(crate) mod adjudications;
pub(crate) mod alerts;
pub(crate) mod audit;
pub(crate) mod channels;
pub(crate) mod checks;
pub(crate) mod costs;
pub(crate) mod grade;
pub(crate) mod graders;
pub(crate) mod grades;
pub(crate) mod jobs;
pub(crate) mod page;
pub(crate) mod policies;
pub(crate) mod prompts;
pub(crate) mod reward_models;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod storage;
