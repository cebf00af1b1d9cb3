//! Which prompts to sample next, and how many rollouts of each: selection by a strategy, then
//! allocation of rollouts. The formulas are in the other modules of this folder.

use serde::Serialize;

use super::candidate::{Candidate, reserved_slots};
use super::dars::{self, Schedule};
use super::knapsack::{self, Demand};
use super::settings::{Allocation, InvalidSetting, Strategy, Suggest};
use super::{Belief, arms, filter, vade};
use crate::Rates;
use crate::group::Grid;

/// A prompt to sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Suggestion {
    /// Index of the prompt in the candidates.
    pub at: usize,
    /// Number of rollouts to sample.
    pub rollouts: u32,
    /// Value by the strategy; comparable within one reply only.
    pub value: f64,
}

/// Prompts to sample next, best value first, each at most once. `random` returns uniform numbers in
/// \[0, 1).
///
/// A share [`Suggest::unvisited`] of the slots is reserved for prompts without a verdict, selected
/// by the same strategy. For the other slots they compete with the value of their prior. Equal
/// values are ordered at random. Equal candidates, settings and random numbers yield equal results.
///
/// Returns fewer prompts than requested if there are fewer candidates, if the filter keeps fewer,
/// or if the budget is too small for more.
///
/// # Errors
/// The first setting outside its limits.
pub fn suggest(
    candidates: &[Candidate<'_>],
    settings: &Suggest,
    mut random: impl FnMut() -> f64,
) -> Result<Vec<Suggestion>, InvalidSetting> {
    settings.check()?;
    let rates = settings.rates.unwrap_or(Rates::CLEAN);
    let grid = Grid::new(rates).ok_or(InvalidSetting {
        field: "rates",
        must: "two rates with a sum below 1",
    })?;
    let affordable = settings
        .budget
        .map_or(u64::MAX, |budget| budget / u64::from(settings.min_rollouts));
    let count = usize::try_from(affordable.min(u64::from(settings.count)))
        .unwrap_or(usize::MAX)
        .min(candidates.len());
    let mut chosen = match settings.strategy {
        Strategy::Mopps | Strategy::Vade | Strategy::Filter => {
            by_value(candidates, settings, &grid, count, &mut random)
        }
        Strategy::Sec | Strategy::Dump => {
            arms::by_arm(candidates, settings, &grid, count, &mut random)
        }
    };
    // A stable sort keeps the random order of equal values.
    chosen.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let rollouts = allocate_rollouts(candidates, settings, &grid, &chosen);
    Ok(chosen
        .into_iter()
        .zip(rollouts)
        .map(|((at, value), rollouts)| Suggestion {
            at,
            rollouts,
            value,
        })
        .collect())
}

/// The prompts of greatest value, with their values.
fn by_value(
    candidates: &[Candidate<'_>],
    settings: &Suggest,
    grid: &Grid,
    count: usize,
    random: &mut impl FnMut() -> f64,
) -> Vec<(usize, f64)> {
    let mut order: Vec<(usize, f64, f64)> = Vec::with_capacity(candidates.len());
    for (at, candidate) in candidates.iter().enumerate() {
        // Both numbers are drawn for every prompt, so that the draws of a prompt do not depend on
        // the visits of others.
        let (draw, tie) = (random(), random());
        if let Some(value) = value(candidate, settings, grid, draw) {
            order.push((at, value, tie));
        }
    }
    order.sort_by(|(_, a, tie_a), (_, b, tie_b)| b.total_cmp(a).then(tie_a.total_cmp(tie_b)));
    let unvisited = |at: usize| candidates.get(at).is_some_and(Candidate::is_unvisited);
    let (mut reserved, mut left) = (reserved_slots(settings, count), count);
    let mut selected = vec![false; order.len()];
    for ((at, ..), selected) in order.iter().zip(&mut selected) {
        if reserved > 0 && unvisited(*at) {
            *selected = true;
            reserved -= 1;
            left -= 1;
        }
    }
    for selected in selected
        .iter_mut()
        .filter(|selected| !**selected)
        .take(left)
    {
        *selected = true;
    }
    order
        .into_iter()
        .zip(selected)
        .filter(|(_, selected)| *selected)
        .map(|((at, value, _), _)| (at, value))
        .collect()
}

/// Value of one prompt by the strategy; `None` if it is filtered out. `draw` is a uniform random
/// number for Thompson sampling.
fn value(candidate: &Candidate<'_>, settings: &Suggest, grid: &Grid, draw: f64) -> Option<f64> {
    let Suggest {
        prior, discount, ..
    } = *settings;
    let share_right = |belief: Belief| {
        if settings.thompson {
            belief.draw(grid, draw)
        } else {
            belief.mean(grid)
        }
    };
    match settings.strategy {
        Strategy::Vade => {
            let belief = vade::two_scale(
                prior,
                discount,
                settings.slow_discount,
                candidate.visits,
                grid,
            );
            Some(vade::gain(share_right(belief), grid.rates()))
        }
        Strategy::Filter => {
            let p = Belief::after(prior, discount, candidate.visits).mean(grid);
            // An unvisited prompt is never filtered out, even if its prior is outside the band.
            let [low, high] = if candidate.is_unvisited() {
                [0.0, 1.0]
            } else {
                settings.bounds()
            };
            filter::learnability(p, low, high)
        }
        _ => Some(settings.goal().value(share_right(Belief::after(
            prior,
            discount,
            candidate.visits,
        )))),
    }
}

/// Number of rollouts of each chosen prompt.
fn allocate_rollouts(
    candidates: &[Candidate<'_>],
    settings: &Suggest,
    grid: &Grid,
    chosen: &[(usize, f64)],
) -> Vec<u32> {
    let Suggest {
        rollouts,
        min_rollouts: least,
        max_rollouts: most,
        ..
    } = *settings;
    let n = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
    let budget = settings.budget.unwrap_or(u64::from(rollouts) * n);
    let share_right = |at: usize| {
        let visits = candidates
            .get(at)
            .map_or(&[][..], |candidate| candidate.visits);
        Belief::after(settings.prior, settings.discount, visits).mean(grid)
    };
    let schedule = match settings.allocation {
        Allocation::Even => return even(chosen.len(), budget, least, most),
        Allocation::Knapsack => {
            let demand = |(at, _): &(usize, f64)| Demand {
                p: share_right(*at),
                rates: grid.rates(),
                least,
                most,
            };
            let demands: Vec<Demand> = chosen.iter().map(demand).collect();
            return knapsack::allocate(&demands, budget)
                .unwrap_or_else(|| even(demands.len(), budget, least, most));
        }
        Allocation::Dars => Schedule::EqualTreatment,
        Allocation::DarsHw => Schedule::HardnessWeighted,
    };
    let base = u64::from(rollouts) * n;
    let mut allocated = even(chosen.len(), budget.min(base), least, most);
    let mut left = settings
        .budget
        .map_or(u64::MAX, |budget| budget.saturating_sub(base));
    for ((at, _), allocated) in chosen.iter().zip(&mut allocated) {
        let extra = dars::extra(schedule, *allocated, share_right(*at), most);
        let extra = u32::try_from(left).unwrap_or(u32::MAX).min(extra);
        *allocated += extra;
        left -= u64::from(extra);
    }
    allocated
}

/// `budget` in `n` equal parts, each clamped to \[`least`, `most`\]. The remainder goes to the
/// first parts.
fn even(n: usize, budget: u64, least: u32, most: u32) -> Vec<u32> {
    let parts = u64::try_from(n.max(1)).unwrap_or(u64::MAX);
    let (each, left) = (budget / parts, budget % parts);
    let part = |at: u64| {
        u32::try_from(each + u64::from(at < left))
            .unwrap_or(u32::MAX)
            .clamp(least, most)
    };
    (0..parts).take(n).map(part).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use crate::Visit;

    use super::*;
    use crate::Rates;
    use crate::group::as_f64;

    /// Uniform numbers from a Lehmer generator, for tests only.
    fn lehmer(seed: u32) -> impl FnMut() -> f64 {
        let mut state = u64::from(seed) * 2 + 1;
        move || {
            state = state * 48_271 % 2_147_483_647;
            as_f64(usize::try_from(state).unwrap()) / 2_147_483_647.0
        }
    }

    fn visit(step: i64, judged: u32, passes: u32) -> Visit {
        Visit {
            step: Some(step),
            judged,
            passes,
            ..Visit::default()
        }
    }

    fn candidate<'a>(key: &'a str, visits: &'a [Visit]) -> Candidate<'a> {
        Candidate {
            key,
            visits,
            category: None,
        }
    }

    fn settings(text: &str) -> Suggest {
        serde_json::from_str(text).unwrap()
    }

    fn keys(suggestions: &[Suggestion]) -> Vec<usize> {
        suggestions.iter().map(|suggestion| suggestion.at).collect()
    }

    #[test]
    fn prefers_even_prompts_to_solved_and_hopeless_ones() {
        let visits = [
            [visit(1, 8, 8)],
            [visit(1, 8, 4)],
            [visit(1, 8, 0)],
            [visit(1, 8, 6)],
        ];
        let candidates = ["a", "b", "c", "d"].into_iter().zip(&visits);
        let candidates: Vec<_> = candidates
            .map(|(key, visits)| candidate(key, visits))
            .collect();
        for strategy in ["mopps", "vade", "filter"] {
            let settings = settings(&format!(
                r#"{{"strategy": "{strategy}", "thompson": false, "count": 2}}"#
            ));
            let got = suggest(&candidates, &settings, lehmer(1)).unwrap();
            assert_eq!(keys(&got), [1, 3], "{strategy}");
            assert!(got.iter().all(|suggestion| suggestion.rollouts == 8));
        }
        let all = settings(r#"{"strategy": "filter"}"#);
        assert_eq!(
            suggest(&candidates, &all, lehmer(1)).unwrap().len(),
            2,
            "the filter keeps two of four"
        );
    }

    #[test]
    fn values_match_the_formulas() {
        // Beta(0.5 + 0.5 + 6, 0.5 + 0.5 + 2): mean 0.7. 1 - (0.2 / 0.5)^2 = 0.84; 0.7 * 0.3 = 0.21.
        let visits = [visit(1, 8, 6)];
        let one = [candidate("a", &visits)];
        let value = |text| suggest(&one, &settings(text), lehmer(1)).unwrap()[0].value;
        assert!((value(r#"{"thompson": false}"#) - 0.84).abs() < 1e-12);
        assert!((value(r#"{"strategy": "filter"}"#) - 0.21).abs() < 1e-12);
        // 4 * 7 * 3 / (10 * 11) = 0.763636; Q 2/3 + 0.5 (0.763636 - 2/3) = 0.715152.
        assert!((value(r#"{"strategy": "sec"}"#) - 0.715_152).abs() < 1e-6);
        // 0.763636 + sqrt(2 ln 9 / 9) = 1.462401.
        assert!((value(r#"{"strategy": "dump"}"#) - 1.462_401).abs() < 1e-6);
    }

    #[test]
    fn reserves_slots_for_unvisited_prompts() {
        let good = [visit(1, 8, 4)];
        let mut candidates = vec![candidate("old", &good); 40];
        candidates.push(candidate("new", &[]));
        for strategy in ["mopps", "vade", "sec", "dump", "filter"] {
            // With this prior new prompts look hopeless, so that only reserved slots select them.
            let settings = settings(&format!(
                r#"{{"strategy": "{strategy}", "thompson": false, "count": 10,
                    "prior": {{"alpha": 0.1, "beta": 9}}}}"#
            ));
            let got = suggest(&candidates, &settings, lehmer(7)).unwrap();
            assert!(keys(&got).contains(&40), "{strategy}");
            assert_eq!(got.len(), 10);
        }
    }

    #[test]
    fn prompts_of_a_category_share_its_value() {
        let (solved, even) = ([visit(1, 64, 64)], [visit(1, 64, 32)]);
        let named = |visits, category| Candidate {
            key: "",
            visits,
            category: Some(category),
        };
        let mut candidates = vec![named(&solved[..], "solved"); 20];
        candidates.extend(vec![named(&even[..], "even"); 20]);
        let settings = settings(r#"{"strategy": "sec", "count": 10, "step_size": 1.0}"#);
        let got = suggest(&candidates, &settings, lehmer(3)).unwrap();
        // Values 0.06 and 0.98 at temperature 0.1: probability one in ten thousand.
        assert!(got.iter().all(|suggestion| suggestion.at >= 20));
        let all = Suggest {
            count: 40,
            ..settings
        };
        let mut every = keys(&suggest(&candidates, &all, lehmer(3)).unwrap());
        every.sort_unstable();
        assert_eq!(
            every,
            (0..40).collect::<Vec<_>>(),
            "an exhausted arm leaves the other slots to the other arms"
        );
    }

    #[test]
    fn allocations_stay_within_the_budget() {
        let visits = [[visit(1, 8, 0)], [visit(1, 8, 4)], [visit(1, 8, 8)]];
        let candidates: Vec<_> = visits.iter().map(|visits| candidate("", visits)).collect();
        for allocation in ["even", "knapsack", "dars", "dars_hw"] {
            for budget in [2, 5, 7, 24, 29, 60] {
                let text = format!(
                    r#"{{"thompson": false, "allocation": "{allocation}", "budget": {budget}}}"#
                );
                let got = suggest(&candidates, &settings(&text), lehmer(1)).unwrap();
                let sum: u64 = got
                    .iter()
                    .map(|suggestion| u64::from(suggestion.rollouts))
                    .sum();
                assert!(sum <= budget, "{allocation} {budget}: {sum}");
                assert!(got.iter().all(|suggestion| suggestion.rollouts >= 2));
                assert_eq!(
                    got.len(),
                    if budget < 4 {
                        1
                    } else if budget < 6 {
                        2
                    } else {
                        3
                    }
                );
                if matches!(allocation, "even" | "knapsack") {
                    assert_eq!(sum, budget);
                }
            }
        }
    }

    #[test]
    fn dars_and_knapsack_allocate_more_rollouts_to_hard_prompts() {
        let visits = [[visit(1, 8, 1)], [visit(1, 8, 7)]];
        let candidates: Vec<_> = visits.iter().map(|visits| candidate("", visits)).collect();
        for allocation in ["knapsack", "dars", "dars_hw"] {
            let settings = settings(&format!(r#"{{"allocation": "{allocation}"}}"#));
            let got = suggest(&candidates, &settings, lehmer(1)).unwrap();
            let of = |at| {
                got.iter()
                    .find(|suggestion| suggestion.at == at)
                    .unwrap()
                    .rollouts
            };
            assert!(of(0) > of(1), "{allocation}");
        }
    }

    #[test]
    fn no_candidates_yield_no_suggestions() {
        assert_eq!(suggest(&[], &Suggest::default(), lehmer(1)), Ok(vec![]));
        let bad = Suggest {
            count: 0,
            ..Suggest::default()
        };
        assert_eq!(suggest(&[], &bad, lehmer(1)).unwrap_err().field, "count");
    }

    proptest! {
        #[test]
        fn suggestions_are_distinct_candidates_within_bounds(
            prompts in prop::collection::vec(
                (prop::collection::vec((0u32..9, 0u32..9), 0..4), 0u8..4),
                0..20,
            ),
            count in 1u32..12,
            budget in prop::option::of(2u64..200),
            strategy in 0usize..5,
            allocation in 0usize..4,
            rho0 in 0.0..0.45,
            thompson in any::<bool>(),
            seed in any::<u32>(),
        ) {
            let visits: Vec<Vec<Visit>> = prompts
                .iter()
                .map(|(visits, _)| {
                    let visits = visits.iter().zip(1..);
                    visits.map(|((n, k), step)| visit(step, *n, *k.min(n))).collect()
                })
                .collect();
            let categories = [None, Some("a"), Some("b"), Some("c")];
            let candidates: Vec<_> = visits
                .iter()
                .zip(&prompts)
                .map(|(visits, (_, category))| {
                    let category = categories[usize::from(*category)];
                    Candidate { key: "", visits, category }
                })
                .collect();
            let settings = Suggest {
                count,
                budget,
                thompson,
                strategy: Strategy::ALL[strategy],
                allocation: Allocation::ALL[allocation],
                rates: Rates::new(rho0, 0.2),
                ..Suggest::default()
            };
            let got = suggest(&candidates, &settings, lehmer(seed)).unwrap();
            prop_assert_eq!(&got, &suggest(&candidates, &settings, lehmer(seed)).unwrap());
            let mut indices = keys(&got);
            indices.sort_unstable();
            indices.dedup();
            prop_assert_eq!(indices.len(), got.len());
            for suggestion in &got {
                prop_assert!(suggestion.at < candidates.len() && suggestion.value.is_finite());
                prop_assert!((2..=64).contains(&suggestion.rollouts));
            }
            if settings.strategy != Strategy::Filter && budget.is_none() {
                prop_assert_eq!(got.len(), candidates.len().min(usize::try_from(count).unwrap()));
            }
        }
    }
}
