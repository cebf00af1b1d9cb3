//! Receives jobs: their shards are stored first, and are graded once all are stored.

mod items;
mod pending;
mod replay;

pub use items::{JobRequest, Submission};
pub use replay::ReplayRequest;
