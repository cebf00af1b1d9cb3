//! Selection of prompts by arms: an arm is a category of prompts, or a single prompt without one.
//! The values of arms are computed by [`bandit`](super::bandit), the allocation of rollouts by
//! [`choose`](super::choose).

use std::collections::BTreeMap;

use crate::Visit;

use super::bandit::{self, Earnings};
use super::candidate::{Candidate, reserved_slots};
use super::settings::{Strategy, Suggest};
use super::softmax_tree::SoftmaxTree;
use crate::group::{Grid, as_f64};

/// A category, or a single prompt without one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ArmName<'a> {
    Category(&'a str),
    Prompt(usize),
}

/// Draws `count` prompts, each with the value of its arm: first from unvisited prompts for the
/// reserved slots, then from all others.
pub(super) fn by_arm(
    candidates: &[Candidate<'_>],
    settings: &Suggest,
    grid: &Grid,
    count: usize,
    random: &mut impl FnMut() -> f64,
) -> Vec<(usize, f64)> {
    let mut names: BTreeMap<ArmName<'_>, Vec<usize>> = BTreeMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        names
            .entry(
                candidate
                    .category
                    .map_or(ArmName::Prompt(at), ArmName::Category),
            )
            .or_default()
            .push(at);
    }
    let arms: Vec<Vec<usize>> = names.into_values().collect();
    let values = arm_values(candidates, &arms, settings, grid);
    let unvisited = |at: &usize| candidates.get(*at).is_some_and(Candidate::is_unvisited);
    let unvisited: Vec<Vec<usize>> = arms
        .iter()
        .map(|arm| arm.iter().copied().filter(unvisited).collect())
        .collect();
    let mut drawn = draw(
        unvisited,
        &values,
        settings.temperature,
        reserved_slots(settings, count),
        random,
    );
    let mut taken = vec![false; candidates.len()];
    for (at, _) in &drawn {
        if let Some(taken) = taken.get_mut(*at) {
            *taken = true;
        }
    }
    let rest = |arm: &Vec<usize>| {
        arm.iter()
            .copied()
            .filter(|at| !taken.get(*at).copied().unwrap_or(true))
            .collect()
    };
    let rest: Vec<Vec<usize>> = arms.iter().map(rest).collect();
    drawn.extend(draw(
        rest,
        &values,
        settings.temperature,
        count - drawn.len(),
        random,
    ));
    drawn
}

