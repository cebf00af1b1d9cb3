//! Advantage estimators by name, and the estimators over a whole batch. The estimators of a single
//! group are in [`advantage`] and [`corrected`].

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::advantage::{self, length};
use super::corrected;
use super::member::{Group, Member, as_f64};

/// An estimator of advantages from the rewards of groups.
///
/// The results are used *as* advantages: the trainer must neither centre nor scale them again,
/// which in most trainers means its plain policy-gradient estimator. A trainer that normalises by
/// group itself computes the same z-scores from raw verdicts, [`Backward`](Self::Backward) and
/// [`Forward`](Self::Forward), up to the epsilon in the denominator, because within a group each is
/// an increasing linear function of the others. A correction therefore has an effect only through
/// these advantages, or in a trainer that does not normalise rewards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// [`advantage::centred`]: the default, for any trainer that uses advantages unchanged. Within
    /// one channel, noise scales its expected gradient but does not change the direction.
    Mean,
    /// [`advantage::grpo`]: the advantages GRPO trainers compute themselves. Normalisation removes
    /// any correction by rates.
    Grpo,
    /// [`advantage::dr_grpo`]: for trainers that divide the loss by a constant instead of lengths.
    DrGrpo,
    /// [`advantage::rloo`]: for REINFORCE with the whole completion as one action.
    Rloo,
    /// [`reinforce_pp`]: for REINFORCE++ with the group mean as baseline. It is whitened over the
    /// request, which must contain the whole batch.
    ReinforcePp,
    /// [`advantage::opo`]: for exact on-policy training without clipping or a KL term. Requires
    /// lengths.
    Opo,
    /// [`gpg`]: for GPG's plain policy gradient. It is scaled over the request, which must contain
    /// the whole batch. Not for corrected rewards, which are never zero.
    Gpg,
    /// [`advantage::passk_top1`]: for training on the best of a group.
    PasskTop1,
    /// [`advantage::max_rl`]: for maximising the likelihood of a right answer. Requires rewards of
    /// at least 0.
    MaxRl,
    /// [`advantage::by_verdict`] with 0 and -1: for learning from wrong answers only, without a
    /// baseline.
    Nsr,
    /// [`advantage::by_verdict`] with 0.1 and -1: for learning mostly from wrong answers, without a
    /// baseline.
    WReinforce,
    /// [`advantage::dcpo`]: for several visits to a prompt in one run. Equals [`Self::Grpo`]
    /// without history.
    Dcpo,
    /// [`corrected::zfix`]: for batches of several channels and groups of at least 16. Requires
    /// rates.
    Zfix,
    /// [`corrected::gain`]: for batches of several channels and groups of any size. Requires rates.
    Gain,
    /// [`corrected::backward`]: a reward, for trainers with their own baseline and no division by
    /// the standard deviation. Requires rates.
    Backward,
    /// [`corrected::forward`]: an advantage, on policy and without centring, for one channel (or
    /// divided by J by the trainer). Requires rates.
    Forward,
}

