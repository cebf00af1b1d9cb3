//! Groups and their members.

use crate::Visit;
use assay_core::Reward;

use crate::Rates;

/// The rollouts of one prompt in one batch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Group<'a> {
    /// Members, in the order of all arrays of results.
    pub members: &'a [Member<'a>],
    /// Rates of the channel of the verdicts; `None` if unknown or too uncertain to be used.
    pub rates: Option<Rates>,
    /// Earlier visits to the prompt, oldest first, without this batch; `None` without a history.
    pub history: Option<&'a [Visit]>,
}

impl Group<'_> {
    /// Number of members with a verdict, and number of passes.
    #[must_use]
    pub fn verdicts(&self) -> (u32, u32) {
        self.members
            .iter()
            .filter_map(Member::verdict)
            .fold((0, 0), |(n, k), pass| (n + 1, k + u32::from(pass)))
    }

    /// This batch as a visit to the prompt, without a step.
    #[must_use]
    pub fn visit(&self) -> Visit {
        let (judged, passes) = self.verdicts();
        let mut visit = Visit {
            judged,
            passes,
            ..Visit::default()
        };
        for reward in self.members.iter().filter_map(Member::value) {
            visit.add_reward(reward);
        }
        visit
    }
}

/// One member of a group. A member without a reward is masked: it counts in no statistic.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Member<'a> {
    /// Reward; `None` for a masked member.
    pub reward: Option<Reward>,
    /// Whether it passed; `None` for a masked member and for graders without a notion of pass.
    pub pass: Option<bool>,
    /// Length in tokens, above 0; `None` if unknown.
    pub tokens: Option<f64>,
    /// Answer in canonical form: equal answers have equal text. `None` without an answer.
    pub answer: Option<&'a str>,
}

impl Member<'_> {
    /// The reward as a number.
    pub(crate) fn value(&self) -> Option<f64> {
        self.reward.map(Reward::get)
    }

    /// The verdict, unless the member is masked.
    pub(crate) fn verdict(&self) -> Option<bool> {
        self.reward.and(self.pass)
    }
}

/// A count as a number.
pub(crate) fn as_f64(count: usize) -> f64 {
    count as f64
}
