//! The way of a batch through the engine, with graders planted for the purpose.

mod cases;
mod fixtures;
mod idempotency;
mod recording;
