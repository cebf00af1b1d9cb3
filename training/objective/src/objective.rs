//! The one loss: puts the axes together.

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::batch::Tokens;
use crate::demonstrations::{Demonstrations, imitated, shaped};
use crate::error::{MOST, ObjectiveError, within};
use crate::level::Level;
use crate::metrics::{Gauges, Metrics};
use crate::settings::Settings;
use crate::surrogate::{Surrogate, Term, View};
use crate::tensor::{bounded_exp, either, or_else, spread};
use crate::totals::policy_tokens;
use crate::{
    Advantage, Aggregation, Batch, Correction, Current, Masks, Penalty, PolicyVersion, Totals, pacs,
};

/// What a policy is trained towards: a point on every axis.
///
/// Read from a configuration it is `preset = "…"` and any axis that differs; an axis is replaced
/// whole. Without a preset it is `grpo`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Settings")]
pub struct Objective {
    /// How rewards become advantages.
    pub advantage: Advantage,
    /// The policy below the ratio: [`Policy::Old`] or [`Policy::Behaviour`].
    pub anchor: PolicyVersion,
    /// Of what the ratio is taken.
    pub level: Level,
    /// The rule that clips.
    pub surrogate: Surrogate,
    /// How token losses become one number.
    pub aggregation: Aggregation,
    /// Weights between the old and the behaviour policy.
    pub correction: Correction,
    /// Tokens that the policy gradient leaves out.
    pub masks: Masks,
    /// Divergences added to the loss.
    pub penalties: Vec<Penalty>,
    /// What rows by someone else are.
    pub demonstrations: Demonstrations,
    /// Factor of the mean entropy over tokens that is subtracted from the loss, in loss a nat; 0
    /// for none.
    pub entropy: f64,
}

/// What an objective needs besides mask, advantages and log-probabilities of the policy in
/// training.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a list of fields of the batch, each of which is needed or not"
)]
pub struct Needs {
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
    /// [`Batch::scores`] and [`Batch::groups`], with whole groups in every piece.
    pub scores: bool,
}

/// The loss of a piece of a batch.
#[derive(Debug)]
pub struct Loss {
    /// A number, to be minimised, with its graph.
    pub loss: Tensor,
    /// What happened on the way.
    pub metrics: Metrics,
}

impl Objective {
    /// Checks every number of every axis, and axes against each other.
    ///
    /// # Errors
    /// A number is out of its range, or two axes exclude each other.
    pub fn check(&self) -> Result<(), ObjectiveError> {
        self.advantage.check()?;
        self.surrogate.check()?;
        self.aggregation.check()?;
        self.correction.check()?;
        self.masks.check()?;
        self.demonstrations.check()?;
        self.penalties.iter().try_for_each(Penalty::check)?;
        within("entropy", self.entropy, 0.0..=MOST, "from 0 up")?;
        if !matches!(self.anchor, PolicyVersion::Old | PolicyVersion::Behaviour) {
            return Err(ObjectiveError::Conflict("`anchor` is `old` or `behaviour`"));
        }
        if self.anchor == PolicyVersion::Behaviour && !self.correction.is_off() {
            return Err(ObjectiveError::Conflict(
                "`correction` weighs old over behaviour: with `anchor = \"behaviour\"` the ratio \
                 has that weight already",
            ));
        }
        if matches!(self.surrogate, Surrogate::Pacs { .. })
            && self.demonstrations != Demonstrations::AsRollouts
        {
            return Err(ObjectiveError::Conflict(
                "`pacs` has no place for demonstrations",
            ));
        }
        Ok(())
    }

