//! Draws prompts arm by arm: an arm is a category of prompts, or a prompt without one. What an arm
//! is worth is a formula of [`bandit`](super::bandit); rollouts are divided in
//! [`choose`](super::choose).

use std::collections::BTreeMap;

use assay_core::Visit;

use super::bandit::{self, Earnings};
use super::choose::{Candidate, reserved};
use super::settings::{Strategy, Suggest};
use super::shares::Shares;
use crate::group::{Grid, as_f64};

/// A category, or a prompt without one.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ArmName<'a> {
    Category(&'a str),
    Prompt(usize),
}

/// Prompts drawn arm by arm.
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
    let fresh: Vec<Vec<usize>> = arms
        .iter()
        .map(|arm| arm.iter().copied().filter(unvisited).collect())
        .collect();
    let mut drawn = draw(
        fresh,
        &values,
        settings.temperature,
        reserved(settings, count),
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

/// Value of each arm.
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
        // Visits without a step gather what came without one, and count as oldest.
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

/// Draws `count` prompts without putting any back: an arm by softmax of the values of those that
/// have prompts left, then one of its prompts, all alike. In O(n log n) of arms and prompts,
/// whatever their values ([`Shares`]).
fn draw(
    mut arms: Vec<Vec<usize>>,
    values: &[f64],
    temperature: f64,
    count: usize,
    random: &mut impl FnMut() -> f64,
) -> Vec<(usize, f64)> {
    let mut drawn = Vec::with_capacity(count);
    let mut shares = Shares::new(values, temperature);
    while drawn.len() < count
        && shares.renew(|arm| arms.get(arm).is_some_and(|prompts| !prompts.is_empty()))
    {
        let arm = shares.at(unit(random()));
        let Some(prompts) = arms.get_mut(arm).filter(|prompts| !prompts.is_empty()) else {
            shares.close(arm);
            continue;
        };
        let place = place(unit(random()), prompts.len());
        drawn.push((
            prompts.swap_remove(place),
            values.get(arm).copied().unwrap_or(0.0),
        ));
    }
    drawn
}

/// A random number held within its range, whatever was handed in.
fn unit(u: f64) -> f64 {
    if u.is_nan() { 0.0 } else { u.clamp(0.0, 1.0) }
}

/// Which of `n` places a number from 0 to 1 points at.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to n, and n is a length"
)]
fn place(u: f64, n: usize) -> usize {
    ((u * as_f64(n)) as usize).min(n.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_arms_are_drawn_first_and_none_twice() {
        // Shares by softmax at 0.1: 1 / (1 + e^-10) = 0.99995, so that u = 0.5 finds the first arm
        // until it is used up.
        let drawn = draw(vec![vec![4, 5], vec![6]], &[1.0, 0.0], 0.1, 9, &mut || 0.5);
        assert_eq!(
            drawn.iter().map(|(at, _)| *at).collect::<Vec<_>>(),
            [5, 4, 6]
        );
    }

    #[test]
    fn an_arm_sees_the_visits_of_its_prompts_in_the_order_of_steps() {
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
    fn prompts_of_one_step_earn_their_mean() {
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
    fn vanishing_shares_are_weighed_again() {
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
    fn very_many_arms_are_drawn_in_little_time() {
        // Looking at every arm for each prompt, or weighing all when the best is used up, would be
        // 10^10 steps.
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
            "two for each prompt and one for each arm that is used up: {numbers}"
        );
    }

    #[test]
    fn numbers_out_of_range_do_no_harm() {
        for u in [f64::NAN, f64::INFINITY, -3.0, 1.0] {
            assert_eq!(
                draw(vec![vec![7], vec![8]], &[0.0, 0.0], 0.1, 2, &mut || u).len(),
                2
            );
        }
    }
}
