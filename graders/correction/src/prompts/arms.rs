//! Draws prompts arm by arm: an arm is a category of prompts, or a prompt without one. What an arm is worth is a formula of
//! [`bandit`](super::bandit); rollouts are divided in [`choose`](super::choose).

use std::collections::BTreeMap;

use assay_core::Visit;

use super::bandit::{self, Earnings};
use super::choose::{Candidate, reserved};
use super::settings::{Strategy, Suggest};
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
        names.entry(candidate.category.map_or(ArmName::Prompt(at), ArmName::Category)).or_default().push(at);
    }
    let arms: Vec<Vec<usize>> = names.into_values().collect();
    let values = arm_values(candidates, &arms, settings, grid);
    let unvisited = |at: &usize| candidates.get(*at).is_some_and(Candidate::is_unvisited);
    let fresh: Vec<Vec<usize>> = arms.iter().map(|arm| arm.iter().copied().filter(unvisited).collect()).collect();
    let mut drawn = draw(fresh, &values, settings.temperature, reserved(settings, count), random);
    let mut taken = vec![false; candidates.len()];
    for (at, _) in &drawn {
        if let Some(taken) = taken.get_mut(*at) {
            *taken = true;
        }
    }
    let rest = |arm: &Vec<usize>| arm.iter().copied().filter(|at| !taken.get(*at).copied().unwrap_or(true)).collect();
    let rest: Vec<Vec<usize>> = arms.iter().map(rest).collect();
    drawn.extend(draw(rest, &values, settings.temperature, count - drawn.len(), random));
    drawn
}

/// Value of each arm.
fn arm_values(candidates: &[Candidate<'_>], arms: &[Vec<usize>], settings: &Suggest, grid: &Grid) -> Vec<f64> {
    let visits = |arm: &[usize]| {
        let visits = arm.iter().filter_map(|at| candidates.get(*at)).flat_map(|candidate| candidate.visits);
        let mut visits: Vec<&Visit> = visits.filter(|visit| visit.judged > 0).collect();
        // Visits without a step gather what came without one, and count as oldest.
        visits.sort_by_key(|visit| visit.step);
        visits
    };
    let mut earnings = Earnings::default();
    let mut sum = |visits: &[&Visit]| visits.iter().map(|visit| earnings.of(grid, visit)).sum::<f64>();
    let rollouts = |visits: &[&Visit]| visits.iter().map(|visit| f64::from(visit.judged)).sum::<f64>();
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
        let mean = if last.is_empty() { bandit::UNVISITED } else { sum(last) / as_f64(last.len()) };
        bandit::dump(mean, rollouts(visits), all)
    };
    visited.iter().map(&mut of_arm).collect()
}

/// Draws `count` prompts without putting any back: an arm by softmax of the values of those that have prompts left, then one of
/// its prompts, all alike.
fn draw(
    mut arms: Vec<Vec<usize>>,
    values: &[f64],
    temperature: f64,
    count: usize,
    random: &mut impl FnMut() -> f64,
) -> Vec<(usize, f64)> {
    let mut drawn = Vec::with_capacity(count);
    let weigh = |arms: &[Vec<usize>]| {
        let open = arms.iter().zip(values).map(|(arm, value)| if arm.is_empty() { f64::NEG_INFINITY } else { *value });
        let open: Vec<f64> = open.collect();
        if arms.iter().all(Vec::is_empty) { Vec::new() } else { bandit::softmax(&open, temperature) }
    };
    let mut shares = weigh(&arms);
    while drawn.len() < count {
        let total: f64 = shares.iter().sum();
        // The arms left may be so unlikely that their shares have vanished beside the ones that are used up.
        if total <= 1e-200 {
            shares = weigh(&arms);
            if shares.is_empty() {
                break;
            }
            continue;
        }
        let mut left = unit(random()) * total;
        let mut pick = None;
        for (arm, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            pick = Some(arm);
            left -= share;
            if left < 0.0 {
                break;
            }
        }
        let Some(arm) = pick else { break };
        let (Some(prompts), Some(share)) = (arms.get_mut(arm), shares.get_mut(arm)) else { break };
        if prompts.is_empty() {
            *share = 0.0;
            continue;
        }
        let place = place(unit(random()), prompts.len());
        drawn.push((prompts.swap_remove(place), values.get(arm).copied().unwrap_or(0.0)));
        if prompts.is_empty() {
            *share = 0.0;
        }
    }
    drawn
}

/// A random number held within its range, whatever was handed in.
fn unit(u: f64) -> f64 {
    if u.is_nan() { 0.0 } else { u.clamp(0.0, 1.0) }
}

/// Which of `n` places a number from 0 to 1 points at.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to n, and n is a length")]
fn place(u: f64, n: usize) -> usize {
    ((u * as_f64(n)) as usize).min(n.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_arms_are_drawn_first_and_none_twice() {
        // Shares by softmax at 0.1: 1 / (1 + e^-10) = 0.99995, so that u = 0.5 finds the first arm until it is used up.
        let drawn = draw(vec![vec![4, 5], vec![6]], &[1.0, 0.0], 0.1, 9, &mut || 0.5);
        assert_eq!(drawn.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [5, 4, 6]);
    }

    #[test]
    fn vanishing_shares_are_weighed_again() {
        let drawn = draw(vec![vec![0], vec![1], vec![2]], &[1e6, 0.0, -1e6], 0.001, 3, &mut || 0.99);
        assert_eq!(drawn.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(draw(vec![vec![]], &[0.0], 0.1, 1, &mut || 0.5).is_empty());
    }

    #[test]
    fn numbers_out_of_range_do_no_harm() {
        for u in [f64::NAN, f64::INFINITY, -3.0, 1.0] {
            assert_eq!(draw(vec![vec![7], vec![8]], &[0.0, 0.0], 0.1, 2, &mut || u).len(), 2);
        }
    }
}
