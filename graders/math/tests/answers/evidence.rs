//! Evidence of wrong answers says what differs and how the answer was read.

use assay_core::Outcome;
use serde_json::{Value, json};

use super::grading;

fn evidence(gold: &str, answer: &str) -> Value {
    let task = json!({ "type": "math", "answer": gold });
    let task = serde_json::value::to_raw_value(&task).expect("JSON");
    match grading::graded(&task, &format!(r"\boxed{{{answer}}}")) {
        Outcome::Graded(grade) => serde_json::to_value(&grade.evidence).expect("JSON"),
        other => panic!("{}", other.as_str()),
    }
}

#[track_caller]
fn assert_difference(gold: &str, answer: &str, path: &str, sides: [&str; 2]) {
    let expected = json!({ "path": path, "gold": sides[0], "answer": sides[1] });
    assert_eq!(evidence(gold, answer)["difference"], expected);
}

#[test]
fn wrong_answers_have_the_first_difference() {
    assert_difference("(1, 2, 3)", "(1, 5, 4)", "component 2", ["2", "5"]);
    assert_difference("x^2+3x", "3x+x^3", "term, exponent", ["2", "3"]);
    assert_difference(r"\{1,2,3\}", r"\{1,2\}", "member", ["3", ""]);
    assert_difference(r"x\le 3", "x<3", "relation 1", ["LessEqual", "Less"]);
    assert_difference(r"2\sqrt{3}", r"2\sqrt{5}", "factor, base", ["3", "5"]);
    assert_difference("x=4", "x=5", "side 2", ["4", "5"]);
}

#[test]
fn difference_is_absent_for_right_answers_and_different_wholes() {
    for (gold, answer) in [("2x", "x+x"), ("7", "8"), ("7", "x"), ("7", r"\frac{")] {
        assert!(
            evidence(gold, answer).get("difference").is_none(),
            "{answer}"
        );
    }
}

#[test]
fn wrong_answers_that_were_read_as_something_else_say_so() {
    assert_eq!(evidence("8", "March 5, 2024")["read_as"], "2024-03-05");
    assert_eq!(evidence("2,718", "3,14")["read_as"], "3, 14");
    assert_eq!(evidence("8", "twelve")["read_as"], "12");
    for answer in [
        "1.5",
        r"\frac{1}{2}",
        "x+1",
        r"\sin x",
        "1,234",
        r"5\text{ cm}",
    ] {
        let evidence = evidence("8", answer);
        assert!(evidence.get("read_as").is_none(), "{answer}: {evidence}");
    }
}

#[test]
fn additions_to_the_evidence_are_short() {
    let long = |end: &str| format!("({}{end})", "x^2+1,".repeat(2_000));
    let evidence = evidence(&long("1"), &long("2"));
    let size = |name: &str| evidence.get(name).map_or(0, |part| part.to_string().len());
    assert!(
        size("difference") < 500 && size("read_as") < 500,
        "{evidence}"
    );
}

#[test]
fn answers_without_a_gold_have_their_normal_form() {
    let form = |completion: &str| {
        let task = json!({ "type": "math", "consensus": true });
        let task = serde_json::value::to_raw_value(&task).expect("JSON");
        let outcome = grading::graded(&task, completion);
        assert_eq!(grading::verdict(&outcome), "unlabelled");
        let grade = outcome.grade().expect("a grade");
        assert_eq!(grade.known_score(), None);
        let evidence = serde_json::to_value(&grade.evidence).expect("JSON");
        evidence["answer_normal"].as_str().map(str::to_owned)
    };
    let third = form(r"\boxed{\frac{12}{36}}");
    assert!(third.is_some());
    assert_eq!(form(r"The answer is 1/3."), third);
    assert_eq!(form(r"\boxed{2x+x}"), form(r"\boxed{3x}"));
    assert_ne!(form(r"\boxed{7}"), third);
    assert_eq!(form(r"\boxed{\frac{}"), None, "the box has no end");
}
