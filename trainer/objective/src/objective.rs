//! An objective: a value for every axis of the loss.

use serde::Serialize;

use crate::demonstrations::Demonstrations;
use crate::error::{MAX_PARAMETER, ObjectiveError, check_range};
use crate::level::Level;
use crate::surrogate::Surrogate;
use crate::{Advantage, Aggregation, Correction, Masks, Penalty, PolicyVersion};

/// A training objective: a value for every axis of the loss.
///
/// In a configuration, it is written as `preset = "…"` (default `grpo`) and the axes that differ
/// from the preset. An axis is replaced as a whole, not merged.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// [`Batch::old`](crate::Batch::old).
    pub old: bool,
    /// [`Batch::behaviour`](crate::Batch::behaviour).
    pub behaviour: bool,
    /// [`Batch::reference`](crate::Batch::reference).
    pub reference: bool,
    /// [`Batch::teacher`](crate::Batch::teacher).
    pub teacher: bool,
    /// [`Batch::entropy`](crate::Batch::entropy).
    pub recorded_entropy: bool,
    /// [`Current::entropy`](crate::Current::entropy).
    pub entropy: bool,
    /// [`Batch::demonstrations`](crate::Batch::demonstrations).
    pub demonstrations: bool,
    /// [`Batch::scores`](crate::Batch::scores) and [`Batch::groups`](crate::Batch::groups), with
    /// whole groups in every micro-batch.
    pub scores: bool,
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
    pub(crate) fn has_ratio(&self) -> bool {
        !matches!(self.surrogate, Surrogate::Reinforce { .. })
            || self.penalties.iter().any(|penalty| penalty.importance)
    }
}
