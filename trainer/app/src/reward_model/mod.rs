//! Reward models that are fitted to preference pairs: once, or again and again beside a training
//! run.
//!
//! `pairs` tokenises pairs, `fit` trains a model on them by a `loss` and starts with the `head`,
//! `directory` reads and writes models, and `refit` is the loop beside a run, over a `window` of
//! the newest pairs.

pub mod directory;
pub mod fit;
pub mod head;
pub mod loss;
pub mod pairs;
pub mod refit;
mod window;

pub use fit::{FitSettings, Trained, accuracy, fit};
pub use loss::Loss;
pub use pairs::{PairSets, PreferencePair, TokenPair};
