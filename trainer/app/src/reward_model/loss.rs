//! The losses of reward models. Each is the expectation over whether the completions are right, so
//! that uncertain pairs count less.

use candle_core::{Device, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::pairs::TokenPair;

/// The loss of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The accepted completion scores higher (Bradley and Terry 1952, doi
    /// 10.1093/biomet/39.3-4.324).
    #[default]
    Pairs,
    /// The accepted completion scores above 0 and the rejected one below, as the log-odds of being
    /// right (binary cross-entropy; VerifyRM of Cooper, arXiv 2508.05613).
    Labels,
}

/// Probabilities that accepted completions are right and that rejected ones are wrong.
#[derive(Debug, Clone)]
pub struct Certainties {
    accepted: Tensor,
    rejected: Tensor,
}

impl Certainties {
    /// The certainties of pairs, on a device.
    ///
    /// # Errors
    /// The device is out of memory.
    pub fn of(pairs: &[&TokenPair], device: &Device) -> Result<Self> {
        let side = |of: &dyn Fn(&TokenPair) -> f32| {
            let numbers: Vec<f32> = pairs.iter().map(|pair| of(pair)).collect();
            Tensor::from_vec(numbers, pairs.len(), device)
        };
        Ok(Self {
            accepted: side(&|pair| pair.certainties[0])?,
            rejected: side(&|pair| pair.certainties[1])?,
        })
    }
}

impl Loss {
    /// Expected losses of pairs in nats, `[pairs]`, given the scores of their completions.
    ///
    /// If exactly one of the two verdicts is false, the completions are equally good, and the
    /// expectation of `pairs` is the mean of both orders.
    ///
    /// # Errors
    /// The shapes differ.
    pub fn of(
        self,
        accepted: &Tensor,
        rejected: &Tensor,
        certainties: &Certainties,
    ) -> Result<Tensor> {
        let [right, wrong] = [&certainties.accepted, &certainties.rejected];
        match self {
            Self::Pairs => {
                // c1 c2 + (c1 (1 - c2) + c2 (1 - c1)) / 2
                let order = ((right + wrong)? * 0.5)?;
                cross_entropy(&(accepted - rejected)?, &order)
            }
            Self::Labels => {
                let one = cross_entropy(accepted, right)?;
                let other = cross_entropy(&rejected.neg()?, wrong)?;
                (one + other)? * 0.5
            }
        }
    }
}

/// Cross-entropy of the log-odds `x` with the probabilities `p`: p ln(1 + e^-x) + (1 - p) ln(1 +
/// e^x) = ln(1 + e^-x) + (1 - p) x.
fn cross_entropy(x: &Tensor, p: &Tensor) -> Result<Tensor> {
    softplus(&x.neg()?)? + ((1.0 - p)? * x)?
}

/// `ln(1 + exp(x))` without overflow.
fn softplus(x: &Tensor) -> Result<Tensor> {
    x.relu()? + (x.abs()?.neg()?.exp()? + 1.0)?.log()?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(loss: Loss, scores: [f32; 2], certainties: [f32; 2]) -> f64 {
        let pair = TokenPair {
            accepted: vec![1],
            rejected: vec![1],
            certainties,
        };
        let certainties = Certainties::of(&[&pair], &Device::Cpu).unwrap();
        let [accepted, rejected] = scores.map(|score| Tensor::new(&[score], &Device::Cpu).unwrap());
        let losses = loss.of(&accepted, &rejected, &certainties).unwrap();
        f64::from(losses.to_vec1::<f32>().unwrap()[0])
    }

    fn log1p_exp(x: f64) -> f64 {
        x.exp().ln_1p()
    }

    #[test]
    fn certain_pairs_have_the_textbook_losses() {
        let found = losses(Loss::Pairs, [1.5, 0.25], [1.0, 1.0]);
        assert!((found - log1p_exp(-1.25)).abs() < 1e-6, "{found}");
        let found = losses(Loss::Labels, [1.5, 0.25], [1.0, 1.0]);
        let expected = f64::midpoint(log1p_exp(-1.5), log1p_exp(0.25));
        assert!((found - expected).abs() < 1e-6, "{found}");
    }

    #[test]
    fn uncertain_pairs_have_the_expected_loss() {
        let (right, wrong) = (0.9, 0.7);
        let (in_order, reversed) = (log1p_exp(-2.0), log1p_exp(2.0));
        let (both, neither) = (right * wrong, (1.0 - right) * (1.0 - wrong));
        let tie = 1.0 - both - neither;
        let expected =
            both * in_order + neither * reversed + tie * f64::midpoint(in_order, reversed);
        let found = losses(Loss::Pairs, [3.0, 1.0], [0.9, 0.7]);
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }

    #[test]
    fn large_scores_have_finite_losses() {
        for loss in [Loss::Pairs, Loss::Labels] {
            let found = losses(loss, [-500.0, 500.0], [1.0, 1.0]);
            assert!(found.is_finite() && found > 400.0, "{found}");
        }
    }
}
