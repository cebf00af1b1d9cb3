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
    /// Whether this member's answer is the label; `None` without a label and for masked members.
    pub agrees: Option<bool>,
}