    /// What the batch must have.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let mut needs = Needs::default();
        let mut policy = |policy| match policy {
            PolicyVersion::Old => needs.old = true,
            PolicyVersion::Behaviour => needs.behaviour = true,
            PolicyVersion::Reference => needs.reference = true,
            PolicyVersion::Teacher => needs.teacher = true,
        };
        if self.has_ratio() {
            policy(self.anchor);
        }
        if !self.correction.is_off() {
            policy(PolicyVersion::Old);
            policy(PolicyVersion::Behaviour);
        }
        if let Some(mask) = self.masks.off_policy {
            policy(mask.from);
        }
        self.penalties
            .iter()
            .for_each(|penalty| policy(penalty.from));
        needs.recorded_entropy = self.masks.top_entropy.is_some();
        needs.entropy = self.entropy > 0.0;
        needs.demonstrations = self.demonstrations != Demonstrations::AsRollouts;
        needs.scores = matches!(self.surrogate, Surrogate::Pacs { .. });
        needs
    }

    /// Whether anything of the loss depends on the ratio to the anchor.
    fn has_ratio(&self) -> bool {
        !matches!(self.surrogate, Surrogate::Reinforce { .. })
            || self.penalties.iter().any(|penalty| penalty.importance)
    }

    /// Denominators and normalisers of a whole batch.
    ///
    /// # Errors
    /// The batch lacks something, or its shapes do not agree.
    pub fn totals(&self, whole: &Batch) -> Result<Totals, ObjectiveError> {
        Totals::new(self, whole)
    }

    /// The loss of a batch, or of some rows of it with the `totals` of the whole.
    ///
    /// # Errors
    /// The batch lacks something, or its shapes do not agree.
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

        let view = View {
            tokens: &tokens,
            logp: &logp,
            anchor: &anchor,
            ratio: &ratio,
        };
        let mut loss = match (self.surrogate.term(&view)?, self.surrogate) {
            (Some(term), _) => {
                let x = self.policy_losses(&view, term, totals, &mut gauges)?;
                self.aggregation.of(&x, &tokens, totals)?
            }
            (
                None,
                Surrogate::Pacs {
                    beta,
                    standing,
                    balanced,
                },
            ) => {
                let log_ratio = logp.sub(&anchor)?;
                pacs::loss(&log_ratio, &tokens, totals, (beta, standing, balanced))?
            }
            (None, _) => return Err(ObjectiveError::Conflict("this surrogate has no loss")),
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
            loss = loss.add(&self.aggregation.of(&x, &tokens, totals)?)?;
        }
        if let Demonstrations::Imitated { share, weight } = self.demonstrations {
            let theirs = all.only(&tokens.live.eq(0u8)?)?;
            let logp = theirs.clean("logp", Some(&current.logp))?;
            let x = imitated(&logp, weight)?.mul(&theirs.mask)?;
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
            // r - 1 - log r of the policy in training over the one that wrote: 0 where both compute
            // the same.
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

    /// Losses of tokens by the surrogate: clipped, masked and weighed.
    fn policy_losses(
        &self,
        view: &View<'_>,
        mut term: Term,
        totals: &Totals,
        gauges: &mut Gauges,
    ) -> Result<Tensor, ObjectiveError> {
        let &View { tokens, logp, .. } = view;
        if let Demonstrations::Shaped { gamma } = self.demonstrations {
            let marked =
                tokens.row_values("demonstrations", tokens.batch().demonstrations.as_ref())?;
            let marked = spread(&marked, logp)?.ne(0.0)?;
            term.surrogate = marked.where_cond(&shaped(logp, gamma)?, &term.surrogate)?;
            let rollouts = marked.eq(0u8)?;
            for cut in [&mut term.low, &mut term.high, &mut term.dual] {
                *cut = cut.mul(&rollouts)?;
            }
        }
        // Ratios of sequences are counted by completion, others by token.
        let counted = match self.level {
            Level::Token => tokens.mask.clone(),
            Level::Sequence | Level::SequenceToken => tokens.mask.broadcast_div(&tokens.lengths)?,
        };
        gauges.mean("clip_ratio/low_mean", &term.low, &counted)?;
        gauges.mean("clip_ratio/high_mean", &term.high, &counted)?;
        gauges.mean(
            "clip_ratio/region_mean",
            &either(&term.low, &term.high)?,
            &counted,
        )?;
        gauges.mean("pg_clipfrac_lower", &term.dual, &counted)?;

        let mut x = term.surrogate.mul(&tokens.advantages)?.neg()?;
        if let Some(keep) = self.masks.keep(logp, tokens, totals)? {
            x = or_else(&keep, &x, 0.0)?;
            gauges.mean("kept_mean", &keep, &tokens.mask)?;
        }
        if !self.correction.is_off() {
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
