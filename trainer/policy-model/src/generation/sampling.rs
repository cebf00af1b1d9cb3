//! How tokens are sampled.

use serde::{Deserialize, Serialize};

use crate::PolicyError;

/// How tokens are sampled, and when a completion ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    /// Divides the logits; 0 selects the most likely token.
    pub temperature: f64,
    /// Samples only among this many most likely tokens; 0 for all.
    pub top_k: usize,
    /// Samples only among the most likely tokens that together have this probability; 1 for all.
    pub top_p: f64,
    /// Samples only tokens with at least this probability relative to the most likely; 0 for all.
    pub min_p: f64,
    /// Maximum length of a completion in tokens.
    pub max_tokens: usize,
    /// Number of completions generated at a time.
    pub rows: usize,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            max_tokens: 256,
            rows: 512,
        }
    }
}

impl Sampling {
    /// Validates the settings.
    ///
    /// # Errors
    /// The first setting that is out of range, with the range.
    pub fn check(&self) -> Result<(), PolicyError> {
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return Err(PolicyError::new(format!(
                "`top_p` is {}; it must be above 0 and at most 1",
                self.top_p
            )));
        }
        if !(0.0..=1.0).contains(&self.min_p) {
            return Err(PolicyError::new(format!(
                "`min_p` is {}; it must be between 0 and 1",
                self.min_p
            )));
        }
        if !(self.temperature.is_finite() && self.temperature >= 0.0) {
            return Err(PolicyError::new(format!(
                "`temperature` is {}; it must be at least 0",
                self.temperature
            )));
        }
        if self.max_tokens == 0 || self.rows == 0 {
            return Err(PolicyError::new(
                "`max_tokens` and `rows` must be at least 1",
            ));
        }
        Ok(())
    }

    /// The temperature of reported log-probabilities: 1 if the most likely token is selected.
    #[must_use]
    pub fn scoring_temperature(&self) -> f64 {
        if self.temperature > 0.0 {
            self.temperature
        } else {
            1.0
        }
    }
}
