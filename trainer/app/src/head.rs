//! The head of a reward model, fitted on preference pairs with the Bradley-Terry loss (Bradley and
//! Terry 1952, doi 10.1093/biomet/39.3-4.324). The body is frozen, so the problem is convex in the
//! head.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use assay_policy_model::optimiser::{AdamW, AdamWSettings};
use candle_core::{D, DType, Device, Tensor, Var};

/// Hidden states of pairs, each `[pairs, hidden]`, in `f32` on the CPU.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// States of the accepted completions.
    pub accepted: Tensor,
    /// States of the rejected completions, in the same order.
    pub rejected: Tensor,
}

/// A fitted head.
#[derive(Debug, Clone)]
pub struct Head {
    /// The weight, `[1, hidden]`.
    pub weight: Tensor,
    /// Mean loss in nats, without the ridge penalty; ln 2 for a zero head.
    pub loss: f64,
}

/// The highest learning rate of the fit.
const RATE: f64 = 0.05;

impl Pairs {
    /// Fits a head to all pairs with a ridge penalty.
    ///
    /// # Errors
    /// There are no pairs, or their states are not finite or all equal.
    pub fn fit(&self, steps: u64, ridge: f64) -> anyhow::Result<Head> {
        let (pairs, hidden) = self.accepted.dims2()?;
        ensure!(pairs > 0, "no pairs to fit a head on");
        let differences = (&self.accepted - &self.rejected)?;
        // The scale of states differs between models by orders of magnitude, so they are normalised
        // for the fit.
        let scale = f64::from(differences.sqr()?.mean_all()?.sqrt()?.to_scalar::<f32>()?);
        ensure!(scale.is_finite(), "the states of the pairs are not finite");
        ensure!(
            scale > 0.0,
            "the completions of every pair have the same states; a head cannot be fitted"
        );
        let differences = (differences / scale)?;
        let weight = Var::from_tensor(&Tensor::zeros((1, hidden), DType::F32, &Device::Cpu)?)?;
        let parameters = BTreeMap::from([("score.weight".to_owned(), weight.clone())]);
        let settings = AdamWSettings {
            weight_decay: 0.0,
            max_grad_norm: 0.0,
            ..AdamWSettings::default()
        };
        let mut optimiser = AdamW::new(settings, &parameters)?;
        let mut last = f64::NAN;
        for step in 0..steps {
            let margins = differences.matmul(&weight.t()?)?.squeeze(D::Minus1)?;
            let loss = softplus(&margins.neg()?)?.mean_all()?;
            last = f64::from(loss.to_scalar::<f32>()?);
            let penalised = (loss + (weight.sqr()?.sum_all()? * ridge)?)?;
            let gradient = penalised
                .backward()?
                .remove(&weight)
                .context("the head has no gradient")?;
            // Half a cosine, so that the fit converges.
            #[expect(clippy::cast_precision_loss, reason = "steps are few")]
            let rate = RATE
                * f64::midpoint(
                    1.0,
                    (std::f64::consts::PI * step as f64 / steps as f64).cos(),
                );
            optimiser.step(
                &BTreeMap::from([("score.weight".to_owned(), gradient)]),
                rate,
            )?;
        }
        Ok(Head {
            weight: (weight.as_detached_tensor() / scale)?,
            loss: last,
        })
    }

    /// Share of pairs whose accepted completion scores higher; a tie counts as half.
    ///
    /// # Errors
    /// The size of the head does not match the states.
    pub fn accuracy(&self, weight: &Tensor) -> anyhow::Result<f64> {
        let margins = (&self.accepted - &self.rejected)?
            .matmul(&weight.t()?)?
            .flatten_all()?
            .to_vec1::<f32>()?;
        let right: f64 = margins
            .iter()
            .map(|margin| {
                if *margin > 0.0 {
                    1.0
                } else if *margin < 0.0 {
                    0.0
                } else {
                    0.5
                }
            })
            .sum();
        #[expect(clippy::cast_precision_loss, reason = "pairs are far fewer than 2^53")]
        Ok(right / margins.len().max(1) as f64)
    }
}

/// `ln(1 + exp(x))` without overflow.
fn softplus(x: &Tensor) -> candle_core::Result<Tensor> {
    x.relu()? + (x.abs()?.neg()?.exp()? + 1.0)?.log()?
}

#[cfg(test)]
mod tests {
    use assay_core::Random;

    use super::*;

    /// States in which the first dimension separates accepted from rejected completions.
    fn pairs(count: usize, noise: f64) -> Pairs {
        let mut random = Random::stream(&[3]);
        let mut rows = |better: f64| -> Tensor {
            let numbers: Vec<f64> = (0..count)
                .flat_map(|_| {
                    [
                        better * 40.0 + noise * random.normal(),
                        random.normal() * 40.0,
                        random.normal() * 40.0,
                    ]
                })
                .collect();
            Tensor::from_vec(numbers, (count, 3), &Device::Cpu)
                .unwrap()
                .to_dtype(DType::F32)
                .unwrap()
        };
        Pairs {
            accepted: rows(1.0),
            rejected: rows(0.0),
        }
    }

    #[test]
    fn fits_the_separating_direction() {
        let (train, test) = (pairs(300, 10.0), pairs(100, 10.0));
        let head = train.fit(200, 1e-3).unwrap();
        let weight = head.weight.to_vec2::<f32>().unwrap();
        assert!(
            weight[0][0] > 4.0 * weight[0][1].abs().max(weight[0][2].abs()),
            "{weight:?}"
        );
        let accuracy = test.accuracy(&head.weight).unwrap();
        assert!(
            head.loss < 0.3 && accuracy > 0.95,
            "{} {accuracy}",
            head.loss
        );
    }

    #[test]
    fn zero_head_has_accuracy_one_half() {
        let pairs = pairs(10, 1.0);
        assert_eq!(
            pairs
                .accuracy(&Tensor::zeros((1, 3), DType::F32, &Device::Cpu).unwrap())
                .unwrap(),
            0.5
        );
    }

    #[test]
    fn rejects_identical_and_missing_pairs() {
        let same = Pairs {
            rejected: pairs(4, 1.0).accepted,
            ..pairs(4, 1.0)
        };
        assert!(
            same.fit(10, 0.0)
                .unwrap_err()
                .to_string()
                .contains("same states")
        );
        let none = Tensor::zeros((0, 3), DType::F32, &Device::Cpu).unwrap();
        assert!(
            Pairs {
                accepted: none.clone(),
                rejected: none
            }
            .fit(10, 0.0)
            .is_err()
        );
    }
}
