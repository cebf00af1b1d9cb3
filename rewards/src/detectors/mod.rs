//! Signs of reward hacking in a run: changes of sums by step that training alone does not explain,
//! with the step at which each began.
//!
//! Data flow: sums of a step ([`StepSums`]) -> series of means with their variances ([`series`]) ->
//! the change of a series at a step ([`change`]) -> the rule of each detector (`rules`) ->
//! findings. A rule needs a change that is both large and far beyond its standard error.
//! `docs/DETECTORS.md` lists the rules and how often they are wrong on simulated runs.

pub mod change;
mod finding;
mod rules;
pub mod series;
#[cfg(test)]
mod tests;

pub use self::change::Change;
pub use self::finding::{Detector, Finding};
pub use self::series::{Moments, Share, StepSums};

/// The findings of all detectors on the steps of a run, in the order of their detectors. Steps
/// must be in ascending order. A detector without sums finds nothing, and none finds anything in
/// runs of fewer than 20 steps.
#[must_use]
pub fn detect(steps: &[StepSums]) -> Vec<Finding> {
    rules::RULES
        .iter()
        .filter_map(|rule| rule.first(steps))
        .collect()
}
