//! An appeal of a verdict to a second verifier.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The appeal of an item: a second verifier graded it. Items are chosen at random with a known
/// probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = AppealBody)]
pub struct Appeal {
    /// Grader and version of the judge, which is the second verifier.
    #[schema(example = "math@1")]
    pub judge: String,
    /// Probability with which the item was selected for the appeal, in (0, 1].
    pub probability: f64,
    /// Verdict of the judge; null if it could not grade the item.
    pub verdict: Option<String>,
    /// Whether the judge's verdict is a pass; null if it could not grade the item.
    pub pass: Option<bool>,
    /// Score by the judge; null if it could not grade the item.
    pub score: Option<f64>,
    /// Whether judge and grader agree on whether the item passes.
    pub agreed: bool,
    /// Whether the judge's verdict takes precedence over the grader's verdict.
    pub binding: bool,
    /// Whether the judge's verdict overturned the grader's verdict.
    pub overturned: bool,
    /// Why the judge could not grade the item, or why its verdict was not used.
    pub reason: Option<String>,
    /// Share of right answers that the judge passes, as declared in the policy.
    pub sensitivity: f64,
    /// Share of wrong answers that the judge does not pass, as declared in the policy.
    pub specificity: f64,
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
