//! The operator pages in a real browser, without a window: what operators do there, not only that
//! pages answer.
//!
//! Screenshots are left in `browser/` of the tests' temporary folder, for people to look at.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod browser;
mod flows;
mod looks;
mod service;
