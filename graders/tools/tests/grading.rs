//! The parts of a grade other than its verdict: scores, steps, measures, evidence.

use std::task::{Context, Poll, Waker};

use assay_core::{
    Completion, Grade, GradeContext, Grader, GraderTable, Item, Meta, Outcome, PrepareContext, Task,
};
use assay_tools::ToolsGrader;
use serde_json::{Value, json};

fn grade_item(task: &Value, item: &Item) -> Grade {
    let task = Task::from_json(&task.to_string()).expect("a task");
    let table = GraderTable::new(Vec::new());
    let prepared = ToolsGrader
        .prepare(&task, &PrepareContext::new(&table))
        .expect("a task that can be graded");
    let (items, context) = ([item], GradeContext::default());
    let mut grade = prepared.grade(&items, &context);
    let Poll::Ready(mut outcomes) = grade.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("a grader of the CPU lane never waits")
    };
    match outcomes.remove(0) {
        Outcome::Graded(grade) => grade,
        other => panic!("{other:?}"),
    }
}

fn grade(task: &Value, completion: &str) -> Grade {
    grade_item(task, &Item::text(completion))
}

fn grade_messages(task: &Value, messages: Value) -> Grade {
    let completion: Completion = serde_json::from_value(messages).expect("messages");
    grade_item(
        task,
        &Item {
            prompt: None,
            completion,
            meta: Meta::default(),
        },
    )
}

fn calls(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("<tool_call>{{\"name\":\"{name}\",\"arguments\":{{}}}}</tool_call>"))
        .collect()
}

fn assistant(names: &[&str]) -> Value {
    let call =
        |name: &&str| json!({"type": "function", "function": {"name": name, "arguments": "{}"}});
    let calls: Value = names.iter().map(call).collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn expected(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name})).collect()
}

#[test]
fn scores_partial_matches_by_mode() {
    let score = |matching: &str, mode: &str, actual: &[&str]| {
        let expected = expected(&["a", "b", "c"]);
        let task = json!({"type": "tools", "expected": expected, "match": matching, "mode": mode});
        grade(&task, &calls(actual)).score.get()
    };
    assert_eq!(score("exact", "fraction", &["a", "b"]), 2.0 / 3.0);
    assert_eq!(score("exact", "fraction", &["a", "b", "x", "y"]), 0.5);
    assert_eq!(
        score("superset", "fraction", &["a", "b", "x", "y"]),
        2.0 / 3.0
    );
    assert_eq!(score("subset", "fraction", &["a", "b", "x", "y"]), 0.5);
    assert_eq!(score("any", "fraction", &["x", "a"]), 1.0);
    assert_eq!(score("exact", "f1", &["a", "x"]), 2.0 / 5.0);
    assert_eq!(score("exact", "all", &["a", "b"]), 0.0);
    let with_attempt = json!({"type": "tools", "expected": expected(&["a"]), "mode": "fraction"});
    assert_eq!(
        grade(
            &with_attempt,
            &format!("{}<tool_call>{{</tool_call>", calls(&["a"]))
        )
        .score
        .get(),
        0.5
    );
}

#[test]
fn reports_the_bytes_of_a_malformed_call() {
    let text = "é <tool_call>{\"name\": get}</tool_call> é";
    let grade = grade(
        &json!({"type": "tools", "expected": expected(&["a"])}),
        text,
    );
    let attempt = &grade.evidence.facts()["turns"][0]["malformed"][0];
    let at = |key: &Value| usize::try_from(key.as_u64().unwrap()).unwrap();
    let (start, end) = (at(&attempt["span"][0]), at(&attempt["span"][1]));
    assert_eq!(&text[start..end], "<tool_call>{\"name\": get}</tool_call>");
    assert!(text[at(&attempt["at"])..].starts_with("get}"));
    assert_eq!(
        (attempt["reason"].as_str(), attempt["form"].as_str()),
        (Some("expected a value"), Some("hermes"))
    );
}

