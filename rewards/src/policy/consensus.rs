//! Pseudo-labels from the agreement of a group, for tasks without a gold answer. It abstains if the
//! agreement is too small, because labels of medium agreement mislead training most.

use serde::{Deserialize, Serialize};

use super::Sample;
use super::line::Line;
use super::section::{RequiredInputs, Section};
use super::validate;
use super::validate::ValidationResult;
use crate::votes::{Ballot, Vote, majority, weighted_by_consistency};

/// How the label is determined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consensus {
    /// [`majority`].
    Ttrl(Labels),
    /// [`weighted_by_consistency`].
    Rlccf(Labels),
}

/// Which votes count, and when to abstain. A tie never yields a label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// Minimum share of the votes, in \[0, 1\].
    #[serde(default = "half")]
    pub share: f64,
    /// Minimum difference between the shares of the first and the second answer, in \[0, 1\].
    #[serde(default = "tenth")]
    pub margin: f64,
    /// Minimum number of graded members, from 1 to 4,096. A group of which most items failed has no
    /// label.
    #[serde(default = "three")]
    pub votes: u32,
    /// Maximum estimated probability that the label is not the most probable answer, in \[0, 1\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Measure that is the weight of a vote, such as the confidence of the model; below 0 counts as
    /// 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
    /// Check that compares with a gold. Items that have it show whether the label is right; it does
    /// not change rewards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold: Option<String>,
}

fn half() -> f64 {
    0.5
}

fn tenth() -> f64 {
    0.1
}

fn three() -> u32 {
    3
}

/// Most votes that a policy may require.
const MAX_VOTES: u32 = 4_096;

/// Shares closer than this are a tie, because sums of weights are rounded.
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

    /// The settings of its labels.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        match self {
            Self::Ttrl(of) | Self::Rlccf(of) => of,
        }
    }

    /// The vote of a graded member. A completion that was truncated votes for no answer: the last
    /// number in its text need not be its answer.
    #[must_use]
    pub fn ballot<'a>(&self, item: &Sample<'a>) -> Ballot<'a> {
        let confidence = self.labels().confidence.as_deref();
        let weight = confidence.map_or(1.0, |name| item.measure(name).unwrap_or(0.0));
        Ballot {
            answer: item.answer.filter(|_| !item.truncated),
            model: item.model,
            weight: weight.max(0.0),
        }
    }

    /// The answer with the most votes, and whether they suffice for a label.
    #[must_use]
    pub fn vote<'a>(&self, ballots: &[Ballot<'a>]) -> Option<(Vote<'a>, bool)> {
        let vote = match self {
            Self::Ttrl(_) => majority(ballots),
            Self::Rlccf(_) => weighted_by_consistency(ballots),
        }?;
        let labels = self.labels();
        let clear = vote.share >= labels.share - TIE
            && vote.margin >= labels.margin - TIE
            && vote.margin > TIE
            && vote.ballots >= labels.votes as usize
            && labels.error.is_none_or(|most| vote.error <= most);
        Some((vote, clear))
    }

    /// Whether the label is right, by the items that agree with it and have a gold; `None` without
    /// any. More than half of them must pass.
    #[must_use]
    pub fn is_right<'a>(
        &self,
        label: &str,
        items: impl Iterator<Item = &'a Sample<'a>>,
    ) -> Option<bool> {
        let agreeing = items.filter(|item| item.answer == Some(label));
        let golds: Vec<bool> = agreeing.filter_map(|item| self.gold(item)).collect();
        let passed = golds.iter().filter(|passed| **passed).count();
        (!golds.is_empty()).then_some(2 * passed > golds.len())
    }

    /// Whether an item passes its gold; `None` for an item without one.
    #[must_use]
    pub fn gold(&self, item: &Sample<'_>) -> Option<bool> {
        item.part(self.labels().gold.as_deref()?)?.met(None)
    }
}

