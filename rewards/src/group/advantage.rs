//! Advantages from the rewards and verdicts of a single group.
//!
//! Estimators that use the rates of a channel are in [`corrected`](super::corrected).
//! [`Estimator`](super::Estimator) documents which one suits which trainer; the estimators over a
//! batch are in its module.
//!
//! A masked member is `None` in every array and counts in no mean. A result that would not be
//! finite is `None`. Unless stated otherwise, advantages are in units of the reward r and can be
//! any finite number.

use super::member::{Group, Member, as_f64};
use crate::prompts::Moments;

/// Added to every standard deviation used as a divisor, as in verl and TRL, so that equal rewards
/// have the advantage 0 instead of 0 / 0.
pub const EPSILON: f64 = 1e-6;

/// Mean reward of the graded members; `None` without any, and if their sum overflows.
#[must_use]
pub fn mean(members: &[Member<'_>]) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for reward in members.iter().filter_map(Member::value) {
        sum += reward;
        count += 1;
    }
    // A sum of finite numbers can overflow to infinity.
    (count > 0)
        .then(|| sum / f64::from(count))
        .filter(|mean| mean.is_finite())
}

/// Reward minus the [`mean`] of the graded members: r - mean, the group-mean baseline without
/// division by the standard deviation (Dr. GRPO, arXiv 2503.20783, section 3.2).
///
/// `None` for masked members, and for all members when fewer than two are graded, because a single
/// sample has no baseline other than itself.
#[must_use]
pub fn centred(members: &[Member<'_>]) -> Vec<Option<f64>> {
    match mean_of_several(members) {
        Some(mean) => each(members, |reward| reward - mean),
        None => vec![None; members.len()],
    }
}

/// The mean, if at least two members are graded.
pub(super) fn mean_of_several(members: &[Member<'_>]) -> Option<f64> {
    if graded(members) >= 2 {
        mean(members)
    } else {
        None
    }
}

/// Number of members with a reward.
pub(super) fn graded(members: &[Member<'_>]) -> usize {
    members
        .iter()
        .filter(|member| member.reward.is_some())
        .count()
}

/// Applies `formula` to every reward.
pub(super) fn each(members: &[Member<'_>], formula: impl Fn(f64) -> f64) -> Vec<Option<f64>> {
    members
        .iter()
        .map(|member| {
            member
                .value()
                .map(&formula)
                .filter(|number| number.is_finite())
        })
        .collect()
}

/// Applies `formula` to every verdict.
pub(super) fn each_verdict(
    members: &[Member<'_>],
    formula: impl Fn(bool) -> Option<f64>,
) -> Vec<Option<f64>> {
    members
        .iter()
        .map(|member| member.verdict().and_then(&formula))
        .collect()
}

/// Mean and unbiased standard deviation as trainers define them: 0 and 1 for a single graded
/// member, so that its advantage is its reward. `None` without graded members.
fn moments(members: &[Member<'_>]) -> Option<(f64, f64)> {
    let n = graded(members);
    if n == 1 {
        return Some((0.0, 1.0));
    }
    let mean = mean(members)?;
    let squares: f64 = members
        .iter()
        .filter_map(Member::value)
        .map(|reward| (reward - mean).powi(2))
        .sum();
    let deviation = (squares / (as_f64(n) - 1.0)).sqrt();
    deviation.is_finite().then_some((mean, deviation))
}

/// GRPO (arXiv 2402.03300): (r - mean) / (std + 1e-6), in standard deviations. The epsilon and the
/// divisor n - 1 of the variance are those of trainers. A single graded member keeps its reward;
/// the advantage of equal rewards is 0.
#[must_use]
pub fn grpo(members: &[Member<'_>]) -> Vec<Option<f64>> {
    match moments(members) {
        Some((mean, deviation)) => each(members, |reward| (reward - mean) / (deviation + EPSILON)),
        None => vec![None; members.len()],
    }
}

/// Dr. GRPO (arXiv 2503.20783, section 3.2): r - mean. A single graded member keeps its reward,
/// which is the only difference from [`centred`].
#[must_use]
pub fn dr_grpo(members: &[Member<'_>]) -> Vec<Option<f64>> {
    match moments(members) {
        Some((mean, _)) => each(members, |reward| reward - mean),
        None => vec![None; members.len()],
    }
}

/// RLOO (arXiv 2402.14740): n / (n - 1) (r - mean), which is r minus the mean of the other members.
/// A single graded member keeps its reward.
#[must_use]
pub fn rloo(members: &[Member<'_>]) -> Vec<Option<f64>> {
    let n = as_f64(graded(members));
    let scale = if n > 1.0 { n / (n - 1.0) } else { 1.0 };
    match moments(members) {
        Some((mean, _)) => each(members, |reward| scale * (reward - mean)),
        None => vec![None; members.len()],
    }
}

/// OPO (arXiv 2505.23585): r - sum(L r) / sum(L), with the lengths L in tokens: the baseline of
/// least variance if squared gradients are proportional to length. A single graded member keeps its
/// reward. `None` for all members unless every graded member has a length above 0.
#[must_use]
pub fn opo(members: &[Member<'_>]) -> Vec<Option<f64>> {
    let Some(baseline) = length_weighted(members) else {
        return vec![None; members.len()];
    };
    each(members, |reward| reward - baseline)
}

fn length_weighted(members: &[Member<'_>]) -> Option<f64> {
    let (mut sum, mut lengths, mut n) = (0.0, 0.0, 0u32);
    for member in members.iter().filter(|member| member.reward.is_some()) {
        let length = length(member)?;
        sum += length * member.value()?;
        lengths += length;
        n += 1;
    }
    if n < 2 {
        Some(0.0)
    } else {
        Some(sum / lengths).filter(|baseline| baseline.is_finite())
    }
}

/// The length of a member, if it is usable as a weight.
pub(super) fn length(member: &Member<'_>) -> Option<f64> {
    member
        .tokens
        .filter(|tokens| *tokens > 0.0 && tokens.is_finite())
}

/// Leave-one-out advantage of the maximum for k = n (arXiv 2503.19595): r1 - r2 for the best
/// member, where r2 is the second best reward, and 0 for the others. At least 0. All are 0 in a
/// tie for the best. `None` for all members when fewer than two are graded.
///
/// It is not divided by the standard deviation. With 0/1 rewards, trainers that divide (verl's
/// `grpo_passk` by default) only multiply by a constant: advantages are non-zero only in groups
/// with exactly one right answer, where the deviation is 1 / sqrt(n).
#[must_use]
pub fn passk_top1(members: &[Member<'_>]) -> Vec<Option<f64>> {
    if graded(members) < 2 {
        return vec![None; members.len()];
    }
    let (mut first, mut second, mut best) = (f64::NEG_INFINITY, f64::NEG_INFINITY, 0);
    for (at, member) in members.iter().enumerate() {
        match member.value() {
            Some(reward) if reward > first => (second, first, best) = (first, reward, at),
            Some(reward) if reward > second => second = reward,
            _ => {}
        }
    }
    let mut advantages = each(members, |_| 0.0);
    if let Some(advantage) = advantages.get_mut(best) {
        *advantage = Some(first - second).filter(|number| number.is_finite());
    }
    advantages
}

/// MaxRL (arXiv 2602.02710, algorithm 1): (r - mean) / mean, without a unit, at least -1. With 0/1
/// rewards of which k of n are 1, wrong answers get -1 and right ones (n - k) / k, which is the
/// gradient of log p to order n - 1. Rewards must be at least 0. 0 for all members if the mean is
/// not above 0, such as in a group without a right answer.
#[must_use]
pub fn max_rl(members: &[Member<'_>]) -> Vec<Option<f64>> {
    match mean(members) {
        Some(mean) if mean > 0.0 => each(members, |reward| (reward - mean) / mean),
        Some(_) => each(members, |_| 0.0),
        None => vec![None; members.len()],
    }
}

/// `right` for a pass, else `wrong`, independent of the other members (PSR, NSR and W-REINFORCE,
/// arXiv 2506.01347). `None` without a verdict.
#[must_use]
pub fn by_verdict(members: &[Member<'_>], right: f64, wrong: f64) -> Vec<Option<f64>> {
    each_verdict(members, |pass| Some(if pass { right } else { wrong }))
}

/// Smooth advantage standardisation of DCPO (arXiv 2509.02333), in standard deviations.
///
/// `z_group` is the z-score within this group, and `z_all` the z-score with the mean and deviation
/// of the rewards of all visits to the prompt. At the i-th visit the result is the one nearer to 0
/// of ((i - 1) `z_group` + `z_all`) / i and (`z_group` + (i - 1) `z_all`) / i.
///
/// Visits without a reward are not counted. Without history it equals [`grpo`].
#[must_use]
pub fn dcpo(group: &Group<'_>) -> Vec<Option<f64>> {
    let within = grpo(group.members);
    let mut all = Moments::default();
    let mut visits = 1.0;
    for visit in group
        .history
        .unwrap_or_default()
        .iter()
        .filter(|visit| visit.rewards > 0)
    {
        all = all.merge(Moments::of(visit));
        visits += 1.0;
    }
    let all = group
        .members
        .iter()
        .filter_map(Member::value)
        .fold(all, Moments::push);
    let Some(deviation) = all.deviation() else {
        return within;
    };
    let mixed = |member: &Member<'_>, within: Option<f64>| {
        let over_all = (member.value()? - all.mean) / (deviation + EPSILON);
        let [new, total] = [(visits - 1.0, 1.0), (1.0, visits - 1.0)].map(|(of_group, of_all)| {
            within.map(|within| (of_group * within + of_all * over_all) / visits)
        });
        let (new, total) = (new?, total?);
        Some(if new.abs() < total.abs() { new } else { total }).filter(|number| number.is_finite())
    };
    group
        .members
        .iter()
        .zip(within)
        .map(|(member, within)| mixed(member, within))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::Visit;
    use assay_core::Reward;

    use super::*;

    fn members(rewards: &[Option<f64>]) -> Vec<Member<'static>> {
        let member = |reward: &Option<f64>| Member {
            reward: reward.and_then(|reward| Reward::new(reward).ok()),
            pass: reward.map(|reward| reward > 0.5),
            ..Member::default()
        };
        rewards.iter().map(member).collect()
    }

    fn assert_close(got: &[Option<f64>], expected: &[Option<f64>]) {
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            match (got, expected) {
                (Some(got), Some(expected)) => {
                    assert!((got - expected).abs() < 1e-5, "{got} is not {expected}");
                }
                _ => assert_eq!(got, expected),
            }
        }
    }

    /// Rewards 1, 0, 0, 1 and a masked member; mean 1/2, unbiased deviation sqrt(4 * 0.25 / 3) =
    /// 0.577350.
    fn half() -> Vec<Member<'static>> {
        members(&[Some(1.0), None, Some(0.0), Some(0.0), Some(1.0)])
    }

    #[test]
    fn masked_members_are_not_counted() {
        let members = members(&[Some(1.0), None, Some(0.0), Some(0.5)]);
        assert_eq!(mean(&members), Some(0.5));
        assert_eq!(centred(&members), [Some(0.5), None, Some(-0.5), Some(0.0)]);
    }

    #[test]
    fn a_single_graded_member_has_no_baseline() {
        let one = members(&[Some(3.0), None]);
        assert_eq!(centred(&one), [None, None]);
        assert_eq!(passk_top1(&one), [None, None]);
        assert_eq!(mean(&members(&[None])), None);
        // 3 / (1 + 1e-6).
        assert_close(&grpo(&one), &[Some(2.999_997), None]);
        for advantages in [dr_grpo(&one), rloo(&one), opo_with_lengths(&one)] {
            assert_close(&advantages, &[Some(3.0), None]);
        }
    }

    fn opo_with_lengths(members: &[Member<'static>]) -> Vec<Option<f64>> {
        let members: Vec<_> = members
            .iter()
            .map(|member| Member {
                tokens: Some(7.0),
                ..*member
            })
            .collect();
        opo(&members)
    }

    #[test]
    fn overflowing_moments_yield_none() {
        let huge = members(&[Some(f64::MAX), Some(f64::MAX)]);
        assert_eq!(mean(&huge), None);
        assert_eq!(grpo(&huge), [None, None]);
        assert_eq!(
            grpo(&members(&[Some(1e200), Some(-1e200)])),
            [None, None],
            "squares overflow"
        );
    }

    #[test]
    fn grpo_divides_by_the_unbiased_deviation() {
        // 0.5 / (0.577350 + 1e-6) = 0.866024.
        let z = 0.866_024;
        assert_close(
            &grpo(&half()),
            &[Some(z), None, Some(-z), Some(-z), Some(z)],
        );
        assert_close(&grpo(&members(&[Some(0.3); 3])), &[Some(0.0); 3]);
    }

    #[test]
    fn rloo_is_the_reward_minus_the_mean_of_the_others() {
        // 1 - (0 + 0 + 1) / 3 = 2/3; 0 - (1 + 0 + 1) / 3 = -2/3.
        let a = 2.0 / 3.0;
        assert_close(
            &rloo(&half()),
            &[Some(a), None, Some(-a), Some(-a), Some(a)],
        );
        assert_close(
            &dr_grpo(&half()),
            &[Some(0.5), None, Some(-0.5), Some(-0.5), Some(0.5)],
        );
    }

    #[test]
    fn opo_weights_the_baseline_by_length() {
        // (1 * 100 + 0 * 300) / 400 = 0.25.
        let mut two = members(&[Some(1.0), Some(0.0)]);
        two[0].tokens = Some(100.0);
        assert_eq!(opo(&two), [None, None], "a length is missing");
        two[1].tokens = Some(300.0);
        assert_close(&opo(&two), &[Some(0.75), Some(-0.25)]);
        two[1].tokens = Some(0.0);
        assert_eq!(opo(&two), [None, None], "a length of 0 is not usable");
    }

    #[test]
    fn passk_top1_rewards_the_lead_of_the_best_member() {
        assert_close(
            &passk_top1(&members(&[Some(0.2), None, Some(0.9), Some(0.6)])),
            &[Some(0.0), None, Some(0.3), Some(0.0)],
        );
        assert_close(
            &passk_top1(&half()),
            &[Some(0.0), None, Some(0.0), Some(0.0), Some(0.0)],
        );
        assert_close(
            &passk_top1(&members(&[Some(-2.0), Some(-5.0)])),
            &[Some(3.0), Some(0.0)],
        );
    }

    #[test]
    fn max_rl_divides_by_the_mean() {
        // One right of four: (1 - 0.25) / 0.25 = 3 = (4 - 1) / 1; wrong answers get -1.
        let one = members(&[Some(1.0), Some(0.0), Some(0.0), Some(0.0)]);
        assert_close(
            &max_rl(&one),
            &[Some(3.0), Some(-1.0), Some(-1.0), Some(-1.0)],
        );
        assert_close(
            &max_rl(&members(&[Some(0.0), None, Some(0.0)])),
            &[Some(0.0), None, Some(0.0)],
        );
    }

    #[test]
    fn nsr_depends_on_the_verdict_only() {
        assert_close(
            &by_verdict(&half(), 0.1, -1.0),
            &[Some(0.1), None, Some(-1.0), Some(-1.0), Some(0.1)],
        );
    }

    #[test]
    fn dcpo_selects_the_mixture_nearer_to_zero() {
        // History 0, 0, 0, 0; now 1, 0. Within: mean 0.5, deviation sqrt(0.5), z = +-0.707106. All
        // of 6: mean 1/6, deviation sqrt((1/36 * 5 + 25/36) / 5) = 0.408248; z = 2.041237 and
        // -0.408247. i = 2, so both mixtures are the mean: (0.707106 + 2.041237) / 2 = 1.374171;
        // -(0.707106 + 0.408247) / 2 = -0.557676.
        let visit = Visit {
            rewards: 4,
            judged: 4,
            ..Visit::default()
        };
        let pair = members(&[Some(1.0), Some(0.0)]);
        let once = [visit];
        let group = Group {
            members: &pair,
            rates: None,
            history: Some(&once),
        };
        assert_close(&dcpo(&group), &[Some(1.374_171), Some(-0.557_676)]);
        // History 0, 0, 0, 0 twice; now 1, 0. All of 10: mean 0.1, deviation sqrt(0.9 / 9) =
        // 0.316228; z = 2.846041, -0.316227. i = 3: 1 of (2 * 0.707106 + 2.846041) / 3 = 1.420084;
        // -1 of min((2 * .707106 + .316227), (.707106 + 2 * .316227)) / 3 = 1.339560 / 3 =
        // -0.446520.
        let twice = [visit, Visit::default(), visit];
        let group = Group {
            history: Some(&twice),
            ..group
        };
        assert_close(&dcpo(&group), &[Some(1.420_084), Some(-0.446_520)]);
    }

    #[test]
    fn dcpo_without_history_equals_grpo() {
        let members = half();
        for history in [None, Some(&[][..])] {
            assert_close(
                &dcpo(&Group {
                    members: &members,
                    rates: None,
                    history,
                }),
                &grpo(&members),
            );
        }
    }
}
