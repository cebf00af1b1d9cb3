//! How weights follow their gradients: AdamW, the learning rate of a step, and what of it goes to
//! disk. Knows nothing of the model whose weights these are, except that matrices that embed tokens
//! bear `embed` in their names.

mod adamw;
mod error;
mod norm;
mod schedule;
mod settings;
mod state;
mod update;

pub use adamw::{AdamW, StepFacts};
pub use error::OptimiserError;
pub use schedule::{Decay, Schedule, Warmup};
pub use settings::{AdamWSettings, decays};
