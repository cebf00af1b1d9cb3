//! Votes of a group on its answer, and the probability that the label is wrong. Whether a label is
//! used is decided by a policy.

use std::collections::BTreeMap;

use crate::Rates;
use crate::interval::{Estimate, SHARES, error_rate};

/// The vote of a member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ballot<'a> {
    /// Answer in normal form; `None` counts as a vote for no answer.
    pub answer: Option<&'a str>,
    /// Model that generated the member; members without one count as one model.
    pub model: Option<&'a str>,
    /// Weight, finite and at least 0.
    pub weight: f64,
}

/// The answer with the most votes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vote<'a> {
    /// The answer; in a tie, the first in the order of text.
    pub answer: &'a str,
    /// Number of ballots, including those without an answer.
    pub ballots: usize,
    /// Share of all votes, including those without an answer, in \[0, 1\].
    pub share: f64,
    /// Difference to the share of the second answer, in \[0, 1\]; 0 in a tie.
    pub margin: f64,
    /// Probability that another answer is more probable, in \[0, 1\]; see [`Vote::error`].
    pub error: f64,
}

/// The most frequent answer (TTRL, arXiv 2504.16084), by weight. `None` if no member has an answer
/// and a weight above 0. The result does not depend on the order of the ballots.
#[must_use]
pub fn majority<'a>(ballots: &[Ballot<'a>]) -> Option<Vote<'a>> {
    count(ballots, |ballot| ballot.weight)
}

/// RLCCF (arXiv 2508.12338): argmax over answers a of sum_n sum_k SC_n 1\[a = o_nk\], where o_nk is
/// the k-th answer of model n and SC_n the share of its most frequent answer. Each vote is also
/// multiplied by its weight. `None` as for [`majority`].
#[must_use]
pub fn weighted_by_consistency<'a>(ballots: &[Ballot<'a>]) -> Option<Vote<'a>> {
    let mut models: BTreeMap<Option<&str>, (usize, BTreeMap<&str, usize>)> = BTreeMap::new();
    for ballot in ballots {
        let (n, answers) = models.entry(ballot.model).or_default();
        *n += 1;
        if let Some(answer) = ballot.answer {
            *answers.entry(answer).or_default() += 1;
        }
    }
    let consistency = |model: Option<&str>| {
        models.get(&model).map_or(0.0, |(n, answers)| {
            answers.values().copied().max().unwrap_or(0) as f64 / *n as f64
        })
    };
    count(ballots, |ballot| ballot.weight * consistency(ballot.model))
}

/// Most answers other than the first that count towards the error one by one. Later ones have few
/// votes each, and count as often as the last of these.
const MAX_OTHERS: usize = 64;

