//! Judges that are not chat models.

use assay_external::scripted::Scripted;
use assay_external::settings::Kind;
use serde_json::{Value, json};

use crate::fixtures::{One, failed, first_judge, grade, graded, grader, one_of, settings, task};

#[tokio::test]
async fn a_plain_server_receives_the_item_and_replies_with_a_score() {
    let mut with_data = task();
    with_data["data"] = json!({ "case": 7 });
    let one = one_of(
        &with_data,
        |judge| {
            judge.kind = Kind::Http;
            judge.range = Some([0.0, 1.0]);
            judge.call_price = 0.25;
        },
        |request| {
            let score = if request["data"]["case"] == 7 {
                0.75
            } else {
                0.0
            };
            Scripted::Status(200, String::new(), json!({ "score": score }).to_string())
        },
    )
    .await;
    let grade = graded(grade(&one.prepared, "a").await);
    assert_eq!(
        (grade.score.get(), grade.measures["judge_cost"].get()),
        (0.75, 0.25)
    );
    assert_eq!(one.judge.requests()[0]["question"], "What is best?");
}

#[tokio::test]
async fn a_resources_server_of_nemo_gym_verifies_a_response() {
    let mut with_data = task();
    with_data["data"] = json!({ "expected": "tea", "response": "ignored" });
    let one = one_of(
        &with_data,
        |judge| judge.kind = Kind::NemoGym,
        |request| {
            let text = &request["response"]["output"][0]["content"][0]["text"];
            let (reward, masked) = match text.as_str() {
                Some("masked") => (0.0, true),
                text => (f64::from(text == request["expected"].as_str()), false),
            };
            let reply = json!({ "reward": reward, "mask_sample": masked });
            Scripted::Status(200, String::new(), reply.to_string())
        },
    )
    .await;
    assert_eq!(graded(grade(&one.prepared, "tea").await).score.get(), 1.0);
    assert_eq!(graded(grade(&one.prepared, "milk").await).score.get(), 0.0);
    failed(grade(&one.prepared, "masked").await);
}

#[tokio::test]
async fn a_rubric_of_verifiers_scores_a_rollout() {
    let mut with_data = task();
    with_data["reference"] = json!("tea");
    with_data["data"] = json!({ "case": 7 });
    let one = one_of(
        &with_data,
        |judge| judge.kind = Kind::Verifiers,
        |request| {
            assert_eq!(request["prompt"][0]["content"], "What is best?");
            assert_eq!(request["info"]["case"], 7);
            let text = &request["completion"][0]["content"];
            let reply = match text.as_str() {
                Some("broken") => json!({ "error": "KeyError" }),
                Some("large") => json!({ "reward": 3.0 }),
                Some("none") => json!({ "metrics": {} }),
                _ => json!({ "reward": f64::from(*text == request["answer"]), "metrics": {} }),
            };
            Scripted::Status(200, String::new(), reply.to_string())
        },
    )
    .await;
    assert_eq!(graded(grade(&one.prepared, "tea").await).score.get(), 1.0);
    assert_eq!(graded(grade(&one.prepared, "milk").await).score.get(), 0.0);
    for completion in ["broken", "large", "none"] {
        failed(grade(&one.prepared, completion).await);
    }
}

const STATEMENT: &str = "import Mathlib\n\ntheorem easy (n : ℕ) : n + 0 = n := by sorry";

/// A scripted server of Kimina on this route.
async fn kimina(route: &str, script: impl Fn(&Value) -> Value + Send + Sync + 'static) -> One {
    let route = route.to_owned();
    let task = json!({ "type": "external", "judge": "judge", "data": { "statement": STATEMENT } });
    one_of(
        &task,
        |judge| {
            judge.kind = Kind::Kimina;
            judge.url = judge.url.replace("/v1/chat/completions", &route);
        },
        move |request| Scripted::Status(200, String::new(), script(request).to_string()),
    )
    .await
}

/// What Lean says about a file: an error for `wrong`, a `sorry` for `unfinished`, and otherwise the
/// axioms of the last theorem.
fn lean(code: &str) -> Value {
    let name = code.trim_end().rsplit(' ').next().unwrap_or_default();
    let message = |severity: &str, data: String| {
        let line = code.lines().count();
        json!({ "severity": severity, "pos": { "line": line, "column": 0 }, "data": data })
    };
    let axioms = if code.contains("Classical.em") {
        "propext, Classical.choice"
    } else {
        "cheat"
    };
    let mut messages = vec![message(
        "info",
        format!("'{name}' depends on axioms: [{axioms}]"),
    )];
    if code.contains("wrong") {
        messages.push(message("error", "unsolved goals".to_owned()));
    }
    json!({ "messages": messages, "env": 1 })
}

