//! Owns the validation of datasets: reads rows, makes tasks from them, grades probes (completions
//! with a known verdict) and reports findings. Grades nothing itself: the engine does, with the
//! graders that will grade the rollouts.
//!
//! [`check()`] is the pipeline: `sources -> sample -> subject -> probes -> engine -> findings ->
//! reports`. It keeps a few hundred rows in memory. The data kept about a row after that has a
//! fixed size, and is kept for at most [`findings::duplicates::MAX_ROWS`] rows.

mod baseline;
mod benchmark;
mod check;
pub mod findings;
#[doc(hidden)]
pub mod fuzzing;
mod graded_row;
mod options;
mod probes;
mod report;
pub mod reports;
mod rollouts;
mod row;
mod sample;
mod shingles;
mod sketch;
mod sources;
mod subject;

pub use baseline::Baseline;
pub use benchmark::Benchmark;
pub use check::{CheckError, Dataset, check};
pub use options::{DEFAULT_MAX_FINDINGS, Options};
pub use report::{DatasetSummary, Finding, Mutants, Report};
pub use rollouts::Rollouts;
pub use row::RowLocation;
pub use sources::{SourceError, read_rows};
