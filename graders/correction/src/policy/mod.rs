//! What makes a reward from a verdict: the sections of a policy, and what each of them asks of an
//! item.
//!
//! Owns the shape of a policy and the list of its sections. Owns no rates (a corrected outcome is
//! handed in), no grading (parts and measures are handed in), no names of policies and no
//! configuration file.

mod around;
pub mod catalogue;
pub mod combine;
pub mod compose;
pub mod consensus;
pub mod diversity;
pub mod efficiency;
pub mod explain;
pub mod filter;
pub mod gates;
mod judge;
#[cfg(test)]
mod laws;
pub mod length;
pub mod outcome;
pub mod progressive;
pub mod read;
pub mod repetition;
pub mod sample;
pub mod shape;
pub mod steps;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::appeal::Appeals;
use crate::{Estimator, Rates};

pub use catalogue::{FUNCTIONS, Function};
pub use combine::Combine;
pub use consensus::{Consensus, Label};
pub use diversity::Diversity;
pub use efficiency::Efficiency;
pub use explain::Explained;
pub use filter::Filter;
pub use gates::{Gate, Veto};
pub use length::Length;
pub use outcome::Outcome;
pub use progressive::Stages;
pub use read::PolicyError;
pub use repetition::Repetition;
pub use sample::{Composed, Part, Sample, Term, TermKind};
pub use shape::Shape;
pub use steps::Steps;

use explain::Line;
use read::Checked;

/// The name by which a policy's section means the item's own outcome among its parts. No part may
/// bear it.
pub const OUTCOME: &str = "outcome";

/// How a group's rewards are made. Every section is optional; the empty policy is `reward ==
/// score`.
///
/// Sections act in a fixed order, whatever the order they are written in: vetoes, outcome
/// (corrected, combined, shaped), gates, factors on right answers (efficiency, diversity),
/// penalties (length, repetition). [`Policy::compose`] has the whole rule. Around it stand what
/// happens before (appeals, rates) and after (advantage).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyRules {
    /// What the policy is for, in the words of whoever wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Parts that forbid any gain when they are not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub veto: Option<Veto>,
    /// Which number stands for the verdict; the score after appeal when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Verdicts from the group's own agreement, where no gold answer is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consensus: Option<Consensus>,
    /// How outcome and parts become one number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub combine: Option<Combine>,
    /// Parts that have to be reached one after the other, instead of `combine`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progressive: Option<Stages>,
    /// A monotone map of that number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Parts that cut the reward when they are not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Vec<Gate>>,
    /// Factors for right answers that took little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Efficiency>,
    /// A factor for right answers that are unlike the others of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diversity: Option<Diversity>,
    /// What length costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Length>,
    /// What repeating oneself costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// Rewards of steps, beside the reward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Steps>,
    /// Weights for drawing items of the group to train on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Which verdicts go to a second verifier; the first rule that covers a channel counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub appeals: Vec<Appeals>,
    /// Rates of channels as the tasks' author states them, by channel, for as long as too little
    /// was checked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, Rates>,
    /// How `advantage` is made; the group's mean as baseline, over J where channels are mixed,
    /// when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advantage_estimator: Option<Estimator>,
}

/// A section of a policy: what may stand in it, what it asks of an item, how it reads in words.
trait Section {
    /// Ranges and contradictions within the section; pointers are relative to it.
    fn check(&self) -> Checked;

    /// What every item of a group has to bring.
    fn needs<'p>(&'p self, _needs: &mut Needs<'p>) {}

    /// One line for each function that is switched on.
    fn explain(&self) -> Vec<Line>;
}

/// What a policy asks of every item.
#[derive(Debug, Default)]
struct Needs<'p> {
    parts: Vec<&'p str>,
    measures: Vec<&'p str>,
    tokens: bool,
    /// How many sections there are: about as many terms a reward has.
    sections: usize,
}

impl<'p> Needs<'p> {
    fn part(&mut self, name: &'p str) {
        if name != OUTCOME && !self.parts.contains(&name) {
            self.parts.push(name);
        }
    }

    fn measure(&mut self, name: &'p str) {
        if !self.measures.contains(&name) {
            self.measures.push(name);
        }
    }
}

impl PolicyRules {
    /// The sections that are there, in the order in which they act. A new section is one line here.
    fn sections(&self) -> impl Iterator<Item = (&'static str, &dyn Section)> {
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
            (
                "appeals",
                present((!self.appeals.is_empty()).then_some(&self.appeals)),
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

    /// Whether rewards are the scores after appeal: no section changes them.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.sections()
            .all(|(name, _)| ["appeals", "rates", "advantage_estimator"].contains(&name))
    }

    fn needs(&self) -> Needs<'_> {
        let mut needs = Needs::default();
        for (_, section) in self.sections() {
            section.needs(&mut needs);
            needs.sections += 1;
        }
        needs
    }
}

fn present<S: Section>(section: Option<&S>) -> Option<&dyn Section> {
    section.map(|section| section as &dyn Section)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "groups and texts are far smaller than 2^53"
)]
fn as_f64(count: usize) -> f64 {
    count as f64
}
