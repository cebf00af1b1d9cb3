//! The pages, one module each.

pub(crate) mod audit;
pub(crate) mod channel;
pub(crate) mod channels;
pub(crate) mod check;
pub(crate) mod checks;
pub(crate) mod comments;
pub(crate) mod compare;
pub(crate) mod cost;
pub(crate) mod disagreements;
pub(crate) mod grade;
pub(crate) mod grades;
pub(crate) mod home;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod prompts;
pub(crate) mod queue;
pub(crate) mod replayed;
pub(crate) mod run;
pub(crate) mod run_notes;
pub(crate) mod runs;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod shadow;
pub(crate) mod sign_in;
pub(crate) mod storage;
pub(crate) mod suspects;

/// Number of newest grades that pages read where the record has no sums. It is large enough to show
/// patterns and small enough to read for each request.
pub(crate) const NEWEST_GRADES: u32 = 1_000;
