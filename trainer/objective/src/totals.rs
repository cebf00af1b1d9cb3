//! Values that depend on the whole batch, computed once so that its micro-batches can be processed
//! one after another.

use std::collections::BTreeMap;

/// Denominators, quantiles and normalisers of a whole batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    /// Number of tokens in the policy loss.
    pub tokens: f64,
    /// Number of rows with at least one of them.
    pub rows: f64,
    /// Number of tokens of imitated demonstrations.
    pub imitated: f64,
    /// Width of the batch in tokens.
    pub width: f64,
    /// Lowest entropy that the top-entropy mask keeps, in nats.
    pub entropy_threshold: Option<f64>,
    /// Mean importance weight, if weights are divided by it.
    pub mean_weight: Option<f64>,
    /// Number of rows with tokens, by group.
    pub(crate) groups: BTreeMap<usize, usize>,
}
