//! What a judge thinks of a completion: its answers to one or both orders of a pair, or to a single
//! completion.

use std::sync::Arc;

use crate::answer::Answer;
use crate::judge::Judge;
use crate::settings::ReplyForm;

/// The answer of a judge to one order of a pair, or to a single completion.
pub(crate) struct Ballot {
    pub(crate) answer: Answer,
    /// Whether the completion was the first of a pair.
    pub(crate) as_first: bool,
    pub(crate) score: f64,
}

/// What one judge thinks of a completion.
pub(crate) struct Opinion {
    pub(crate) judge: Arc<Judge>,
    /// One, or two of a pair that was judged in both orders.
    pub(crate) ballots: Vec<Ballot>,
}

impl Opinion {
    pub(crate) fn score(&self) -> f64 {
        let sum: f64 = self.ballots.iter().map(|ballot| ballot.score).sum();
        sum / self.ballots.len() as f64
    }

    /// Whether the judge prefers another completion in the other order; `None` for one order.
    pub(crate) fn order_changed(&self) -> Option<bool> {
        match self.ballots.as_slice() {
            [one, other] => Some(one.score != other.score),
            _ => None,
        }
    }

    /// Whether the judge compares pairs.
    pub(crate) fn compares(&self) -> bool {
        self.judge.reader.form == ReplyForm::Pairwise
    }
}
