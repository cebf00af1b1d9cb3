//! Grader `choice`: is this the right option? Owns how a selected option is compared with the right
//! ones. `assay-extraction` finds what a completion selects.
//!
//! # What it checks
//!
//! The options that a completion selects, by their labels, their texts or their values, are the
//! right ones.
//!
//! # What it refuses
//!
//! A task whose right option is not among its options, or has the text of a wrong one, is
//! ungradable.
//!
//! # Known false positives
//!
//! - A label that a completion states without having solved the task.
//!
//! # Known false negatives
//!
//! - Options that are described in other words.
//!
//! # Example
//!
//! ```json
//! { "type": "choice", "options": ["Lyon", "Paris", "Nice"], "answer": "B" }
//! ```

mod evidence;
mod grade;
mod none;
mod prepare;
mod select;
mod spec;
mod task;
mod texts;

pub use prepare::ChoiceGrader;
pub use spec::SPEC;
