//! Statistics of one group of rollouts, from the rewards, verdicts and answers of its members.
//!
//! Statistics over several visits to a prompt are in [`prompts`](crate::prompts).

pub mod advantage;
pub mod answers;
pub mod corrected;
pub mod estimator;
mod member;
pub mod pass;
pub mod posterior;
pub mod weights;

pub use advantage::{centred, mean};
pub use answers::Answers;
pub use estimator::{Estimator, advantages};
pub(crate) use member::as_f64;
pub use member::{Group, Member};
pub use pass::{PassRate, pass_at_k, pass_rate};
pub use posterior::{Grid, Posterior, Prior};
pub use weights::{Effective, effective};

#[cfg(test)]
mod tests {
    use assay_core::Reward;

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
