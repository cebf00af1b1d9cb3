//! Baseline and coefficients of one group.

use assay_core::Reward;

/// What the statistics know of one member of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Member {
    /// Its reward; `None` for a masked member.
    pub reward: Option<Reward>,
    /// Whether it passed; `None` for a masked member and for graders without a notion of pass.
    pub pass: Option<bool>,
}

/// Mean reward of the graded members; `None` without any.
#[must_use]
pub fn mean(members: &[Member]) -> Option<f64> {
    let rewards = members.iter().filter_map(|member| member.reward);
    let (mut sum, mut count) = (0.0, 0u32);
    for reward in rewards {
        sum += reward.get();
        count += 1;
    }
    // The mean of finite numbers can overflow to infinity; such a group has no usable baseline.
    (count > 0).then(|| sum / f64::from(count)).filter(|mean| mean.is_finite())
}

/// Number to use as the advantage of each member: its reward minus the [`mean`] of the graded members.
///
/// `None` for masked members, and for all when fewer than two are graded: one sample has no baseline but itself. This is
/// the group-mean baseline without division by the standard deviation (Dr. GRPO, arXiv 2503.20783, section 3.2).
#[must_use]
pub fn coefficients(members: &[Member]) -> Vec<Option<f64>> {
    let graded = members.iter().filter(|member| member.reward.is_some()).count();
    let baseline = if graded >= 2 { mean(members) } else { None };
    members.iter().map(|member| Some(member.reward?.get() - baseline?).filter(|number| number.is_finite())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(rewards: &[Option<f64>]) -> Vec<Member> {
        let reward = |value: &f64| Reward::new(*value).unwrap();
        rewards.iter().map(|value| Member { reward: value.as_ref().map(reward), pass: None }).collect()
    }

    #[test]
    fn masked_members_do_not_vote() {
        let members = group(&[Some(1.0), None, Some(0.0), Some(0.5)]);
        assert_eq!(mean(&members), Some(0.5));
        assert_eq!(coefficients(&members), [Some(0.5), None, Some(-0.5), Some(0.0)]);
    }

    #[test]
    fn one_graded_member_has_no_baseline() {
        assert_eq!(coefficients(&group(&[Some(1.0), None])), [None, None]);
        assert_eq!(mean(&group(&[None])), None);
    }

    #[test]
    fn coefficients_of_a_group_sum_to_zero() {
        let sum: f64 = coefficients(&group(&[Some(0.3), Some(0.9), Some(-2.0)])).iter().flatten().sum();
        assert!(sum.abs() < 1e-12);
    }

    #[test]
    fn an_overflowing_mean_is_no_number() {
        assert_eq!(mean(&group(&[Some(f64::MAX), Some(f64::MAX)])), None);
    }
}
