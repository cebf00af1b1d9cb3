//! Architecture and end-to-end tests: dependencies between crates, completeness of the table of
//! graders, documents that match the code.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::sync::Arc;

mod architecture;
mod cases;
mod check;
mod dependencies;
mod documents;
mod generated;
mod language;
mod modules;
mod noise;
mod operators;
mod pages;
mod problems;
mod templates;
mod traces;
mod trainer;

/// The graders of the binary, with nothing to run programs in.
fn graders() -> assay_core::GraderTable {
    let sandboxes =
        assay_node::sandboxes::Sandboxes::open(&Default::default(), &Default::default()).unwrap();
    let clock: Arc<dyn assay_core::Clock> = Arc::new(assay_core::SystemClock::new());
    let models = assay_node::models::open(&Default::default(), &clock).unwrap();
    assay_node::graders::graders(&sandboxes, Arc::new(models), Default::default(), 64 << 20)
}
