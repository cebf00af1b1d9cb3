//! What becomes of the replies of judges.

use std::time::Duration;

use assay_external::scripted::{Scripted, enclosed, user_message};
use assay_external::settings::ReplyForm;
use serde_json::json;

use crate::fixtures::{
    always, context, first_judge, grade, grade_in, graded, grader, one, one_of, prepare, settings,
};

#[tokio::test]
async fn a_score_is_mapped_to_the_unit_interval_and_recorded() {
    let one = one(|judge| judge.input_price = 1e6, always(8)).await;
    let grade = graded(grade(&one.prepared, "<think>hidden</think>Use tea.").await);
    assert_eq!(
        (grade.verdict.as_str(), grade.score.get()),
        ("correct", 0.8)
    );
    assert!(!grade.deterministic && grade.work > 0);
    let judge = first_judge(&grade);
    assert_eq!(judge["judge"], "judge");
    assert_eq!(
        judge["model"], "scripted-1",
        "the name that the server states"
    );
    assert_eq!((&judge["given"], &judge["calls"]), (&json!(8.0), &json!(1)));
    assert_eq!(judge["prompt_version"].as_str().unwrap().len(), 16);
    assert!(judge["reply"].as_str().unwrap().contains("\"score\":8"));
    assert_eq!(
        judge["cost"].as_f64(),
        judge["tokens"]["read"].as_f64(),
        "a unit for each token that it reads"
    );
    assert_eq!(grade.measures["judge_calls"].get(), 1.0);
    let request = &one.judge.requests()[0];
    assert_eq!(enclosed(request, "completion"), Some("Use tea."));
    assert_eq!(enclosed(request, "question"), Some("What is best?"));
}

#[tokio::test]
async fn without_a_threshold_there_is_no_pass() {
    let task = json!({ "type": "external", "judge": "judge" });
    let one = one_of(&task, |_| {}, always(10)).await;
    assert_eq!(
        graded(grade(&one.prepared, "a").await).verdict.as_str(),
        "scored"
    );
    let empty = graded(grade(&one.prepared, " \n").await);
    assert_eq!(
        (empty.verdict.as_str(), one.judge.calls()),
        ("no_answer", 1)
    );
}

#[tokio::test]
async fn a_label_passes_by_its_score() {
    let one = one_of(
        &json!({ "type": "external", "judge": "judge" }),
        |judge| {
            judge.reply = ReplyForm::Label;
            judge.labels.insert("partly".to_owned(), 0.4);
        },
        |request| {
            let label = enclosed(request, "completion")
                .unwrap_or_default()
                .to_owned();
            Scripted::json(&json!({ "label": label }))
        },
    )
    .await;
    for (label, verdict, score) in [
        ("yes", "correct", 1.0),
        ("partly", "wrong_answer", 0.4),
        ("no", "wrong_answer", 0.0),
    ] {
        let grade = graded(grade(&one.prepared, label).await);
        assert_eq!(
            (grade.verdict.as_str(), grade.score.get()),
            (verdict, score)
        );
    }
}

#[tokio::test]
async fn criteria_are_parts_of_the_grade() {
    let one = one_of(
        &json!({
            "type": "external", "judge": "judge", "threshold": 0.5,
            "criteria": [
                { "id": "polite", "text": "Is it polite?", "points": 3 },
                { "id": "short", "text": "Is it short?" },
                { "id": "rude", "text": "Is it rude?", "points": -2 },
            ],
        }),
        |judge| judge.reply = ReplyForm::Criteria,
        |_| {
            Scripted::json(&json!({ "criteria": [
                { "id": "short", "met": false },
                { "id": "polite", "met": true },
                { "id": "rude", "met": true },
            ] }))
        },
    )
    .await;
    let grade = graded(grade(&one.prepared, "a").await);
    // (3 - 2) / (3 + 1)
    assert_eq!(
        (grade.score.get(), grade.verdict.as_str()),
        (0.25, "wrong_answer")
    );
    let parts: Vec<(&str, &str)> = grade
        .components
        .iter()
        .map(|part| (&*part.name, part.outcome.grade().unwrap().verdict.as_str()))
        .collect();
    assert_eq!(
        parts,
        [
            ("polite", "correct"),
            ("short", "wrong_answer"),
            ("rude", "correct")
        ]
    );
    assert!(user_message(&one.judge.requests()[0]).contains("short: Is it short?"));
}

