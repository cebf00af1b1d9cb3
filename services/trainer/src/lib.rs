//! The companion trainer. Owns the loop: which prompts, what is written, what it earned, one step, again.

pub mod data;
pub mod rewards;
pub mod telemetry;
