//! What rows are that someone else wrote.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{MOST, ObjectiveError, within};

/// Weight of a token in imitation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Imitation {
    /// 1: plain cross-entropy.
    Plain,
    /// p (1 - p) without its gradient: least for what the policy knows and for what it finds absurd
    /// (CHORD, arXiv 2508.11408).
    #[default]
    Uncertain,
}

/// What becomes of rows that the batch marks as demonstrations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Demonstrations {
    /// They are rollouts like others; the batch need not mark any.
    #[default]
    AsRollouts,
    /// Their surrogate is p / (p + gamma), without a ratio and a clip (LUFFY, arXiv 2504.14945).
    Shaped {
        /// From 0 up: how strongly tokens of low probability are emphasised; 0.1 in the paper.
        /// `None` takes p itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gamma: Option<f64>,
    },
    /// They leave the policy loss, and the loss is (1 - share) times that of the rollouts plus
    /// share times the mean of -weight log p over the tokens of demonstrations.
    Imitated {
        /// In \[0, 1\]; trainers lower it over the run.
        share: f64,
        /// Default: `uncertain`.
        #[serde(default)]
        weight: Imitation,
    },
}

impl Demonstrations {
    pub(crate) fn check(self) -> Result<(), ObjectiveError> {
        match self {
            Self::Shaped { gamma: Some(gamma) } => {
                within("demonstrations.gamma", gamma, 0.0..=MOST, "from 0 up")
            }
            Self::Imitated { share, .. } => {
                within("demonstrations.share", share, 0.0..=1.0, "from 0 to 1")
            }
            _ => Ok(()),
        }
    }
}

/// Surrogate of a demonstration: p, or p / (p + gamma).
pub(crate) fn shaped(logp: &Tensor, gamma: Option<f64>) -> candle_core::Result<Tensor> {
    let p = logp.exp()?;
    match gamma {
        Some(gamma) => p.div(&p.affine(1.0, gamma)?),
        None => Ok(p),
    }
}

/// Losses of imitated tokens.
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
