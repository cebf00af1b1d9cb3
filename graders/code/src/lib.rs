//! Grader `code`: does the program of a completion pass the tests? Owns extraction of the program,
//! tests, checkers and scoring. Programs run in sandbox workers; this crate compares their results.
//!
//! # What it checks
//!
//! A program is compiled once and run on each test in a fresh sandbox. A test compares standard
//! output, or the value that a function returns, or runs code with asserts. Limits are counted in
//! work, so a verdict never depends on the machine or its load.
//!
//! # What it refuses
//!
//! The sandbox has no network, no other processes and no files of the host, and its clock counts
//! work. Expected values never enter the program's sandbox: outputs and values are compared
//! outside, and asserts run in a second sandbox that communicates with the program only by
//! messages. If the task's own code fails, the task is ungradable. The types ensure that such a
//! failure never becomes a verdict.
//!
//! # Known false positives
//!
//! - Tests of a program's own classes trust the results of their methods: `len(obj)`, `x in obj`,
//!   an order between two of them.
//! - Functions of a `prelude` that check results: the program can redefine them.
//! - A program that prints every possible answer passes a checker program that only searches for
//!   one of them.
//! - Programs that are wrong only on inputs that no test covers, such as a table of the visible
//!   cases.
//!
//! # Known false negatives
//!
//! - A thread runs to completion when it is started. A program whose threads wait for each other
//!   gets an exception.
//! - Programs that need packages that the images lack, sockets or other processes.
//! - An instance of the program's own class is never equal to a plain value, whatever its `__eq__`
//!   returns, unless its class derives from a builtin one.
//! - Asserts that inspect the code of the program's functions, or that read a global of the program
//!   again after the program assigned a new value to it.
//!
//! # Example
//!
//! ```json
//! { "type": "code", "language": "python", "tests": [ { "stdin": "2 3\n", "stdout": "5\n" } ] }
//! ```

mod checker;
mod definitions;
mod driver_evidence;
mod evidence;
mod execute;
mod extract;
mod features;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod grade;
mod images;
mod imports;
mod in_flight;
mod language;
mod limits;
mod metrics;
mod per_image;
mod prelude;
mod prepare;
mod program_run;
mod programs;
mod result;
mod score;
mod series;
mod session_calls;
mod spec;
mod statements;
mod task;

mod traceback;
mod value;
mod verdict;
mod visible_text;

pub use self::metrics::NAMES as METRICS;
pub use images::{MissingImage, missing_images};
pub use prepare::CodeGrader;
pub use programs::{ImageVersion, PrepareImages, PreparedImage, Programs};
pub use session_calls::SESSION_LANGUAGES;
pub use spec::SPEC;
