//! The table of sessions with an interpreter of the tests.

mod calls;
mod fixture;
mod keeping;
mod replaying;
