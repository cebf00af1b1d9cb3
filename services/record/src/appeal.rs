//! An appeal of a verdict to a second verifier.

use serde::{Deserialize, Serialize};

/// The appeal of an item: a second verifier graded it. Items are chosen at random with a known
/// probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Appeal {
    /// The judge: grader and version, as in `math@1`.
    pub judge: String,
    /// Share of right answers that the judge passes, as declared in the policy.
    pub sensitivity: f64,
    /// Share of wrong answers that the judge does not pass, as declared in the policy.
    pub specificity: f64,
    /// Probability that the item was chosen, in (0, 1].
    pub probability: f64,
    /// Verdict of the judge; `None` if it could not grade the item.
    pub verdict: Option<String>,
    /// Whether the verdict of the judge is a pass.
    pub pass: Option<bool>,
    /// Whether judge and grader agree on whether the item passes.
    pub agreed: bool,
    /// Score of the judge.
    pub score: Option<f64>,
    /// Whether the verdict of the judge replaces that of the grader if they differ.
    pub binding: bool,
    /// Whether it replaced the verdict of the grader.
    pub overturned: bool,
    /// Why the judge could not grade the item, or why its verdict was not used.
    pub reason: Option<String>,
}

impl Appeal {
    /// All results, as [`Appeal::as_str`] returns them.
    pub const RESULTS: [&str; 4] = ["overturned", "upheld", "disagreed", "unjudged"];

    /// Whether an item passes after its appeal. `pass` is the result of the grader.
    #[must_use]
    pub fn settled(appeal: Option<&Self>, pass: Option<bool>) -> Option<bool> {
        let overturned = appeal.is_some_and(|appeal| appeal.overturned);
        pass.map(|pass| pass != overturned)
    }

    /// The result of the appeal: `overturned`, `upheld`, `disagreed` (the verdict of the judge was
    /// not used) or `unjudged`.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match (self.pass, self.overturned) {
            (None, _) => "unjudged",
            (Some(_), true) => "overturned",
            (Some(_), false) if self.agreed => "upheld",
            (Some(_), false) => "disagreed",
        }
    }
}