fn proof(by: &str) -> String {
    format!(
        "I use a lemma.\n```lean4\nimport Mathlib\n\ntheorem easy (n : ℕ) : n + 0 = n := by {by}\n```"
    )
}

#[tokio::test]
async fn a_lean_server_checks_a_proof_of_the_statement() {
    for route in ["/verify", "/api/check"] {
        let one = kimina(route, move |request| {
            let (code, id) = if route == "/verify" {
                (
                    &request["codes"][0]["proof"],
                    &request["codes"][0]["custom_id"],
                )
            } else {
                (
                    &request["snippets"][0]["code"],
                    &request["snippets"][0]["id"],
                )
            };
            let response = lean(code.as_str().unwrap());
            json!({ "results": [{ "id": id, "custom_id": id, "response": response }] })
        })
        .await;
        let good =
            graded(grade(&one.prepared, &proof("cases Classical.em (n = 0) <;> simp")).await);
        assert_eq!((good.verdict.as_str(), good.score.get()), ("correct", 1.0));
        assert_eq!(first_judge(&good)["rejected"], Value::Null);
        let request = &one.judge.requests()[0].to_string();
        assert!(request.contains("axiom assay_target_"), "{request}");
        for (by, reason) in [
            ("exact cheat", "axiom `cheat`"),
            ("wrong", "unsolved goals"),
        ] {
            let bad = graded(grade(&one.prepared, &proof(by)).await);
            assert_eq!(
                (bad.verdict.as_str(), bad.score.get()),
                ("wrong_answer", 0.0)
            );
            let rejected = first_judge(&bad)["rejected"].to_string();
            assert!(rejected.contains(reason), "{rejected}");
        }
        assert_eq!(one.judge.calls(), 3);
        for by in ["sorry", "native_decide", "admit"] {
            let bad = graded(grade(&one.prepared, &proof(by)).await);
            assert_eq!(bad.verdict.as_str(), "wrong_answer", "{by}");
        }
        let other = proof("simp")
            .replace("n + 0 = n", "n = n")
            .replace("easy", "easier");
        assert_eq!(
            graded(grade(&one.prepared, &other).await).verdict.as_str(),
            "wrong_answer"
        );
        assert_eq!(one.judge.calls(), 3, "they are not sent");
    }
}

#[tokio::test]
async fn a_lean_server_that_fails_gives_no_verdict() {
    let one = kimina("/api/check", |request| {
        let code = request["snippets"][0]["code"].as_str().unwrap_or_default();
        let result = if code.contains("slow") {
            json!({ "error": "Lean REPL command timed out in 4 seconds" })
        } else if code.contains("crash") {
            json!({ "error": "REPL process not started or shut down" })
        } else {
            json!({ "response": { "messages": [
                { "severity": "error", "pos": { "line": 5, "column": 0 }, "data": "unknown `ℕ`" },
            ] } })
        };
        json!({ "results": [result] })
    })
    .await;
    let slow = failed(grade(&one.prepared, &proof("slow")).await);
    assert!(slow.message.contains("timed out"), "{slow}");
    assert_eq!(one.judge.calls(), 1, "Lean would need as long again");
    let crash = failed(grade(&one.prepared, &proof("crash")).await);
    assert!(crash.retryable && one.judge.calls() == 3, "{crash}");
    let of_task = failed(grade(&one.prepared, &proof("simp")).await);
    assert!(
        of_task.message.contains("`statement` has an error"),
        "{of_task}"
    );
}

#[test]
fn servers_with_fields_of_their_own_need_an_object() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let _in = runtime.enter();
    for (kind, data, part) in [
        (Kind::NemoGym, json!("tea"), "object"),
        (Kind::Verifiers, json!([1]), "object"),
        (Kind::Kimina, json!({}), "statement"),
        (
            Kind::Kimina,
            json!({ "statement": "theorem a : 1 = 1" }),
            ":= by",
        ),
    ] {
        let mut judge = settings("http://127.0.0.1:1/verify");
        judge.kind = kind;
        let grader = grader(&[("judge", judge)]);
        let mut task = task();
        task["data"] = data;
        let task = assay_core::Task::from_json(&task.to_string()).unwrap();
        let table = assay_core::GraderTable::new(vec![std::sync::Arc::clone(&grader)]);
        let cx = assay_core::PrepareContext::new(&table);
        let error = grader.check(&task, &cx).unwrap_err();
        assert_eq!(error.pointer, "/data");
        assert!(error.message.contains(part), "{}", error.message);
    }
}
