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
mod clean;
pub mod findings;
#[doc(hidden)]
pub mod fuzzing;
mod graded_row;
mod options;
mod probes;
mod reading;
mod report;
pub mod reports;
mod rollouts;
mod row;
mod sample;
mod shingles;
mod sketch;
mod sources;
mod subject;

pub use baseline::{Baseline, Compared};
pub use benchmark::Benchmark;
pub use check::{CheckError, Dataset, check};
pub use clean::{CleanError, CleanRows, write_clean};
pub use options::{DEFAULT_MAX_FINDINGS, Options};
pub use probes::why_unprobed;
pub use report::{DatasetSummary, Finding, FlaggedRows, Mutants, NewTest, Report};
pub use rollouts::Rollouts;
pub use row::RowLocation;
pub use sources::{STANDARD_INPUT, SourceError, is_dataset, read_rows};
