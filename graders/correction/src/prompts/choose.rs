//! Which prompts to sample next, and how many rollouts of each. Puts the parts of this folder
//! together; every formula is in its own file.

use assay_core::Visit;
use serde::Serialize;

use super::dars::{self, Scale, Schedule};
use super::knapsack::{self, Need};
use super::settings::{Allocation, BadSetting, Strategy, Suggest};
use super::{Belief, arms, filter, vade};
use crate::Rates;
use crate::group::{Grid, as_f64};

/// A prompt that may be sampled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate<'a> {
    /// Its name in the run.
    pub key: &'a str,
    /// Visits so far, oldest first.
    pub visits: &'a [Visit],
    /// Its category; a prompt without one is a category of its own.
    pub category: Option<&'a str>,
}

impl Candidate<'_> {
    pub(super) fn is_unvisited(&self) -> bool {
        self.visits.iter().all(|visit| visit.judged == 0)
    }
}

/// A prompt to sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Suggestion {
    /// Its place among the candidates.
    pub at: usize,
    /// How many rollouts of it.
    pub rollouts: u32,
    /// What the strategy found it worth; comparable within one answer only.
    pub value: f64,
}

/// Prompts to sample next, best value first, each at most once; `random` gives numbers uniform in
/// \[0, 1).
///
/// A share [`Suggest::unvisited`] of the places goes to prompts without a verdict first, chosen by
/// the same strategy; they compete for the other places with the value of their prior. Equal values
/// are ordered at random. The same candidates, settings and numbers give the same answer. Fewer
/// than asked where there are fewer candidates, where the filter keeps fewer, or where the budget
/// does not hold more.
///
/// # Errors
/// The first setting outside its limits.
pub fn suggest(
    candidates: &[Candidate<'_>],
    settings: &Suggest,
    mut random: impl FnMut() -> f64,
) -> Result<Vec<Suggestion>, BadSetting> {
    settings.check()?;
    let rates = settings.rates.unwrap_or(Rates::CLEAN);
    let grid = Grid::new(rates).ok_or(BadSetting {
        field: "rates",
        must: "below 1 together",
    })?;
    let affordable = settings
        .budget
        .map_or(u64::MAX, |budget| budget / u64::from(settings.least));
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
    let rollouts = divide(candidates, settings, &grid, &chosen);
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

/// Places for prompts nobody visited.
pub(super) fn reserved(settings: &Suggest, count: usize) -> usize {
    let wanted = settings.unvisited * as_f64(count);
    (0..count)
        .take_while(|places| as_f64(*places) < wanted)
        .count()
}

/// The prompts of greatest value.
fn by_value(
    candidates: &[Candidate<'_>],
    settings: &Suggest,
    grid: &Grid,
    count: usize,
    random: &mut impl FnMut() -> f64,
) -> Vec<(usize, f64)> {
    let mut order: Vec<(usize, f64, f64)> = Vec::with_capacity(candidates.len());
    for (at, candidate) in candidates.iter().enumerate() {
        // Both numbers are drawn for every prompt, so that one prompt's visits change no other's
        // luck.
        let (draw, tie) = (random(), random());
        if let Some(value) = value(candidate, settings, grid, draw) {
            order.push((at, value, tie));
        }
    }
    order.sort_by(|(_, a, tie_a), (_, b, tie_b)| b.total_cmp(a).then(tie_a.total_cmp(tie_b)));
    let unvisited = |at: usize| candidates.get(at).is_some_and(Candidate::is_unvisited);
    let (mut places, mut left) = (reserved(settings, count), count);
    let mut taken = vec![false; order.len()];
    for ((at, ..), taken) in order.iter().zip(&mut taken) {
        if places > 0 && unvisited(*at) {
            *taken = true;
            places -= 1;
            left -= 1;
        }
    }
    for taken in taken.iter_mut().filter(|taken| !**taken).take(left) {
        *taken = true;
    }
    order
        .into_iter()
        .zip(taken)
        .filter(|(_, taken)| *taken)
        .map(|((at, value, _), _)| (at, value))
        .collect()
}

/// What one prompt is worth; `None` where it is filtered out.
fn value(candidate: &Candidate<'_>, settings: &Suggest, grid: &Grid, draw: f64) -> Option<f64> {
    let Suggest {
        prior, discount, ..
    } = *settings;
    let believed = |belief: Belief| {
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
            Some(vade::gain(believed(belief), grid.rates()))
        }
        Strategy::Filter => {
            let p = Belief::after(prior, discount, candidate.visits).mean(grid);
            let [low, high] = settings.bounds();
            // A prior outside the band is no reason never to look at a prompt.
            let kept = if candidate.is_unvisited() {
                [0.0, 1.0]
            } else {
                [low, high]
            };
            filter::learnability(p, kept[0], kept[1])
        }
        _ => Some(settings.wish().value(believed(Belief::after(
            prior,
            discount,
            candidate.visits,
        )))),
    }
}

/// Rollouts of each chosen prompt.
fn divide(
    candidates: &[Candidate<'_>],
    settings: &Suggest,
    grid: &Grid,
    chosen: &[(usize, f64)],
) -> Vec<u32> {
    let Suggest {
        rollouts,
        least,
        most,
        ..
    } = *settings;
    let n = u64::try_from(chosen.len()).unwrap_or(u64::MAX);
    let budget = settings.budget.unwrap_or(u64::from(rollouts) * n);
    let believed = |at: usize| {
        let visits = candidates
            .get(at)
            .map_or(&[][..], |candidate| candidate.visits);
        Belief::after(settings.prior, settings.discount, visits).mean(grid)
    };
    let schedule = match settings.allocation {
        Allocation::Even => return even(chosen.len(), budget, least, most),
        Allocation::Knapsack => {
            let need = |(at, _): &(usize, f64)| Need {
                p: believed(*at),
                rates: grid.rates(),
                least,
                most,
            };
            let needs: Vec<Need> = chosen.iter().map(need).collect();
            return knapsack::allocate(&needs, budget)
                .unwrap_or_else(|| even(needs.len(), budget, least, most));
        }
        Allocation::Dars => Schedule::EqualTreatment,
        Allocation::DarsHw => Schedule::HardnessWeighted,
    };
    let base = u64::from(rollouts) * n;
    let mut given = even(chosen.len(), budget.min(base), least, most);
    let mut left = settings
        .budget
        .map_or(u64::MAX, |budget| budget.saturating_sub(base));
    for ((at, _), given) in chosen.iter().zip(&mut given) {
        let wanted = dars::extra(schedule, Scale::Deviation, *given, believed(*at), most);
        let extra = u32::try_from(left).unwrap_or(u32::MAX).min(wanted);
        *given += extra;
        left -= u64::from(extra);
    }
    given
}

/// `budget` in equal parts within the bounds; what does not divide goes to the first.
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

    use super::*;
    use crate::Rates;

    /// The numbers of a Lehmer generator, for tests only.
    fn dice(seed: u32) -> impl FnMut() -> f64 {
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
    fn even_prompts_come_before_solved_and_hopeless_ones() {
        let visits = [
            [visit(1, 8, 8)],
            [visit(1, 8, 4)],
            [visit(1, 8, 0)],
            [visit(1, 8, 6)],
        ];
        let candidates = ["a", "b", "c", "d"].map(|key| key).into_iter().zip(&visits);
        let candidates: Vec<_> = candidates
            .map(|(key, visits)| candidate(key, visits))
            .collect();
        for strategy in ["mopps", "vade", "filter"] {
            let settings = settings(&format!(
                r#"{{"strategy": "{strategy}", "thompson": false, "count": 2}}"#
            ));
            let got = suggest(&candidates, &settings, dice(1)).unwrap();
            assert_eq!(keys(&got), [1, 3], "{strategy}");
            assert!(got.iter().all(|suggestion| suggestion.rollouts == 8));
        }
        let all = settings(r#"{"strategy": "filter"}"#);
        assert_eq!(
            suggest(&candidates, &all, dice(1)).unwrap().len(),
            2,
            "the filter keeps two of four"
        );
    }

    #[test]
    fn values_are_those_of_the_formulas() {
        // Beta(0.5 + 0.5 + 6, 0.5 + 0.5 + 2): mean 0.7. 1 - (0.2 / 0.5)^2 = 0.84; 0.7 * 0.3 = 0.21.
        let visits = [visit(1, 8, 6)];
        let one = [candidate("a", &visits)];
        let value = |text| suggest(&one, &settings(text), dice(1)).unwrap()[0].value;
        assert!((value(r#"{"thompson": false}"#) - 0.84).abs() < 1e-12);
        assert!((value(r#"{"strategy": "filter"}"#) - 0.21).abs() < 1e-12);
        // 4 * 7 * 3 / (10 * 11) = 0.763636; Q 2/3 + 0.5 (0.763636 - 2/3) = 0.715152.
        assert!((value(r#"{"strategy": "sec"}"#) - 0.715_152).abs() < 1e-6);
        // 0.763636 + sqrt(2 ln 9 / 9) = 1.462401.
        assert!((value(r#"{"strategy": "dump"}"#) - 1.462_401).abs() < 1e-6);
    }

    #[test]
    fn unvisited_prompts_keep_their_places() {
        let good = [visit(1, 8, 4)];
        let mut candidates = vec![candidate("old", &good); 40];
        candidates.push(candidate("new", &[]));
        for strategy in ["mopps", "vade", "sec", "dump", "filter"] {
            // A prior that makes new prompts look hopeless, so that only their places can save
            // them.
            let settings = settings(&format!(
                r#"{{"strategy": "{strategy}", "thompson": false, "count": 10, "prior": {{"alpha": 0.1, "beta": 9}}}}"#
            ));
            let got = suggest(&candidates, &settings, dice(7)).unwrap();
            assert!(keys(&got).contains(&40), "{strategy}");
            assert_eq!(got.len(), 10);
        }
    }

    #[test]
    fn categories_share_what_their_prompts_earned() {
        let (solved, even) = ([visit(1, 64, 64)], [visit(1, 64, 32)]);
        let named = |visits, category| Candidate {
            key: "",
            visits,
            category: Some(category),
        };
        let mut candidates = vec![named(&solved[..], "solved"); 20];
        candidates.extend(vec![named(&even[..], "even"); 20]);
        let settings = settings(r#"{"strategy": "sec", "count": 10, "step_size": 1.0}"#);
        let got = suggest(&candidates, &settings, dice(3)).unwrap();
        // 0.06 against 0.98 at temperature 0.1: one in ten thousand.
        assert!(got.iter().all(|suggestion| suggestion.at >= 20));
        let all = Suggest {
            count: 40,
            ..settings
        };
        let mut every = keys(&suggest(&candidates, &all, dice(3)).unwrap());
        every.sort_unstable();
        assert_eq!(
            every,
            (0..40).collect::<Vec<_>>(),
            "an arm that is used up leaves the rest to the others"
        );
    }

    #[test]
    fn a_budget_is_kept() {
        let visits = [[visit(1, 8, 0)], [visit(1, 8, 4)], [visit(1, 8, 8)]];
        let candidates: Vec<_> = visits.iter().map(|visits| candidate("", visits)).collect();
        for allocation in ["even", "knapsack", "dars", "dars_hw"] {
            for budget in [2, 5, 7, 24, 29, 60] {
                let text = format!(
                    r#"{{"thompson": false, "allocation": "{allocation}", "budget": {budget}}}"#
                );
                let got = suggest(&candidates, &settings(&text), dice(1)).unwrap();
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
    fn hard_prompts_get_more_by_dars_and_knapsack() {
        let visits = [[visit(1, 8, 1)], [visit(1, 8, 7)]];
        let candidates: Vec<_> = visits.iter().map(|visits| candidate("", visits)).collect();
        for allocation in ["knapsack", "dars", "dars_hw"] {
            let settings = settings(&format!(r#"{{"allocation": "{allocation}"}}"#));
            let got = suggest(&candidates, &settings, dice(1)).unwrap();
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
    fn nothing_comes_of_nothing() {
        assert_eq!(suggest(&[], &Suggest::default(), dice(1)), Ok(vec![]));
        let bad = Suggest {
            count: 0,
            ..Suggest::default()
        };
        assert_eq!(suggest(&[], &bad, dice(1)).unwrap_err().field, "count");
    }

    proptest! {
        #[test]
        fn every_suggestion_is_a_candidate_once_within_bounds(
            prompts in prop::collection::vec((prop::collection::vec((0u32..9, 0u32..9), 0..4), 0u8..4), 0..20),
            count in 1u32..12, budget in prop::option::of(2u64..200), strategy in 0usize..5, allocation in 0usize..4,
            rho0 in 0.0..0.45, thompson in any::<bool>(), seed in any::<u32>(),
        ) {
            let visits: Vec<Vec<Visit>> = prompts
                .iter()
                .map(|(visits, _)| visits.iter().zip(1..).map(|((n, k), step)| visit(step, *n, *k.min(n))).collect())
                .collect();
            let categories = [None, Some("a"), Some("b"), Some("c")];
            let candidates: Vec<_> = visits
                .iter()
                .zip(&prompts)
                .map(|(visits, (_, category))| Candidate { key: "", visits, category: categories[usize::from(*category)] })
                .collect();
            let settings = Suggest {
                count, budget, thompson, strategy: Strategy::ALL[strategy], allocation: Allocation::ALL[allocation],
                rates: Rates::new(rho0, 0.2), ..Suggest::default()
            };
            let got = suggest(&candidates, &settings, dice(seed)).unwrap();
            prop_assert_eq!(&got, &suggest(&candidates, &settings, dice(seed)).unwrap());
            let mut places = keys(&got);
            places.sort_unstable();
            places.dedup();
            prop_assert_eq!(places.len(), got.len());
            prop_assert!(got.iter().all(|s| s.at < candidates.len() && s.value.is_finite() && (2..=64).contains(&s.rollouts)));
            if settings.strategy != Strategy::Filter && budget.is_none() {
                prop_assert_eq!(got.len(), candidates.len().min(usize::try_from(count).unwrap()));
            }
        }
    }
}
