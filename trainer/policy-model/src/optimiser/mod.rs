//! The optimiser: AdamW, learning rate schedules, and the optimiser state on disk. Independent of
//! the model, except that embedding matrices must have `embed` in their names.

mod adamw;
mod error;
mod norm;
mod schedule;
mod settings;
mod state;
mod update;

pub use adamw::{AdamW, StepSummary};
pub use error::OptimiserError;
pub use schedule::{Decay, Schedule, Warmup};
pub use settings::{AdamWSettings, decays};
