//! Many items at once.

use std::time::Duration;

use assay_core::Outcome;
use assay_external::scripted::{Scripted, ScriptedJudge};
use serde_json::json;

use crate::fixtures::{always, grade, grader, one, prepare, settings};

/// Threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

#[tokio::test]
async fn ten_thousand_items_wait_without_a_thread_each() {
    let one = one(
        |judge| {
            judge.in_flight = 32;
            judge.item_seconds = 600.0;
        },
        |_| Scripted::After(Duration::from_millis(2), Box::new(always(9)(&json!(null)))),
    )
    .await;
    let before = threads();
    let completions: Vec<String> = (0..10_000).map(|at| at.to_string()).collect();
    let grading = completions
        .iter()
        .map(|completion| grade(&one.prepared, completion));
    let grading = futures::future::join_all(grading);
    let watching = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        threads()
    };
    let (outcomes, during) = tokio::join!(grading, watching);
    assert!(
        outcomes
            .iter()
            .all(|outcome| matches!(outcome, Outcome::Graded(_)))
    );
    assert!(
        one.judge.most_at_once() <= 32,
        "{}",
        one.judge.most_at_once()
    );
    assert!(
        during < before + 64,
        "{before} threads before, {during} during"
    );
}

#[tokio::test]
async fn a_dead_judge_does_not_delay_the_items_of_others() {
    let dead = ScriptedJudge::start(|_| Scripted::Silent).await.unwrap();
    let alive = ScriptedJudge::start(always(9)).await.unwrap();
    let mut dead_settings = settings(&dead.url);
    dead_settings.in_flight = 500;
    dead_settings.call_seconds = 600.0;
    let grader = grader(&[("dead", dead_settings), ("alive", settings(&alive.url))]);
    let task = |judge: &str| json!({ "type": "external", "judge": judge, "threshold": 0.5 });
    let (of_dead, of_alive) = (
        prepare(&grader, &task("dead")),
        prepare(&grader, &task("alive")),
    );
    let completions: Vec<String> = (0..500).map(|at| at.to_string()).collect();
    let waiting = completions
        .iter()
        .map(|completion| grade(&of_dead, completion));
    let waiting = futures::future::join_all(waiting);
    tokio::pin!(waiting);
    let grading = completions
        .iter()
        .map(|completion| grade(&of_alive, completion));
    let grading = futures::future::join_all(grading);
    let outcomes = tokio::select! {
        outcomes = &mut waiting => panic!("{} items of a dead judge ended", outcomes.len()),
        outcomes = grading => outcomes,
    };
    assert!(
        outcomes
            .iter()
            .all(|outcome| matches!(outcome, Outcome::Graded(_)))
    );
    let all_called = async {
        while dead.calls() < 500 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        _ = &mut waiting => panic!("items of a dead judge ended"),
        () = all_called => {}
    }
    assert!(dead.most_at_once() >= 500, "{}", dead.most_at_once());
}