#[tokio::test]
async fn the_position_bias_of_a_judge_is_measured_and_cancels_out() {
    let pair = json!({ "type": "external", "judge": "judge", "other": "other" });
    let biased = one_of(
        &pair,
        |judge| {
            judge.reply = ReplyForm::Pairwise;
            judge.swap_share = 1.0;
        },
        |_| Scripted::json(&json!({ "preferred": "first" })),
    )
    .await;
    let biased = graded(grade(&biased.prepared, "mine").await);
    assert_eq!(
        (biased.score.get(), biased.verdict.as_str()),
        (0.5, "wrong_answer")
    );
    assert_eq!(biased.measures["order_changed"].get(), 1.0);

    let fair = one_of(
        &pair,
        |judge| {
            judge.reply = ReplyForm::Pairwise;
            judge.swap_share = 1.0;
        },
        |request| {
            let is_first = enclosed(request, "first") == Some("mine");
            Scripted::json(&json!({ "preferred": if is_first { "first" } else { "second" } }))
        },
    )
    .await;
    let grade = graded(grade(&fair.prepared, "mine").await);
    assert_eq!(
        (grade.score.get(), grade.verdict.as_str()),
        (1.0, "correct")
    );
    assert_eq!(grade.measures["order_changed"].get(), 0.0);
    assert_eq!(fair.judge.calls(), 2);
}

#[tokio::test]
async fn several_judges_are_averaged_and_their_disagreement_is_measured() {
    let (high, low) = (one(|_| {}, always(9)).await, one(|_| {}, always(2)).await);
    let judges = [
        ("high", settings(&high.judge.url)),
        ("low", settings(&low.judge.url)),
    ];
    let task = json!({ "type": "external", "judge": ["high", "low"], "threshold": 0.5 });
    let prepared = prepare(&grader(&judges), &task);
    let grade = graded(grade(&prepared, "a").await);
    assert!((grade.score.get() - 0.55).abs() < 1e-12);
    assert!((grade.measures["disagreement"].get() - 0.7).abs() < 1e-12);
    assert_eq!(grade.evidence.facts()["judges"][1]["judge"], "low");
}

#[tokio::test]
async fn answers_are_cached_for_their_caller() {
    let one = one(|_| {}, always(8)).await;
    let first = graded(grade(&one.prepared, "a").await);
    let again = graded(grade(&one.prepared, "a").await);
    assert_eq!((again.score, one.judge.calls()), (first.score, 1));
    assert_eq!(first_judge(&again)["cached"], true);
    assert_eq!(again.measures["judge_tokens"].get(), 0.0);
    let mut other = context("run");
    other.caller = "other".into();
    graded(grade_in(&one.prepared, "a", &other).await);
    assert_eq!(one.judge.calls(), 2);
    let mut uncached = context("run");
    uncached.use_cache = false;
    graded(grade_in(&one.prepared, "a", &uncached).await);
    assert_eq!(one.judge.calls(), 3);
}

#[tokio::test]
async fn equal_items_of_a_batch_make_one_call() {
    let slow = |_: &serde_json::Value| {
        let reply = Scripted::json(&json!({ "score": 8 }));
        Scripted::After(Duration::from_millis(50), Box::new(reply))
    };
    let one = one(|_| {}, slow).await;
    let grading = (0..100).map(|_| grade(&one.prepared, "a"));
    let outcomes = futures::future::join_all(grading).await;
    let grades: Vec<_> = outcomes.into_iter().map(graded).collect();
    assert_eq!(one.judge.calls(), 1);
    assert!(grades.iter().all(|grade| grade.score.get() == 0.8));
    let calls: f64 = grades
        .iter()
        .map(|grade| grade.measures["judge_calls"].get())
        .sum();
    assert_eq!(calls, 1.0, "one item is charged");
    let (first, second) = (context("first"), context("second"));
    let (first, second) = tokio::join!(
        grade_in(&one.prepared, "b", &first),
        grade_in(&one.prepared, "b", &second),
    );
    graded(first);
    graded(second);
    assert_eq!(one.judge.calls(), 3, "each run has its own budget");
}

#[tokio::test]
async fn an_item_whose_leader_is_cancelled_asks_itself() {
    let one = one(
        |_| {},
        |_| {
            let reply = Scripted::json(&json!({ "score": 8 }));
            Scripted::After(Duration::from_millis(50), Box::new(reply))
        },
    )
    .await;
    let leader = grade(&one.prepared, "a");
    let follower = grade(&one.prepared, "a");
    tokio::pin!(follower);
    {
        tokio::pin!(leader);
        while one.judge.calls() == 0 {
            tokio::select! {
                biased;
                _ = &mut leader => panic!("the judge is slow"),
                _ = &mut follower => panic!("the judge is slow"),
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
        }
    }
    assert_eq!(graded(follower.await).score.get(), 0.8);
    assert_eq!(one.judge.calls(), 2);
}
