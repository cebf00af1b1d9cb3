//! Statistics of one group of rollouts, from the rewards, verdicts and answers of its members.
//!
//! Statistics over several visits to a prompt are in [`prompts`](crate::prompts).

pub mod advantage;
pub mod answers;
pub mod corrected;
pub mod estimator;
pub mod pass;
pub mod posterior;
pub mod weights;

use assay_core::Reward;
use assay_record::Visit;

use crate::Rates;

pub use advantage::{centred, mean};
pub use answers::Answers;
pub use estimator::{Estimator, advantages};
pub use pass::{PassRate, pass_at_k, pass_rate};
pub use posterior::{Grid, Posterior, Prior};
pub use weights::{Effective, effective};

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

/// A count as a number.
#[expect(
    clippy::cast_precision_loss,
    reason = "groups are far smaller than 2^53"
)]
pub(crate) fn as_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_members_are_not_counted() {
        let judged = |reward: f64, pass| Member {
            reward: Reward::new(reward).ok(),
            pass: Some(pass),
            ..Member::default()
        };
        let masked = Member {
            pass: Some(true),
            ..Member::default()
        };
        let members = [
            judged(2.0, true),
            masked,
            judged(-1.0, false),
            Member::default(),
        ];
        let group = Group {
            members: &members,
            ..Group::default()
        };
        assert_eq!(group.verdicts(), (2, 1));
        let visit = group.visit();
        assert_eq!(
            (visit.step, visit.judged, visit.passes, visit.rewards),
            (None, 2, 1, 2)
        );
        // 2 - 1 = 1; 4 + 1 = 5.
        assert!(
            (visit.reward_sum - 1.0).abs() < 1e-12 && (visit.reward_squares - 5.0).abs() < 1e-12
        );
    }
}
