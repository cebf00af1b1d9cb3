//! Settings, inputs and results of the rules.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::batch::Tokens;

/// Divergence between policy model and anchor at a token, computed only from the two probabilities
/// of the token (DPPO, arXiv 2602.04879).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Divergence {
    /// |p - p_anchor|.
    Tv,
    /// Kullback-Leibler divergence KL(q || p) of the two-point distributions q = (p_anchor, 1 -
    /// p_anchor) and p = (p, 1 - p), in nats.
    Kl,
}

/// The bounds at which a token leaves the trust region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The bound towards which the update pushes the token: upper for A > 0, lower otherwise.
    #[default]
    Pushed,
    /// Both bounds, for any advantage.
    Both,
    /// The lower bound only, for any advantage.
    Low,
}

/// The form of the surrogate inside the trust region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Through {
    /// f = sg(r) l.
    #[default]
    LogProbability,
    /// f = r, which has the same gradient but a different value.
    Ratio,
}

/// The inputs of a rule.
pub(crate) struct RuleInputs<'a> {
    pub(crate) tokens: &'a Tokens<'a>,
    /// l, with its graph.
    pub(crate) logp: &'a Tensor,
    /// Log-probability under the anchor.
    pub(crate) anchor: &'a Tensor,
    /// r, with its graph.
    pub(crate) ratio: &'a Tensor,
}

/// The result of a rule for a micro-batch.
pub(crate) struct RuleResult {
    /// f, `[rows, tokens]`.
    pub(crate) surrogate: Tensor,
    /// 1 where the lower bound clips.
    pub(crate) low: Tensor,
    /// 1 where the upper bound clips.
    pub(crate) high: Tensor,
    /// 1 where the dual bound or the cap clips.
    pub(crate) dual: Tensor,
}
