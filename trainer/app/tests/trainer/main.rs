//! Runs of the trainer.

mod command;
mod learning;
mod memory;
mod refit;
mod reward_model;
mod runs;
mod serving;
