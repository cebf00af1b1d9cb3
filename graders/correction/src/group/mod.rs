//! Owns the statistics of one group of rollouts: what its members earned, passed and answered, and
//! what follows from that. Keeps no history and corrects no reward; what depends on several visits
//! to a prompt is in [`prompts`](crate::prompts).

pub mod advantage;
pub mod answers;
pub mod corrected;
pub mod estimator;
pub mod pass;
pub mod posterior;
pub mod weights;

use assay_core::{Reward, Visit};

use crate::Rates;

pub use advantage::{centred, mean};
pub use answers::Answers;
pub use estimator::{Estimator, advantages};
pub use pass::{PassRate, pass_at_k, pass_rate};
pub use posterior::{Grid, Posterior, Prior};
pub use weights::{Effective, effective};

/// What the statistics know of one member of a group. A member without a reward is masked: it votes
/// in nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Member<'a> {
    /// Its reward; `None` for a masked member.
    pub reward: Option<Reward>,
    /// Whether it passed; `None` for a masked member and for graders without a notion of pass.
    pub pass: Option<bool>,
    /// Its length in tokens, above 0; `None` where nobody counted.
    pub tokens: Option<f64>,
    /// Its answer in canonical form, so that equal text is an equal answer; `None` where it has
    /// none.
    pub answer: Option<&'a str>,
}

impl Member<'_> {
    /// Its reward as a number.
    pub(crate) fn value(&self) -> Option<f64> {
        self.reward.map(Reward::get)
    }

    /// Its verdict, if it votes.
    pub(crate) fn verdict(&self) -> Option<bool> {
        self.reward.and(self.pass)
    }
}

/// The rollouts of one prompt in one batch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Group<'a> {
    /// The members, in the order of every array made of them.
    pub members: &'a [Member<'a>],
    /// Rates of the channel the verdicts came through; `None` when they are unknown or too
    /// uncertain to be used.
    pub rates: Option<Rates>,
    /// Earlier visits to the prompt, oldest first, without this batch; `None` when none were handed
    /// in.
    pub history: Option<&'a [Visit]>,
}

impl Group<'_> {
    /// How many members were judged, and how many of them passed.
    #[must_use]
    pub fn verdicts(&self) -> (u32, u32) {
        self.members
            .iter()
            .filter_map(Member::verdict)
            .fold((0, 0), |(n, k), pass| (n + 1, k + u32::from(pass)))
    }

    /// This batch as one more visit to the prompt, without a step.
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
    fn masked_members_do_not_vote() {
        let judged = |reward: f64, pass| Member {
            reward: Reward::new(reward).ok(),
            pass: Some(pass),
            ..Member::default()
        };
        let stray = Member {
            pass: Some(true),
            ..Member::default()
        };
        let members = [
            judged(2.0, true),
            stray,
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
