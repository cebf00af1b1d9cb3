//! Comparisons of runs and of ranges of steps.

use assay_engine::{Batch, Mode};
use assay_review::comparison::{Comparison, RunRange, compare};

use crate::fixtures::{Fixture, batch, fixture, item};

/// Grades ten prompts at a step, of which the first `solved` pass; completions of the last
/// `truncated` are cut.
async fn grade(fixture: &Fixture, run: &str, step: i64, solved: usize, truncated: usize) {
    let items = (0..10).map(|prompt| {
        let completion = if prompt < solved { "1" } else { "2" };
        let mut item = item("exact", "1", completion);
        item.prompt_key = Some(format!("p{prompt}"));
        item.item.meta.truncated = prompt >= 10 - truncated;
        item
    });
    let batch = Batch {
        run: Some(run.into()),
        step: Some(step),
        ..batch(items.collect())
    };
    fixture.engine.grade(batch, Mode::Whole).await.unwrap();
}

fn steps(run: &str, from: i64, to: i64) -> RunRange {
    RunRange {
        run: run.to_owned(),
        from: Some(from),
        to: Some(to),
    }
}

fn contributions(comparison: &Comparison, topic: &str) -> Vec<(String, f64)> {
    let parts = comparison.parts.iter().filter(|part| part.topic == topic);
    parts
        .map(|part| (part.value.clone(), part.contribution.unwrap()))
        .collect()
}

#[tokio::test]
async fn contributions_of_each_topic_sum_to_the_difference() {
    let fixture = fixture().await;
    for step in 0..4 {
        grade(&fixture, "run", step, 8, 0).await;
    }
    for step in 4..8 {
        grade(&fixture, "run", step, 3, 5).await;
    }
    let (before, after) = (steps("run", 0, 3), steps("run", 4, 7));
    let comparison = compare(&fixture.record, &before, &after, 3).await.unwrap();
    let difference = comparison.reward.unwrap();
    assert!((difference.value + 0.5).abs() < 1e-12, "{difference:?}");
    assert!(difference.is_clear() && difference.low < -0.5 && difference.high > -0.5);
    for topic in ["verdict", "channel", "grader", "truncated"] {
        let parts = contributions(&comparison, topic);
        let sum: f64 = parts.iter().map(|(_, contribution)| contribution).sum();
        assert!((sum - difference.value).abs() < 1e-12, "{topic}: {parts:?}");
    }
    let verdicts = contributions(&comparison, "verdict");
    assert_eq!(verdicts.len(), 2, "{verdicts:?}");
    let passes: Vec<_> = (verdicts.iter())
        .filter(|(verdict, _)| verdict == "correct")
        .collect();
    assert!((passes[0].1 + 0.225).abs() < 1e-12, "{verdicts:?}");
    assert_eq!((comparison.a.truncated, comparison.b.truncated), (0, 20));
    assert_eq!(comparison.prompts.common, 10);
    assert_eq!((comparison.prompts.gained, comparison.prompts.lost), (0, 5));
    assert_eq!(comparison.prompts.flipped.len(), 3);
    assert_eq!(comparison.prompts.flipped[0].prompt_key, "p3");
}

#[tokio::test]
async fn errors_of_rewards_are_those_of_prompts() {
    let fixture = fixture().await;
    for step in 0..16 {
        grade(&fixture, "run", step, 5, 0).await;
    }
    let range = steps("run", 0, 15);
    let comparison = compare(&fixture.record, &range, &range, 3).await.unwrap();
    // Ten prompts whose rollouts all agree: the deviation of the prompts is 1/2.
    let expected = 0.5 / 10f64.sqrt();
    let error = comparison.a.reward_error.unwrap();
    assert!((error - expected).abs() < 1e-12, "{error}");
    assert!(!comparison.reward.unwrap().is_clear());
}

#[tokio::test]
async fn a_run_without_grades_has_no_difference() {
    let fixture = fixture().await;
    grade(&fixture, "run", 0, 5, 0).await;
    let (some, none) = (steps("run", 0, 0), steps("other", 0, 9));
    let comparison = compare(&fixture.record, &some, &none, 3).await.unwrap();
    assert_eq!(comparison.reward, None);
    assert_eq!((comparison.a.grades, comparison.b.grades), (10, 0));
    assert!(comparison.prompts.flipped.is_empty());
}
