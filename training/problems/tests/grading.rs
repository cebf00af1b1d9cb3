//! Solutions earn 1 and other completions 0, by the graders themselves. Queries and programs need
//! workers: those are the house's test.

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
        Poll::Pending => panic!("a grader of the `cpu` lane never waits"),
    }
}

fn family(options: Value) -> Family {
    serde_json::from_value(options).unwrap()
}

fn graded() -> impl Strategy<Value = Family> {
    let numbers = prop::sample::select(vec!["plain", "boxed", "words"]);
    let lists = prop::sample::select(vec!["plain", "words"]);
    let operators = prop::sample::subsequence(vec!["+", "-", "*"], 1..=3);
    prop_oneof![
        (2u64..5, 1u64..4, operators.clone(), numbers.clone()).prop_map(|(operands, digits, operators, form)| {
            let options = json!({ "operands": operands, "digits": digits, "operators": operators, "form": form });
            ("arithmetic", options)
        }),
        (2u64..1_000, operators, numbers).prop_map(|(modulus, operators, form)| {
            ("modular", json!({ "modulus": modulus, "operators": operators, "form": form }))
        }),
        (2u64..6, 1u64..4, prop::sample::select(vec!["ascending", "descending"]), lists).prop_map(
            |(numbers, digits, direction, form)| {
                ("sorting", json!({ "numbers": numbers, "digits": digits, "direction": direction, "form": form }))
            }
        ),
    ]
    .prop_map(|(name, mut options)| {
        options["family"] = name.into();
        family(options)
    })
}

proptest! {
    #[test]
    fn solutions_earn_one_and_those_of_other_problems_nothing(family in graded(), seed in any::<u64>()) {
        let problems: Vec<Problem> = family.problems(Split::Train, seed, 0).take(12).collect();
        for problem in &problems {
            prop_assert_eq!(score(&problem.task, &problem.solution), 1.0, "{:?}", problem);
            prop_assert_eq!(score(&problem.task, ""), 0.0);
            for other in problems.iter().filter(|other| other.solution != problem.solution) {
                prop_assert_eq!(score(&problem.task, &other.solution), 0.0, "{:?}: {}", problem, other.solution);
            }
        }
    }
}

#[test]
fn a_prompt_copied_is_no_answer() {
    let family =
        family(json!({ "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["+"] }));
    for problem in family.problems(Split::Train, 1, 0).take(50) {
        let copied = problem.prompt.trim_end_matches('=').to_owned();
        let cut = problem.solution[1..].to_owned();
        for wrong in [
            copied,
            cut,
            format!("{}=", problem.solution),
            format!("0{}", problem.solution),
            problem.prompt,
        ] {
            assert_eq!(score(&problem.task, &wrong), 0.0, "{wrong}");
        }
    }
}

#[test]
fn a_box_may_hold_whatever_is_equal() {
    let family = family(
        json!({ "family": "arithmetic", "operands": 2, "digits": 2, "operators": ["+"], "form": "boxed" }),
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
