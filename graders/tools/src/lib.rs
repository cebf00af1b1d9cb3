//! Grader `tools`: are the calls of tools the expected ones? Owns turns of a trace, comparison of
//! calls, matching, declared effects on a state. Executes nobody's code. How calls are written is
//! read by `assay-documents`.
//!
//! # What it checks
//!
//! Calls in messages or in text are checked against their tools' schemas and matched with the
//! expected ones, argument by argument; or followed through declared effects to the state they
//! leave. Turns of a trace are graded one by one.
//!
//! # What it refuses
//!
//! A call that is not what its form asks for is `malformed_call`, and is told from no call at all.
//! Nothing is repaired.
//!
//! # Known false positives
//!
//! - In `bfcl` mode whatever BFCL accepts: `1.5` for `15` in strings.
//! - Without `tools` no schema is checked.
//!
//! # Known false negatives
//!
//! - Strings that mean the same and are written otherwise, unless the task lists them.
//!
//! # Example
//!
//! ```json
//! { "type": "tools", "tools": [{ "name": "weather", "parameters": { "type": "object" } }],
//!   "expected": [{ "name": "weather", "arguments": { "city": "Paris" } }] }
//! ```

mod bfcl;
mod checker;
mod compare;
mod evidence;
mod grade;
mod matching;
mod prepare;
mod python;
mod spec;
mod state;
mod task;
mod tool;
mod toolrl;
mod trace;
mod verdict;

pub use checker::{Calls, Checker};
pub use prepare::ToolsGrader;
pub use spec::SPEC;
