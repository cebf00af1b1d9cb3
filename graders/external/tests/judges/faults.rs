//! Judges that fail. None of their failures becomes a score.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use assay_core::{ErrorCode, GradeContext, Outcome};
use assay_external::scripted::{Scripted, ScriptedJudge, user_message};
use assay_external::settings::Secret;
use serde_json::{Value, json};

use crate::fixtures::{always, context, failed, grade, grade_in, graded, one};

/// Replies with the first scripted reply, then with the second, and so on; the last one repeats.
fn sequence(replies: Vec<Scripted>) -> impl Fn(&Value) -> Scripted + Send + Sync {
    let next = AtomicUsize::new(0);
    move |_| replies[next.fetch_add(1, Ordering::SeqCst).min(replies.len() - 1)].clone()
}

fn score(score: u32) -> Scripted {
    Scripted::json(&json!({ "score": score }))
}

#[tokio::test]
async fn a_reply_without_a_verdict_is_requested_once_more_and_then_failed() {
    for lie in [
        Scripted::Text("I give it 10 out of 10.".to_owned()),
        Scripted::Text(r#"{"score": 11}"#.to_owned()),
        Scripted::Text(r#"{"score": 1, "score": 9}"#.to_owned()),
        Scripted::Text(String::new()),
        Scripted::Truncated(r#"{"score": 9}"#.to_owned()),
    ] {
        let one = one(|_| {}, {
            let lie = lie.clone();
            move |_| lie.clone()
        })
        .await;
        let fault = failed(grade(&one.prepared, "a").await);
        assert_eq!(
            (fault.code, one.judge.calls()),
            (ErrorCode::JudgeFailed, 2),
            "{lie:?}"
        );
        assert!(fault.message.contains("`judge`"), "{fault}");
        let requests = one.judge.requests();
        assert!(user_message(&requests[1]).contains("Your last reply could not be read"));
    }
}

#[tokio::test]
async fn the_second_reply_may_have_a_verdict() {
    let replies = vec![Scripted::Text("ten".to_owned()), score(9)];
    let one = one(|_| {}, sequence(replies)).await;
    let grade = graded(grade(&one.prepared, "a").await);
    assert_eq!(
        (grade.score.get(), grade.measures["judge_calls"].get()),
        (0.9, 2.0)
    );
}

#[tokio::test]
async fn failures_that_may_pass_are_retried() {
    for failure in [
        Scripted::Status(500, String::new(), String::new()),
        Scripted::Status(503, String::new(), String::new()),
        Scripted::Closed,
        Scripted::Broken,
        Scripted::Silent,
        Scripted::Status(200, String::new(), "<html>".to_owned()),
    ] {
        let replies = vec![failure.clone(), score(9)];
        let one = one(|judge| judge.call_seconds = 0.3, sequence(replies)).await;
        assert_eq!(
            graded(grade(&one.prepared, "a").await).score.get(),
            0.9,
            "{failure:?}"
        );
        let one = one_that_always(failure.clone()).await;
        let fault = failed(grade(&one.prepared, "a").await);
        assert_eq!(fault.code, ErrorCode::JudgeFailed, "{failure:?}");
        assert!(
            fault.retryable && one.judge.calls() == 2,
            "{failure:?}: {fault}"
        );
    }
}

async fn one_that_always(failure: Scripted) -> crate::fixtures::One {
    one(|judge| judge.call_seconds = 0.3, move |_| failure.clone()).await
}

#[tokio::test]
async fn failures_that_would_repeat_are_not_retried_and_do_not_show_the_key() {
    let body = json!({ "error": { "message": "no key s3cr3t-key here" } }).to_string();
    let one = one(
        |judge| judge.key = Secret::new("s3cr3t-key"),
        move |_| Scripted::Status(401, String::new(), body.clone()),
    )
    .await;
    let fault = failed(grade(&one.prepared, "a").await);
    assert_eq!(one.judge.calls(), 1);
    assert!(
        fault.message.contains("401") && fault.message.contains("no key *** here"),
        "{fault}"
    );
}

#[tokio::test]
async fn items_that_a_judge_rejects_do_not_stop_it_for_others() {
    let one = one(
        |judge| judge.max_failures = 2,
        |request| {
            if user_message(request).contains("too long") {
                Scripted::Status(400, String::new(), String::new())
            } else {
                score(9)
            }
        },
    )
    .await;
    for at in 0..5 {
        let fault = failed(grade(&one.prepared, &format!("too long {at}")).await);
        assert!(!fault.retryable && fault.message.contains("400"), "{fault}");
    }
    graded(grade(&one.prepared, "short").await);
}

#[tokio::test]
async fn a_completion_that_is_too_long_is_not_sent() {
    let one = one(|judge| judge.completion_bytes = 10, always(9)).await;
    let grade = graded(grade(&one.prepared, "eleven byte").await);
    assert_eq!((grade.verdict.as_str(), one.judge.calls()), ("too_long", 0));
}

#[tokio::test]
async fn a_cancelled_call_counts_towards_the_budget() {
    let one = one(
        |judge| {
            judge.call_price = 1.0;
            judge.cost_per_run = 1.0;
        },
        |_| Scripted::Silent,
    )
    .await;
    let called = async {
        while one.judge.calls() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        outcome = grade(&one.prepared, "a") => panic!("{outcome:?}"),
        () = called => {}
    }
    let fault = failed(grade(&one.prepared, "b").await);
    assert_eq!(fault.code, ErrorCode::JudgeBudget);
}

#[tokio::test]
async fn a_reply_that_is_too_large_is_not_read() {
    let large = Scripted::Text("x".repeat(100_000));
    let one = one(|judge| judge.reply_bytes = 10_000, move |_| large.clone()).await;
    let fault = failed(grade(&one.prepared, "a").await);
    assert!(fault.message.contains("more than 10000 bytes"), "{fault}");
}

#[tokio::test]
async fn all_items_wait_as_long_as_a_limited_judge_asks() {
    let limited = Scripted::Status(429, "retry-after: 1\r\n".to_owned(), String::new());
    let one = one(
        |judge| judge.in_flight = 1,
        sequence(vec![limited, score(9)]),
    )
    .await;
    let started = tokio::time::Instant::now();
    let (first, second) = tokio::join!(grade(&one.prepared, "a"), grade(&one.prepared, "b"));
    assert_eq!(
        (graded(first).score, graded(second).score.get()),
        (0.9.try_into().unwrap(), 0.9)
    );
    assert!(started.elapsed() >= Duration::from_millis(990));
    assert_eq!(one.judge.calls(), 3);
}

#[tokio::test]
async fn an_item_does_not_wait_longer_than_its_time() {
    let limited = Scripted::Status(429, "retry-after: 3600\r\n".to_owned(), String::new());
    let one = one(|judge| judge.item_seconds = 1.0, move |_| limited.clone()).await;
    let fault = failed(grade(&one.prepared, "a").await);
    assert!(fault.message.contains("429"), "{fault}");
    let fault = failed(grade(&one.prepared, "b").await);
    assert!(fault.message.contains("asks to wait"), "{fault}");
    assert_eq!(one.judge.calls(), 1, "the second item does not call");
}

#[tokio::test]
async fn the_last_call_ends_with_the_time_of_its_item() {
    let one = one(
        |judge| (judge.item_seconds, judge.call_seconds, judge.retries) = (0.3, 600.0, 9),
        |_| Scripted::Silent,
    )
    .await;
    let started = tokio::time::Instant::now();
    let fault = failed(grade(&one.prepared, "a").await);
    assert!(fault.message.contains("no reply within 0."), "{fault}");
    assert!(started.elapsed() < Duration::from_secs(30) && one.judge.calls() == 1);
}

#[tokio::test]
async fn a_judge_that_asks_for_an_hour_is_called_again_before() {
    let replies = vec![
        Scripted::Status(429, "retry-after: 3600\r\n".to_owned(), String::new()),
        score(9),
    ];
    let one = one(
        |judge| (judge.item_seconds, judge.pause_seconds) = (0.5, 0.0),
        sequence(replies),
    )
    .await;
    failed(grade(&one.prepared, "a").await);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(graded(grade(&one.prepared, "b").await).score.get(), 0.9);
}

#[tokio::test]
async fn a_judge_that_is_down_is_not_called_by_every_item() {
    let judge = ScriptedJudge::start(always(9)).await.unwrap();
    let url = judge.url.clone();
    drop(judge);
    let one = one(
        |judge| {
            judge.url = url;
            judge.max_failures = 3;
            judge.in_flight = 4;
            judge.retries = 0;
        },
        always(9),
    )
    .await;
    let completions: Vec<String> = (0..200).map(|at| at.to_string()).collect();
    let grading = completions
        .iter()
        .map(|completion| grade(&one.prepared, completion));
    let outcomes = futures::future::join_all(grading).await;
    let stopped = outcomes
        .into_iter()
        .map(failed)
        .filter(|fault| fault.message.contains("is not called for"))
        .count();
    assert!(stopped >= 193, "{stopped} of 200 items did not call");
}

#[tokio::test]
async fn a_judge_that_works_again_is_called_again() {
    let is_down = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let script = {
        let is_down = Arc::clone(&is_down);
        move |_: &Value| {
            if is_down.load(Ordering::SeqCst) {
                Scripted::Status(502, String::new(), String::new())
            } else {
                score(9)
            }
        }
    };
    let one = one(
        |judge| {
            (judge.max_failures, judge.retries) = (1, 0);
            judge.pause_seconds = 0.2;
        },
        script,
    )
    .await;
    failed(grade(&one.prepared, "a").await);
    failed(grade(&one.prepared, "b").await);
    assert_eq!(one.judge.calls(), 1);
    is_down.store(false, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(250)).await;
    assert_eq!(graded(grade(&one.prepared, "c").await).score.get(), 0.9);
}

#[tokio::test]
async fn a_budget_is_exceeded_by_at_most_what_is_in_flight() {
    const IN_FLIGHT: usize = 4;
    let one = one(
        |judge| {
            judge.in_flight = IN_FLIGHT;
            judge.cost_per_run = 10.0;
            judge.call_price = 1.0;
        },
        always(9),
    )
    .await;
    let completions: Vec<String> = (0..60).map(|at| at.to_string()).collect();
    let grading = completions
        .iter()
        .map(|completion| grade(&one.prepared, completion));
    let outcomes = futures::future::join_all(grading).await;
    let calls = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Outcome::Graded(_)))
        .count();
    assert!((10..10 + IN_FLIGHT).contains(&calls), "{calls}");
    assert_eq!(calls, one.judge.calls());
    let over = outcomes
        .into_iter()
        .filter(|outcome| outcome.fault().is_some())
        .map(failed);
    for fault in over {
        assert_eq!(
            (fault.code, fault.retryable),
            (ErrorCode::JudgeBudget, false)
        );
    }
    graded(grade_in(&one.prepared, "other run", &context("other")).await);
}

#[tokio::test]
async fn a_cancelled_item_makes_no_call() {
    let one = one(|_| {}, always(9)).await;
    let cx = context("run");
    cx.cancel.cancel();
    let fault = failed(grade_in(&one.prepared, "a", &cx).await);
    assert_eq!((fault.code, one.judge.calls()), (ErrorCode::Cancelled, 0));
}

#[tokio::test]
async fn failures_of_one_caller_do_not_stop_the_judge_for_others_or_show_them_its_texts() {
    let echo = |request: &Value| {
        if user_message(request).contains("poison") {
            let body = json!({ "error": { "message": user_message(request) } });
            Scripted::Status(500, String::new(), body.to_string())
        } else {
            score(9)
        }
    };
    let one = one(|judge| (judge.max_failures, judge.retries) = (1, 0), echo).await;
    let caller = |name: &str| GradeContext {
        caller: name.into(),
        ..context("run")
    };
    failed(grade_in(&one.prepared, "poison", &caller("first")).await);
    let fault = failed(grade_in(&one.prepared, "a", &caller("first")).await);
    assert!(fault.message.contains("is not called"), "{fault}");
    let other = graded(grade_in(&one.prepared, "a", &caller("second")).await);
    assert_eq!(other.score.get(), 0.9);
}

#[tokio::test]
async fn what_a_judge_repeats_is_shortened_and_without_the_key() {
    let long = format!("s3cr3t-key{}", "x".repeat(100_000));
    for body in [
        json!({ "choices": long }),
        json!({ "choices": [{ "message": { "content": format!("{{\"score\": \"{long}\"}}") } }] }),
    ] {
        let reply = body.to_string();
        let one = one(
            |judge| judge.key = Secret::new("s3cr3t-key"),
            move |_| Scripted::Status(200, String::new(), reply.clone()),
        )
        .await;
        let fault = failed(grade(&one.prepared, "a").await);
        assert!(fault.message.len() < 500, "{}", fault.message.len());
        assert!(!fault.message.contains("s3cr3t"), "{fault}");
    }
    let body = json!({
        "model": long,
        "choices": [{ "message": { "content": "{\"score\": 9, \"reason\": \"s3cr3t-key\"}" } }],
    });
    let one = one(
        |judge| judge.key = Secret::new("s3cr3t-key"),
        move |_| Scripted::Status(200, String::new(), body.to_string()),
    )
    .await;
    let evidence = graded(grade(&one.prepared, "a").await).evidence;
    assert!(evidence.get().len() < 1_000 && !evidence.get().contains("s3cr3t"));
}

#[tokio::test]
async fn a_question_that_is_too_long_is_not_sent() {
    let one = one(|judge| judge.completion_bytes = 10, always(9)).await;
    match grade(&one.prepared, "a").await {
        Outcome::Ungradable(fault) => assert!(fault.message.contains("at most 10"), "{fault}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(one.judge.calls(), 0);
}
