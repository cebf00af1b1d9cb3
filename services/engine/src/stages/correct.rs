//! Computes advantages, corrected for verifier noise where possible, and the
//! statistics of groups.
//!
//! Scores and rewards are not changed; corrections apply to the advantage. In a batch of one
//! channel no correction is needed, because noise with one pair of error rates does not change the
//! direction of the gradient. In a batch of several channels each advantage is multiplied by 1/J of
//! its channel, if J is known precisely enough for all of them.

use std::borrow::Cow;

use assay_core::Reward;
use assay_record::{GroupResult, ItemGrade};
use assay_rewards::Visit;
use assay_rewards::channel::Report;
use assay_rewards::channel::report::MIN_J;
use assay_rewards::policy::Outcome;
use assay_rewards::{Estimator, Group, Member, Rates, advantages, mean, statistics};

use crate::batch::prompt_key;
use crate::reply::Summary;
use crate::stages::compose::answer;
use crate::stages::plan::Plan;

/// Smallest group whose standard deviation is estimated precisely enough to divide by it.
const MIN_GROUP_FOR_ZFIX: usize = 16;

/// Adds the advantages to the grades of a whole batch, and returns what the reply says about its
/// groups and channels. Waves of a stream contain parts of groups and have no advantages.
pub(crate) fn correct(plan: &Plan, wave: &mut [ItemGrade], weights: &[Option<f64>]) -> Summary {
    let (advantages, summary) = {
        let grades: Vec<&ItemGrade> = wave.iter().collect();
        let answers = answers(plan, &grades);
        let groups = Groups::of(plan, &grades, &answers);
        (
            groups.advantages(plan, &grades, weights),
            groups.summary(plan),
        )
    };
    for (at, advantage, rule) in advantages {
        wave[at].advantage = advantage;
        wave[at].advantage_estimator = advantage.map(|_| rule.into());
    }
    summary
}

/// The summary of a batch whose grades became available in waves.
pub(super) fn summary<'a>(plan: &'a Plan, grades: impl Iterator<Item = &'a ItemGrade>) -> Summary {
    let mut grades: Vec<&ItemGrade> = grades.collect();
    grades.sort_by_key(|grade| grade.position);
    let answers = answers(plan, &grades);
    Groups::of(plan, &grades, &answers).summary(plan)
}

/// The answers of the grades, which only statistics use; empty if the batch asks for none.
fn answers<'a>(plan: &Plan, grades: &[&'a ItemGrade]) -> Vec<Option<Cow<'a, str>>> {
    if plan.batch.statistics.is_empty() {
        return Vec::new();
    }
    grades.iter().map(|grade| answer(grade)).collect()
}

/// The groups of a finished batch. Grades are in the order of the batch.
struct Groups<'a> {
    members: Vec<Vec<Member<'a>>>,
    /// Number of members of each group that were graded.
    graded: Vec<usize>,
    history: Vec<Option<&'a [Visit]>>,
    /// Error rates of each group's channel; `None` if its members belong to several channels, or if
    /// the channel is not to be corrected.
    rates: Vec<Option<Rates>>,
    /// The channels, in the order of the context, and their error rates.
    channels: Vec<Report>,
    channel_rates: Vec<Option<Rates>>,
}

