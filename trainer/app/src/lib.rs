//! The trainer. Owns the training loop: select prompts, generate completions, fetch rewards,
//! update the policy model.
//!
//! The data flow of a step: `data` (prompts) → `rollout` (completions, by `assay-policy-model`) →
//! `rewards` (grades of the service) → `experience` (advantages) → `learn` (the loss of
//! `assay-objective`, gradients, updates) → `telemetry`. `batches` builds batches, `training` is
//! the loop, `budget` fits it into memory, and `checkpoint` saves its state. `update` performs one
//! update from a `batch_file`.

pub mod batch_file;
pub mod batches;
pub mod budget;
pub mod checkpoint;
pub mod config;
pub mod data;
pub mod evaluation;
pub mod experience;
pub mod learn;
pub mod reward_model;
pub mod rewards;
pub mod rollout;
pub mod telemetry;
pub mod text;
pub mod training;
pub mod update;
pub mod warmup;
