//! Statistics that a request may name for its groups: their names, and their JSON in the reply. The
//! formulas are in [`group`](crate::group) and [`prompts`](crate::prompts).

use std::collections::BTreeMap;

use crate::Visit;
use serde_json::{Map, Value, json};

use crate::Rates;
use crate::group::pass::ks;
use crate::group::posterior::{Summary, mixed_by_noise};
use crate::group::{
    Answers, Estimator, Grid, Group, Prior, advantages, as_f64, pass_at_k, pass_rate,
};
use crate::interval::Estimate;
use crate::prompts::bandit::Earnings;
use crate::prompts::dars::{self, Schedule};
use crate::prompts::knapsack::{self, Demand};
use crate::prompts::{Belief, Suggest, bandit, vade};

/// A statistic of one group, by the name a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// Mean reward. Every reply contains it, so naming it adds nothing.
    Mean,
    /// Share of passes with a 95 % interval, and the share of right answers when rates are known.
    PHat,
    /// Probability that at least one of k completions passes.
    PassAtK,
    /// Advantages by an estimator. [`Estimator::Mean`] has no statistic, because the reply's
    /// advantages use it.
    Advantage(Estimator),
    /// Probability that the prompt is neither solved nor hopeless.
    Informative,
    /// Agreement of the answers.
    Answers,
    /// How many more rollouts to sample for the prompt.
    ExtraRollouts,
    /// Value of the prompt to a curriculum.
    Curriculum,
}

/// Maximum number of rollouts of a prompt that `extra_rollouts` suggests, as a multiple of those in
/// the batch.
const MAX_ROLLOUT_FACTOR: u32 = 4;

impl Statistic {
    /// Every statistic, in the order of the documentation.
    pub const ALL: &'static [Self] = &[
        Self::Mean,
        Self::PHat,
        Self::PassAtK,
        Self::Advantage(Estimator::Grpo),
        Self::Advantage(Estimator::DrGrpo),
        Self::Advantage(Estimator::Rloo),
        Self::Advantage(Estimator::ReinforcePp),
        Self::Advantage(Estimator::Opo),
        Self::Advantage(Estimator::Gpg),
        Self::Advantage(Estimator::PasskTop1),
        Self::Advantage(Estimator::MaxRl),
        Self::Advantage(Estimator::Nsr),
        Self::Advantage(Estimator::WReinforce),
        Self::Advantage(Estimator::Dcpo),
        Self::Advantage(Estimator::Zfix),
        Self::Advantage(Estimator::Gain),
        Self::Advantage(Estimator::Backward),
        Self::Advantage(Estimator::Forward),
        Self::Informative,
        Self::Answers,
        Self::ExtraRollouts,
        Self::Curriculum,
    ];

    /// The name in requests and replies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::PHat => "p_hat",
            Self::PassAtK => "passk",
            Self::Advantage(estimator) => estimator.name(),
            Self::Informative => "informative",
            Self::Answers => "answers",
            Self::ExtraRollouts => "extra_rollouts",
            Self::Curriculum => "curriculum",
        }
    }

    /// The statistic of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|statistic| statistic.name() == name)
    }

    /// One line: its definition and use.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::Mean => "mean reward of the graded members; in every reply",
            Self::PHat => {
                "share of passes with its 95 % interval, and the share of right answers if rates \
                 are known"
            }
            Self::PassAtK => {
                "unbiased probability that at least one of k completions passes; powers of two"
            }
            Self::Advantage(estimator) => estimator.summary(),
            Self::Informative => {
                "posterior probability that the prompt is hopeless, informative or solved; for \
                 filtering"
            }
            Self::Answers => "entropy, majority and margin of the canonical answers",
            Self::ExtraRollouts => {
                "number of additional rollouts by DARS and by a knapsack over the batch"
            }
            Self::Curriculum => {
                "value of the prompt by MoPPS, VADE, SEC and DUMP, from earlier visits and this \
                 group"
            }
        }
    }
}

