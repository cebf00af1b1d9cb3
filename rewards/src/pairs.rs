//! Preference pairs of a right and a wrong completion of one prompt, chosen by how certain the
//! verdicts are.
//!
//! Whether a completion is right is inferred from all verdicts on it: the grader's, with the error
//! rates of its channel, and the judge's of an appeal, with the declared sensitivity and
//! specificity. Given the truth, the two are taken to be independent.

use crate::Rates;
use crate::group::posterior::{Grid, Prior};

/// The verdicts on one completion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdicts {
    /// Whether the grader passed it.
    pub pass: bool,
    /// Error rates of the grader's channel, if they are known.
    pub rates: Option<Rates>,
    /// Whether the judge of an appeal passed it, and the error rates of the judge.
    pub judge: Option<(bool, Rates)>,
    /// Whether it is right, according to an operator.
    pub adjudicated: Option<bool>,
}

/// What is known about a completion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Belief {
    /// Whether it is more likely right than wrong.
    pub right: bool,
    /// Probability that `right` is correct, in \[0.5, 1\]; `None` if no error rate is known, and
    /// `right` is the verdict as it is.
    pub certainty: Option<f64>,
}

/// Beliefs about the completions of one prompt, in their order.
#[must_use]
pub fn beliefs(completions: &[Verdicts]) -> Vec<Belief> {
    let shares = Shares::of(completions);
    completions
        .iter()
        .map(|verdicts| verdicts.belief(shares.without(verdicts)))
        .collect()
}

impl Verdicts {
    /// The verdict of the grader, or that of the judge, with its error rates.
    fn evidence(&self, of_judge: bool) -> Option<(bool, Rates)> {
        if of_judge {
            self.judge
        } else {
            self.rates.map(|rates| (self.pass, rates))
        }
    }

    /// The belief about a completion, where a share of the completions of its prompt is right.
    fn belief(&self, share: f64) -> Belief {
        if let Some(right) = self.adjudicated {
            return Belief {
                right,
                certainty: Some(1.0),
            };
        }
        let verdicts = self.rates.map(|rates| (self.pass, rates)).into_iter();
        let verdicts: Vec<(bool, Rates)> = verdicts.chain(self.judge).collect();
        let (right, wrong) =
            verdicts
                .iter()
                .fold((share, 1.0 - share), |(right, wrong), (pass, rates)| {
                    let (passes_right, passes_wrong) = (1.0 - rates.rho1, rates.rho0);
                    if *pass {
                        (right * passes_right, wrong * passes_wrong)
                    } else {
                        (right * (1.0 - passes_right), wrong * (1.0 - passes_wrong))
                    }
                });
        // The sum is 0 if verdicts without errors contradict each other.
        if verdicts.is_empty() || right + wrong <= 0.0 {
            return Belief {
                right: self.judge.map_or(self.pass, |(pass, _)| pass),
                certainty: None,
            };
        }
        let probability = right / (right + wrong);
        Belief {
            right: probability >= 0.5,
            certainty: Some(probability.max(1.0 - probability)),
        }
    }
}

/// The expected share of right completions of a prompt, in (0, 1): from the verdicts of the grader
/// if its error rates are known, else from those of judges.
struct Shares {
    of_judge: bool,
    /// The error rates of the verdicts that are counted: those of the first one.
    rates: Option<Rates>,
    all: f64,
    /// The share without one fail, and without one pass.
    without: [f64; 2],
}

impl Shares {
    fn of(completions: &[Verdicts]) -> Self {
        let of_judge = completions.iter().all(|verdicts| verdicts.rates.is_none());
        let evidence = || completions.iter().filter_map(|one| one.evidence(of_judge));
        let rates = evidence().next().map(|(_, rates)| rates);
        let Some(grid) = rates.and_then(Grid::new) else {
            return Self {
                of_judge,
                rates: None,
                all: 0.5,
                without: [0.5, 0.5],
            };
        };
        let (mut passes, mut fails) = (0.0, 0.0);
        for (pass, own) in evidence() {
            if Some(own) == rates {
                *(if pass { &mut passes } else { &mut fails }) += 1.0;
            }
        }
        let mean = |passes, fails| grid.posterior(Prior::UNIFORM, passes, fails).mean();
        Self {
            of_judge,
            rates,
            all: mean(passes, fails),
            without: [mean(passes, fails - 1.0), mean(passes - 1.0, fails)],
        }
    }

    /// The share that the verdicts on the other completions suggest, because the belief about a
    /// completion counts its own verdict already.
    fn without(&self, verdicts: &Verdicts) -> f64 {
        match verdicts.evidence(self.of_judge) {
            Some((pass, rates)) if Some(rates) == self.rates => self.without[usize::from(pass)],
            _ => self.all,
        }
    }
}

/// A pair, as indices of completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenPair {
    /// The right completion.
    pub accepted: usize,
    /// The wrong completion.
    pub rejected: usize,
}