impl Section for Consensus {
    fn check(&self) -> ValidationResult {
        let labels = self.labels();
        let share = |name: &str, value: f64| validate::check_range(name, value, 0.0, 1.0);
        let name = |field: &str, name: &Option<String>| match name {
            Some(name) => validate::check_part(field, name),
            None => Ok(()),
        };
        share("share", labels.share)
            .and_then(|()| share("margin", labels.margin))
            .and_then(|()| {
                validate::check_range("votes", labels.votes.into(), 1.0, MAX_VOTES.into())
            })
            .and_then(|()| share("error", labels.error.unwrap_or(1.0)))
            .and_then(|()| name("confidence", &labels.confidence))
            .and_then(|()| name("gold", &labels.gold))
            .map_err(|error| error.under(self.name()))
    }

    fn required_inputs<'p>(&'p self, inputs: &mut RequiredInputs<'p>) {
        if let Some(confidence) = &self.labels().confidence {
            inputs.measure(confidence);
        }
    }

    fn explain(&self) -> Vec<Line> {
        let labels = self.labels();
        let (share, margin, votes) = (labels.share, labels.margin, labels.votes);
        let most = match self {
            Self::Ttrl(_) => "the most frequent answer",
            Self::Rlccf(_) => {
                "the answer with the most votes, weighted by the self-consistency of the models"
            }
        };
        let error = labels.error.map_or(String::new(), |error| {
            format!(", estimated error <= {error}")
        });
        let formula = format!(
            "R = 1[answer = label], label = {most}, if its share >= {share}, margin >= {margin}, \
             votes >= {votes}{error}"
        );
        let meaning = "agreement of the group instead of a gold answer; no reward without a clear \
                       label";
        let mut lines = vec![Line::new(self.name(), self.name(), formula, meaning)];
        let mut line = |field, formula: String, meaning: &str| {
            lines.push(Line::new(
                &format!("{}.{field}", self.name()),
                self.name(),
                formula,
                meaning,
            ));
        };
        if let Some(confidence) = &labels.confidence {
            line(
                "confidence",
                format!("weight of a vote = max({confidence}, 0)"),
                "an item without the measure gets no reward",
            );
        }
        if let Some(gold) = &labels.gold {
            line(
                "gold",
                format!("the label is right if most agreeing items with `{gold}` pass it"),
                "checks labels; does not change rewards",
            );
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        Labels {
            share: 0.0,
            margin: 0.0,
            votes: 1,
            error: None,
            confidence: None,
            gold: None,
        }
    }

    fn clear(labels: Labels, answers: &[&str]) -> bool {
        let consensus = Consensus::Ttrl(labels);
        fn ballot<'a>(answer: &&'a str) -> Ballot<'a> {
            Ballot {
                answer: Some(*answer),
                model: None,
                weight: 1.0,
            }
        }
        let ballots: Vec<Ballot<'_>> = answers.iter().map(ballot).collect();
        consensus.vote(&ballots).unwrap().1
    }

    #[test]
    fn abstains_below_share_margin_votes_and_above_the_error() {
        let close = ["4", "4", "4", "5", "5"];
        let of = |share, margin| Labels {
            share,
            margin,
            ..labels()
        };
        assert!(clear(of(0.5, 0.2), &close), "0.6 and 0.4");
        assert!(!clear(of(0.5, 0.25), &close), "the margin is small");
        assert!(!clear(of(0.7, 0.0), &close), "the share is small");
        assert!(!clear(labels(), &close[1..]), "a tie yields no label");
        let votes = |votes| Labels { votes, ..labels() };
        assert!(clear(votes(5), &close) && !clear(votes(6), &close));
        // P(Bin(6, 1/2) <= 2) + 2^-4 = 0.40625
        let error = |error| Labels {
            error: Some(error),
            ..labels()
        };
        assert!(clear(error(0.41), &close) && !clear(error(0.4), &close));
    }

    #[test]
    fn truncated_completions_vote_for_no_answer() {
        let consensus = Consensus::Ttrl(labels());
        let item = Sample {
            answer: Some("4"),
            truncated: true,
            ..Sample::default()
        };
        assert_eq!(consensus.ballot(&item).answer, None);
    }
}
