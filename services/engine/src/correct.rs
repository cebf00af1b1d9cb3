//! Stage 5, correct: what is known of noise is applied, and groups get their statistics.
//!
//! Scores and rewards stay as they are; the recommended advantage is where a correction acts.
//! Within one channel there is none, because noise of one pair of rates does not turn the gradient;
//! over several channels each is scaled by its 1/J, if that is known well enough for all of them.

use std::sync::Arc;

use assay_core::Visit;
use assay_correction::channel::Report;
use assay_correction::channel::report::LEAST_J;
use assay_correction::policy::Outcome;
use assay_correction::{Estimator, Group, Member, Rates, advantages, mean, statistics};

use crate::context::{in_batch, prompt_key};
use crate::plan::Plan;
use crate::reply::{ChannelRates, GroupResult, ItemResult, Reply};

/// Smallest group whose deviation is known well enough to divide by.
const LEAST_GROUP_FOR_ZFIX: usize = 16;

/// Gives a whole batch its advantages. Waves of a stream hold parts of groups and get none.
pub(crate) fn correct(plan: &Arc<Plan>, mut wave: Vec<ItemResult>) -> Vec<ItemResult> {
    let made = {
        let results: Vec<&ItemResult> = wave.iter().collect();
        let groups = Groups::of(plan, &results);
        groups.advantages(plan, &results)
    };
    for (at, advantage, rule) in made {
        wave[at].advantage = advantage;
        wave[at].advantage_estimator = advantage.map(|_| rule);
    }
    wave
}

impl Reply {
    /// The groups, in the order they first appear in the batch.
    #[must_use]
    pub fn groups(&self) -> Vec<GroupResult> {
        let results = self.in_order();
        let groups = Groups::of(&self.plan, &results);
        let known = groups.known();
        let statistics = statistics(&self.plan.batch.statistics, &known);
        self.plan
            .around
            .groups
            .iter()
            .zip(&known)
            .zip(statistics)
            .map(|((positions, group), statistics)| GroupResult {
                group: positions
                    .first()
                    .and_then(|at| self.plan.batch.items[*at].group.clone()),
                prompt_key: positions
                    .first()
                    .map(|at| prompt_key(&self.plan.batch.items[*at])),
                n: group.members.len(),
                graded: positions
                    .iter()
                    .filter(|at| results[**at].outcome.grade().is_some())
                    .count(),
                mean: mean(group.members),
                statistics,
            })
            .collect()
    }

    /// The channels, in the order they first appear in the batch.
    #[must_use]
    pub fn channels(&self) -> Vec<ChannelRates> {
        let reports = reports(&self.plan, &self.in_order());
        reports
            .into_iter()
            .map(|report| ChannelRates { report })
            .collect()
    }
}

/// The groups of a finished batch. Results are in the order of the batch.
struct Groups<'a> {
    members: Vec<Vec<Member<'a>>>,
    history: Vec<Option<&'a [Visit]>>,
    /// Rates of each group's channel; `None` where its members come from several, or the channel is
    /// not to be corrected.
    rates: Vec<Option<Rates>>,
    /// Rates of each channel, in the order of the context.
    of_channels: Vec<Option<Rates>>,
}

