//! Penalties for diverging from other policies, added to the loss of each token.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::batch::PolicyVersion;
use crate::error::{MAX_PARAMETER, ObjectiveError, check_range};
use crate::tensor::bounded_exp;

/// Estimator of the divergence KL(p || q) from one token drawn from p, with d = log p - log q
/// (Schulman 2020, "Approximating KL divergence", <http://joschu.net/blog/kl-approx.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DivergenceEstimator {
    /// d: unbiased, of either sign; the expectation of its gradient is 0.
    K1,
    /// d^2 / 2: biased, but its gradient is an unbiased estimate of the divergence's gradient.
    K2,
    /// e^-d + d - 1: unbiased and never negative.
    K3,
    /// |d|: the `abs` estimator of verl.
    Abs,
}

/// One divergence penalty of the loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Penalty {
    /// The policy q.
    pub from: PolicyVersion,
    /// Factor in the loss, at least 0; 0 computes the divergence for the metrics only.
    pub coefficient: f64,
    /// The estimator. Default: `k3`.
    #[serde(default = "k3")]
    pub estimator: DivergenceEstimator,
    /// Uses the value of the estimator with the gradient of `k2`, as the `+` estimators of verl
    /// do. Default: false.
    #[serde(default)]
    pub straight_through: bool,
    /// Multiplies the estimate by the importance ratio, including its gradient, which makes it
    /// unbiased off policy (DeepSeek-V3.2, arXiv 2512.02556, section 3.1). Default: false.
    #[serde(default)]
    pub importance: bool,
    /// Clamps the estimate to ± this value, above 0. Default: no bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamp: Option<f64>,
}

fn k3() -> DivergenceEstimator {
    DivergenceEstimator::K3
}

impl Penalty {
    /// A penalty without optional settings.
    #[must_use]
    pub const fn new(
        from: PolicyVersion,
        estimator: DivergenceEstimator,
        coefficient: f64,
    ) -> Self {
        Self {
            from,
            coefficient,
            estimator,
            straight_through: false,
            importance: false,
            clamp: None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ObjectiveError> {
        check_range(
            "penalties.coefficient",
            self.coefficient,
            0.0..=MAX_PARAMETER,
            "at least 0",
        )?;
        match self.clamp {
            Some(clamp) => check_range(
                "penalties.clamp",
                clamp,
                f64::MIN_POSITIVE..=MAX_PARAMETER,
                "above 0",
            ),
            None => Ok(()),
        }
    }

    /// The estimate for each token, without the coefficient. `ratio` is the importance ratio with
    /// its graph.
    ///
    /// # Errors
    /// The shapes of the tensors differ.
    pub fn estimates(
        &self,
        logp: &Tensor,
        from: &Tensor,
        ratio: Option<&Tensor>,
    ) -> candle_core::Result<Tensor> {
        let d = logp.sub(from)?;
        let squared = || d.sqr()?.affine(0.5, 0.0);
        let mut value = match self.estimator {
            DivergenceEstimator::K1 => d.clone(),
            DivergenceEstimator::K2 => squared()?,
            DivergenceEstimator::K3 => bounded_exp(&d.neg()?)?.add(&d)?.affine(1.0, -1.0)?,
            DivergenceEstimator::Abs => d.abs()?,
        };
        if let Some(clamp) = self.clamp {
            value = value.clamp(-clamp, clamp)?;
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
