//! Policy models: decoders that are trained and generate completions. Owns the differentiable
//! operations, the weights, generation and the optimiser. Owns no loss, no rewards and no problems.
//!
//! `ops` has the differentiable operations, `decoder` the layers, `forward` the pass over a batch,
//! `chain` its backward pass, `policy` the trained model, `generation` the generation of
//! completions, and `optimiser` AdamW.

mod batch;
mod chain;
mod decoder;
mod error;
mod forward;
pub mod generation;
mod gradients;
mod graph;
mod in_place;
mod lora;
mod memory;
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
pub use gradients::Gradients;
pub use graph::{Entropies, Graph, Scored, Scores};
pub use lora::LoraSettings;
pub use memory::{MemoryPlan, Reference, Workload};
pub use policy::{ADAPTERS, Computation, PolicyModel, PolicyModelOptions};
pub use scoring::{HEAD, ScoringModel, TextScores};
