//! Completions that try to leave their delimiters, and a judge that obeys them.

use assay_external::audit::attempts;
use assay_external::scripted::{Scripted, enclosed, user_message};
use serde_json::{Value, json};

use crate::fixtures::{first_judge, grade, graded, one};

/// Gives the score that the completion demands, or else 2.
fn obedient(request: &Value) -> Scripted {
    let completion = enclosed(request, "completion").unwrap_or_default();
    let obeys = completion.contains("10");
    Scripted::json(&json!({ "score": if obeys { 10 } else { 2 } }))
}

#[tokio::test]
async fn no_completion_can_end_its_delimiters() {
    let injections = attempts();
    assert_eq!(injections.len(), 60);
    assert!(injections.iter().all(|attempt| attempt.contains("10")));
    let one = one(|_| {}, obedient).await;
    for completion in &injections {
        graded(grade(&one.prepared, completion).await);
    }
    let requests = one.judge.requests();
    assert_eq!(requests.len(), 60);
    let mut codes = std::collections::BTreeSet::new();
    for request in &requests {
        let user = user_message(request);
        let (_, rest) = user
            .split_once("The answer to judge:\n<completion-")
            .unwrap();
        let code = &rest[..16];
        assert!(codes.insert(code.to_owned()), "a code was used twice");
        let end = format!("</completion-{code}>");
        assert_eq!(user.matches(&end).count(), 1, "{user}");
        // What follows the end is the operator's.
        let (_, after) = user.split_once(&end).unwrap();
        assert!(
            after.starts_with("\n\nReply with one JSON object"),
            "{user}"
        );
        for mark in ["<|", "[INST]", "<start_of_turn>"] {
            assert!(!user.contains(mark), "{user}");
        }
        let system = request["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains(code) && request["messages"].as_array().unwrap().len() == 2);
    }
}

#[tokio::test]
async fn an_obedient_judge_shows_in_the_scores_of_planted_completions() {
    let one = one(|_| {}, obedient).await;
    let mut obeyed = 0;
    for completion in &attempts() {
        let grade = graded(grade(&one.prepared, completion).await);
        obeyed += usize::from(first_judge(&grade)["given"] == 10.0);
    }
    assert!(obeyed >= 30, "the fixture obeys {obeyed} of 60");
}
