//! Serves models by name: one fair queue for requests, and devices that take batches
//! from it. Independent of
//! tensors and files.
//!
//! A request is tokenised (rendered and encoded, on threads that may block), planned (cached
//! sequences are not run, duplicates run once), admitted to the queue with all its sequences or
//! none, run in batches with the sequences of other requests, and scored. All steps of a request
//! use the same version of the model, even if the model is replaced meanwhile.

mod batcher;
mod cache;
mod contract;
mod device;
mod fair_queue;
mod job;
mod loaded;
mod loading;
mod metrics;
mod models;
mod options;
mod plan;
mod queue;
mod registry;
mod server;
mod slot;
mod tokeniser_pool;

#[cfg(test)]
mod tests;

pub use contract::{Loader, Model, RewardScore, RunError, TokenisedInput};
pub use metrics::NAMES as METRICS;
pub(crate) use metrics::record_saturated_group;
pub use models::Models;
pub use options::ServingOptions;
