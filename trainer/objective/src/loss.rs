//! The loss: combines all axes of an objective.

use candle_core::Tensor;

use crate::batch::Tokens;
use crate::demonstrations::{Demonstrations, imitated, shaped};
use crate::error::ObjectiveError;
use crate::level::Level;
use crate::metrics::{Gauges, Metrics};
use crate::sums::policy_tokens;
use crate::surrogate::{RuleInputs, RuleResult, Surrogate};
use crate::tensor::{bounded_exp, broadcast_column, either, or_else};
use crate::{Batch, Current, Objective, PolicyVersion, Totals, pacs};

/// The loss of a batch or a micro-batch.
#[derive(Debug)]
pub struct Loss {
    /// The scalar to minimise, with its graph.
    pub loss: Tensor,
    /// Metrics measured while computing it.
    pub metrics: Metrics,
}

impl Objective {
    /// The loss of a batch, or of some of its rows with the `totals` of the whole batch.
    ///
    /// # Errors
    /// The batch lacks a required tensor, or a tensor has the wrong shape.
    pub fn loss(
        &self,
        current: &Current,
        batch: &Batch,
        totals: &Totals,
    ) -> Result<Loss, ObjectiveError> {
        let all = Tokens::new(batch, current.logp.dtype())?;
        let tokens = policy_tokens(self, &all)?;
        let logp = tokens.clean("logp", Some(&current.logp))?;
        let anchor = if self.has_ratio() {
            tokens.recorded(self.anchor)?
        } else {
            logp.detach()
        };
        let log_ratio = self.level.log_ratio(&logp, &anchor, &tokens)?;
        let ratio = log_ratio.exp()?;
        let mut gauges = Gauges::default();

        let inputs = RuleInputs {
            tokens: &tokens,
            logp: &logp,
            anchor: &anchor,
            ratio: &ratio,
        };
        let mut loss = match (self.surrogate.apply(&inputs)?, self.surrogate) {
            (Some(result), _) => {
                let x = self.policy_losses(&inputs, result, totals, &mut gauges)?;
                self.aggregation.aggregate(&x, &tokens, totals)?
            }
            (
                None,
                Surrogate::Pacs {
                    beta,
                    comparison,
                    balanced,
                },
            ) => {
                let log_ratio = logp.sub(&anchor)?;
                pacs::loss(&log_ratio, &tokens, totals, (beta, comparison, balanced))?
            }
            (None, _) => return Err(ObjectiveError::Conflict("the surrogate defines no loss")),
        };
        gauges.sum("policy_loss", &loss)?;
        if self.has_ratio() {
            gauges.mean("ppo_kl", &anchor.sub(&logp)?, &tokens.mask)?;
        }
        for penalty in &self.penalties {
            let from = tokens.recorded(penalty.from)?;
            let estimates = penalty.estimates(&logp, &from, Some(&ratio))?;
            gauges.mean(penalty_name(penalty.from), &estimates, &tokens.mask)?;
            let x = estimates.affine(penalty.coefficient, 0.0)?;
            loss = loss.add(&self.aggregation.aggregate(&x, &tokens, totals)?)?;
        }
        if let Demonstrations::Imitated { share, weight } = self.demonstrations {
            let demonstrated = all.only(&tokens.live.eq(0u8)?)?;
            let logp = demonstrated.clean("logp", Some(&current.logp))?;
            let x = imitated(&logp, weight)?.mul(&demonstrated.mask)?;
            let imitation = (x.sum_all()? / totals.imitated.max(1.0))?;
            gauges.sum("imitation_loss", &imitation)?;
            loss = loss
                .affine(1.0 - share, 0.0)?
                .add(&imitation.affine(share, 0.0)?)?;
        }
        if self.entropy > 0.0 || current.entropy.is_some() {
            let entropy = tokens.clean("entropy", current.entropy.as_ref())?;
            gauges.mean("entropy", &entropy, &tokens.mask)?;
            let mean = (entropy.sum_all()? / totals.tokens.max(1.0))?;
            loss = loss.sub(&mean.affine(self.entropy, 0.0)?)?;
        }
        if batch.behaviour.is_some() {
            // r - 1 - log r (k3, Schulman 2020), with r = current policy / behaviour policy. It is
            // 0 where both assign the same probability.
            let drift = logp
                .detach()
                .sub(&tokens.recorded(PolicyVersion::Behaviour)?)?;
            let mismatch = bounded_exp(&drift)?.sub(&drift)?.affine(1.0, -1.0)?;
            gauges.mean("mismatch_kl", &mismatch, &tokens.mask)?;
        }
        gauges.sum("loss", &loss)?;
        Ok(Loss {
            loss,
            metrics: gauges.read()?,
        })
    }

    /// Token losses of the surrogate: clipped, masked and weighted.
    fn policy_losses(
        &self,
        inputs: &RuleInputs<'_>,
        mut result: RuleResult,
        totals: &Totals,
        gauges: &mut Gauges,
    ) -> Result<Tensor, ObjectiveError> {
        let &RuleInputs { tokens, logp, .. } = inputs;
        if let Demonstrations::Shaped { gamma } = self.demonstrations {
            let marked =
                tokens.row_values("demonstrations", tokens.batch().demonstrations.as_ref())?;
            let marked = broadcast_column(&marked, logp)?.ne(0.0)?;
            result.surrogate = marked.where_cond(&shaped(logp, gamma)?, &result.surrogate)?;
            let rollouts = marked.eq(0u8)?;
            for cut in [&mut result.low, &mut result.high, &mut result.dual] {
                *cut = cut.mul(&rollouts)?;
            }
        }
        // Clipping of sequence ratios is counted per completion, of token ratios per token.
        let counted = match self.level {
            Level::Token => tokens.mask.clone(),
            Level::Sequence | Level::SequenceToken => tokens.mask.broadcast_div(&tokens.lengths)?,
        };
        gauges.mean("clip_ratio/low_mean", &result.low, &counted)?;
        gauges.mean("clip_ratio/high_mean", &result.high, &counted)?;
        gauges.mean(
            "clip_ratio/region_mean",
            &either(&result.low, &result.high)?,
            &counted,
        )?;
        gauges.mean("pg_clipfrac_lower", &result.dual, &counted)?;

        let mut x = result.surrogate.mul(&tokens.advantages)?.neg()?;
        if let Some(keep) = self.masks.keep(logp, tokens, totals)? {
            x = or_else(&keep, &x, 0.0)?;
            gauges.mean("kept_mean", &keep, &tokens.mask)?;
        }
        if !self.correction.is_disabled() {
            let mut weights = self.correction.weights(tokens)?;
            if let Some(mean) = totals.mean_weight {
                weights = (weights / mean)?;
            }
            gauges.mean(
                "sampling/importance_sampling_ratio/mean",
                &weights,
                &tokens.mask,
            )?;
            let names = [
                "sampling/importance_sampling_ratio/min",
                "sampling/importance_sampling_ratio/max",
            ];
            gauges.range(names, &weights, &tokens.live)?;
            x = x.mul(&weights)?;
        }
        Ok(x)
    }
}

fn penalty_name(from: PolicyVersion) -> &'static str {
    match from {
        PolicyVersion::Reference => "kl",
        PolicyVersion::Teacher => "teacher_kl",
        PolicyVersion::Old => "old_kl",
        PolicyVersion::Behaviour => "behaviour_kl",
    }
}
