//! Policy models: decoders that are trained and generate completions. Owns the differentiable
//! operations, the weights, generation and the optimiser. Owns no loss, no rewards and no problems.
//!
//! `ops` has the differentiable operations, `decoder` the forward pass, `policy` the trained
//! model, `generation` the generation of completions, and `optimiser` AdamW.

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
mod scoring;
#[cfg(test)]
mod tests;

pub use batch::{Text, TokenBatch};
pub use error::PolicyError;
pub use generation::{GeneratedCompletion, GenerationRequest, Sampling, generate};
pub use graph::{Graph, Scored};
pub use lora::LoraSettings;
pub use policy::{PolicyModel, PolicyModelOptions};
pub use scoring::{HEAD, ScoringModel, TextScores};
