//! The way of a batch through the engine, with graders planted for the purpose.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod cases;
mod fixtures;
mod idempotency;
mod noise;
mod pairs;
mod recording;
