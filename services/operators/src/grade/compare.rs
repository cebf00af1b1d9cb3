//! Comparisons of expected and actual values, with their differences marked. The page also shows
//! the complete evidence.

use assay_review::explanation;
use serde_json::Value;

use crate::diff::Diff;
use crate::display::cell;

/// A comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MarkedComparison {
    pub(crate) title: String,
    pub(crate) diff: Diff,
}

/// All comparisons, in the order that explains the verdict. If it is a pass, the texts may differ,
/// but their differences do not matter and are not marked.
pub(super) fn compare(task: &Value, evidence: &Value, passed: bool) -> Vec<MarkedComparison> {
    let found = explanation::comparisons(task, evidence).into_iter();
    found
        .map(|comparison| {
            let diff = Diff::new(&comparison.expected, &comparison.got);
            MarkedComparison {
                title: cell(&comparison.title),
                diff: if passed { diff.unmarked() } else { diff },
            }
        })
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
            let found = compare(&json!({}), &evidence, passed).remove(0).diff;
            let pieces = found.expected.iter().chain(&found.got);
            let text: String = pieces.clone().map(|piece| piece.text.as_str()).collect();
            assert_eq!(text, "3/80.375");
            pieces.filter(|piece| piece.differs).count()
        };
        assert!(marked(false) > 0);
        assert_eq!(marked(true), 0);
    }
}
