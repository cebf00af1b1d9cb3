//! Runs of the trainer.

mod command;
mod learning;
mod reward_model;
mod runs;
mod serving;
