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
    // Ten prompts whose rollouts all agree: the sample deviation of the prompts is 1/2 times the
    // square root of 10/9.
    let expected = 0.5 / 9f64.sqrt();
    let error = comparison.a.reward_error.unwrap();
    assert!((error - expected).abs() < 1e-12, "{error}");
    // Both have the same rollouts.
    let difference = comparison.reward.unwrap();
    assert!(difference.value.abs() < 1e-12 && !difference.is_clear());
    assert!(difference.high - difference.low < 1e-9, "{difference:?}");
}

#[tokio::test]
async fn intervals_pair_the_prompts_of_both_sets() {
    let fixture = fixture().await;
    // The same prompts are solved, except one.
    for step in 0..8 {
        grade(&fixture, "a", step, 5, 0).await;
        grade(&fixture, "b", step, 6, 0).await;
    }
    let (a, b) = (steps("a", 0, 7), steps("b", 0, 7));
    let comparison = compare(&fixture.record, &a, &b, 3).await.unwrap();
    // The differences of the ten prompts are 0, and once 1: mean 0.1, sample variance 0.1, with
    // nine degrees of freedom.
    let half = 2.262_157 * (0.1f64 / 10.0).sqrt();
    for difference in [comparison.reward.unwrap(), comparison.pass.unwrap()] {
        assert!((difference.value - 0.1).abs() < 1e-12, "{difference:?}");
        assert!(
            (difference.high - 0.1 - half).abs() < 1e-5,
            "{difference:?}"
        );
        assert!((difference.low - 0.1 + half).abs() < 1e-5, "{difference:?}");
    }
}

#[tokio::test]
async fn rollouts_of_a_single_prompt_are_independent() {
    let fixture = fixture().await;
    for (run, right) in [("a", 20), ("b", 60)] {
        let items = (0..80).map(|at| {
            let mut item = item("exact", "1", if at < right { "1" } else { "2" });
            item.prompt_key = Some("p".to_owned());
            item
        });
        let batch = Batch {
            run: Some(run.into()),
            step: Some(0),
            ..batch(items.collect())
        };
        fixture.engine.grade(batch, Mode::Whole).await.unwrap();
    }
    let (a, b) = (steps("a", 0, 0), steps("b", 0, 0));
    let comparison = compare(&fixture.record, &a, &b, 3).await.unwrap();
    let half = 1.96 * (2.0f64 * 0.25 * 0.75 / 80.0).sqrt();
    let difference = comparison.reward.unwrap();
    assert!(
        (difference.high - 0.5 - half).abs() < 1e-4,
        "{difference:?}"
    );
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