/// The requested statistics of every group of a batch, in the order of the groups: the maps of the
/// reply's `statistics`. Statistics that are not requested are not computed. [`Statistic::Mean`] is
/// another field of the reply.
///
/// - `p_hat`: `{value, low, high, n, passes}`, and `corrected: {value, low, high}` where rates are
///   known; null without verdicts;
/// - `passk`: `{"1": …, "2": …, "4": …, "n": …}` by k;
/// - an estimator: an array in the order of the members, null for masked members;
/// - `informative`: `{hopeless, solved, informative, mean, spread, noise_aware, mixed_by_noise:
///   {solved, unsolved}}`; null without verdicts;
/// - `answers`: the fields of [`Answers`]; null without answers;
/// - `extra_rollouts`: `{dars_et, dars_hw, knapsack}`, each limited to a total of four times the
///   rollouts in the batch; the budget of the knapsack is the number of verdicts of the batch; null
///   without verdicts;
/// - `curriculum`: `{mopps: {alpha, beta, mean, score}, vade: {alpha, beta, mean, score}, sec:
///   {value, share}, dump: {value, share}}`, with shares by softmax over the batch and the default
///   settings of [`Suggest`].
#[must_use]
pub fn statistics(requested: &[Statistic], groups: &[Group<'_>]) -> Vec<Map<String, Value>> {
    let mut channels = ChannelGrids::default();
    let mut maps = vec![Map::new(); groups.len()];
    for statistic in requested {
        let values: Vec<Value> = match statistic {
            Statistic::Mean => continue,
            Statistic::PHat => groups.iter().map(p_hat).collect(),
            Statistic::PassAtK => groups.iter().map(passk).collect(),
            Statistic::Advantage(estimator) => advantages(*estimator, groups)
                .into_iter()
                .map(Value::from)
                .collect(),
            Statistic::Informative => groups
                .iter()
                .map(|group| informative(group, &mut channels))
                .collect(),
            Statistic::Answers => groups
                .iter()
                .map(|group| json!(Answers::of(group.members)))
                .collect(),
            Statistic::ExtraRollouts => extra_rollouts(groups, &mut channels),
            Statistic::Curriculum => curriculum(groups, &mut channels),
        };
        for (map, value) in maps.iter_mut().zip(values) {
            map.insert(statistic.name().to_owned(), value);
        }
    }
    maps
}

fn p_hat(group: &Group<'_>) -> Value {
    let (n, passes) = group.verdicts();
    let Some(rate) = pass_rate(n, passes, group.rates) else {
        return Value::Null;
    };
    let Estimate { value, interval } = rate.observed;
    let mut statistic = json!({
        "value": value,
        "low": interval.low,
        "high": interval.high,
        "n": n,
        "passes": passes,
    });
    if let (Some(Estimate { value, interval }), Some(fields)) =
        (rate.corrected, statistic.as_object_mut())
    {
        fields.insert(
            "corrected".to_owned(),
            json!({ "value": value, "low": interval.low, "high": interval.high }),
        );
    }
    statistic
}

fn passk(group: &Group<'_>) -> Value {
    let (n, passes) = group.verdicts();
    let (n, passes) = (n as usize, passes as usize);
    Value::Object(
        ks(n)
            .map(|k| (k.to_string(), json!(pass_at_k(n, passes, k))))
            .collect(),
    )
}

fn informative(group: &Group<'_>, channels: &mut ChannelGrids) -> Value {
    let (n, passes) = group.verdicts();
    let Some(channel) = channels.of(group).filter(|_| n > 0) else {
        return Value::Null;
    };
    let summary = channel.summary(n, passes);
    json!({
        "hopeless": summary.hopeless,
        "solved": summary.solved,
        "informative": summary.informative,
        "mean": summary.mean,
        "spread": summary.spread,
        "noise_aware": usable(group).is_some(),
        "mixed_by_noise": mixed_by_noise(channel.grid.rates(), n),
    })
}

fn extra_rollouts(groups: &[Group<'_>], channels: &mut ChannelGrids) -> Vec<Value> {
    let mut demands = Vec::with_capacity(groups.len());
    let mut budget = 0;
    for group in groups {
        let (n, _) = group.verdicts();
        if let Some(channel) = channels.of(group).filter(|_| n > 0) {
            let p = Belief::after(Prior::UNIFORM, 1.0, &[group.visit()]).mean(&channel.grid);
            demands.push(Demand {
                p,
                rates: channel.grid.rates(),
                least: n,
                most: n.saturating_mul(MAX_ROLLOUT_FACTOR),
            });
            budget += 2 * u64::from(n);
        }
    }
    let mut allocated = knapsack::allocate(&demands, budget)
        .unwrap_or_default()
        .into_iter();
    let of_group = |group: &Group<'_>| {
        let (n, passes) = group.verdicts();
        let rate = pass_rate(n, passes, usable(group))?;
        let accuracy = rate.corrected.unwrap_or(rate.observed).value;
        let dars =
            |schedule| dars::extra(schedule, n, accuracy, n.saturating_mul(MAX_ROLLOUT_FACTOR));
        let knapsack = allocated.next().map(|rollouts| rollouts - n);
        let (et, hw) = (
            dars(Schedule::EqualTreatment),
            dars(Schedule::HardnessWeighted),
        );
        Some(json!({ "dars_et": et, "dars_hw": hw, "knapsack": knapsack }))
    };
    groups.iter().map(of_group).map(Value::from).collect()
}

fn curriculum(groups: &[Group<'_>], channels: &mut ChannelGrids) -> Vec<Value> {
    let settings = Suggest::default();
    let window = settings.window as usize;
    let mut beliefs = Vec::with_capacity(groups.len());
    let (mut q, mut means, mut rollouts) = (Vec::new(), Vec::new(), Vec::new());
    for group in groups {
        let mut visits: Vec<Visit> = group.history.unwrap_or_default().to_vec();
        visits.push(group.visit());
        visits.retain(|visit| visit.judged > 0);
        let Some(channel) = channels.of(group) else {
            return vec![Value::Null; groups.len()];
        };
        let earned: Vec<f64> = visits
            .iter()
            .map(|visit| channel.earnings.of(&channel.grid, visit))
            .collect();
        let last = &earned[earned.len().saturating_sub(window)..];
        means.push(if last.is_empty() {
            bandit::UNVISITED
        } else {
            last.iter().sum::<f64>() / as_f64(last.len())
        });
        q.push(bandit::sec(settings.step_size, earned.iter().copied()));
        rollouts.push(
            visits
                .iter()
                .map(|visit| f64::from(visit.judged))
                .sum::<f64>(),
        );
        let Suggest {
            prior,
            discount,
            slow_discount,
            ..
        } = settings;
        let grid = &channel.grid;
        let mopps = Belief::after(prior, discount, &visits);
        let two_scale = vade::two_scale(prior, discount, slow_discount, &visits, grid);
        let (mopps_mean, vade_mean) = (mopps.mean(grid), two_scale.mean(grid));
        let fields = |belief: Belief, mean: f64, score: f64| {
            let Belief { alpha, beta, .. } = belief;
            json!({ "alpha": alpha, "beta": beta, "mean": mean, "score": score })
        };
        let score = vade::gain(vade_mean, grid.rates());
        beliefs.push((
            fields(mopps, mopps_mean, settings.goal().value(mopps_mean)),
            fields(two_scale, vade_mean, score),
        ));
    }
    let all: f64 = rollouts.iter().sum();
    let bounds: Vec<f64> = means
        .iter()
        .zip(&rollouts)
        .map(|(mean, n)| bandit::dump(*mean, *n, all))
        .collect();
    let shares = |values: &[f64]| bandit::softmax(values, settings.temperature);
    let arms = |values: &[f64]| {
        let arms = values.iter().zip(shares(values));
        arms.map(|(value, share)| json!({ "value": value, "share": share }))
            .collect::<Vec<_>>()
    };
    let arms = arms(&q).into_iter().zip(arms(&bounds));
    beliefs
        .into_iter()
        .zip(arms)
        .map(|((mopps, vade), (sec, dump))| {
            json!({ "mopps": mopps, "vade": vade, "sec": sec, "dump": dump })
        })
        .collect()
}

/// The rates of the group's channel, if its verdicts carry information.
fn usable(group: &Group<'_>) -> Option<Rates> {
    group.rates.filter(|rates| rates.j() > 0.0)
}

/// The grids of a batch by rates, with cached results: a batch has few channels, and few distinct
/// pairs of counts occur in each.
#[derive(Default)]
struct ChannelGrids(Vec<ChannelGrid>);

struct ChannelGrid {
    grid: Grid,
    summaries: BTreeMap<(u32, u32), Summary>,
    earnings: Earnings,
}

impl ChannelGrids {
    /// The grid of a group's channel; that of a clean verifier where the rates are not usable.
    fn of(&mut self, group: &Group<'_>) -> Option<&mut ChannelGrid> {
        let rates = usable(group).unwrap_or(Rates::CLEAN);
        let at = match self
            .0
            .iter()
            .position(|channel| channel.grid.rates() == rates)
        {
            Some(at) => at,
            None => {
                self.0.push(ChannelGrid {
                    grid: Grid::new(rates)?,
                    summaries: BTreeMap::new(),
                    earnings: Earnings::default(),
                });
                self.0.len() - 1
            }
        };
        self.0.get_mut(at)
    }
}

impl ChannelGrid {
    fn summary(&mut self, judged: u32, passes: u32) -> Summary {
        let posterior = || {
            self.grid.posterior(
                Prior::UNIFORM,
                f64::from(passes),
                f64::from(judged - passes),
            )
        };
        *self
            .summaries
            .entry((judged, passes))
            .or_insert_with(|| posterior().summary())
    }
}

#[cfg(test)]
mod tests {
    use assay_core::Reward;

    use super::*;
    use crate::Member;

    fn members(verdicts: &[Option<bool>]) -> Vec<Member<'static>> {
        let member = |pass: &Option<bool>| Member {
            reward: pass.and_then(|pass| Reward::new(f64::from(u8::from(pass))).ok()),
            pass: *pass,
            answer: pass.map(|pass| if pass { "1/3" } else { "2" }),
            ..Member::default()
        };
        verdicts.iter().map(member).collect()
    }

    /// One of four passes, with a masked member.
    fn quarter() -> Vec<Member<'static>> {
        members(&[Some(false), None, Some(true), Some(false), Some(false)])
    }

    fn of(statistic: Statistic, groups: &[Group<'_>]) -> Vec<Value> {
        statistics(&[statistic], groups)
            .into_iter()
            .map(|mut map| map.remove(statistic.name()).unwrap())
            .collect()
    }

    fn assert_close(value: &Value, expected: f64) {
        let got = value.as_f64().unwrap();
        assert!((got - expected).abs() < 1e-5, "{got} is not {expected}");
    }

    #[test]
    fn masked_members_are_not_counted() {
        let members = quarter();
        let group = Group {
            members: &members,
            ..Group::default()
        };
        let p_hat = &of(Statistic::PHat, &[group])[0];
        assert_eq!(
            (p_hat["n"].as_u64(), p_hat["passes"].as_u64()),
            (Some(4), Some(1))
        );
        assert_eq!(
            p_hat.as_object().unwrap().len(),
            5,
            "no correction without rates"
        );
        let at = &of(Statistic::PassAtK, &[group])[0];
        assert_eq!(
            at.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["1", "2", "4"]
        );
        assert_close(&at["2"], 0.5);
        let advantages = &of(Statistic::Advantage(Estimator::DrGrpo), &[group])[0];
        assert_eq!(advantages, &json!([-0.25, null, 0.75, -0.25, -0.25]));
    }

    #[test]
    fn statistics_of_a_group_without_verdicts_are_null_or_empty() {
        let members = members(&[None, None]);
        let group = Group {
            members: &members,
            rates: Some(Rates::CLEAN),
            history: None,
        };
        for statistic in [
            Statistic::PHat,
            Statistic::Informative,
            Statistic::Answers,
            Statistic::ExtraRollouts,
        ] {
            assert_eq!(of(statistic, &[group]), [Value::Null]);
        }
        assert_eq!(of(Statistic::PassAtK, &[group]), [json!({})]);
        assert_eq!(
            of(Statistic::Advantage(Estimator::Grpo), &[group]),
            [json!([null, null])]
        );
    }

    #[test]
    fn corrects_the_share_of_passes_by_rates() {
        let members = quarter();
        let group = Group {
            members: &members,
            rates: Rates::new(0.1, 0.2),
            history: None,
        };
        // (0.25 - 0.1) / 0.7.
        assert_close(
            &of(Statistic::PHat, &[group])[0]["corrected"]["value"],
            0.214_286,
        );
        let informative = &of(Statistic::Informative, &[group])[0];
        assert_eq!(informative["noise_aware"], true);
        // 1 - 0.8^4 - 0.2^4.
        assert_close(&informative["mixed_by_noise"]["solved"], 0.588_8);
    }

    #[test]
    fn contains_requested_statistics_only() {
        let members = quarter();
        let groups = [Group {
            members: &members,
            ..Group::default()
        }; 2];
        assert_eq!(
            statistics(&[Statistic::Mean], &groups),
            [Map::new(), Map::new()]
        );
        let map = &statistics(
            &[Statistic::Answers, Statistic::PHat, Statistic::Mean],
            &groups,
        )[1];
        assert_eq!(map.keys().collect::<Vec<_>>(), ["answers", "p_hat"]);
        assert_eq!(map["answers"]["majority"], "2");
        assert!(statistics(Statistic::ALL, &[]).is_empty());
    }

    #[test]
    fn hard_prompts_get_extra_rollouts() {
        let (hard, solved) = (quarter(), members(&[Some(true); 4]));
        let groups = [&hard, &solved].map(|members| Group {
            members,
            ..Group::default()
        });
        let extra = of(Statistic::ExtraRollouts, &groups);
        // a = 1/4: S = 2 sqrt(3) / 4 = 0.866025; 4 / S - 4 = 0.62 -> 1; 1.5 * 4 / S - 4 = 2.93 ->
        // 3.
        assert_eq!(
            (&extra[0]["dars_et"], &extra[0]["dars_hw"]),
            (&json!(1), &json!(3))
        );
        assert_eq!(
            (&extra[1]["dars_et"], &extra[1]["dars_hw"]),
            (&json!(0), &json!(0))
        );
        let [hard, solved] = [0, 1].map(|at| extra[at]["knapsack"].as_u64().unwrap());
        assert_eq!(hard + solved, 8, "the budget is the number of verdicts");
        assert!(hard > solved);
    }

    #[test]
    fn curriculum_uses_earlier_visits() {
        let members = quarter();
        let history = [Visit {
            step: Some(1),
            judged: 4,
            passes: 4,
            ..Visit::default()
        }];
        let groups = [None, Some(&history[..])].map(|history| Group {
            members: &members,
            rates: None,
            history,
        });
        let curriculum = of(Statistic::Curriculum, &groups);
        // Without history Beta(2, 4): mean 1/3, 1 - (1/6 / 1/2)^2 = 8/9.
        assert_close(&curriculum[0]["mopps"]["mean"], 1.0 / 3.0);
        assert_close(&curriculum[0]["mopps"]["score"], 8.0 / 9.0);
        // With it alpha 0.5 * 5 + 0.5 + 1 = 4, beta 0.5 + 0.5 + 3 = 4.
        assert_close(&curriculum[1]["mopps"]["alpha"], 4.0);
        assert_close(&curriculum[1]["mopps"]["score"], 1.0);
        // earned(4, 1) = 4 * 2 * 4 / (6 * 7) = 0.761905: Q 2/3 + 0.5 (0.761905 - 2/3) = 0.714286.
        assert_close(&curriculum[0]["sec"]["value"], 0.714_286);
        // N = 12: 0.761905 + sqrt(2 ln 13 / 5) = 1.774810.
        assert_close(&curriculum[0]["dump"]["value"], 1.774_810);
        let shares = [0, 1].map(|at| curriculum[at]["dump"]["share"].as_f64().unwrap());
        assert!((shares[0] + shares[1] - 1.0).abs() < 1e-12 && shares[0] > shares[1]);
    }

    #[test]
    fn names_round_trip() {
        for statistic in Statistic::ALL {
            assert_eq!(Statistic::from_name(statistic.name()), Some(*statistic));
            assert!(!statistic.summary().is_empty());
        }
        assert_eq!(Statistic::from_name("median"), None);
        let estimators = Estimator::ALL
            .iter()
            .filter(|estimator| **estimator != Estimator::Mean);
        assert!(
            estimators
                .into_iter()
                .all(|estimator| Statistic::ALL.contains(&Statistic::Advantage(*estimator)))
        );
    }
}