#[test]
fn explains_a_mismatch_by_the_nearest_call() {
    let expected = json!([{"name": "f", "any_of": {"x": [1, 2]}, "arguments": {"y": "b"}}]);
    let task = json!({"type": "tools", "expected": expected});
    let text = r#"[g(), f(x=3, y="b"), f()]"#;
    let missing = grade(&task, text).evidence.facts()["turns"][0]["missing"][0].clone();
    assert_eq!(missing["nearest_call"], 1);
    assert_eq!(
        missing["difference"],
        json!({"kind": "wrong_value", "argument": "x", "got": "3", "accepted": ["1", "2"]})
    );
}

#[test]
fn masks_steps_of_void_turns() {
    let turns = json!([expected(&["a"]), [], expected(&["b"])]);
    let task = json!({"type": "tools", "turns": turns, "mode": "fraction"});
    let user = json!({"role": "user", "content": "Go on."});
    let done = json!({"role": "assistant", "content": "Done."});
    let void = json!({"role": "assistant", "content": "<think>hm"});
    let grade = grade_messages(
        &task,
        json!([
            assistant(&["a"]),
            done,
            user,
            void,
            user,
            assistant(&["a"]),
            assistant(&["a"])
        ]),
    );
    let steps: Vec<_> = grade
        .steps
        .iter()
        .map(|step| (step.score.get(), step.masked))
        .collect();
    assert_eq!(steps, [(1.0, false), (1.0, true), (0.0, false)]);
    assert_eq!(grade.score.get(), 2.0 / 3.0);
    assert_eq!(grade.evidence.facts()["void_turns"], json!([2]));
    let measure = |name: &str| grade.measures[name].get();
    assert_eq!(
        ["calls", "turns", "void_turns", "malformed"].map(measure),
        [3.0, 3.0, 1.0, 0.0]
    );
    assert_eq!(measure("redundant_calls"), 2.0);
}

#[test]
fn the_first_turn_begins_with_the_completion() {
    let turns = json!([expected(&["a"]), expected(&["b"])]);
    let task = json!({"type": "tools", "turns": turns});
    let user = json!({"role": "user", "content": "Go on."});
    let grade = grade_messages(
        &task,
        json!([user, assistant(&["a"]), user, assistant(&["b"])]),
    );
    assert_eq!(grade.verdict.as_str(), "correct");
    assert_eq!(grade.measures["turns"].get(), 2.0);
}

#[test]
fn masks_truncated_messages() {
    let task = json!({"type": "tools", "expected": []});
    let cut = json!([{"role": "assistant", "content": "The ans", "finish_reason": "length"}]);
    assert!(grade_messages(&task, cut).steps[0].masked);
    let meta = Meta {
        truncated: true,
        ..Meta::default()
    };
    let item = Item {
        meta,
        ..Item::text("The ans")
    };
    assert!(grade_item(&task, &item).steps[0].masked);
    assert!(!grade(&task, "The answer is 4.").steps[0].masked);
}