impl Estimator {
    /// Every estimator, in the order of the documentation.
    pub const ALL: &'static [Self] = &[
        Self::Mean,
        Self::Grpo,
        Self::DrGrpo,
        Self::Rloo,
        Self::ReinforcePp,
        Self::Opo,
        Self::Gpg,
        Self::PasskTop1,
        Self::MaxRl,
        Self::Nsr,
        Self::WReinforce,
        Self::Dcpo,
        Self::Zfix,
        Self::Gain,
        Self::Backward,
        Self::Forward,
    ];

    /// The name in requests and replies.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.texts().0
    }

    /// The estimator of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|estimator| estimator.name() == name)
    }

    /// One line: its formula; then the trainer settings it is for.
    #[must_use]
    pub fn summary(self) -> &'static str {
        self.texts().1
    }

    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Mean => (
                "mean",
                "r - group mean, null with fewer than two graded; use unchanged as the advantage",
            ),
            Self::Grpo => (
                "grpo",
                "(r - mean) / (std + 1e-6); equal for raw, backward and forward rewards",
            ),
            Self::DrGrpo => (
                "dr_grpo",
                "r - mean, r itself in a group of one; no division by std or length",
            ),
            Self::Rloo => (
                "rloo",
                "r - mean of the others; REINFORCE over whole completions",
            ),
            Self::ReinforcePp => (
                "reinforce_pp",
                "r - group mean, whitened over the batch; REINFORCE++ with baseline",
            ),
            Self::Opo => (
                "opo",
                "r - sum(L r) / sum(L); exact on-policy training, requires token counts",
            ),
            Self::Gpg => (
                "gpg",
                "(batch / nonzero rewards) (r - mean); plain policy gradient on raw rewards only",
            ),
            Self::PasskTop1 => (
                "passk_top1",
                "r1 - r2 for the best, 0 for the others; training on the best of n",
            ),
            Self::MaxRl => (
                "max_rl",
                "(r - mean) / mean, 0 without a right answer; requires rewards of at least 0",
            ),
            Self::Nsr => ("nsr", "0 for a pass, else -1; no baseline, no centring"),
            Self::WReinforce => (
                "w_reinforce",
                "0.1 for a pass, else -1; no baseline, no centring",
            ),
            Self::Dcpo => (
                "dcpo",
                "mixture of the z-scores of this group and of all visits; `grpo` without history",
            ),
            Self::Zfix => (
                "zfix",
                "((r - mean) / J) / sqrt(p (1 - p)); mixed channels, groups of at least 16, \
                 requires rates",
            ),
            Self::Gain => (
                "gain",
                "(r - mean) / max(J, 0.2); mixed channels, requires rates",
            ),
            Self::Backward => (
                "backward",
                "(pass - rho0) / J; a reward for trainers that do not divide by std, requires \
                 rates",
            ),
            Self::Forward => (
                "forward",
                "rho1 for a pass, else rho1 - 1; on policy without centring, requires rates",
            ),
        }
    }
}

impl Serialize for Estimator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Estimator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| {
            let known: Vec<String> = Self::ALL
                .iter()
                .map(|known| format!("`{}`", known.name()))
                .collect();
            de::Error::custom(format_args!(
                "unknown estimator `{name}`; expected one of {}",
                known.join(", ")
            ))
        })
    }
}

