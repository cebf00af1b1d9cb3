//! The label of a group by consensus.

use std::sync::Arc;

use serde::Serialize;

/// The label of a group, and whether a member agrees with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Label {
    /// The label; `None` if the share or the margin is too small, or if no member has an answer.
    pub answer: Option<Arc<str>>,
    /// Share of the votes for the first answer, in \[0, 1\].
    pub share: f64,
    /// Difference between the shares of the first and the second answer, in \[0, 1\].
    pub margin: f64,
    /// Probability that another answer is more probable, in \[0, 1\], by the votes
    /// ([`Vote::error`](crate::votes::Vote::error)); 1 if no member has an answer.
    pub error: f64,
    /// Number of votes, including those for no answer.
    pub votes: usize,
    /// Whether this member's answer is the label; `None` without a label and for masked members.
    pub agrees: Option<bool>,
    /// Whether the label is right by the golds of members; `None` without a label or a gold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<bool>,
    /// Whether this member passes its gold; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gold: Option<bool>,
}
