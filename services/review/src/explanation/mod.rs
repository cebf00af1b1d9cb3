//! Explains a grade in texts: a sentence, the expected and actual values, the extracted answer and
//! the reason. They come from the evidence of each grader and are not escaped.

mod causes;
mod compare;
mod reasons;

pub use causes::cause;
pub use compare::{ExpectedActual, comparisons};
pub use reasons::{extracted, reason};

use assay_record::ItemGrade;
use serde_json::Value;

/// Explains a grade in one sentence. `meaning` is the description of the verdict in the
/// specification of its grader; `None` if the grader or verdict is unknown. `task` is null if it is
/// not known.
#[must_use]
pub fn sentence(
    grade: &ItemGrade,
    meaning: Option<&str>,
    evidence: &Value,
    task: &Value,
) -> String {
    if let Some(fault) = &grade.error {
        let (outcome, code) = (&grade.outcome, fault.code.as_str());
        return format!("{outcome}, `{code}`: {}", fault.message);
    }
    let verdict = grade.verdict.as_deref().unwrap_or(&grade.outcome);
    let cause = cause(grade, evidence, task);
    // Its cause says the same more precisely.
    let meaning = meaning.filter(|_| evidence["rule"] != causes::NOTHING_EXTRACTED);
    let parts = [meaning.unwrap_or_default(), &cause];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [] => verdict.to_owned(),
        parts => format!("{verdict}: {}", parts.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use assay_core::{ErrorCode, Fault};
    use serde_json::json;

    use super::*;

    #[test]
    fn one_sentence_has_verdict_meaning_and_reason() {
        let mut grade = ItemGrade {
            outcome: "graded".into(),
            verdict: Some("wrong_answer".into()),
            ..ItemGrade::default()
        };
        let evidence = json!({"rule": "rational", "gold": "1/2"});
        assert_eq!(
            sentence(
                &grade,
                Some("not equivalent to any gold"),
                &evidence,
                &Value::Null
            ),
            "wrong_answer: not equivalent to any gold; the numbers differ"
        );
        assert_eq!(
            sentence(&grade, None, &Value::Null, &Value::Null),
            "wrong_answer"
        );
        grade.outcome = "failed".into();
        grade.error = Some(Fault::transient(
            ErrorCode::Cancelled,
            "the caller has gone",
        ));
        assert_eq!(
            sentence(&grade, None, &Value::Null, &Value::Null),
            "failed, `cancelled`: the caller has gone"
        );
    }
}