impl<'a> Groups<'a> {
    fn of(plan: &'a Plan, results: &[&'a ItemResult]) -> Self {
        let positions = &plan.around.groups;
        let members = positions
            .iter()
            .map(|of| of.iter().map(|at| member(plan, results[*at])).collect());
        let history = positions.iter().map(|of| {
            let (history, first) = (plan.around.history.as_ref()?, of.first()?);
            Some(
                history
                    .get(&prompt_key(&plan.batch.items[*first]))
                    .map_or(&[][..], Vec::as_slice),
            )
        });
        let of_channels: Vec<Option<Rates>> =
            reports(plan, results).iter().map(Report::usable).collect();
        let rates = positions.iter().map(|of| {
            let mut channels = of.iter().map(|at| plan.around.channel_of[*at]);
            let first = channels.next()?;
            of_channels[first].filter(|_| channels.all(|channel| channel == first))
        });
        let (members, rates) = (members.collect(), rates.collect());
        Self {
            members,
            history: history.collect(),
            rates,
            of_channels,
        }
    }

    fn known(&self) -> Vec<Group<'_>> {
        let parts = self.members.iter().zip(&self.rates).zip(&self.history);
        parts
            .map(|((members, rates), history)| Group {
                members,
                rates: *rates,
                history: *history,
            })
            .collect()
    }

    /// The rule without a wish: the group's mean within one channel; over several whose J is clear
    /// of [`LEAST_J`], each over its J.
    fn automatic(&self, plan: &Plan, results: &[&ItemResult]) -> Rule {
        let mut graded: Vec<usize> = Vec::new();
        for result in results.iter().filter(|result| result.reward.is_some()) {
            let channel = plan.around.channel_of[result.position];
            if !graded.contains(&channel) {
                graded.push(channel);
            }
        }
        if graded.len() > 1
            && graded
                .iter()
                .all(|channel| self.of_channels[*channel].is_some())
        {
            Rule::MeanOverJ
        } else {
            Rule::Plain(Estimator::Mean)
        }
    }

    /// Advantage of each item and the rule that made it, by position.
    fn advantages(
        &self,
        plan: &Plan,
        results: &[&ItemResult],
    ) -> Vec<(usize, Option<f64>, &'static str)> {
        let known = self.known();
        let auto = self.automatic(plan, results);
        // Estimators that look at the whole batch look at the groups of one rule.
        let mut by_rule: Vec<(Rule, Vec<usize>)> = Vec::new();
        for (place, (group, positions)) in known.iter().zip(&plan.around.groups).enumerate() {
            let wanted = positions
                .first()
                .and_then(|at| plan.policy(*at).rules().advantage_estimator);
            let rule = match wanted {
                Some(estimator) => possible(estimator, group),
                None => auto,
            };
            let rule = if corrected_already(plan, positions) {
                rule.without_j()
            } else {
                rule
            };
            match by_rule.iter_mut().find(|(known, _)| *known == rule) {
                Some((_, places)) => places.push(place),
                None => by_rule.push((rule, vec![place])),
            }
        }
        let mut made = Vec::with_capacity(results.len());
        for (rule, places) in by_rule {
            let groups: Vec<Group<'_>> = places.iter().map(|place| known[*place]).collect();
            let numbers = advantages(rule.estimator(), &groups);
            for (place, numbers) in places.into_iter().zip(numbers) {
                for (at, number) in plan.around.groups[place].iter().zip(numbers) {
                    let rates = self.of_channels[plan.around.channel_of[*at]];
                    let gain = rule.gain(rates);
                    let scaled = number
                        .map(|number| number * gain)
                        .filter(|number| number.is_finite());
                    made.push((*at, scaled, rule.name()));
                }
            }
        }
        made
    }
}

/// How advantages are made.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    /// By an estimator as it is.
    Plain(Estimator),
    /// The reward minus the group's mean, over J of the item's own channel.
    MeanOverJ,
}

impl Rule {
    fn estimator(self) -> Estimator {
        match self {
            Self::Plain(estimator) => estimator,
            Self::MeanOverJ => Estimator::Mean,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain(estimator) => estimator.name(),
            Self::MeanOverJ => "mean/j",
        }
    }

    fn gain(self, rates: Option<Rates>) -> f64 {
        match self {
            Self::MeanOverJ => rates.map_or(1.0, |rates| 1.0 / rates.j().max(LEAST_J)),
            Self::Plain(_) => 1.0,
        }
    }

    /// The same for rewards that are divided by J already.
    fn without_j(self) -> Self {
        match self {
            Self::MeanOverJ | Self::Plain(Estimator::Gain | Estimator::Zfix) => {
                Self::Plain(Estimator::Mean)
            }
            other @ Self::Plain(_) => other,
        }
    }
}

/// The channels as they are in these results.
fn reports(plan: &Plan, results: &[&ItemResult]) -> Vec<Report> {
    in_batch(
        plan,
        results
            .iter()
            .map(|result| (result.position, result.pass, result.appeal.as_ref())),
    )
}

/// Whether the group's rewards are made of corrected outcomes.
fn corrected_already(plan: &Plan, positions: &[usize]) -> bool {
    positions
        .first()
        .is_some_and(|at| plan.policy(*at).rules().outcome == Some(Outcome::Backward))
}

/// The estimator that was asked for, or what stands in for it where it cannot be had: the
/// noise-fixed z-score needs a group large enough, and what divides by J needs a J that is sure.
fn possible(wanted: Estimator, group: &Group<'_>) -> Rule {
    let needs_rates = matches!(
        wanted,
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
    match wanted {
        Estimator::Zfix if graded < LEAST_GROUP_FOR_ZFIX => Rule::Plain(Estimator::Gain),
        other => Rule::Plain(other),
    }
}

fn member<'a>(plan: &Plan, result: &'a ItemResult) -> Member<'a> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts are far below 2^53"
    )]
    let tokens = plan.batch.items[result.position]
        .item
        .meta
        .tokens
        .map(|tokens| tokens as f64);
    Member {
        reward: result.reward,
        pass: result.final_pass(),
        tokens,
        answer: result.answer(),
    }
}
