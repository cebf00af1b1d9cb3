//! Grader `sql`: does the query return what the gold returns? Owns the extraction of the statement,
//! the generation of databases, the comparison of results, and partial scores. Statements run in
//! sandbox workers or on a PostgreSQL server; this crate compares their results.
//!
//! # What it checks
//!
//! The statement of a completion is run on the task's database and its variants, and its rows are
//! compared with those of the golds: as multisets, or in order if the gold orders its rows (ties in
//! any order), numbers by value. A task whose gold fails, returns no rows on any database, or
//! depends on the order in which tables are scanned is ungradable.
//!
//! # What it refuses
//!
//! Anything but a single query: writing, attaching databases, pragmas, several statements. Steps,
//! memory, rows and lengths are limited. In SQLite, the counts are deterministic, so that a verdict
//! never depends on the machine or its load; limits of PostgreSQL are in wall time.
//!
//! # Known false positives
//!
//! - A task without variants accepts a query that is correct by coincidence, or that returns a
//!   constant.
//! - Generated variants preserve properties of the base: most columns without NULL remain without
//!   NULL, and the first unique column of a table without a declared key is treated as its key.
//!   Queries that differ only on other data pass.
//!
//! # Known false negatives
//!
//! - Queries that are equivalent only by a rule that neither the schema nor the rows show.
//! - With generated variants, a constant in place of a computation over the rows of the base.
//! - Values that are rounded differently from the gold's, beyond `float_tolerance`.
//!
//! # Example
//!
//! ```json
//! { "type": "sql", "dialect": "sqlite",
//!   "database": { "schema": "create table t(a)", "rows": "insert into t values (1)" },
//!   "gold": "select a from t" }
//! ```

mod compare;
mod efficiency;
mod evidence;
mod extract;
#[doc(hidden)]
pub mod fuzzing;
mod gold;
mod grade;
mod memory;
mod partial;
mod prepare;
mod queries;
mod ready;
mod session_calls;
mod spec;
mod statement;
mod task;
mod ties;
mod variants;
mod verdict;

pub use prepare::SqlGrader;
pub use queries::Queries;
pub use spec::SPEC;
