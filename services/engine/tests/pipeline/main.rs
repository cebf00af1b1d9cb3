//! The pipeline of the engine, with graders and an in-memory record that fail on demand.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod cases;
mod consensus;
mod fixtures;
mod idempotency;
mod keeping;
mod names;
mod noise;
mod recording;