impl<'a> Groups<'a> {
    fn of(plan: &'a Plan, grades: &[&'a ItemGrade], answers: &'a [Option<Cow<'a, str>>]) -> Self {
        let member = |at: &usize| {
            let answer = answers.get(*at).and_then(Option::as_deref);
            member(plan, grades[*at], answer)
        };
        let positions = &plan.context.groups;
        let members = positions.iter().map(|of| of.iter().map(member).collect());
        let graded = positions.iter().map(|of| {
            let graded = of.iter().filter(|at| grades[**at].outcome == "graded");
            graded.count()
        });
        let history = positions.iter().map(|of| {
            let (history, first) = (plan.context.history.as_ref()?, of.first()?);
            Some(
                history
                    .get(&prompt_key(&plan.batch.items[*first]))
                    .map_or(&[][..], Vec::as_slice),
            )
        });
        let channels = plan.context.reports(grades.iter().copied());
        let channel_rates: Vec<Option<Rates>> = channels.iter().map(Report::usable).collect();
        let rates = positions.iter().map(|of| {
            let mut channels = of.iter().map(|at| plan.context.channel_of[*at]);
            let first = channels.next()?;
            channel_rates[first].filter(|_| channels.all(|channel| channel == first))
        });
        let (members, rates) = (members.collect(), rates.collect());
        Self {
            members,
            graded: graded.collect(),
            history: history.collect(),
            rates,
            channels,
            channel_rates,
        }
    }

    fn summary(self, plan: &Plan) -> Summary {
        let views = self.views();
        let statistics = statistics(&plan.batch.statistics, &views);
        let groups = plan.context.groups.iter().zip(&views).zip(statistics);
        let groups = groups
            .zip(&self.graded)
            .map(|(((positions, group), statistics), graded)| {
                let first = positions.first().map(|at| &plan.batch.items[*at]);
                GroupResult {
                    group: first.and_then(|item| item.group.clone()),
                    prompt_key: first.map(prompt_key),
                    n: group.members.len(),
                    graded: *graded,
                    mean: mean(group.members),
                    statistics,
                }
            })
            .collect();
        Summary {
            groups,
            channels: self.channels,
        }
    }

    fn views(&self) -> Vec<Group<'_>> {
        let parts = self.members.iter().zip(&self.rates).zip(&self.history);
        parts
            .map(|((members, rates), history)| Group {
                members,
                rates: *rates,
                history: *history,
            })
            .collect()
    }

    /// The rule for groups whose policy names no estimator: the group's mean within one channel; in
    /// several channels whose J is above [`MIN_J`], the mean divided by the J of the item's
    /// channel.
    fn default_rule(&self, plan: &Plan, grades: &[&ItemGrade]) -> Rule {
        let mut graded: Vec<usize> = Vec::new();
        for grade in grades.iter().filter(|grade| grade.reward.is_some()) {
            let channel = plan.context.channel_of[grade.position as usize];
            if !graded.contains(&channel) {
                graded.push(channel);
            }
        }
        if graded.len() > 1
            && graded
                .iter()
                .all(|channel| self.channel_rates[*channel].is_some())
        {
            Rule::MeanOverJ
        } else {
            Rule::Plain(Estimator::Mean)
        }
    }

    /// Advantage of each item and the name of its rule, with the item's position.
    fn advantages(
        &self,
        plan: &Plan,
        grades: &[&ItemGrade],
        weights: &[Option<f64>],
    ) -> Vec<(usize, Option<f64>, &'static str)> {
        let views = self.views();
        let default_rule = self.default_rule(plan, grades);
        // Estimators that use the whole batch get the groups with the same rule.
        let mut by_rule: Vec<(Rule, Vec<usize>)> = Vec::new();
        for (index, (group, positions)) in views.iter().zip(&plan.context.groups).enumerate() {
            let requested = positions
                .first()
                .and_then(|at| plan.policy(*at).rules().advantage_estimator);
            let rule = match requested {
                Some(estimator) => applicable_rule(estimator, group),
                None => default_rule,
            };
            let rule = if uses_corrected_outcomes(plan, positions) {
                rule.without_scaling_by_j()
            } else {
                rule
            };
            let rule = if positions.iter().any(|at| weights[*at].is_some()) {
                rule.weighted()
            } else {
                rule
            };
            match by_rule.iter_mut().find(|(existing, _)| *existing == rule) {
                Some((_, indices)) => indices.push(index),
                None => by_rule.push((rule, vec![index])),
            }
        }
        let mut by_position = Vec::with_capacity(grades.len());
        for (rule, indices) in by_rule {
            let groups: Vec<Group<'_>> = indices.iter().map(|index| views[*index]).collect();
            let numbers = if rule.is_weighted() {
                let of = |index: &usize| {
                    let positions = &plan.context.groups[*index];
                    let weights: Vec<_> = positions.iter().map(|at| weights[*at]).collect();
                    weighted_mean_advantages(&self.members[*index], &weights)
                };
                indices.iter().map(of).collect()
            } else {
                advantages(rule.estimator(), &groups)
            };
            for (index, numbers) in indices.into_iter().zip(numbers) {
                for (at, number) in plan.context.groups[index].iter().zip(numbers) {
                    let rates = self.channel_rates[plan.context.channel_of[*at]];
                    let scale = rule.scale(rates);
                    let scaled = number
                        .map(|number| number * scale)
                        .filter(|number| number.is_finite());
                    by_position.push((*at, scaled, rule.name()));
                }
            }
        }
        by_position
    }
}

