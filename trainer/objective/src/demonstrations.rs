//! Demonstrations: rows that the policy model did not generate.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{MAX_PARAMETER, ObjectiveError, check_range};

/// Weight of a token in the imitation loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Imitation {
    /// 1: plain cross-entropy.
    Plain,
    /// p (1 - p) without its gradient (CHORD, arXiv 2508.11408): small both for tokens that the
    /// policy already predicts and for tokens that it considers very unlikely.
    #[default]
    Uncertain,
}

/// How rows that the batch marks as demonstrations are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Demonstrations {
    /// As rollouts; the batch need not mark any.
    #[default]
    AsRollouts,
    /// Their surrogate is p / (p + gamma), without ratio and clipping (LUFFY, arXiv 2504.14945).
    Shaped {
        /// At least 0; 0.1 in the paper. Smaller values emphasise tokens of low probability more.
        /// `None` uses p itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gamma: Option<f64>,
    },
    /// They are excluded from the policy loss. The loss is (1 - share) times the loss of the
    /// rollouts plus share times the mean of -weight log p over the tokens of demonstrations
    /// (CHORD, arXiv 2508.11408).
    Imitated {
        /// In \[0, 1\]; usually lowered over the run.
        share: f64,
        /// Default: `uncertain`.
        #[serde(default)]
        weight: Imitation,
    },
}

impl Demonstrations {
    pub(crate) fn check(self) -> Result<(), ObjectiveError> {
        match self {
            Self::Shaped { gamma: Some(gamma) } => check_range(
                "demonstrations.gamma",
                gamma,
                0.0..=MAX_PARAMETER,
                "at least 0",
            ),
            Self::Imitated { share, .. } => {
                check_range("demonstrations.share", share, 0.0..=1.0, "between 0 and 1")
            }
            _ => Ok(()),
        }
    }
}

/// Surrogate of demonstrations: p / (p + gamma), or p without `gamma`.
pub(crate) fn shaped(logp: &Tensor, gamma: Option<f64>) -> candle_core::Result<Tensor> {
    let p = logp.exp()?;
    match gamma {
        Some(gamma) => p.div(&p.affine(1.0, gamma)?),
        None => Ok(p),
    }
}

/// Losses of the tokens of imitated demonstrations.
pub(crate) fn imitated(logp: &Tensor, weight: Imitation) -> candle_core::Result<Tensor> {
    let loss = logp.neg()?;
    match weight {
        Imitation::Plain => Ok(loss),
        Imitation::Uncertain => {
            let p = logp.detach().exp()?;
            loss.mul(&p.mul(&p.affine(-1.0, 1.0)?)?)
        }
    }
}
