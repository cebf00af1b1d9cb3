//! Comparisons of expected and actual values, with their differences marked. The page also shows
//! the complete evidence.

use assay_record::ItemGrade;
use assay_review::explanation::{self, ExpectedActual};
use serde_json::Value;

use super::formula::Formula;
use crate::diff::Diff;
use crate::display::cell;

/// The grader whose values may be formulas.
const MATH: &str = "math";

/// A comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MarkedComparison {
    pub(crate) title: String,
    pub(crate) diff: Diff,
    /// The expected and the actual value of mathematics, where they can be read.
    pub(crate) formulas: [Option<Formula>; 2],
}

/// All comparisons, in the order that explains the verdict. Differences are marked only if they are
/// why the grade does not pass: those of a pass do not matter, and an error is not a value that
/// differs.
pub(super) fn compare(task: &Value, evidence: &Value, grade: &ItemGrade) -> Vec<MarkedComparison> {
    let error = evidence["first_failure"]["message"].as_str();
    let found = explanation::comparisons(task, evidence).into_iter();
    found
        .map(
            |ExpectedActual {
                 title,
                 expected,
                 got,
             }| {
                let diff = Diff::new(&expected, &got);
                let formula =
                    |text: &str| (*grade.grader.name == *MATH).then(|| Formula::of(text))?;
                MarkedComparison {
                    title: cell(&title),
                    formulas: [formula(&expected), formula(&got)],
                    diff: if grade.pass == Some(true) || error == Some(&got) {
                        diff.unmarked()
                    } else {
                        diff
                    },
                }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marks_no_differences_of_a_pass() {
        let evidence = json!({ "gold": "3/8", "extracted": "0.375" });
        let marked = |passed| {
            let grade = ItemGrade {
                pass: Some(passed),
                ..ItemGrade::default()
            };
            let found = compare(&json!({}), &evidence, &grade).remove(0).diff;
            let pieces = found.expected.iter().chain(&found.got);
            let text: String = pieces.clone().map(|piece| piece.text.as_str()).collect();
            assert_eq!(text, "3/80.375");
            pieces.filter(|piece| piece.differs).count()
        };
        assert!(marked(false) > 0);
        assert_eq!(marked(true), 0);
    }
}
