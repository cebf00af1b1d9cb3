//! Serving: models behind names, their requests in one fair queue, their batches on one device.
//! Knows no tensor and no file.
//!
//! A request goes one way: it is read (rendered and tokenised, on threads that may block), planned
//! (what the cache knows is not run, what comes twice is run once), admitted to the queue with all
//! its sequences or none, run in batches with those of others, and scored. It meets one version of
//! a model from the first step to the last, however often the name is given another.

mod cache;
mod contract;
mod device;
mod former;
mod lanes;
mod loaded;
mod loading;
mod metrics;
mod models;
mod options;
mod plan;
mod queue;
mod reading;
mod registry;
mod slot;
mod ticket;

#[cfg(test)]
mod tests;

pub use contract::{Judged, Loader, Model, Reading, RunError};
pub use metrics::NAMES as METRICS;
pub use models::Models;
pub use options::ServingOptions;
