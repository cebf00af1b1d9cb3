//! Grader `external`: what does a judge of the operator say? Owns the calls of judges over HTTP:
//! their prompts, replies, limits and costs. The URLs and keys are the operator's; a request only
//! names a judge.
//!
//! # What it checks
//!
//! A judge, a language model or another server, reads the completion and replies with a score, a
//! label, a preference or decisions about criteria.
//!
//! # What it refuses
//!
//! A reply that does not have exactly the expected form. It is requested once more; then the item
//! is `failed`, and so is an item whose judge does not reply. No failure becomes a score.
//!
//! # Known false positives
//!
//! - What the judge gets wrong. Measure it as a channel before it shapes rewards.
//!
//! # Known false negatives
//!
//! - The same.
//!
//! # Example
//!
//! ```json
//! { "type": "external", "judge": "helpful", "threshold": 0.7 }
//! ```

mod answer;
pub mod audit;
mod breaker;
mod budget;
mod cache;
mod chat;
mod evidence;
mod flights;
#[doc(hidden)]
pub mod fuzzing;
mod grade;
mod http;
mod judge;
mod judges;
mod lean;
mod metrics;
mod nemo_gym;
mod opinion;
mod prepare;
mod prompt;
mod reply;
mod route;
#[cfg(feature = "scripted")]
pub mod scripted;
pub mod settings;
mod spec;
mod task;
mod verifiers;

pub use judges::{JudgeError, Judges};
pub use metrics::NAMES as METRICS;
pub use prepare::ExternalGrader;
pub use prompt::Entropy;
pub use settings::JudgeSettings;
pub use spec::SPEC;
