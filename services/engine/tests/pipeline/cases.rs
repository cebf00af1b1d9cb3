//! Outcomes, order, groups, lanes and admission.

use std::sync::atomic::Ordering;
use std::time::Duration;

use assay_core::ErrorCode;
use assay_engine::{Batch, EngineError, Limits, Mode};
use assay_rewards::Statistic;
use tokio::sync::mpsc;

use crate::fixtures::{Recorded, batch, fixture, fixture_with, item, outcomes};

#[tokio::test]
async fn returns_outcomes_in_the_order_of_the_items() {
    let fixture = fixture().await;
    let long = "x".repeat(1_001);
    let items = vec![
        item("exact", "1", "1"),
        item("exact", "1", "panic"),
        item("exact", "1", "2"),
        item("exact", "", "1"),
        item("exact", "1", &long),
        item("exact", "1", "fail"),
        item("exact", "1", "fail once"),
        item("exact", "panic", "1"),
        item("waiting", "1", "1"),
        item("waiting", "1", "panic"),
    ];
    let reply = fixture
        .engine
        .grade(batch(items), Mode::Whole)
        .await
        .unwrap();
    let expected = [
        "correct",
        "failed:grader_panicked",
        "wrong_answer",
        "ungradable:gold_unparsable",
        "too_long",
        "failed:internal",
        "wrong_answer",
        "failed:grader_panicked",
        "correct",
        "failed:grader_panicked",
    ];
    assert_eq!(outcomes(&reply), expected);
    for result in reply.grades() {
        let graded = result.outcome == "graded";
        assert_eq!(
            (result.reward.is_some(), result.pass.is_some()),
            (graded, graded),
            "a failed item has no reward"
        );
        assert!(result.recorded);
    }
    assert_eq!(fixture.recorded.grades().len(), expected.len());
}

