//! The head of a reward model, fitted on pairs: of two completions to a prompt the better one gets
//! the larger number (Bradley and Terry 1952). The body stays as it is, so what is fitted is convex
//! in the head and has one best answer.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use assay_policy::optimiser::{AdamW, AdamWSettings};
use candle_core::{D, DType, Device, Tensor, Var};

/// Hidden states of pairs, `[pairs, hidden]` each, in `f32` on the CPU.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// Of the better completions.
    pub accepted: Tensor,
    /// Of the worse ones, in the same order.
    pub rejected: Tensor,
}

/// A fitted head.
#[derive(Debug, Clone)]
pub struct Head {
    /// `[1, hidden]`.
    pub weight: Tensor,
    /// Mean loss of the fit in nats, without the ridge; ln 2 is that of a head that knows nothing.
    pub loss: f64,
}

/// Largest step of the fit.
const RATE: f64 = 0.05;

impl Pairs {
    /// Fits a head over all pairs in so many steps.
    ///
    /// # Errors
    /// There are no pairs, or their states are not finite.
    pub fn fit(&self, steps: u64, ridge: f64) -> anyhow::Result<Head> {
        let (pairs, hidden) = self.accepted.dims2()?;
        ensure!(pairs > 0, "there are no pairs to fit a head on");
        let differences = (&self.accepted - &self.rejected)?;
        // States of models differ in size by orders; the fit is made where they have size 1 and
        // turned back.
        let size = f64::from(differences.sqr()?.mean_all()?.sqrt()?.to_scalar::<f32>()?);
        ensure!(size.is_finite(), "the states of the pairs are not finite");
        ensure!(
            size > 0.0,
            "both completions of every pair have the same states: nothing can be learned of them"
        );
        let differences = (differences / size)?;
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
            let whole = (loss + (weight.sqr()?.sum_all()? * ridge)?)?;
            let gradient = whole
                .backward()?
                .remove(&weight)
                .context("the head has no gradient")?;
            // Down along half a cosine, so that it comes to rest.
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
            weight: (weight.as_detached_tensor() / size)?,
            loss: last,
        })
    }

    /// Share of pairs whose better completion gets the larger number; a tie counts half.
    ///
    /// # Errors
    /// The head is of another size.
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

/// `ln(1 + exp(x))`, which does not overflow.
fn softplus(x: &Tensor) -> candle_core::Result<Tensor> {
    x.relu()? + (x.abs()?.neg()?.exp()? + 1.0)?.log()?
}

#[cfg(test)]
mod tests {
    use assay_core::Random;

    use super::*;

    /// States of which one direction says which is better.
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
    fn what_says_which_is_better_is_found() {
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
    fn a_head_that_knows_nothing_is_right_half_the_time() {
        let pairs = pairs(10, 1.0);
        assert_eq!(
            pairs
                .accuracy(&Tensor::zeros((1, 3), DType::F32, &Device::Cpu).unwrap())
                .unwrap(),
            0.5
        );
    }

    #[test]
    fn pairs_that_teach_nothing_are_refused() {
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
