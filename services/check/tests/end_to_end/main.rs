//! Checks of datasets with a grader made up for them, so that it can waver, toil and panic.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod fixtures;
mod formats;
mod reports;
mod seen;