/// Chooses at most `limit` pairs of a right and a wrong completion, each completion about equally
/// often. With a `min_certainty`, only completions that are at least as certain are used.
#[must_use]
pub fn choose(beliefs: &[Belief], min_certainty: Option<f64>, limit: usize) -> Vec<ChosenPair> {
    let is_certain = |belief: &Belief| {
        min_certainty.is_none_or(|min| belief.certainty.is_some_and(|certainty| certainty >= min))
    };
    let side = |right: bool| -> Vec<usize> {
        let of_side = |(_, belief): &(usize, &Belief)| belief.right == right && is_certain(belief);
        let found = beliefs.iter().enumerate().filter(of_side);
        found.map(|(index, _)| index).collect()
    };
    let (right, wrong) = (side(true), side(false));
    let both = right.len() * wrong.len();
    if both == 0 {
        return Vec::new();
    }
    // Both sides advance together; each time all offsets have been used, one side is shifted, so
    // that no pair occurs twice.
    let cycle = right.len() / gcd(right.len(), wrong.len()) * wrong.len();
    (0..both.min(limit))
        .map(|at| ChosenPair {
            accepted: right[at % right.len()],
            rejected: wrong[(at + at / cycle) % wrong.len()],
        })
        .collect()
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 {
        one
    } else {
        gcd(other, one % other)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn graded(pass: bool, rates: Option<Rates>) -> Verdicts {
        Verdicts {
            pass,
            rates,
            judge: None,
            adjudicated: None,
        }
    }

    fn belief(right: bool, certainty: Option<f64>) -> Belief {
        Belief { right, certainty }
    }

    #[test]
    fn certainty_follows_bayes_rule() {
        let rates = Rates::new(0.1, 0.3).unwrap();
        let share = 0.4;
        let pass = graded(true, Some(rates)).belief(share);
        let expected = 0.4 * 0.7 / (0.4 * 0.7 + 0.6 * 0.1);
        assert!(pass.right && (pass.certainty.unwrap() - expected).abs() < 1e-12);
        // A failed verdict and a judge that passes: both count.
        let judge = Rates::new(0.05, 0.05).unwrap();
        let appealed = Verdicts {
            judge: Some((true, judge)),
            ..graded(false, Some(rates))
        };
        let (right, wrong) = (0.4 * 0.3 * 0.95, 0.6 * 0.9 * 0.05);
        let found = appealed.belief(share);
        assert!(found.right && (found.certainty.unwrap() - right / (right + wrong)).abs() < 1e-12);
    }

    /// The expected values integrate over the share of right completions.
    #[test]
    fn a_verdict_counts_once() {
        let rates = Rates::new(0.2, 0.1).unwrap();
        for (passes, fails, right, wrong) in [
            (1, 1, 0.726, 0.839),
            (2, 1, 0.801, 0.785),
            (1, 3, 0.571, 0.932),
            (4, 4, 0.729, 0.884),
        ] {
            let mut completions = vec![graded(true, Some(rates)); passes];
            completions.extend(vec![graded(false, Some(rates)); fails]);
            let found = beliefs(&completions);
            let certainty = |index: usize| found[index].certainty.unwrap();
            assert!((certainty(0) - right).abs() < 2e-3, "{:?}", found[0]);
            assert!(
                (certainty(passes) - wrong).abs() < 2e-3,
                "{:?}",
                found[passes]
            );
        }
    }

    #[test]
    fn unknown_rates_keep_the_verdict_without_certainty() {
        let found = beliefs(&[graded(true, None), graded(false, None)]);
        assert_eq!(found, [belief(true, None), belief(false, None)]);
        let judged = Verdicts {
            judge: Some((true, Rates::CLEAN)),
            ..graded(false, None)
        };
        assert_eq!(beliefs(&[judged]), [belief(true, Some(1.0))]);
    }

    #[test]
    fn contradicting_verdicts_without_errors_have_no_certainty() {
        let contradiction = Verdicts {
            judge: Some((true, Rates::CLEAN)),
            ..graded(false, Some(Rates::CLEAN))
        };
        assert_eq!(beliefs(&[contradiction]), [belief(true, None)]);
    }

    #[test]
    fn operators_decide() {
        let decided = Verdicts {
            adjudicated: Some(false),
            ..graded(true, Some(Rates::CLEAN))
        };
        assert_eq!(beliefs(&[decided]), [belief(false, Some(1.0))]);
    }

    #[test]
    fn a_pass_of_a_noisy_grader_is_doubtful_on_a_hard_prompt() {
        let rates = Rates::new(0.2, 0.1).unwrap();
        let mut completions = vec![graded(false, Some(rates)); 30];
        completions[0].pass = true;
        let found = beliefs(&completions);
        assert!(!found[0].right, "{:?}", found[0]);
        assert!(choose(&found, Some(0.5), 8).is_empty());
    }

    #[test]
    fn uncertain_completions_are_not_paired() {
        let beliefs = [
            belief(true, Some(0.8)),
            belief(true, Some(0.95)),
            belief(false, None),
            belief(false, Some(0.9)),
        ];
        let only = ChosenPair {
            accepted: 1,
            rejected: 3,
        };
        assert_eq!(choose(&beliefs, Some(0.9), 8), [only]);
        assert_eq!(choose(&beliefs, None, 8).len(), 4);
    }

    proptest! {
        #[test]
        fn pairs_are_distinct_and_use_completions_evenly(
            right in 0usize..7, wrong in 0usize..7, limit in 0usize..60,
        ) {
            let beliefs: Vec<Belief> = std::iter::repeat_n(belief(true, None), right)
                .chain(std::iter::repeat_n(belief(false, None), wrong))
                .collect();
            let pairs = choose(&beliefs, None, limit);
            prop_assert_eq!(pairs.len(), limit.min(right * wrong));
            let distinct: BTreeSet<_> = pairs.iter().map(|p| (p.accepted, p.rejected)).collect();
            prop_assert_eq!(distinct.len(), pairs.len());
            let uses = |index: usize| pairs
                .iter()
                .filter(|pair| pair.accepted == index || pair.rejected == index)
                .count();
            for side in [0..right, right..right + wrong] {
                let counts: Vec<usize> = side.map(uses).collect();
                if let (Some(least), Some(most)) = (counts.iter().min(), counts.iter().max()) {
                    prop_assert!(most - least <= 1, "{:?}", counts);
                }
            }
        }
    }
}
