//! The operator pages in a headless browser: workflows of operators, not only that
//! pages load.
//!
//! Screenshots are saved in `browser/` of the tests' temporary folder.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod chromium;
mod flows;
mod looks;
mod runs;
mod service;
mod sign_in;
mod storage;
mod verifier;
