//! Owns the validation of datasets: reads rows, makes tasks from them, grades probes (completions
//! with a known verdict) and reports findings. Grades nothing itself: the engine does, with the
//! graders that will grade the rollouts.
//!
//! [`check()`] is the pipeline: `sources -> sample -> columns -> subject -> probes -> cache ->
//! engine -> findings -> reports`. It keeps a few hundred rows in memory. The data kept about a row
//! after that has a fixed size, and is kept for at most [`findings::duplicates::MAX_ROWS`] rows.

mod baseline;
mod benchmark;
mod cache;
mod check;
mod clean;
mod columns;
mod error;
mod excerpt;
pub mod findings;
#[doc(hidden)]
pub mod fuzzing;
mod graded_row;
mod grading;
mod ignores;
mod options;
mod own_rules;
mod probes;
mod reading;
mod report;
pub mod reports;
mod rollouts;
mod row;
mod sample;
mod settings;
mod shingles;
mod sketch;
mod sources;
mod subject;
mod thresholds;

pub use baseline::{Baseline, Compared};
pub use benchmark::Benchmark;
pub use cache::{CacheError, ResultCache};
pub use check::{Dataset, check};
pub use clean::{CleanError, CleanRows, write_clean};
pub use columns::{ColumnCopy, ColumnSources, Join, JoinError};
pub use error::CheckError;
pub use ignores::Ignores;
pub use options::{DEFAULT_MAX_FINDINGS, Options};
pub use own_rules::OwnRules;
pub use probes::why_unprobed;
pub use report::{DatasetSummary, Finding, FlaggedRows, Mutants, NewTest, Report, RightRows};
pub use rollouts::Rollouts;
pub use row::RowLocation;
pub use settings::{CodeSettings, DatasetSettings, FailOn, RowSettings, Settings};
pub use sources::{STANDARD_INPUT, SourceError, is_dataset, read_rows};
pub use thresholds::Thresholds;