#[test]
fn counts_tool_errors() {
    let task = json!({"type": "tools", "expected": expected(&["a"]), "match": "superset"});
    let tool_message = |content: &str| json!({"role": "tool", "content": content});
    let grade = grade_messages(
        &task,
        json!([
            assistant(&["a"]),
            tool_message(r#"{"error": "no such file"}"#),
            {"role": "tool", "content": "x", "is_error": true},
            tool_message("errors: none"),
            tool_message(r#"{"error": null}"#),
        ]),
    );
    assert_eq!(grade.measures["tool_errors"].get(), 2.0);
    assert_eq!(grade.verdict.as_str(), "correct");
}

#[test]
fn a_repeated_call_is_redundant_until_state_changes() {
    let effects = json!({"read": [], "write": [{"op": "increase", "path": "/n", "by": 1}]});
    let task = json!({
        "type": "tools", "expected": expected(&["write"]),
        "state": {"initial": {"n": 0}, "effects": effects},
    });
    let grade = grade(&task, &calls(&["read", "read", "write", "read"]));
    assert_eq!(grade.measures["redundant_calls"].get(), 1.0);
    assert_eq!(grade.verdict.as_str(), "correct");
}

#[test]
fn reports_where_states_differ() {
    let effects = json!({"set": [{"op": "replace", "path": "/n", "value": "{to}"}]});
    let task = json!({
        "type": "tools", "expected": [{"name": "set", "arguments": {"to": 2}}],
        "state": {"initial": {"n": 0, "log": []}, "effects": effects},
    });
    let grade = grade(&task, "[set(to=3), unset()]");
    let turn = &grade.evidence.facts()["turns"][0];
    assert_eq!(grade.verdict.as_str(), "wrong_state");
    assert_eq!(
        turn["state"],
        json!([{"place": "/n", "expected": "2", "got": "3"}])
    );
    assert_eq!(
        turn["refused"],
        json!([{"call": 1, "reason": "`unset` has no declared effect"}])
    );
}

#[test]
fn refuses_all_changes_after_the_budget_of_added_bytes() {
    let effects = json!({
        "copy": [{"op": "copy", "from": "/text", "path": "/copies/-"}],
        "note": [{"op": "add", "path": "/notes/-", "value": "done"}],
    });
    let initial = json!({"text": "x".repeat(6 << 20), "copies": [], "notes": []});
    let task = json!({
        "type": "tools", "expected": expected(&["copy", "note"]),
        "state": {"initial": initial, "effects": effects},
    });
    let grade = grade(&task, &calls(&["copy", "copy", "copy", "note"]));
    let reason = "the calls add too many bytes to the state";
    assert_eq!(
        grade.evidence.facts()["turns"][0]["refused"],
        json!([{"call": 2, "reason": reason}, {"call": 3, "reason": reason}])
    );
}

#[test]
fn a_task_has_at_most_512_tools() {
    let check = |count: usize| {
        let tools: Value = (0..count)
            .map(|at| json!({"name": format!("f{at}"), "parameters": {}}))
            .collect();
        let task = json!({"type": "tools", "tools": tools, "expected": []});
        let task = Task::from_json(&task.to_string()).expect("a task");
        let table = GraderTable::new(Vec::new());
        ToolsGrader.check(&task, &PrepareContext::new(&table))
    };
    assert!(check(512).is_ok());
    let error = check(513).expect_err("one tool too many");
    assert_eq!(error.pointer, "/tools");
    assert_eq!(error.message, "a task has at most 512 tools");
}

#[test]
fn toolrl_mode_scales_its_reward_to_the_score() {
    let expected = json!([{"name": "f", "arguments": {"x": 1, "y": 2}}]);
    let task = json!({"type": "tools", "mode": "toolrl", "expected": expected});
    let text = "<think>t</think>\n<tool_call>\n{\"name\": \"f\", \"parameters\": {\"x\": \
                1}}\n</tool_call>";
    let grade = grade(&task, text);
    // 1 for the name of the tool, 0.5 for half of the parameter names, and 1 for one correct value,
    // of a maximum of 1 + (1 + 2).
    let correctness = 6.0 * (1.0 + 0.5 + 1.0) / 4.0 - 3.0;
    assert_eq!(grade.evidence.facts()["raw"], json!(1.0 + correctness));
    assert_eq!(grade.score.get(), (1.0 + correctness + 3.0) / 7.0);
}

#[test]
fn grading_is_deterministic() {
    let task = json!({"type": "tools", "expected": expected(&["a", "b"]), "mode": "f1"});
    let text = calls(&["b", "x", "a", "b"]);
    assert_eq!(grade(&task, &text), grade(&task, &text));
}

#[test]
fn calls_that_no_call_can_match_are_rejected() {
    let task = |parameters: Value, arguments: Value| {
        let task = json!({ "type": "tools", "mode": "bfcl",
            "tools": [{ "name": "f", "parameters": parameters }], "expected": [{ "f": arguments }] });
        let task = Task::from_json(&task.to_string()).expect("a task");
        ToolsGrader.check(&task, &PrepareContext::new(&GraderTable::new(Vec::new())))
    };
    let city = json!({ "type": "dict", "properties": { "city": { "type": "string" } },
        "required": ["city"] });
    assert!(task(city.clone(), json!({ "city": ["Rome"] })).is_ok());
    // An argument that may be omitted need not be a parameter.
    assert!(task(city.clone(), json!({ "city": ["Rome"], "unit": ["K", ""] })).is_ok());
    for (parameters, arguments, pointer) in [
        (city.clone(), json!({}), "/expected/0/f"),
        (
            city,
            json!({ "city": ["Rome"], "unit": ["K"] }),
            "/expected/0/f/unit",
        ),
        (
            json!({ "type": "dict", "properties": 5 }),
            json!({ "city": ["Rome"] }),
            "/expected/0/f/city",
        ),
        (
            Value::Null,
            json!({ "city": ["Rome"] }),
            "/expected/0/f/city",
        ),
    ] {
        let error = task(parameters, arguments).expect_err("no call can match");
        assert_eq!(error.pointer, pointer, "{error}");
        assert!(error.message.contains("no call can match"), "{error}");
    }
}

#[test]
fn attributes_a_failure_to_the_first_wrong_call() {
    let task = json!({"type": "tools", "expected": expected(&["a", "b", "c"]), "steps": "calls"});
    let wrong = grade(
        &task,
        &format!("{}<tool_call>{{</tool_call>", calls(&["a", "x", "c"])),
    );
    assert_eq!(wrong.evidence.facts()["turns"][0]["first_wrong_call"], 1);
    let scores: Vec<f64> = wrong.steps.iter().map(|step| step.score.get()).collect();
    assert_eq!(scores, [1.0, 0.0, 1.0, 0.0]);
    let right = grade(&task, &calls(&["c", "b", "a"]));
    assert!(
        right.evidence.facts()["turns"][0]
            .get("first_wrong_call")
            .is_none()
    );
    assert_eq!(right.steps.len(), 3);
}

/// A task in which each call adds one to a number, and the messages of two calls with replies.
fn counted(replies: &[Value]) -> (Value, Value) {
    let task = json!({
        "type": "tools", "tools": [{"name": "add", "parameters": {}}], "expected": expected(&["add"]),
        "state": {"initial": {"n": 0}, "effects": {"add": [{"op": "increase", "path": "/n", "by": 1}]}},
    });
    let mut messages = vec![assistant(&["add", "add"])];
    for (at, call) in ["c0", "c1"].iter().enumerate() {
        messages[0]["tool_calls"][at]["id"] = json!(call);
    }
    messages.extend_from_slice(replies);
    (task, json!(messages))
}

#[test]
fn a_call_that_its_tool_reports_as_failed_changes_nothing() {
    let failed =
        |id: Value| json!({"role": "tool", "tool_call_id": id, "content": "{\"error\": 1}"});
    let done = |id: Value| json!({"role": "tool", "tool_call_id": id, "content": "ok"});
    let result = |id: &str, is_error: bool| json!({"type": "tool_result", "tool_use_id": id, "is_error": is_error});
    for replies in [
        vec![failed(json!("c0")), done(json!("c1"))],
        vec![done(json!("c1")), failed(json!("c0"))],
        vec![failed(Value::Null), done(Value::Null)],
        vec![json!({"role": "user", "content": [result("c1", false), result("c0", true)]})],
    ] {
        let (task, messages) = counted(&replies);
        let grade = grade_messages(&task, messages.clone());
        assert_eq!(grade.verdict.as_str(), "correct", "{messages}");
        assert_eq!(grade.measures["tool_errors"].get(), 1.0, "{messages}");
    }
    let (task, messages) = counted(&[done(json!("c0")), done(json!("c1"))]);
    assert_eq!(
        grade_messages(&task, messages).verdict.as_str(),
        "wrong_state"
    );
}

#[test]
fn bounds_the_operations_of_loops() {
    let add = json!({"op": "increase", "path": "/n", "by": 1});
    let inner = json!({"op": "for", "each": "y", "in": "{list}", "do": [add]});
    let task = json!({
        "type": "tools", "tools": [{"name": "f", "parameters": {}}], "expected": [{"name": "f", "arguments": {"list": [1]}}],
        "state": {"initial": {"n": 0}, "effects": {"f": [{"op": "for", "each": "x", "in": "{list}", "do": [inner]}]}},
    });
    let list: Vec<u32> = vec![1; 1_000];
    let call = json!({"name": "f", "arguments": {"list": list}});
    let grade = grade(&task, &format!("<tool_call>{call}</tool_call>"));
    assert_eq!(grade.evidence.facts()["turns"][0]["refused"][0]["call"], 0);
    assert!(grade.work < 300_000);
}
