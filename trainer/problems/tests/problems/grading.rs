//! Grades solutions and other completions with the graders themselves: they score 1 and 0. Queries
//! and programs require sandbox workers; the end-to-end tests cover them.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use std::task::{Context, Poll, Waker};

use assay_core::{GradeContext, Grader, GraderTable, Item, Outcome, PrepareContext, Task};
use assay_math::MathGrader;
use assay_problems::{Family, Problem, Split};
use assay_structured::StructuredGrader;
use proptest::prelude::*;
use serde_json::{Value, json};

fn score(task: &Value, completion: &str) -> f64 {
    let table = GraderTable::new(Vec::new());
    let cx = PrepareContext::new(&table);
    let task = Task::from_json(&task.to_string()).unwrap();
    let grader: &dyn Grader = if task.kind.as_str() == "math" {
        &MathGrader
    } else {
        &StructuredGrader
    };
    grader.check(&task, &cx).unwrap();
    let prepared = grader.prepare(&task, &cx).unwrap();
    let (item, context) = (Item::text(completion), GradeContext::default());
    let items = [&item];
    let mut grading = prepared.grade(&items, &context);
    match grading
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(outcomes) => match &outcomes[..] {
            [Outcome::Graded(grade)] => grade.score.get(),
            other => panic!("{other:?}"),
        },
        Poll::Pending => panic!("a grader in the `cpu` lane must not wait"),
    }
}

fn family(options: Value) -> Family {
    serde_json::from_value(options).unwrap()
}

fn families_without_sandbox() -> impl Strategy<Value = Family> {
    let numbers = prop::sample::select(vec!["plain", "boxed", "words"]);
    let lists = prop::sample::select(vec!["plain", "words"]);
    let operators = prop::sample::subsequence(vec!["+", "-", "*"], 1..=3);
    prop_oneof![
        (2u64..5, 1u64..4, operators.clone(), numbers.clone()).prop_map(
            |(operands, digits, operators, form)| {
                let options = json!({
                    "operands": operands, "digits": digits, "operators": operators, "form": form,
                });
                ("arithmetic", options)
            }
        ),
        (2u64..1_000, operators, numbers).prop_map(|(modulus, operators, form)| {
            let options = json!({ "modulus": modulus, "operators": operators, "form": form });
            ("modular", options)
        }),
        (
            2u64..6,
            1u64..4,
            prop::sample::select(vec!["ascending", "descending"]),
            lists
        )
            .prop_map(|(numbers, digits, direction, form)| {
                let options = json!({
                    "numbers": numbers, "digits": digits, "direction": direction, "form": form,
                });
                ("sorting", options)
            }),
    ]
    .prop_map(|(name, mut options)| {
        options["family"] = name.into();
        family(options)
    })
}

proptest! {
    #[test]
    fn own_solution_scores_one_and_other_solutions_zero(
        family in families_without_sandbox(), seed in any::<u64>(),
    ) {
        let problems: Vec<Problem> = family.problems(Split::Train, seed, 0).take(12).collect();
        for problem in &problems {
            prop_assert_eq!(score(&problem.task, &problem.solution), 1.0, "{:?}", problem);
            prop_assert_eq!(score(&problem.task, ""), 0.0);
            for other in problems.iter().filter(|other| other.solution != problem.solution) {
                let score = score(&problem.task, &other.solution);
                prop_assert_eq!(score, 0.0, "{:?}: {}", problem, other.solution);
            }
        }
    }
}

#[test]
fn rejects_copied_prompts_and_malformed_answers() {
    let family =
        family(json!({ "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["+"] }));
    for problem in family.problems(Split::Train, 1, 0).take(50) {
        let copied = problem.prompt.trim_end_matches('=').to_owned();
        let truncated = problem.solution[1..].to_owned();
        for wrong in [
            copied,
            truncated,
            format!("{}=", problem.solution),
            format!("0{}", problem.solution),
            problem.prompt,
        ] {
            assert_eq!(score(&problem.task, &wrong), 0.0, "{wrong}");
        }
    }
}

#[test]
fn boxed_form_accepts_equal_expressions() {
    let family = family(
        json!({ "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["+"],
            "form": "boxed" }),
    );
    let problem = family.problems(Split::Train, 1, 0).next().unwrap();
    assert_eq!(
        score(
            &problem.task,
            &format!("\\boxed{{{}}}", problem.prompt.trim_end_matches('='))
        ),
        1.0
    );
    assert_eq!(score(&problem.task, &problem.solution[7..]), 0.0);
}
