//! The table of sessions with an interpreter of the tests.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod calls;
mod fixture;
mod keeping;
mod replaying;