/// Value of each arm by the strategy, `sec` or `dump`.
fn arm_values(
    candidates: &[Candidate<'_>],
    arms: &[Vec<usize>],
    settings: &Suggest,
    grid: &Grid,
) -> Vec<f64> {
    let visits = |arm: &[usize]| {
        let visits = arm
            .iter()
            .filter_map(|at| candidates.get(*at))
            .flat_map(|candidate| candidate.visits);
        let mut visits: Vec<&Visit> = visits.filter(|visit| visit.judged > 0).collect();
        // The visit without a step sums all rollouts without one; it sorts as the oldest.
        visits.sort_by_key(|visit| visit.step);
        visits
    };
    let mut earnings = Earnings::default();
    let mut sum = |visits: &[&Visit]| {
        visits
            .iter()
            .map(|visit| earnings.of(grid, visit))
            .sum::<f64>()
    };
    let rollouts = |visits: &[&Visit]| {
        visits
            .iter()
            .map(|visit| f64::from(visit.judged))
            .sum::<f64>()
    };
    if settings.strategy == Strategy::Sec {
        let mut of_arm = |arm: &Vec<usize>| {
            let visits = visits(arm);
            let steps = visits.chunk_by(|a, b| a.step == b.step && a.step.is_some());
            let of_step = |step: &[&Visit]| sum(step) / as_f64(step.len());
            bandit::sec(settings.step_size, steps.map(of_step))
        };
        return arms.iter().map(&mut of_arm).collect();
    }
    let visited: Vec<Vec<&Visit>> = arms.iter().map(|arm| visits(arm)).collect();
    let all: f64 = visited.iter().map(|visits| rollouts(visits)).sum();
    let window = usize::try_from(settings.window).unwrap_or(usize::MAX);
    let mut of_arm = |visits: &Vec<&Visit>| {
        let last = &visits[visits.len().saturating_sub(window)..];
        let mean = if last.is_empty() {
            bandit::UNVISITED
        } else {
            sum(last) / as_f64(last.len())
        };
        bandit::dump(mean, rollouts(visits), all)
    };
    visited.iter().map(&mut of_arm).collect()
}

/// Draws `count` prompts without replacement: an arm by softmax of the values of the arms that have
/// prompts left, then one of its prompts uniformly. Takes O(n log n) in the number of arms and
/// prompts for any values ([`SoftmaxTree`]).
fn draw(
    mut arms: Vec<Vec<usize>>,
    values: &[f64],
    temperature: f64,
    count: usize,
    random: &mut impl FnMut() -> f64,
) -> Vec<(usize, f64)> {
    let mut drawn = Vec::with_capacity(count);
    let mut tree = SoftmaxTree::new(values, temperature);
    while drawn.len() < count
        && tree.refresh(|arm| arms.get(arm).is_some_and(|prompts| !prompts.is_empty()))
    {
        let arm = tree.sample(unit(random()));
        let Some(prompts) = arms.get_mut(arm).filter(|prompts| !prompts.is_empty()) else {
            tree.remove(arm);
            continue;
        };
        let at = index_at(unit(random()), prompts.len());
        drawn.push((
            prompts.swap_remove(at),
            values.get(arm).copied().unwrap_or(0.0),
        ));
    }
    drawn
}

/// Clamps a random number to \[0, 1\]; NaN becomes 0.
fn unit(u: f64) -> f64 {
    if u.is_nan() { 0.0 } else { u.clamp(0.0, 1.0) }
}

/// The index below `n` at quantile `u` in \[0, 1\].
fn index_at(u: f64, n: usize) -> usize {
    // From 0 to n, and n is a length.
    ((u * as_f64(n)) as usize).min(n.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_likely_arms_first_and_no_prompt_twice() {
        // The share of the first arm at temperature 0.1 is 1 / (1 + e^-10) = 0.99995, so u = 0.5
        // selects it until it is exhausted.
        let drawn = draw(vec![vec![4, 5], vec![6]], &[1.0, 0.0], 0.1, 9, &mut || 0.5);
        assert_eq!(
            drawn.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [5, 4, 6]
        );
    }

    #[test]
    fn visits_of_an_arm_are_ordered_by_step() {
        let visit = |step, passes| Visit {
            step: Some(step),
            judged: 8,
            passes,
            ..Visit::default()
        };
        let (late, early) = ([visit(2, 8)], [visit(1, 4)]);
        let candidate = |visits| Candidate {
            key: "",
            visits,
            category: Some("a"),
        };
        let candidates = [candidate(&late[..]), candidate(&early[..])];
        let grid = Grid::new(crate::Rates::CLEAN).unwrap();
        let value = |text| {
            arm_values(
                &candidates,
                &[vec![0, 1]],
                &serde_json::from_str(text).unwrap(),
                &grid,
            )[0]
        };
        // Earned 100/110 at step 1 and 36/110 at step 2. Q: 2/3, 0.787879, 0.557576.
        assert!((value(r#"{"strategy": "sec"}"#) - 0.557_576).abs() < 1e-6);
        // The last visit only, and 16 rollouts of 16: 0.327273 + sqrt(2 ln 17 / 17) = 0.904611.
        assert!((value(r#"{"strategy": "dump", "window": 1}"#) - 0.904_611).abs() < 1e-6);
        // Both: (0.909091 + 0.327273) / 2 + 0.577338.
        assert!((value(r#"{"strategy": "dump"}"#) - 1.195_520).abs() < 1e-6);
    }

    #[test]
    fn earnings_of_one_step_are_averaged() {
        let visit = |passes| {
            [Visit {
                step: Some(1),
                judged: 8,
                passes,
                ..Visit::default()
            }]
        };
        let (solved, even) = (visit(8), visit(4));
        let candidate = |visits| Candidate {
            key: "",
            visits,
            category: Some("a"),
        };
        let grid = Grid::new(crate::Rates::CLEAN).unwrap();
        let settings = Suggest {
            strategy: Strategy::Sec,
            ..Suggest::default()
        };
        let values = arm_values(
            &[candidate(&solved[..]), candidate(&even[..])],
            &[vec![0, 1]],
            &settings,
            &grid,
        );
        // Mean of 36/110 and 100/110 = 0.618182; 2/3 + 0.5 (0.618182 - 2/3) = 0.642424.
        assert!((values[0] - 0.642_424).abs() < 1e-6);
    }

    #[test]
    fn recomputes_shares_that_underflow() {
        let drawn = draw(
            vec![vec![0], vec![1], vec![2]],
            &[1e6, 0.0, -1e6],
            0.001,
            3,
            &mut || 0.99,
        );
        assert_eq!(
            drawn.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        assert!(draw(vec![vec![]], &[0.0], 0.1, 1, &mut || 0.5).is_empty());
    }

    #[test]
    fn draws_from_many_arms_in_linearithmic_time() {
        // Scanning every arm for each prompt, or recomputing all shares whenever the best arm is
        // exhausted, would take 10^10 steps.
        let alone = |n: usize| (0..n).map(|at| vec![at]).collect::<Vec<_>>();
        let rising: Vec<f64> = (1..=100_000u32).map(f64::from).collect();
        let drawn = draw(alone(100_000), &rising, 0.001, 100_000, &mut || 0.5);
        // Each is e^1000 times as likely as the next.
        assert!(drawn.iter().map(|(at, _)| *at).eq((0..100_000).rev()));
        let (mut state, mut numbers) = (1u32, 0u32);
        let mut random = || {
            numbers += 1;
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state) / f64::from(u32::MAX)
        };
        let mut drawn: Vec<usize> =
            draw(alone(100_000), &[0.5; 100_000], 0.1, 100_000, &mut random)
                .into_iter()
                .map(|(at, _)| at)
                .collect();
        drawn.sort_unstable();
        assert!(drawn.into_iter().eq(0..100_000));
        assert!(
            numbers <= 300_000,
            "two for each prompt and one for each exhausted arm: {numbers}"
        );
    }

    #[test]
    fn accepts_random_numbers_out_of_range() {
        for u in [f64::NAN, f64::INFINITY, -3.0, 1.0] {
            assert_eq!(
                draw(vec![vec![7], vec![8]], &[0.0, 0.0], 0.1, 2, &mut || u).len(),
                2
            );
        }
    }
}