#[tokio::test]
async fn keeps_the_order_and_prepares_each_task_once() {
    let fixture = fixture().await;
    let answer = |n: usize| (n % 3).to_string();
    let items = (0..500)
        .map(|n| item("exact", &answer(n), &(n % 2).to_string()))
        .collect();
    let reply = fixture
        .engine
        .grade(batch(items), Mode::Whole)
        .await
        .unwrap();
    for (position, result) in reply.grades().enumerate() {
        assert_eq!(result.position as usize, position);
        assert_eq!(result.pass, Some(position % 3 == position % 2));
        assert_eq!(
            result.grade,
            reply.id().grade(u32::try_from(position).unwrap())
        );
    }
    assert_eq!(fixture.prepared.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn answers_from_the_outcome_cache() {
    let fixture = fixture().await;
    for cached in [false, true] {
        let reply = fixture
            .engine
            .grade(batch(vec![item("exact", "1", "1")]), Mode::Whole)
            .await
            .unwrap();
        assert_eq!(reply.grades().next().unwrap().cached, cached);
    }
    assert_eq!(fixture.graded.load(Ordering::Relaxed), 1);
}

/// The prepared tasks of a batch may need far more memory than the batch.
#[tokio::test]
async fn a_task_is_in_memory_only_while_its_items_are_graded() {
    let limits = Limits {
        workers: 2,
        prepared_bytes: 1,
        ..Limits::default()
    };
    let fixture = fixture_with(Recorded::default(), limits).await;
    let answers: Vec<String> = (0..100).map(|number| format!("answer {number}")).collect();
    // Each task has more items than one job grades.
    let items = answers.iter().flat_map(|answer| {
        let item = move |number| {
            let completion = if number % 2 == 0 { answer } else { "other" };
            item("exact", answer, completion)
        };
        (0..40).map(item)
    });
    let reply = fixture
        .engine
        .grade(batch(items.collect()), Mode::Whole)
        .await;
    let reply = reply.unwrap();
    let correct = reply.grades().filter(|result| result.pass == Some(true));
    assert_eq!(correct.count(), 100 * 20);
    assert_eq!(fixture.prepared.load(Ordering::Relaxed), 100);
    // Two jobs at a time, each of another task at most, and one task that is being released.
    let most = fixture.in_memory.most.load(Ordering::Relaxed);
    assert!((1..=3).contains(&most), "{most}");
}

#[tokio::test]
async fn groups_share_a_baseline_without_failed_items() {
    let fixture = fixture().await;
    let grouped = |group: &str, completion: &str| {
        let mut item = item("exact", "1", completion);
        item.group = Some(group.to_owned());
        item
    };
    let items = vec![
        grouped("a", "1"),
        grouped("b", "1"),
        grouped("a", "0"),
        grouped("a", "panic"),
        item("exact", "1", "1"),
    ];
    let mut batch = batch(items);
    batch.statistics = vec![Statistic::PassAtK];
    let reply = fixture.engine.grade(batch, Mode::Whole).await.unwrap();
    let advantages: Vec<_> = reply.grades().map(|result| result.advantage).collect();
    assert_eq!(advantages, [Some(0.5), None, Some(-0.5), None, None]);
    let groups = reply.groups();
    let shapes: Vec<_> = groups
        .iter()
        .map(|group| (group.group.as_deref(), group.n, group.graded, group.mean))
        .collect();
    assert_eq!(
        shapes,
        [
            (Some("a"), 3, 2, Some(0.5)),
            (Some("b"), 1, 1, Some(1.0)),
            (None, 1, 1, Some(1.0))
        ]
    );
    assert_eq!(groups[0].statistics["passk"]["1"], 0.5);
}

#[tokio::test]
async fn checks_become_components_and_do_not_change_the_reward() {
    let fixture = fixture().await;
    let mut checked = item("exact", "1", "1");
    let check = item("waiting", "2", "");
    checked.checks.push(("format".to_owned(), check.task));
    let reply = fixture
        .engine
        .grade(batch(vec![checked]), Mode::Whole)
        .await
        .unwrap();
    let result = reply.grades().next().unwrap();
    assert_eq!(result.reward.unwrap().to_string(), "1");
    let components: Vec<_> = result
        .components
        .iter()
        .map(|c| (c.name.as_str(), c.grader.to_string(), c.verdict.as_deref()))
        .collect();
    let expected = ("format", "waiting@1".to_owned(), Some("wrong_answer"));
    assert_eq!(components, [expected]);
}

#[tokio::test]
async fn an_invalid_task_rejects_the_whole_batch_before_any_work() {
    let fixture = fixture().await;
    let mut bad = item("exact", "1", "1");
    bad.task = assay_core::Task::from_json(r#"{"type":"exact"}"#).unwrap();
    let error = fixture
        .engine
        .grade(batch(vec![item("exact", "1", "1"), bad]), Mode::Whole)
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`/items/1/task`: invalid_task at `/answer`: missing"
    );
    let mut unknown = item("exact", "1", "1");
    unknown.task = assay_core::Task::from_json(r#"{"type":"exakt"}"#).unwrap();
    let error = fixture
        .engine
        .grade(batch(vec![unknown]), Mode::Whole)
        .await
        .map(drop)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no grader is named `exakt`; this node has `exact`, `waiting`"),
        "{error}"
    );
    assert_eq!(fixture.graded.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn streams_the_same_results() {
    let fixture = fixture().await;
    let items = (0..300)
        .map(|n| item("exact", "1", &(n % 2).to_string()))
        .collect();
    let (sender, mut waves) = mpsc::channel(4);
    let grading = tokio::spawn({
        let engine = fixture.engine.clone();
        async move { engine.grade(batch(items), Mode::Streamed(sender)).await }
    });
    let mut seen = vec![None; 300];
    while let Some(wave) = waves.recv().await {
        for result in wave.grades() {
            assert!(result.recorded && result.advantage.is_none());
            assert!(
                seen[result.position as usize]
                    .replace(result.pass)
                    .is_none()
            );
        }
    }
    let reply = grading.await.unwrap().unwrap();
    assert!(
        seen.iter()
            .enumerate()
            .all(|(n, pass)| *pass == Some(Some(n % 2 == 1)))
    );
    assert_eq!(reply.grades().count(), 300);
    assert_eq!(fixture.recorded.grades().len(), 300);
}

#[tokio::test]
async fn disconnects_a_client_that_does_not_read() {
    let limits = Limits {
        workers: 1,
        delivery: Duration::from_millis(50),
        ..Limits::default()
    };
    let fixture = fixture_with(Recorded::default(), limits).await;
    let (sender, waves) = mpsc::channel(1);
    let one = || batch(vec![item("exact", "1", "1")]);
    fixture
        .engine
        .grade(one(), Mode::Streamed(sender.clone()))
        .await
        .map(drop)
        .unwrap();
    let error = fixture
        .engine
        .grade(one(), Mode::Streamed(sender))
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(error, EngineError::ClientStalled);
    assert_eq!(fixture.engine.admission().items_in_flight(), 0);
    drop(waves);
}

#[tokio::test]
async fn rejects_batches_after_shutdown() {
    let fixture = fixture().await;
    fixture.engine.shut_down(Duration::from_secs(5)).await;
    let error = fixture
        .engine
        .grade(batch(vec![item("exact", "1", "1")]), Mode::Whole)
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(error, EngineError::ShuttingDown);
}

#[tokio::test]
async fn fails_and_records_items_that_are_not_graded_in_time() {
    let fixture = fixture().await;
    let engine = fixture.engine.clone();
    let items = vec![item("waiting", "1", "never"), item("waiting", "1", "never")];
    let grading = tokio::spawn(async move { engine.grade(batch(items), Mode::Whole).await });
    while fixture.engine.admission().items_in_flight() == 0 {
        tokio::task::yield_now().await;
    }
    fixture.engine.shut_down(Duration::ZERO).await;
    let reply = grading.await.unwrap().unwrap();
    for result in reply.grades() {
        assert_eq!(result.outcome, "failed");
        let fault = result.error.as_ref().unwrap();
        assert!(
            fault.code == ErrorCode::ShuttingDown && fault.retryable,
            "{fault:?}"
        );
        assert!(result.recorded);
    }
    assert_eq!(fixture.recorded.grades().len(), 2);
    assert!(
        fixture
            .recorded
            .grades()
            .iter()
            .all(|stored| stored.grade.score.is_none())
    );
    assert_eq!(fixture.engine.admission().items_in_flight(), 0);
}

#[tokio::test]
async fn dropping_a_batch_drops_its_pending_work() {
    let fixture = fixture().await;
    let engine = fixture.engine.clone();
    let grading = tokio::spawn(async move {
        engine
            .grade(batch(vec![item("waiting", "1", "never")]), Mode::Whole)
            .await
    });
    fixture.stuck.begun.notified().await;
    grading.abort();
    // If the work is not dropped, this waits until the test times out.
    fixture.stuck.dropped.notified().await;
    assert!(grading.await.is_err_and(|error| error.is_cancelled()));
    while fixture.engine.admission().items_in_flight() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(fixture.recorded.grades().is_empty());
}

#[tokio::test]
async fn a_caller_does_not_occupy_a_lane_for_others() {
    let fixture = fixture_with(
        Recorded::default(),
        Limits {
            workers: 1,
            waiting: 1,
            ..Limits::default()
        },
    )
    .await;
    let engine = fixture.engine.clone();
    let items = vec![item("waiting", "1", "never"), item("waiting", "1", "1")];
    let grading = tokio::spawn(async move { engine.grade(batch(items), Mode::Whole).await });
    fixture.stuck.begun.notified().await;
    // If it shared the permit of the first caller, it would wait until the test times out.
    let other = Batch::new("other", vec![item("waiting", "1", "1")]);
    let reply = fixture.engine.grade(other, Mode::Whole).await.unwrap();
    assert_eq!(outcomes(&reply), ["correct"]);
    assert_eq!(fixture.engine.admission().items_in_flight(), 2);
    grading.abort();
}

#[tokio::test]
async fn rejects_batches_above_the_limit_of_items() {
    let fixture = fixture_with(
        Recorded::default(),
        Limits {
            workers: 1,
            items_in_flight: 4,
            ..Limits::default()
        },
    )
    .await;
    let items = |n: usize| (0..n).map(|_| item("exact", "1", "1")).collect::<Vec<_>>();
    let error = fixture
        .engine
        .grade(batch(items(3)), Mode::Whole)
        .await
        .map(drop)
        .unwrap_err();
    assert_eq!(error, EngineError::TooLarge { items: 3, most: 2 });
    assert!(
        fixture
            .engine
            .grade(batch(items(2)), Mode::Whole)
            .await
            .is_ok()
    );
    assert_eq!(fixture.engine.admission().items_in_flight(), 0);
}
