//! Explanations contain what the grader computed.

use assay_core::{Item, Outcome, Task, Verdict};
use assay_math::explain;

use super::cases::{CASES, Case};
use super::grading;

fn explained(task: &str, completion: &str) -> String {
    let task = Task::from_json(task).expect("a task");
    explain(&task, &Item::text(completion)).expect("a well-shaped task")
}

#[test]
fn explanation_shows_each_form_and_the_rules() {
    let task = r#"{"type":"math","answer":["2","x = 0.5","7"]}"#;
    let expected = r#"gold 1: `2`
  tokens, `Commas::Thousands`: 2
  tree:
    Number(2)
  normal form: `2`
gold 2: `x = 0.5`
  tokens, `Commas::Thousands`: Word("x") Relation(Equal) 0.5
  tree:
    Chain[Equal]
      Symbol("x")
      Number(1/2)
  normal form: `x Equal 1/2`
gold 3: `7`
  tokens, `Commas::Thousands`: 7
  tree:
    Number(7)
  normal form: `7`
answer: `\frac{1}{2}`, extracted by `boxed` from bytes 16 to 27
  tokens, `Commas::Thousands`: Command("frac") Open(Group) 1 Close(Group) Open(Group) 2 Close(Group)
  tree:
    Product
      Number(1)
      Power
        Number(2)
        Number(-1)
  normal form: `1/2`
gold 1: not equal by `rational`
  Two exact rationals were compared.
gold 2: equal by `solved`
  A value was compared with a solved equation.
golds that were not compared: 1
"#;
    let explained = explained(task, r"So it's $\boxed{\frac{1}{2}}$.");
    // Without the numbers of steps.
    let lines = explained.lines().map(|line| {
        let without = line
            .strip_suffix(" steps")
            .map(|line| line.rsplit_once(", "));
        without.flatten().map_or(line, |(line, _)| line)
    });
    assert_eq!(
        lines.collect::<Vec<_>>(),
        expected.lines().collect::<Vec<_>>()
    );
}

#[test]
fn ambiguous_commas_have_two_trees() {
    let text = explained(r#"{"type":"math","answer":"3.85"}"#, r"\boxed{3,85}");
    let trees =
        "  tree:\n    List\n      Number(3)\n      Number(85)\n  other tree:\n    Number(77/20)\n";
    assert!(text.contains(trees), "{text}");
}

#[test]
fn unusable_golds_and_missing_answers_are_explained() {
    let text = explained(r#"{"type":"math","answer":"\\frac{"}"#, "7");
    assert!(text.contains("tree: cannot be parsed\n"), "{text}");
    assert!(text.contains("the gold cannot be read"), "{text}");
    let text = explained(r#"{"type":"math","answer":"7"}"#, "<think>7</think>");
    assert!(
        text.ends_with("answer: the completion contains none\n"),
        "{text}"
    );
    let text = explained(r#"{"type":"math","answer":"7"}"#, "7");
    assert!(
        text.contains("  normal form: not needed\ngold 1: equal by `same_text`"),
        "{text}"
    );
}

#[test]
fn long_values_are_cut_and_control_characters_escaped() {
    let terms = vec!["x"; 1_000].join("+");
    let text = explained(
        r#"{"type":"math","answer":"7"}"#,
        &format!("\\boxed{{{terms}}}"),
    );
    assert!(
        text.contains("… (1999 in all)") && text.len() < 20_000,
        "{text}"
    );
    let text = explained(r#"{"type":"math","answer":"7"}"#, "\\boxed{7\u{1b}[2J}");
    assert!(
        text.contains("7\\u{1b}[2J") && !text.contains('\u{1b}'),
        "{text}"
    );
}

#[test]
fn explained_rule_is_that_of_the_grade() {
    for line in CASES.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let text = explained(case.task.get(), &case.completion);
        match grading::graded(&case.task, &case.completion) {
            // There is no rule without a gold.
            Outcome::Graded(grade) if grade.verdict == Verdict::UNLABELLED => {}
            Outcome::Graded(grade) => {
                let facts = grade.evidence.facts();
                let rule = facts["rule"].as_str().unwrap();
                let equal = match rule {
                    "nothing_extracted" => "contains none".to_owned(),
                    _ if grade.score.get() > 0.0 => format!(": equal by `{rule}`"),
                    _ => format!(": not equal by `{rule}`"),
                };
                let last = text.lines().rfind(|line| {
                    line.starts_with("gold ") && line.contains("equal by")
                        || line.starts_with("answer: the completion")
                });
                assert!(
                    last.is_some_and(|last| last.contains(&equal)),
                    "{}: {text}",
                    case.name
                );
            }
            Outcome::Ungradable(fault) | Outcome::Failed(fault) => {
                assert!(text.contains(&fault.message), "{}: {text}", case.name);
            }
        }
    }
}