/// How advantages are computed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    /// By an estimator, without scaling.
    Plain(Estimator),
    /// The reward minus the group's mean, divided by J of the item's channel.
    MeanOverJ,
    /// The reward minus the weighted mean of the group, times the weight of the item.
    Weighted,
    /// The same, divided by J of the item's channel.
    WeightedOverJ,
}

impl Rule {
    fn estimator(self) -> Estimator {
        match self {
            Self::Plain(estimator) => estimator,
            Self::MeanOverJ | Self::Weighted | Self::WeightedOverJ => Estimator::Mean,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain(estimator) => estimator.name(),
            Self::MeanOverJ => "mean/j",
            Self::Weighted => "weighted_mean",
            Self::WeightedOverJ => "weighted_mean/j",
        }
    }

    fn scale(self, rates: Option<Rates>) -> f64 {
        match self {
            Self::MeanOverJ | Self::WeightedOverJ => {
                rates.map_or(1.0, |rates| 1.0 / rates.j().max(MIN_J))
            }
            Self::Plain(_) | Self::Weighted => 1.0,
        }
    }

    /// The rule for rewards that are divided by J already.
    fn without_scaling_by_j(self) -> Self {
        match self {
            Self::MeanOverJ | Self::Plain(Estimator::Gain | Estimator::Zfix) => {
                Self::Plain(Estimator::Mean)
            }
            Self::WeightedOverJ => Self::Weighted,
            other @ (Self::Plain(_) | Self::Weighted) => other,
        }
    }

    /// The rule for a group whose items have weights. Their policy has no other estimator than the
    /// mean.
    fn weighted(self) -> Self {
        match self {
            Self::MeanOverJ | Self::WeightedOverJ => Self::WeightedOverJ,
            Self::Plain(_) | Self::Weighted => Self::Weighted,
        }
    }

    fn is_weighted(self) -> bool {
        matches!(self, Self::Weighted | Self::WeightedOverJ)
    }
}

/// w (r - sum w r / sum w) over the members of a group with a reward and a weight (Hajek 1971);
/// `None` with fewer than two, as without weights.
fn weighted_mean_advantages(members: &[Member<'_>], weights: &[Option<f64>]) -> Vec<Option<f64>> {
    let weighted =
        |member: &Member<'_>, weight: &Option<f64>| member.reward.map(Reward::get).zip(*weight);
    let all: Vec<Option<(f64, f64)>> = members
        .iter()
        .zip(weights)
        .map(|(member, weight)| weighted(member, weight))
        .collect();
    let known = || all.iter().flatten();
    let sum: f64 = known().map(|(_, weight)| weight).sum();
    let mean = known().map(|(reward, weight)| reward * weight).sum::<f64>() / sum;
    let has_mean = known().count() > 1;
    all.iter()
        .map(|item| {
            item.filter(|_| has_mean)
                .map(|(reward, weight)| weight * (reward - mean))
        })
        .collect()
}

/// Whether the group's rewards are computed from corrected outcomes.
fn uses_corrected_outcomes(plan: &Plan, positions: &[usize]) -> bool {
    positions
        .first()
        .is_some_and(|at| plan.policy(*at).rules().outcome == Some(Outcome::Backward))
}

/// The requested estimator, or a substitute if it is not applicable: the noise-fixed z-score needs
/// a group large enough, and estimators that divide by J need a J that is known precisely enough.
fn applicable_rule(requested: Estimator, group: &Group<'_>) -> Rule {
    let needs_rates = matches!(
        requested,
        Estimator::Zfix | Estimator::Gain | Estimator::Backward | Estimator::Forward
    );
    if needs_rates && group.rates.is_none() {
        return Rule::Plain(Estimator::Mean);
    }
    let graded = group
        .members
        .iter()
        .filter(|member| member.reward.is_some())
        .count();
    match requested {
        Estimator::Zfix if graded < MIN_GROUP_FOR_ZFIX => Rule::Plain(Estimator::Gain),
        other => Rule::Plain(other),
    }
}

fn member<'a>(plan: &Plan, grade: &ItemGrade, answer: Option<&'a str>) -> Member<'a> {
    let tokens = plan.batch.items[grade.position as usize]
        .item
        .meta
        .tokens
        .map(|tokens| tokens as f64);
    Member {
        reward: grade.reward.and_then(|reward| Reward::new(reward).ok()),
        pass: grade.pass_after_appeal(),
        tokens,
        answer,
    }
}
