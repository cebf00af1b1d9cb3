//! Grader `text`: does the text match? Owns the comparison of texts with expected ones. Executes no
//! pattern with backtracking.
//!
//! # What it checks
//!
//! The text of a completion, or its extracted answer, equals an expected text, equals it after
//! normalisation, contains it, is similar to it, matches a regular expression, or has the same
//! number, date or name. A task may have several golds, of which any or all are required.
//!
//! # What it refuses
//!
//! Patterns that cannot be compiled within the size limit make the task invalid. Patterns run in
//! time linear in the text, so no completion can make one slow.
//!
//! # Known false positives
//!
//! - With `contains`, a text that mentions the gold without stating it as the answer.
//!
//! # Known false negatives
//!
//! - Texts with the same meaning and different words.
//!
//! # Example
//!
//! ```json
//! { "type": "text", "answer": "Paris", "match": "normalised" }
//! ```

mod dates;
mod evidence;
mod fuzzy;
mod grade;
mod matching;
mod names;
mod normal;
mod prepare;
mod refusals;
mod spec;
mod task;

pub use prepare::TextGrader;
pub use spec::SPEC;
