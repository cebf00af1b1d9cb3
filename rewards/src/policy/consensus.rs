//! Pseudo-labels from the agreement of a group, for tasks without a gold answer. It abstains if the
//! agreement is too small, because labels of medium agreement mislead training most.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::line::Line;
use super::section::{Section, as_f64};
use super::validate;
use super::validate::ValidationResult;

/// How the label is determined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consensus {
    /// [`majority`].
    Ttrl(Abstention),
    /// [`weighted_by_consistency`].
    Rlccf(Abstention),
}

/// When to abstain. A tie never yields a label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Abstention {
    /// Minimum share of the votes, in \[0, 1\].
    #[serde(default = "half")]
    pub share: f64,
    /// Minimum difference between the shares of the first and the second answer, in \[0, 1\].
    #[serde(default = "tenth")]
    pub margin: f64,
}

fn half() -> f64 {
    0.5
}

fn tenth() -> f64 {
    0.1
}

/// The answer with the most votes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Vote<'a> {
    /// The answer; in a tie, the first in the order of text.
    pub answer: &'a str,
    /// Share of all votes, including those without an answer, in \[0, 1\].
    pub share: f64,
    /// Difference to the share of the second answer, in \[0, 1\]; 0 in a tie.
    pub margin: f64,
}

/// The vote of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ballot<'a> {
    /// Canonical answer; `None` counts as a vote for no answer.
    pub answer: Option<&'a str>,
    /// Model that generated the member; members without one count as one model.
    pub model: Option<&'a str>,
}

/// The most frequent answer (TTRL, arXiv 2504.16084). `None` if no member has an answer.
#[must_use]
pub fn majority<'a>(ballots: &[Ballot<'a>]) -> Option<Vote<'a>> {
    count(ballots, |_| 1.0)
}

/// RLCCF (arXiv 2508.12338): argmax over answers a of sum_n sum_k SC_n 1\[a = o_nk\], where o_nk is
/// the k-th answer of model n and SC_n the share of its most frequent answer. `None` if no member
/// has an answer.
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
            as_f64(answers.values().copied().max().unwrap_or(0)) / as_f64(*n)
        })
    };
    count(ballots, |ballot| consistency(ballot.model))
}

fn count<'a>(ballots: &[Ballot<'a>], weight: impl Fn(&Ballot<'a>) -> f64) -> Option<Vote<'a>> {
    let mut votes: BTreeMap<&str, f64> = BTreeMap::new();
    let mut total = 0.0;
    for ballot in ballots {
        let weight = weight(ballot);
        total += weight;
        if let Some(answer) = ballot.answer {
            *votes.entry(answer).or_default() += weight;
        }
    }
    let (mut first, mut second): (Option<(&str, f64)>, f64) = (None, 0.0);
    for (answer, votes) in votes {
        match first {
            Some((_, most)) if votes <= most => second = second.max(votes),
            previous => {
                second = previous.map_or(0.0, |(_, most)| most);
                first = Some((answer, votes));
            }
        }
    }
    let (answer, most) = first?;
    (total > 0.0).then(|| Vote {
        answer,
        share: most / total,
        margin: (most - second) / total,
    })
}

/// Shares closer than this are a tie, because sums of weights depend on their order.
const TIE: f64 = 1e-9;

impl Consensus {
    /// The function's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ttrl(_) => "ttrl",
            Self::Rlccf(_) => "rlccf",
        }
    }

    fn abstention(&self) -> &Abstention {
        match self {
            Self::Ttrl(of) | Self::Rlccf(of) => of,
        }
    }

    /// The answer with the most votes, and whether its share and margin suffice for a label.
    #[must_use]
    pub fn vote<'a>(&self, ballots: &[Ballot<'a>]) -> Option<(Vote<'a>, bool)> {
        let vote = match self {
            Self::Ttrl(_) => majority(ballots),
            Self::Rlccf(_) => weighted_by_consistency(ballots),
        }?;
        let Abstention { share, margin } = self.abstention();
        let clear = vote.share >= share - TIE && vote.margin >= margin - TIE && vote.margin > TIE;
        Some((vote, clear))
    }
}

impl Section for Consensus {
    fn check(&self) -> ValidationResult {
        let Abstention { share, margin } = self.abstention();
        validate::check_range("share", *share, 0.0, 1.0)
            .and_then(|()| validate::check_range("margin", *margin, 0.0, 1.0))
            .map_err(|error| error.under(self.name()))
    }

    fn explain(&self) -> Vec<Line> {
        let Abstention { share, margin } = self.abstention();
        let votes = match self {
            Self::Ttrl(_) => "the most frequent answer",
            Self::Rlccf(_) => {
                "the answer with the most votes, weighted by the self-consistency of the models"
            }
        };
        let formula = format!(
            "R = 1[answer = label], label = {votes}, if its share >= {share} and margin >= \
             {margin}"
        );
        let meaning = "agreement of the group instead of a gold answer; no reward without a clear \
                       label";
        vec![Line::new(self.name(), self.name(), formula, meaning)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ballots<'a>(answers: &[(&'a str, &'a str)]) -> Vec<Ballot<'a>> {
        let ballot = |(model, answer): &(&'a str, &'a str)| Ballot {
            answer: (!answer.is_empty()).then_some(*answer),
            model: Some(*model),
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
        assert_eq!(vote.answer, "4");
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
    fn abstains_if_share_or_margin_is_too_small() {
        let of = |share, margin| Consensus::Ttrl(Abstention { share, margin });
        let clear = |consensus: Consensus, answers: &[(&str, &str)]| {
            consensus.vote(&ballots(answers)).unwrap().1
        };
        let close = [("", "4"), ("", "4"), ("", "4"), ("", "5"), ("", "5")];
        assert!(clear(of(0.5, 0.2), &close), "0.6 and 0.4");
        assert!(!clear(of(0.5, 0.25), &close), "the margin is small");
        assert!(!clear(of(0.7, 0.0), &close), "the share is small");
        assert!(!clear(of(0.0, 0.0), &close[1..]), "a tie yields no label");
    }
}
