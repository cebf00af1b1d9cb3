//! Grader `code`: does the program of a completion pass the tests? Owns extraction of the program,
//! tests, checkers, scoring. Runs nothing itself: programs run in workers, and what they gave is
//! compared here.
//!
//! # What it checks
//!
//! A program is compiled once and run on each test in a fresh sandbox. A test gives standard input
//! and compares standard output, or calls a function and compares the value, or runs a text that
//! asserts. Limits are counted in work, so a verdict never depends on the machine or its load.
//!
//! # What it refuses
//!
//! Files, network, processes, clocks: there are none in the sandbox. Expected values never enter
//! the program's sandbox: outputs and values are compared outside, and texts that assert run in a
//! second sandbox that reaches the program only by messages. Code of the task that fails by itself
//! makes the task ungradable. The types ensure that it never becomes a verdict.
//!
//! # Known false positives
//!
//! - A test of a program's own classes believes what their methods say: `len(obj)`, `x in obj`, an
//!   order between two of them.
//! - Helpers of a `prelude` that judge: the program can redefine them.
//! - A program that prints every possible answer passes a checker program that only looks for one
//!   of them.
//! - Tests decide only what they test: a table of the visible cases passes them.
//!
//! # Known false negatives
//!
//! - Threads run one after the other when they are started; programs whose threads wait for one
//!   another run out of work.
//! - Programs that need packages beyond the standard library, files, sockets or other processes.
//! - An instance of the program's own class is never equal to a plain value, whatever its `__eq__`
//!   says, unless its class derives from a builtin one.
//! - Asserts that look at how a thing was made, derive from the program's classes, or read a
//!   changed global of the program again.
//!
//! # Example
//!
//! ```json
//! { "type": "code", "language": "python", "tests": [ { "stdin": "2 3\n", "stdout": "5\n" } ] }
//! ```

mod checker;
mod evidence;
mod execute;
mod extract;
#[doc(hidden)]
pub mod fuzzing;
mod grade;
mod metrics;
mod prelude;
mod prepare;
mod programs;
mod ran;
mod result;
mod score;
mod spec;
mod task;
mod told;
mod traceback;
mod value;
mod verdict;
mod visible;

pub use self::metrics::NAMES as METRICS;
pub use prepare::CodeGrader;
pub use programs::Programs;
pub use spec::SPEC;
