//! Templates of methods with judges and rubrics.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

use assay_templates::{Row, Template};
use serde_json::{Value, json};

fn row(value: &Value) -> Row {
    value.as_object().unwrap().clone()
}

fn task(name: &str, columns: &Value) -> Value {
    let task = Template::named(name).unwrap().task(&row(columns)).unwrap();
    serde_json::from_str(task.body.get()).unwrap()
}

#[test]
fn the_scaffold_of_ruscarl_decays_within_a_group_and_with_the_steps() {
    let template = Template::named("ruscarl").unwrap();
    let rubrics: Vec<Value> = (0..10)
        .map(|at| json!({ "criterion": format!("criterion {at}"), "points": 5 - at }))
        .collect();
    let shown = |scaffold: Value| {
        let columns = json!({ "question": "Why?", "rubrics": rubrics, "scaffold": scaffold });
        let prompt = template.prompt(&row(&columns)).unwrap().unwrap();
        prompt.as_str().unwrap().matches("- criterion").count()
    };
    let at = |member: u32, progress: f64| {
        shown(json!({
            "member": member, "members": 5, "progress": progress, "slope": 20, "midpoint": 0.5,
        }))
    };
    // (G - 1 - i) / (G - 1) of the criteria at the start.
    let members: Vec<usize> = (0..5).map(|member| at(member, 0.0)).collect();
    assert_eq!(members, [10, 7, 5, 2, 0]);
    // Half of them at the midpoint, and none at the end.
    assert_eq!([at(0, 0.5), at(2, 0.5), at(0, 1.0)], [5, 2, 0]);
    assert_eq!(shown(Value::Null), 0);
    let plain = json!({ "question": "Why?", "rubrics": rubrics });
    assert_eq!(template.prompt(&row(&plain)).unwrap(), Some(json!("Why?")));
    let task = task("ruscarl", &plain);
    assert_eq!(
        task["criteria"][9],
        json!({ "id": "c10", "text": "criterion 9", "points": -4 })
    );
}

#[test]
fn constraints_of_cgpo_are_gates_before_the_reward() {
    let columns = json!({
        "question": "Greet me.", "baseline": "Hi.",
        "constraints": [{ "name": "polite", "criterion": "Is it polite?", "points": 0, "veto": true }],
    });
    let task = task("cgpo", &columns);
    let [constraint, reward] = task["criteria"].as_array().unwrap().as_slice() else {
        panic!("{task}")
    };
    assert_eq!(
        (
            &constraint["gate"],
            &constraint["veto"],
            &constraint["stage"]
        ),
        (&json!(true), &json!(true), &json!(0))
    );
    assert_eq!(
        (&reward["stage"], &reward["task"]["other"]),
        (&json!(1), &json!("Hi."))
    );
}

#[test]
fn versions_of_a_judge_prompt_are_judges_of_one_task() {
    let columns = json!({ "question": "Q", "versions": ["v1", "v2"], "rubric": "Is it good?" });
    assert_eq!(task("mpo", &columns)["judge"], json!(["v1", "v2"]));
}

#[test]
fn missing_columns_with_any_name_are_reported_and_may_be_optional() {
    let template = Template::from_json(
        r#"{
            "task": { "type": "math", "answer": "{{ column('Correct Answer') | trim }}" },
            "prompt": "{{ shuffled([column('An option')], 'key') | first }}",
            "id": "{{ column('The id') if column('The id') is defined else 'none' }}"
        }"#,
    )
    .unwrap();
    let (missing, null) = (
        json!({}),
        json!({ "Correct Answer": null, "An option": null }),
    );
    for columns in [&missing, &null] {
        let error = template.task(&row(columns)).unwrap_err().to_string();
        assert!(error.contains("missing column `Correct Answer`"), "{error}");
        let error = template.prompt(&row(columns)).unwrap_err().to_string();
        assert!(error.contains("missing column `An option`"), "{error}");
        assert_eq!(template.id(&row(columns)).unwrap(), Some(json!("none")));
    }
    let columns = row(&json!({ "Correct Answer": "7 ", "The id": "a1" }));
    assert_eq!(
        template.task(&columns).unwrap().body.get(),
        r#"{"answer":"7","type":"math"}"#
    );
    assert_eq!(template.id(&columns).unwrap(), Some(json!("a1")));
    assert!(template.columns().contains("Correct Answer"));
}
