//! The loss: combines all axes of an objective.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::batch::Tokens;
use crate::demonstrations::{Demonstrations, imitated, shaped};
use crate::error::{MAX_PARAMETER, ObjectiveError, check_range};
use crate::level::Level;
use crate::metrics::{Gauges, Metrics};
use crate::settings::Settings;
use crate::surrogate::{RuleInputs, RuleResult, Surrogate};
use crate::tensor::{bounded_exp, broadcast_column, either, or_else};
use crate::totals::policy_tokens;
use crate::{
    Advantage, Aggregation, Batch, Correction, Current, Masks, Penalty, PolicyVersion, Totals, pacs,
};

/// A training objective: a value for every axis of the loss.
///
/// In a configuration, it is written as `preset = "…"` (default `grpo`) and the axes that differ
/// from the preset. An axis is replaced as a whole, not merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Objective {
    /// How rewards become advantages.
    pub advantage: Advantage,
    /// Denominator of the ratio: [`PolicyVersion::Old`] or [`PolicyVersion::Behaviour`].
    pub anchor: PolicyVersion,
    /// Whether the ratio is computed for each token or for the whole completion.
    pub level: Level,
    /// The clipping rule.
    pub surrogate: Surrogate,
    /// How token losses are reduced to one number.
    pub aggregation: Aggregation,
    /// Importance weights of the old policy relative to the behaviour policy.
    pub correction: Correction,
    /// Tokens excluded from the policy gradient.
    pub masks: Masks,
    /// Divergences added to the loss.
    pub penalties: Vec<Penalty>,
    /// How rows that the policy did not generate are used.
    pub demonstrations: Demonstrations,
    /// Entropy bonus (PPO, arXiv 1707.06347, equation 9): this factor times the mean entropy over
    /// tokens, in nats, is subtracted from the loss. 0 disables it.
    pub entropy: f64,
}

/// The inputs an objective requires in addition to mask, advantages and log-probabilities of the
/// policy model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a list of batch fields, each required or not"
)]
pub struct RequiredInputs {
    /// [`Batch::old`].
    pub old: bool,
    /// [`Batch::behaviour`].
    pub behaviour: bool,
    /// [`Batch::reference`].
    pub reference: bool,
    /// [`Batch::teacher`].
    pub teacher: bool,
    /// [`Batch::entropy`].
    pub recorded_entropy: bool,
    /// [`Current::entropy`].
    pub entropy: bool,
    /// [`Batch::demonstrations`].
    pub demonstrations: bool,
    /// [`Batch::scores`] and [`Batch::groups`], with whole groups in every micro-batch.
    pub scores: bool,
}

/// The loss of a batch or a micro-batch.
#[derive(Debug)]
pub struct Loss {
    /// The scalar to minimise, with its graph.
    pub loss: Tensor,
    /// Metrics measured while computing it.
    pub metrics: Metrics,
}

impl Objective {
    /// Validates the numbers of every axis and the combination of axes.
    ///
    /// # Errors
    /// A number is out of its range, or two axes are incompatible.
    pub fn check(&self) -> Result<(), ObjectiveError> {
        self.advantage.check()?;
        self.surrogate.check()?;
        self.aggregation.check()?;
        self.correction.check()?;
        self.masks.check()?;
        self.demonstrations.check()?;
        self.penalties.iter().try_for_each(Penalty::check)?;
        check_range("entropy", self.entropy, 0.0..=MAX_PARAMETER, "at least 0")?;
        if !matches!(self.anchor, PolicyVersion::Old | PolicyVersion::Behaviour) {
            return Err(ObjectiveError::Conflict(
                "`anchor` must be `old` or `behaviour`",
            ));
        }
        if self.anchor == PolicyVersion::Behaviour && !self.correction.is_disabled() {
            return Err(ObjectiveError::Conflict(
                "`correction` cannot be combined with `anchor = \"behaviour\"`, whose ratio \
                 already includes that weight",
            ));
        }
        if matches!(self.surrogate, Surrogate::Pacs { .. })
            && self.demonstrations != Demonstrations::AsRollouts
        {
            return Err(ObjectiveError::Conflict(
                "`pacs` does not support demonstrations",
            ));
        }
        Ok(())
    }

    /// The inputs that the batch must provide.
    #[must_use]
    pub fn required_inputs(&self) -> RequiredInputs {
        let mut required = RequiredInputs::default();
        let mut policy = |policy| match policy {
            PolicyVersion::Old => required.old = true,
            PolicyVersion::Behaviour => required.behaviour = true,
            PolicyVersion::Reference => required.reference = true,
            PolicyVersion::Teacher => required.teacher = true,
        };
        if self.has_ratio() {
            policy(self.anchor);
        }
        if !self.correction.is_disabled() {
            policy(PolicyVersion::Old);
            policy(PolicyVersion::Behaviour);
        }
        if let Some(mask) = self.masks.off_policy {
            policy(mask.from);
        }
        self.penalties
            .iter()
            .for_each(|penalty| policy(penalty.from));
        required.recorded_entropy = self.masks.top_entropy.is_some();
        required.entropy = self.entropy > 0.0;
        required.demonstrations = self.demonstrations != Demonstrations::AsRollouts;
        required.scores = matches!(self.surrogate, Surrogate::Pacs { .. });
        required
    }

    /// Whether any part of the loss depends on the ratio to the anchor.
    fn has_ratio(&self) -> bool {
        !matches!(self.surrogate, Surrogate::Reinforce { .. })
            || self.penalties.iter().any(|penalty| penalty.importance)
    }

    /// Denominators and normalisers of a whole batch.
    ///
    /// # Errors
    /// The batch lacks a required tensor, or a tensor has the wrong shape.
    pub fn totals(&self, whole: &Batch) -> Result<Totals, ObjectiveError> {
        Totals::new(self, whole)
    }

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
