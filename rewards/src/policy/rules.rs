//! The sections of a policy.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::combine::Combine;
use super::consensus::Consensus;
use super::diversity::Diversity;
use super::efficiency::Efficiency;
use super::filter::Filter;
use super::gates::{Gate, Veto};
use super::length::Length;
use super::outcome::Outcome;
use super::progressive::Stages;
use super::repetition::Repetition;
use super::section::{RequiredInputs, Section};
use super::shape::Shape;
use super::steps::Steps;
use super::weights::Weights;
use crate::appeal::Appeals;
use crate::trust::Trust;
use crate::{Estimator, Rates};

/// A reward policy. Every section is optional; with the empty policy, the reward is the score.
///
/// Sections apply in a fixed order, independent of the order in which they are written: vetoes,
/// outcome (corrected, combined, shaped), gates, factors on right answers (efficiency, diversity),
/// penalties (length, repetition). [`PolicyRules::compose_batch`] documents the order. `appeals`,
/// `trust` and `rates` apply before rewards are computed, `advantage_estimator` afterwards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyRules {
    /// Description by the author of the policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Parts that rule out a positive reward when they are not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub veto: Option<Veto>,
    /// Number to use as the outcome; default the score after appeal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Outcomes from the agreement of the group, for tasks without a gold answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consensus: Option<Consensus>,
    /// How outcome and parts are combined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combine: Option<Combine>,
    /// Stages that must be reached in order, instead of `combine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progressive: Option<Stages>,
    /// Monotone map of the combined number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Parts that reduce the reward when they are not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Vec<Gate>>,
    /// Factors on right answers by calls, work or cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Efficiency>,
    /// Factor on right answers that differ from the others of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diversity: Option<Diversity>,
    /// Penalties and factors by length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
    /// Penalties for repetition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// Rewards of steps, in addition to the reward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Steps>,
    /// Weights for sampling the items of a group to train on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Weights of the items of a batch, by which advantages are multiplied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Weights>,
    /// Which verdicts are sent to a second verifier; the first rule that covers a channel applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub appeals: Vec<Appeals>,
    /// Which channels may shape rewards; the first rule that covers a channel applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trust: Vec<Trust>,
    /// Declared rates by channel, used until enough verdicts were checked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, Rates>,
    /// Estimator of `advantage`; default the group mean as baseline, divided by J in batches of
    /// several channels that may be corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advantage_estimator: Option<Estimator>,
}

impl PolicyRules {
    /// The sections that are present, in the order in which they apply. Every section has one line
    /// here.
    pub(super) fn sections(&self) -> impl Iterator<Item = (&'static str, &dyn Section)> {
        [
            ("veto", present(self.veto.as_ref())),
            ("outcome", present(self.outcome.as_ref())),
            ("consensus", present(self.consensus.as_ref())),
            ("combine", present(self.combine.as_ref())),
            ("progressive", present(self.progressive.as_ref())),
            ("shape", present(self.shape.as_ref())),
            ("format", present(self.format.as_ref())),
            ("efficiency", present(self.efficiency.as_ref())),
            ("diversity", present(self.diversity.as_ref())),
            ("length", present(self.length.as_ref())),
            ("repetition", present(self.repetition.as_ref())),
            ("steps", present(self.steps.as_ref())),
            ("filter", present(self.filter.as_ref())),
            ("weights", present(self.weights.as_ref())),
            (
                "appeals",
                present((!self.appeals.is_empty()).then_some(&self.appeals)),
            ),
            (
                "trust",
                present((!self.trust.is_empty()).then_some(&self.trust)),
            ),
            (
                "rates",
                present((!self.rates.is_empty()).then_some(&self.rates)),
            ),
            (
                "advantage_estimator",
                present(self.advantage_estimator.as_ref()),
            ),
        ]
        .into_iter()
        .filter_map(|(name, section)| Some((name, section?)))
    }

    /// Whether rewards equal the scores after appeal, because no section changes them.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.sections()
            .all(|(name, _)| ["appeals", "trust", "rates", "advantage_estimator"].contains(&name))
    }

    pub(super) fn required_inputs(&self) -> RequiredInputs<'_> {
        let mut inputs = RequiredInputs::default();
        for (_, section) in self.sections() {
            section.required_inputs(&mut inputs);
            inputs.sections += 1;
        }
        inputs
    }
}

pub(super) fn present<S: Section>(section: Option<&S>) -> Option<&dyn Section> {
    section.map(|section| section as &dyn Section)
}
