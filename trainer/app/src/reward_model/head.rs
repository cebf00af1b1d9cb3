//! The head of a reward model on a frozen body. Both losses are convex in the head.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use assay_policy_model::HEAD;
use assay_policy_model::optimiser::{AdamW, AdamWSettings};
use candle_core::{D, DType, Device, Tensor, Var};

use super::loss::{Certainties, Loss};

/// Hidden states of pairs, each `[pairs, hidden]`, in `f32` on the CPU.
#[derive(Debug, Clone)]
pub struct PairStates {
    /// States of the accepted completions.
    pub accepted: Tensor,
    /// States of the rejected completions, in the same order.
    pub rejected: Tensor,
    /// How certain the pairs are.
    pub certainties: Certainties,
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

/// Fits a head to all pairs with a ridge penalty.
///
/// # Errors
/// There are no pairs, or their states are not finite or all equal.
pub fn fit(states: &PairStates, loss: Loss, steps: u64, ridge: f64) -> anyhow::Result<Head> {
    let (pairs, hidden) = states.accepted.dims2()?;
    ensure!(pairs > 0, "no pairs to fit a head on");
    let differences = (&states.accepted - &states.rejected)?;
    // The scale of states differs between models by orders of magnitude, so they are normalised
    // for the fit.
    let scale = f64::from(differences.sqr()?.mean_all()?.sqrt()?.to_scalar::<f32>()?);
    ensure!(scale.is_finite(), "the states of the pairs are not finite");
    ensure!(
        scale > 0.0,
        "the two completions of each pair have the same states, so a head cannot be fitted"
    );
    let [accepted, rejected] = [&states.accepted, &states.rejected].map(|side| side / scale);
    let (accepted, rejected) = (accepted?, rejected?);
    let weight = Var::from_tensor(&Tensor::zeros((1, hidden), DType::F32, &Device::Cpu)?)?;
    let parameters = BTreeMap::from([(HEAD.to_owned(), weight.clone())]);
    let settings = AdamWSettings {
        weight_decay: 0.0,
        max_grad_norm: 0.0,
        ..AdamWSettings::default()
    };
    let mut optimiser = AdamW::new(settings, &parameters)?;
    let mut last = f64::NAN;
    for step in 0..steps {
        let scores = |side: &Tensor| side.matmul(&weight.t()?)?.squeeze(D::Minus1);
        let losses = loss.of(
            &scores(&accepted)?,
            &scores(&rejected)?,
            &states.certainties,
        )?;
        let loss = losses.mean_all()?;
        last = f64::from(loss.to_scalar::<f32>()?);
        let penalised = (loss + (weight.sqr()?.sum_all()? * ridge)?)?;
        let gradient = penalised
            .backward()?
            .remove(&weight)
            .context("the head has no gradient")?;
        // Half a cosine, so that the fit converges.
        let share = step as f64 / steps as f64;
        let rate = RATE * f64::midpoint(1.0, (std::f64::consts::PI * share).cos());
        optimiser.step(&BTreeMap::from([(HEAD.to_owned(), gradient)]), rate)?;
    }
    Ok(Head {
        weight: (weight.as_detached_tensor() / scale)?,
        loss: last,
    })
}

impl PairStates {
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
        Ok(right / margins.len().max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use assay_base::Random;

    use super::*;
    use crate::reward_model::TokenPair;

    fn certainties(count: usize) -> Certainties {
        let pair = TokenPair {
            accepted: vec![1],
            rejected: vec![1],
            certainties: [1.0, 1.0],
        };
        Certainties::of(&vec![&pair; count], &Device::Cpu).unwrap()
    }

    /// States in which the first dimension separates accepted from rejected completions.
    fn states(count: usize, noise: f64) -> PairStates {
        let mut random = Random::stream(&[3]);
        let mut rows = |better: f64| -> Tensor {
            let numbers: Vec<f64> = (0..count)
                .flat_map(|_| {
                    [
                        better * 20.0 + noise * random.normal(),
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
        PairStates {
            accepted: rows(1.0),
            rejected: rows(-1.0),
            certainties: certainties(count),
        }
    }

    #[test]
    fn fits_the_separating_direction() {
        let (train, test) = (states(300, 10.0), states(100, 10.0));
        for loss in [Loss::Pairs, Loss::Labels] {
            let head = fit(&train, loss, 200, 1e-3).unwrap();
            let weight = head.weight.to_vec2::<f32>().unwrap();
            assert!(
                weight[0][0] > 4.0 * weight[0][1].abs().max(weight[0][2].abs()),
                "{weight:?}"
            );
            let accuracy = test.accuracy(&head.weight).unwrap();
            assert!(
                head.loss < 0.4 && accuracy > 0.95,
                "{} {accuracy}",
                head.loss
            );
        }
    }

    #[test]
    fn zero_head_has_accuracy_one_half() {
        let zero = Tensor::zeros((1, 3), DType::F32, &Device::Cpu).unwrap();
        assert_eq!(states(10, 1.0).accuracy(&zero).unwrap(), 0.5);
    }

    #[test]
    fn rejects_identical_and_missing_pairs() {
        let same = PairStates {
            rejected: states(4, 1.0).accepted,
            ..states(4, 1.0)
        };
        let error = fit(&same, Loss::Pairs, 10, 0.0).unwrap_err();
        assert!(error.to_string().contains("same states"), "{error}");
        let none = Tensor::zeros((0, 3), DType::F32, &Device::Cpu).unwrap();
        let none = PairStates {
            accepted: none.clone(),
            rejected: none,
            certainties: certainties(0),
        };
        assert!(fit(&none, Loss::Pairs, 10, 0.0).is_err());
    }
}
