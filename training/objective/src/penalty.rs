//! Divergences from other policies that are added to the loss of each token.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::batch::PolicyVersion;
use crate::error::{MOST, ObjectiveError, within};
use crate::tensor::bounded_exp;

/// An estimate of the divergence KL(p || q) from one token drawn from p, with d = log p - log q
/// (Schulman 2020, "Approximating KL divergence").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// d: unbiased, of either sign; its gradient is 0 on average.
    K1,
    /// d^2 / 2: biased, with the gradient of the divergence.
    K2,
    /// e^-d + d - 1: unbiased and never negative.
    K3,
    /// |d|.
    Abs,
}

/// One divergence in the loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Penalty {
    /// The policy not to diverge from.
    pub from: PolicyVersion,
    /// Factor in the loss, from 0 up; 0 computes it for the metrics only.
    pub coefficient: f64,
    /// How it is estimated. Default: `k3`.
    #[serde(default = "k3")]
    pub estimator: Estimator,
    /// The value of the estimate with the gradient of `k2`, which is that of the divergence.
    /// Default: no.
    #[serde(default)]
    pub straight_through: bool,
    /// Multiplies the estimate by the importance ratio, gradient included, so that it is unbiased
    /// off policy (DeepSeek-V3.2, arXiv 2512.02556, section 3.1). Default: no.
    #[serde(default)]
    pub importance: bool,
    /// Holds the estimate within plus and minus this, above 0. Default: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}

fn k3() -> Estimator {
    Estimator::K3
}

impl Penalty {
    /// A plain penalty.
    #[must_use]
    pub const fn new(from: PolicyVersion, estimator: Estimator, coefficient: f64) -> Self {
        Self {
            from,
            coefficient,
            estimator,
            straight_through: false,
            importance: false,
            most: None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ObjectiveError> {
        within(
            "penalties.coefficient",
            self.coefficient,
            0.0..=MOST,
            "from 0 up",
        )?;
        match self.most {
            Some(most) => within("penalties.most", most, f64::MIN_POSITIVE..=MOST, "above 0"),
            None => Ok(()),
        }
    }

    /// Estimates for each token, without the coefficient; `ratio` is the importance ratio with its
    /// graph.
    ///
    /// # Errors
    /// The tensors are not of one shape.
    pub fn estimates(
        &self,
        logp: &Tensor,
        from: &Tensor,
        ratio: Option<&Tensor>,
    ) -> candle_core::Result<Tensor> {
        let d = logp.sub(from)?;
        let squared = || d.sqr()?.affine(0.5, 0.0);
        let mut value = match self.estimator {
            Estimator::K1 => d.clone(),
            Estimator::K2 => squared()?,
            Estimator::K3 => bounded_exp(&d.neg()?)?.add(&d)?.affine(1.0, -1.0)?,
            Estimator::Abs => d.abs()?,
        };
        if let Some(most) = self.most {
            value = value.clamp(-most, most)?;
        }
        if self.straight_through {
            let squared = squared()?;
            value = value.detach().add(&squared.sub(&squared.detach())?)?;
        }
        match ratio {
            Some(ratio) if self.importance => value.mul(ratio),
            _ => Ok(value),
        }
    }
}
