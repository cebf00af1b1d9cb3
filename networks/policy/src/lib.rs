//! A decoder that learns and writes. Owns the differentiable operations, the weights, the writing
//! of completions and the optimiser. Owns no loss, no reward and no problem.
//!
//! `ops` differentiates, `decoder` is the one forward pass, `policy` holds what learns,
//! `generation` writes.

mod batch;
mod decoder;
mod error;
pub mod generation;
mod graph;
mod lora;
mod ops;
pub mod optimiser;
mod parameters;
mod policy;
#[cfg(test)]
mod tests;

pub use batch::{Batch, Text};
pub use error::PolicyError;
pub use generation::{Sampling, Wanted, Written, generate};
pub use graph::{Graph, Scored};
pub use lora::LoraSettings;
pub use policy::{PolicyModel, PolicyModelOptions};
