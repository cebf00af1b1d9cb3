//! Checks of datasets with a test grader, which can vary its verdicts, use much work and panic.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod cache;
mod findings;
mod fixtures;
mod formats;
mod reports;
mod settings;