fn count<'a>(ballots: &[Ballot<'a>], weight: impl Fn(&Ballot<'a>) -> f64) -> Option<Vote<'a>> {
    let most = ballots.iter().map(&weight).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let mut votes: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut all = Vec::with_capacity(ballots.len());
    for ballot in ballots {
        // Relative to the largest weight, so that squares neither overflow nor vanish.
        let weight = weight(ballot) / most;
        all.push(weight);
        if let Some(answer) = ballot.answer {
            votes.entry(answer).or_default().push(weight);
        }
    }
    let squares = sum(all.iter().map(|weight| weight * weight).collect());
    let total = sum(all);
    let mut votes: Vec<(&str, f64)> = (votes.into_iter())
        .map(|(answer, weights)| (answer, sum(weights)))
        .collect();
    // Stable, so that answers with equal votes stay in the order of text.
    votes.sort_by(|(_, x), (_, y)| y.total_cmp(x));
    let (answer, most) = *votes.first()?;
    let second = votes.get(1).map_or(0.0, |(_, votes)| *votes);
    // Votes of unequal weights count as fewer of equal weight (Kish 1965).
    let effective = total / squares;
    let number = |votes: f64| (votes * effective).round() as u64;
    let others = votes.iter().skip(1).map(|(_, votes)| number(*votes));
    (most > 0.0).then(|| Vote {
        answer,
        ballots: ballots.len(),
        share: most / total,
        margin: (most - second) / total,
        error: error(number(most), others),
    })
}

/// The sum of numbers in ascending order, so that it does not depend on the order of a group.
fn sum(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.iter().sum()
}

/// Probability that an answer with `votes` votes is not the most probable one: the sum over the
/// others of [`is_less_probable`] (union bound), one answer without votes included, at most 1.
/// `others` are in descending order.
fn error(votes: u64, others: impl Iterator<Item = u64>) -> f64 {
    let others: Vec<u64> = others.collect();
    let near = others.iter().take(MAX_OTHERS);
    let beyond = others.len().saturating_sub(MAX_OTHERS) as f64;
    let each: f64 = near.map(|other| is_less_probable(votes, *other)).sum();
    let last = others
        .get(MAX_OTHERS)
        .map_or(0.0, |other| is_less_probable(votes, *other));
    (each + beyond * last + is_less_probable(votes, 0)).min(1.0)
}

/// Posterior probability that an answer with k votes is less probable than one with l votes, from a
/// uniform prior of the share of the first among the two (Bayes 1763): P(Beta(k + 1, l + 1) < 1/2)
/// = P(Bin(k + l + 1, 1/2) <= l).
fn is_less_probable(k: u64, l: u64) -> f64 {
    let n = (k + l + 1) as f64;
    let mut log = -n * std::f64::consts::LN_2;
    let mut probability = 0.0;
    for i in 0..=l {
        probability += log.exp();
        log += ((n - i as f64) / (i as f64 + 1.0)).ln();
    }
    f64::min(probability, 1.0)
}

impl Vote<'_> {
    /// Error rates of agreement with the label as a verdict, from the votes alone (own derivation).
    ///
    /// With probability e, [`Vote::error`], the label is wrong, and then the second answer is taken
    /// to be right. With the shares s and t of the two answers, (1 - e) s + e t of the answers are
    /// right, of which e t do not agree; the others are wrong, of which e s agree:
    /// rho1 = e t / ((1 - e) s + e t), rho0 = e s / (1 - (1 - e) s - e t).
    ///
    /// e is the probability that the group gives another answer than the model gives most often.
    /// A model that is mostly wrong about a prompt is not counted, so that the rates are lower
    /// bounds; [`mistaken`] measures the rest.
    #[must_use]
    pub fn rates(&self) -> Rates {
        let (e, s) = (self.error, self.share);
        let t = (s - self.margin).max(0.0);
        let right = (1.0 - e) * s + e * t;
        let ratio = |part: f64, whole: f64| {
            if whole > 0.0 {
                (part / whole).clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        Rates {
            rho0: ratio(e * s, 1.0 - right),
            rho1: ratio(e * t, right),
        }
    }
}

/// Share of the prompts whose most probable answer is wrong, in \[0, 1\], with its 95 % interval:
/// of `checked` labels with a gold, `wrong` are wrong, and their mean [`Vote::error`] is `error`.
/// A label is wrong if its group gave another answer than the most probable one, or if that one is
/// wrong: w = e + (1 - e) d, so d = (w - e) / (1 - e) (own derivation). `None` without a check.
#[must_use]
pub fn mistaken(wrong: u64, checked: u64, error: f64) -> Option<Estimate> {
    let found = error_rate(wrong as f64, checked as f64)?;
    let rest = (1.0 - error).max(f64::MIN_POSITIVE);
    let map = |[wrong]: [f64; 1]| ((wrong - error) / rest).clamp(0.0, 1.0);
    Some(Estimate::combine([found], SHARES, map))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ballots<'a>(answers: &[(&'a str, &'a str)]) -> Vec<Ballot<'a>> {
        let ballot = |(model, answer): &(&'a str, &'a str)| Ballot {
            answer: (!answer.is_empty()).then_some(*answer),
            model: Some(*model),
            weight: 1.0,
        };
        answers.iter().map(ballot).collect()
    }

    #[test]
    fn majority_is_the_most_frequent_answer() {
        // 3 of 6 votes, the second has 2.
        let vote = majority(&ballots(&[
            ("a", "4"),
            ("a", "5"),
            ("a", "4"),
            ("a", ""),
            ("a", "4"),
            ("a", "5"),
        ]))
        .unwrap();
        assert_eq!((vote.answer, vote.ballots), ("4", 6));
        assert!((vote.share - 0.5).abs() < 1e-12 && (vote.margin - 1.0 / 6.0).abs() < 1e-12);
        assert_eq!(majority(&ballots(&[("a", "")])), None);
        assert_eq!(majority(&[]), None);
    }

    #[test]
    fn votes_are_weighted_by_self_consistency() {
        // Model a answers 7 four times of four (SC 1): weight 4. Model b answers 1, 2, 3, 9, 9 (SC
        // 2/5): 9 has 2 * 0.4 = 0.8. Total 4 + 5 * 0.4 = 6.
        let of = [
            ("a", "7"),
            ("a", "7"),
            ("a", "7"),
            ("a", "7"),
            ("b", "1"),
            ("b", "2"),
            ("b", "3"),
            ("b", "9"),
            ("b", "9"),
        ];
        let vote = weighted_by_consistency(&ballots(&of)).unwrap();
        assert_eq!(vote.answer, "7");
        assert!((vote.share - 4.0 / 6.0).abs() < 1e-12 && (vote.margin - 3.2 / 6.0).abs() < 1e-12);
        // By number, 9 has the most votes; weighted by self-consistency, 7 has.
        let of = [
            ("a", "7"),
            ("a", "7"),
            ("b", "9"),
            ("b", "1"),
            ("b", "2"),
            ("c", "9"),
            ("c", "3"),
            ("c", "4"),
            ("d", "9"),
        ];
        assert_eq!(majority(&ballots(&of)).unwrap().answer, "9");
        // 7: 2; 9: 1/3 + 1/3 + 1 = 5/3.
        assert_eq!(weighted_by_consistency(&ballots(&of)).unwrap().answer, "7");
    }

    #[test]
    fn weights_outvote_numbers() {
        let mut of = ballots(&[("", "4"), ("", "4"), ("", "5")]);
        of[2].weight = 3.0;
        let vote = majority(&of).unwrap();
        assert_eq!(vote.answer, "5");
        assert!((vote.share - 0.6).abs() < 1e-12 && (vote.margin - 0.2).abs() < 1e-12);
        for ballot in &mut of {
            ballot.weight = 0.0;
        }
        assert_eq!(majority(&of), None, "no weight, no label");
    }

    #[test]
    fn the_error_follows_from_the_votes() {
        // Python: sum(comb(n, i) for i in range(l + 1)) / 2 ** n with n = k + l + 1.
        for (k, l, expected) in [
            (1, 0, 0.25),
            (3, 0, 0.0625),
            (4, 3, 0.363_281_25),
            (2, 2, 0.5),
        ] {
            assert!((is_less_probable(k, l) - expected).abs() < 1e-12, "{k} {l}");
        }
        // 4 against 3 and 1, and one without votes: 0.363281 + P(Bin(6, 1/2) <= 1) + 2^-5.
        let found = error(4, [3, 1].into_iter());
        assert!((found - (0.363_281_25 + 7.0 / 64.0 + 0.031_25)).abs() < 1e-12);
        assert!(error(2, [2, 2].into_iter()) > 0.99);
        assert!(is_less_probable(4_000, 10) < 1e-12);
    }

    #[test]
    fn rates_follow_from_error_and_shares() {
        let vote = Vote {
            answer: "4",
            ballots: 10,
            share: 0.5,
            margin: 0.2,
            error: 0.1,
        };
        // Right: 0.9 * 0.5 + 0.1 * 0.3 = 0.48, of which 0.03 disagree; 0.05 of the others agree.
        let rates = vote.rates();
        assert!((rates.rho1 - 0.03 / 0.48).abs() < 1e-12);
        assert!((rates.rho0 - 0.05 / 0.52).abs() < 1e-12);
        let unanimous = Vote {
            share: 1.0,
            margin: 1.0,
            ..vote
        };
        assert!(unanimous.rates().j() < 1e-12, "agreement says nothing");
    }

    #[test]
    fn golds_show_how_often_the_most_probable_answer_is_wrong() {
        // (0.28 - 0.1) / 0.9
        let share = mistaken(28, 100, 0.1).unwrap();
        assert!((share.value - 0.2).abs() < 1e-12);
        assert!(
            share.interval.low > 0.1 && share.interval.high < 0.31,
            "{share:?}"
        );
        assert!(mistaken(1, 100, 0.1).unwrap().value.abs() < 1e-12);
        assert_eq!(mistaken(0, 0, 0.1), None);
    }

    proptest! {
        #[test]
        fn votes_do_not_depend_on_the_order(
            mut of in prop::collection::vec(
                (prop::sample::select(vec!["a", "b", "c"]), 0.0..1.0f64),
                1..40,
            ),
            turn in 0usize..40,
        ) {
            fn vote<'a>(of: &[(&'a str, f64)]) -> [Option<Vote<'a>>; 2] {
                let ballot = |(answer, weight): &(&'a str, f64)| Ballot {
                    answer: Some(*answer),
                    model: Some(*answer),
                    weight: *weight,
                };
                let ballots: Vec<_> = of.iter().map(ballot).collect();
                [majority(&ballots), weighted_by_consistency(&ballots)]
            }
            let first = vote(&of);
            for vote in first.iter().flatten() {
                prop_assert!((0.0..=1.0).contains(&vote.error) && vote.margin <= vote.share);
                let rates = vote.rates();
                prop_assert!(Rates::new(rates.rho0, rates.rho1).is_some());
            }
            let turn = turn % of.len();
            of.rotate_left(turn);
            prop_assert_eq!(vote(&of), first);
        }
    }
}
