//! The companion trainer. Owns the loop: which prompts, what is written, what it earned, one step,
//! again.
//!
//! The way of a step: `data` (prompts) → `rollout` (completions, by `assay-policy`) → `rewards`
//! (the service's word) → `experience` (advantages) → `learn` (the loss of `assay-objective`,
//! gradients, a step) → `telemetry`. `writing` makes batches, `training` is the loop around both,
//! `checkpoint` what is kept of it.

pub mod checkpoint;
pub mod config;
pub mod data;
pub mod evaluation;
pub mod experience;
pub mod head;
pub mod learn;
pub mod rewards;
pub mod rollout;
pub mod telemetry;
pub mod text;
pub mod training;
pub mod warmup;
pub mod writing;
