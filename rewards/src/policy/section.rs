//! What all sections of a policy have in common.

pub(super) use crate::group::as_f64;

use super::line::Line;
use super::validate::{OUTCOME, ValidationResult};

/// A section of a policy: its validation, its required inputs, and its explanation.
pub(super) trait Section {
    /// Validates ranges, and settings that contradict each other. Pointers are relative to the
    /// section.
    fn check(&self) -> ValidationResult;

    /// Adds the inputs that every item of a group must have.
    fn required_inputs<'p>(&'p self, _inputs: &mut RequiredInputs<'p>) {}

    /// One line for each function that is enabled.
    fn explain(&self) -> Vec<Line>;
}

/// Inputs that a policy requires of every item.
#[derive(Debug, Default)]
pub(super) struct RequiredInputs<'p> {
    pub(super) parts: Vec<&'p str>,
    pub(super) measures: Vec<&'p str>,
    pub(super) tokens: bool,
    /// Number of sections, which is about the number of terms of a reward.
    pub(super) sections: usize,
}

impl<'p> RequiredInputs<'p> {
    pub(super) fn part(&mut self, name: &'p str) {
        if name != OUTCOME && !self.parts.contains(&name) {
            self.parts.push(name);
        }
    }

    pub(super) fn measure(&mut self, name: &'p str) {
        if !self.measures.contains(&name) {
            self.measures.push(name);
        }
    }
}
