//! Reward policies: how a reward is computed from a verdict, by the sections of a policy.
//!
//! This module defines the JSON of a policy and the list of its sections. The caller provides
//! corrected outcomes, parts and measures. Names of policies and configuration files are handled by
//! other crates.

pub mod catalogue;
pub mod combine;
pub mod compose;
pub mod consensus;
pub mod diversity;
mod draft;
pub mod efficiency;
pub mod explain;
pub mod filter;
pub mod gates;
mod label;
pub mod length;
mod line;
mod number;
mod other_stages;
pub mod outcome;
pub mod progressive;
pub mod read;
pub mod repetition;
mod rules;
pub mod sample;
mod section;
pub mod shape;
pub mod steps;
#[cfg(test)]
mod tests;
mod validate;
pub mod weights;

pub use catalogue::{FUNCTIONS, Function};
pub use combine::Combine;
pub use consensus::Consensus;
pub use diversity::Diversity;
pub use efficiency::Efficiency;
pub use explain::Explained;
pub use filter::Filter;
pub use gates::{Gate, Veto};
pub use label::Label;
pub use length::Length;
pub use outcome::Outcome;
pub use progressive::Stages;
pub use repetition::Repetition;
pub use rules::PolicyRules;
pub use sample::{Part, RewardResult, Sample, Term, TermKind};
pub use shape::Shape;
pub use steps::Steps;
pub use validate::{OUTCOME, PolicyError};
pub use weights::Weights;
