//! Grader `sql`: does the query return what the gold returns? Owns extraction of the statement,
//! generated databases, comparison of results, and partial scores. Runs nothing itself:
//! statements run in workers, and their results are compared here.
//!
//! # What it checks
//!
//! The statement of a completion is run on the task's database and its variants, and its rows are
//! compared with those of the golds: as multisets, or in order if the gold orders its rows (ties in
//! any order), numbers by value. A task whose gold fails, returns no row on any database, or
//! depends on the order in which tables are scanned is rejected.
//!
//! # What it refuses
//!
//! Anything but one query: writing, attaching, pragmas, several statements. Steps, memory, rows and
//! lengths are limited, and counted so that a verdict never depends on the machine or its load.
//!
//! # Known false positives
//!
//! - On a single database a query may be correct by coincidence, or by a constant: tasks without
//!   variants cannot detect this.
//! - Generated variants preserve properties of the base: columns without NULL stay so, and a
//!   table without a declared key is taken to have its first unique column as one. Queries that
//!   differ only beyond that pass.
//!
//! # Known false negatives
//!
//! - Queries that are equivalent only by a rule that neither the schema nor the rows show.
//! - A constant in place of a sum over the rows of the base, where variants are generated.
//! - Values that are rounded differently from the gold's, beyond `float_tolerance`.
//!
//! # Example
//!
//! ```json
//! { "type": "sql", "dialect": "sqlite", "database": { "schema": "create table t(a)", "rows": "insert into t values (1)" },
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
mod partial;
mod prepare;
mod queries;
mod ready;
mod spec;
mod statement;
mod tally;
mod task;
mod variants;
mod verdict;

pub use prepare::SqlGrader;
pub use queries::Queries;
pub use spec::SPEC;