/// Advantages of every member of every group of a batch, in the order of groups and members. `None`
/// for masked members, and where the documentation of the estimator states it.
#[must_use]
pub fn advantages(estimator: Estimator, groups: &[Group<'_>]) -> Vec<Vec<Option<f64>>> {
    match estimator {
        Estimator::ReinforcePp => reinforce_pp(groups),
        Estimator::Gpg => gpg(groups),
        _ => groups
            .iter()
            .map(|group| of_group(estimator, group))
            .collect(),
    }
}

fn of_group(estimator: Estimator, group: &Group<'_>) -> Vec<Option<f64>> {
    let (members, rates) = (group.members, group.rates);
    match estimator {
        Estimator::Mean => advantage::centred(members),
        Estimator::Grpo => advantage::grpo(members),
        // The two estimators over a batch start from centred rewards.
        Estimator::DrGrpo | Estimator::ReinforcePp | Estimator::Gpg => advantage::dr_grpo(members),
        Estimator::Rloo => advantage::rloo(members),
        Estimator::Opo => advantage::opo(members),
        Estimator::PasskTop1 => advantage::passk_top1(members),
        Estimator::MaxRl => advantage::max_rl(members),
        Estimator::Nsr => advantage::by_verdict(members, 0.0, -1.0),
        Estimator::WReinforce => advantage::by_verdict(members, 0.1, -1.0),
        Estimator::Dcpo => advantage::dcpo(group),
        Estimator::Zfix => corrected::zfix(members, rates),
        Estimator::Gain => corrected::gain(members, rates),
        Estimator::Backward => corrected::backward(members, rates),
        Estimator::Forward => corrected::forward(members, rates),
    }
}

/// REINFORCE++ with baseline (arXiv 2501.03262): a = r - group mean (mean 0 for a single graded
/// member), whitened over the batch: (a - mean) / sqrt(var + 1e-8). In standard deviations.
///
/// Trainers whiten over tokens, so each member is weighted by its number of tokens; all weights are
/// 1 if the length of any graded member is unknown. The variance is unbiased, with divisor n - 1
/// for n tokens or members. A batch of one graded member gets 0.
#[must_use]
pub fn reinforce_pp(groups: &[Group<'_>]) -> Vec<Vec<Option<f64>>> {
    let mut centred: Vec<_> = groups
        .iter()
        .map(|group| of_group(Estimator::ReinforcePp, group))
        .collect();
    let graded = |member: &&Member<'_>| member.reward.is_some();
    let mut known = groups.iter().flat_map(|group| group.members).filter(graded);
    let by_tokens = known.all(|member| length(member).is_some());
    let weight = |member: &Member<'_>| {
        if by_tokens {
            length(member).unwrap_or(0.0)
        } else {
            1.0
        }
    };
    let pairs = || {
        let members = groups.iter().flat_map(|group| group.members);
        members
            .zip(centred.iter().flatten())
            .filter_map(|(member, a)| Some((weight(member), (*a)?)))
    };
    let (n, sum) = pairs().fold((0.0, 0.0), |(n, sum), (weight, a)| {
        (n + weight, sum + weight * a)
    });
    let mean = if n > 0.0 { sum / n } else { 0.0 };
    let squares: f64 = pairs().map(|(weight, a)| weight * (a - mean).powi(2)).sum();
    let variance = if n > 1.0 { squares / (n - 1.0) } else { 0.0 };
    let scale = (variance + 1e-8).sqrt();
    for a in centred.iter_mut().flatten() {
        *a = a
            .map(|a| (a - mean) / scale)
            .filter(|number| number.is_finite() && scale.is_finite());
    }
    centred
}

/// GPG (arXiv 2504.02546): (B / nonzero) (r - mean), where B is the number of graded members of the
/// batch, nonzero the number of rewards that are not 0 (at least 1), and mean the group mean (0 for
/// a single graded member). In units of the reward.
#[must_use]
pub fn gpg(groups: &[Group<'_>]) -> Vec<Vec<Option<f64>>> {
    let rewards = || {
        groups
            .iter()
            .flat_map(|group| group.members)
            .filter_map(Member::value)
    };
    let nonzero = rewards().filter(|reward| reward.abs() > 0.0).count();
    let scale = as_f64(rewards().count()) / as_f64(nonzero.max(1));
    let mut centred: Vec<_> = groups
        .iter()
        .map(|group| of_group(Estimator::Gpg, group))
        .collect();
    for a in centred.iter_mut().flatten() {
        *a = a.map(|a| a * scale).filter(|number| number.is_finite());
    }
    centred
}

#[cfg(test)]
mod tests {
    use crate::Visit;
    use assay_core::Reward;
    use proptest::prelude::*;

    use super::*;
    use crate::Rates;

    fn members(rewards: &[Option<f64>]) -> Vec<Member<'static>> {
        let member = |reward: &Option<f64>| Member {
            reward: reward.and_then(|reward| Reward::new(reward).ok()),
            pass: reward.map(|reward| reward > 0.5),
            ..Member::default()
        };
        rewards.iter().map(member).collect()
    }

    fn assert_close(got: &[Option<f64>], expected: &[Option<f64>], tolerance: f64) {
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            match (got, expected) {
                (Some(got), Some(expected)) => assert!(
                    (got - expected).abs() < tolerance,
                    "{got} is not {expected}"
                ),
                _ => assert_eq!(got, expected),
            }
        }
    }

    fn groups<'a>(members: &'a [Vec<Member<'a>>]) -> Vec<Group<'a>> {
        members
            .iter()
            .map(|members| Group {
                members,
                ..Group::default()
            })
            .collect()
    }

    #[test]
    fn gpg_scales_by_the_number_of_nonzero_rewards() {
        // Six graded, two not 0: 6 / 2 = 3 times (r - mean).
        let batch = [
            members(&[Some(1.0), None, Some(0.0)]),
            members(&[Some(1.0), Some(0.0), Some(0.0), Some(0.0)]),
        ];
        let got = gpg(&groups(&batch));
        assert_close(&got[0], &[Some(1.5), None, Some(-1.5)], 1e-12);
        assert_close(
            &got[1],
            &[Some(2.25), Some(-0.75), Some(-0.75), Some(-0.75)],
            1e-12,
        );
        assert_close(
            &gpg(&groups(&[members(&[Some(0.0), Some(0.0)])]))[0],
            &[Some(0.0), Some(0.0)],
            1e-12,
        );
    }

    #[test]
    fn reinforce_pp_whitens_over_the_batch() {
        // Centred: 0.5, -0.5 and 0.75, -0.25, -0.25, -0.25; mean 0, squares 0.5 + 0.75 = 1.25,
        // variance 1.25 / 5 = 0.25.
        let batch = [
            members(&[Some(1.0), None, Some(0.0)]),
            members(&[Some(1.0), Some(0.0), Some(0.0), Some(0.0)]),
        ];
        let got = reinforce_pp(&groups(&batch));
        assert_close(&got[0], &[Some(1.0), None, Some(-1.0)], 1e-6);
        assert_close(
            &got[1],
            &[Some(1.5), Some(-0.5), Some(-0.5), Some(-0.5)],
            1e-6,
        );
    }

    #[test]
    fn reinforce_pp_weights_by_tokens_if_all_are_known() {
        // 0.5 three times and -0.5 once: mean 0.25, variance (3 * 0.0625 + 0.5625) / 3 = 0.25; 0.25
        // / 0.5, -0.75 / 0.5.
        let mut pair = members(&[Some(1.0), Some(0.0)]);
        (pair[0].tokens, pair[1].tokens) = (Some(3.0), Some(1.0));
        assert_close(
            &reinforce_pp(&groups(&[pair]))[0],
            &[Some(0.5), Some(-1.5)],
            1e-6,
        );
    }

    #[test]
    fn reinforce_pp_of_a_single_member_is_zero() {
        assert_close(
            &reinforce_pp(&groups(&[members(&[Some(4.0)])]))[0],
            &[Some(0.0)],
            1e-12,
        );
        assert!(reinforce_pp(&[]).is_empty());
    }

    #[test]
    fn names_round_trip() {
        for estimator in Estimator::ALL {
            assert_eq!(Estimator::from_name(estimator.name()), Some(*estimator));
            assert!(!estimator.summary().contains('\n'));
        }
        assert_eq!(Estimator::from_name("ppo"), None);
    }

    prop_compose! {
        fn rates()(rho0 in 0.0..0.45, rho1 in 0.0..0.45) -> Rates {
            Rates { rho0, rho1 }
        }
    }

    proptest! {
        #[test]
        fn z_scores_of_raw_backward_and_forward_are_equal(
            passes in prop::collection::vec(any::<bool>(), 2..24), rates in rates(),
        ) {
            let verdicts: Vec<_> =
                passes.iter().map(|pass| Some(f64::from(u8::from(*pass)))).collect();
            let raw = members(&verdicts);
            let group = Group { members: &raw, rates: Some(rates), history: None };
            let z = |rewards: &[Option<f64>]| advantage::grpo(&members(rewards));
            let backward = z(&of_group(Estimator::Backward, &group));
            let forward = z(&of_group(Estimator::Forward, &group));
            // The remaining difference is the epsilon added to a deviation of at least sqrt(1/24).
            assert_close(&backward, &z(&verdicts), 1e-4);
            assert_close(&forward, &z(&verdicts), 1e-4);
        }

        #[test]
        fn every_estimator_preserves_order_and_masks_and_is_finite(
            batch in prop::collection::vec(
                prop::collection::vec(prop::option::of(-5.0..5.0f64), 0..9),
                0..5,
            ),
            rates in prop::option::of(rates()),
            visits in prop::collection::vec((0u32..9, 0.0..1.0f64), 0..4),
        ) {
            let batch: Vec<_> = batch.iter().map(|rewards| members(rewards)).collect();
            let history: Vec<_> = visits
                .into_iter()
                .map(|(rewards, share)| {
                    let reward_sum = f64::from(rewards) * share;
                    Visit { rewards, reward_sum, reward_squares: reward_sum, ..Visit::default() }
                })
                .collect();
            let groups: Vec<_> = batch
                .iter()
                .map(|members| Group { members, rates, history: Some(&history) })
                .collect();
            for estimator in Estimator::ALL {
                let got = advantages(*estimator, &groups);
                prop_assert_eq!(got.len(), batch.len());
                for (advantages, members) in got.iter().zip(&batch) {
                    prop_assert_eq!(advantages.len(), members.len());
                    for (advantage, member) in advantages.iter().zip(members) {
                        prop_assert!(member.reward.is_some() || advantage.is_none());
                        prop_assert!(advantage.is_none_or(f64::is_finite));
                    }
                }
            }
        }

        #[test]
        fn centred_advantages_of_a_group_sum_to_zero(
            rewards in prop::collection::vec(-5.0..5.0f64, 2..20),
        ) {
            let members = members(&rewards.into_iter().map(Some).collect::<Vec<_>>());
            let rates = Some(Rates { rho0: 0.1, rho1: 0.2 });
            let group = Group { members: &members, rates, history: None };
            for estimator in [
                Estimator::Mean,
                Estimator::Grpo,
                Estimator::Rloo,
                Estimator::Zfix,
                Estimator::Gain,
            ] {
                let sum: f64 = of_group(estimator, &group).iter().flatten().sum();
                prop_assert!(sum.abs() < 1e-8);
            }
        }
    }
}
