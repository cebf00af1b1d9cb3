//! Owns the check of datasets: rows are read, become tasks, are probed with completions whose
//! verdict is known beforehand, and what does not fit is a finding. Grades nothing itself: the
//! engine does, with the graders that will grade the rollouts.
//!
//! The way of a dataset is readable in [`check()`]: `sources -> sample -> subject -> probes ->
//! engine -> findings -> reports`. Rows are held a few hundred at a time; what is remembered of a
//! row afterwards has a fixed size, and of no more than [`findings::duplicates::MOST_ROWS`] rows.

mod against;
mod baseline;
mod check;
mod examined;
pub mod findings;
#[doc(hidden)]
pub mod fuzzing;
mod options;
mod probes;
mod report;
pub mod reports;
mod rollouts;
mod row;
mod sample;
mod sources;
mod subject;
mod words;

pub use against::Benchmark;
pub use baseline::Baseline;
pub use check::{CheckError, Dataset, check};
pub use options::{FINDINGS, Options};
pub use report::{DatasetSummary, Finding, Mutants, Report};
pub use rollouts::Rollouts;
pub use row::Place;
pub use sources::SourceError;
