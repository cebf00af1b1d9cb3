//! Grader `instructions`: does the response follow its instructions? Owns the checks of form and
//! words, and the table of published instructions. Judges no content.
//!
//! # What it checks
//!
//! Each constraint is a rule: a number of things within limits, texts that occur, a rule at a
//! position, a relation of neighbours, a format, or a combination of these. The instructions of
//! IFEval, IFBench and IFEvalG are rules in a table, by their ids and arguments.
//!
//! # What it refuses
//!
//! Constraints that no response can meet make the task ungradable.
//!
//! # Known false positives
//!
//! - A response that meets the constraints and has no sensible content.
//!
//! # Known false negatives
//!
//! - Sentences, syllables and languages are recognised approximately.
//!
//! # Example
//!
//! ```json
//! { "type": "instructions", "constraints": [
//!   { "id": "punctuation:no_comma" },
//!   { "rule": { "count": { "unit": "sentences", "exactly": 3 } } } ] }
//! ```

mod check;
mod conflicts;
mod evidence;
mod finding;
mod formats;
mod grade;
mod language;
mod limits;
mod neighbours;
mod prepare;
mod published;
mod response;
mod rule;
mod sentences;
mod spec;
pub mod syllables;
mod task;
mod text;
mod units;
mod word_lists;

pub use prepare::InstructionsGrader;
pub use published::{Published, all as published};
pub use spec::SPEC;
