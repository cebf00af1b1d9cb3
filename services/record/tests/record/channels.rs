//! Counts of channels and histories of prompts: each grade and event counts once, whether pending
//! or applied, by this node or a replica.

use assay_core::GradeId;
use assay_record::event::{Adjudication, Draw};
use assay_record::{Event, Record};
use assay_rewards::Visit;
use assay_rewards::channel::counts::Calibration;
use assay_rewards::channel::counts::{BUCKET_US, OPERATOR};

use crate::fixture::{self, Fixture, batch, change_all, entry, events, part, record};

fn adjudication(id: u128, grade: GradeId, weight: Option<f64>) -> Event {
    Event::Adjudicated(Adjudication {
        id,
        grade,
        channel: "math/default".to_owned(),
        version: 1,
        graded_pass: false,
        pass: true,
        weight,
        corrects: None,
        judged: Some(("judge@1".to_owned(), true)),
        caller: "local".to_owned(),
        note: Some("a fraction".to_owned()),
        time_us: fixture::START_US,
    })
}

/// Negatives, positives, checks, weight of the disagreements, and adjudicated correct answers of
/// the only channel.
async fn counted(store: &Record) -> (u64, u64, u64, f64, u64) {
    let counts = store.channels().await.unwrap();
    let (mut negatives, mut positives) = (0, 0);
    for graded in counts.graded.values() {
        negatives += graded.negatives;
        positives += graded.positives;
        assert_eq!(
            graded.bound_negatives, graded.negatives,
            "each negative of this fixture was overturned"
        );
    }
    let checked: Vec<_> = counts.checked.values().flatten().collect();
    let checks = checked.iter().map(|(_, checked)| checked.checks).sum();
    let weight = checked
        .iter()
        .map(|(_, checked)| checked.disagreed_weight)
        .sum();
    (
        negatives,
        positives,
        checks,
        weight,
        counts
            .truths
            .values()
            .map(|truths| truths.right.unsigned_abs())
            .sum(),
    )
}

#[tokio::test]
async fn counts_a_grade_once() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(1, 8)).await;
    record(&store, entry(1, 8)).await;
    let pending = counted(&store).await;
    // Four negatives, each checked with probability 1/4.
    assert_eq!(pending, (4, 4, 4, 16.0, 0));
    fixture.applied(&store).await;
    assert_eq!(counted(&store).await, pending);
    record(&store, entry(1, 8)).await;
    assert_eq!(counted(&store).await, pending);
}

#[tokio::test]
async fn counts_survive_a_restart() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(1, 8)).await;
    let before = counted(&store).await;
    store.close().await.unwrap();
    drop(store);
    assert_eq!(counted(&fixture.open().await).await, before);
}

#[tokio::test]
async fn counts_grades_that_no_judge_could_have_checked() {
    async fn unjudged(store: &Record) -> Vec<[u64; 4]> {
        let graded = store.channels().await.unwrap().graded;
        graded
            .values()
            .map(|graded| {
                [
                    graded.negatives,
                    graded.positives,
                    graded.unjudged_negatives,
                    graded.unjudged_positives,
                ]
            })
            .collect()
    }
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let mut mixed = entry(1, 8);
    for grade in &mut mixed.grades {
        grade.unjudged = grade.row.grade.position > 4;
    }
    let failed = mixed.grades[5..]
        .iter()
        .filter(|grade| grade.row.grade.pass == Some(false))
        .count() as u64;
    record(&store, mixed).await;
    record(&store, entry(2, 8)).await;
    let expected = vec![[8, 8, failed, 3 - failed]];
    assert_eq!(unjudged(&store).await, expected);
    // The spool keeps the mark of grades that are not applied yet.
    store.close().await.unwrap();
    drop(store);
    let store = fixture.open().await;
    fixture.applied(&store).await;
    assert_eq!(unjudged(&store).await, expected);
}

#[tokio::test]
async fn reads_old_buckets_as_one_sum() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let mut long = entry(1, 600);
    change_all(&mut long, |_, grade| {
        grade.time_us += i64::from(grade.position) * BUCKET_US;
    });
    record(&store, long).await;
    fixture.applied(&store).await;
    let graded = store.channels().await.unwrap().graded;
    let sizes: Vec<u64> = graded
        .values()
        .map(assay_rewards::channel::counts::Graded::items)
        .collect();
    assert_eq!((sizes.len(), sizes[0], sizes[1]), (512, 89, 1));
    assert_eq!(
        graded.values().map(|graded| graded.positives).sum::<u64>(),
        300
    );
}

#[tokio::test]
async fn replicas_add_to_the_same_counts() {
    let fixture = Fixture::new();
    let (one, other) = (
        fixture.open().await,
        fixture.open_replica("other.spool").await,
    );
    record(&one, entry(1, 8)).await;
    record(&other, entry(2, 8)).await;
    fixture.applied(&one).await;
    fixture.applied(&other).await;
    assert_eq!(counted(&one).await, (8, 8, 8, 32.0, 0));
    assert_eq!(counted(&other).await, counted(&one).await);
}

#[tokio::test]
async fn counts_adjudications_of_drawn_grades_once() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(1, 2)).await;
    let grade = batch(1).grade(1);
    let chosen = adjudication(7, grade, None);
    record(&store, events(10, vec![chosen.clone()])).await;
    assert_eq!(
        counted(&store).await,
        (1, 1, 1, 4.0, 0),
        "a grade that an operator chose does not count"
    );
    let drawn = adjudication(8, grade, Some(2.0));
    record(&store, events(11, vec![drawn.clone()])).await;
    let counts = (1, 1, 2, 6.0, 1);
    assert_eq!(counted(&store).await, counts);
    fixture.applied(&store).await;
    record(&store, events(12, vec![drawn.clone()])).await;
    fixture.applied(&store).await;
    assert_eq!(
        counted(&store).await,
        counts,
        "a repeated event does not count again"
    );
    let found = store.adjudications(grade).await.unwrap();
    assert_eq!(
        found
            .into_iter()
            .map(Event::Adjudicated)
            .collect::<Vec<_>>(),
        [chosen, drawn]
    );
    let judges = store.channels().await.unwrap().checked;
    assert!(
        judges
            .values()
            .flatten()
            .any(|(checker, _)| checker.judge == OPERATOR)
    );
}

#[tokio::test]
async fn a_later_adjudication_replaces_the_earlier_one() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, entry(1, 2)).await;
    let grade = batch(1).grade(1);
    let first = adjudication(7, grade, Some(1.0));
    let Event::Adjudicated(mut second) = adjudication(8, grade, Some(1.0)) else {
        unreachable!()
    };
    (second.pass, second.corrects) = (false, Some((true, fixture::START_US)));
    record(&store, events(10, vec![first])).await;
    // The judge's check with probability 1/4, and the operator's.
    assert_eq!(counted(&store).await, (1, 1, 2, 5.0, 1));
    record(&store, events(11, vec![Event::Adjudicated(second.clone())])).await;
    for _ in 0..2 {
        assert_eq!(counted(&store).await, (1, 1, 2, 4.0, 0));
        assert_eq!(store.adjudications(grade).await.unwrap()[1], second);
        fixture.applied(&store).await;
    }
}

#[tokio::test]
async fn reads_draws_and_the_latest_calibration() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let grade = batch(1).grade(1);
    let draw = Draw {
        grade,
        channel: "math/default".to_owned(),
        probability: 0.125,
        weight: 1.0,
        time_us: 5,
    };
    let calibration = |time_us, right_rejected| Calibration {
        channel: "math/default".to_owned(),
        version: 1,
        method: "labels".to_owned(),
        right: 10.0,
        right_rejected,
        wrong: 20.0,
        wrong_passed: 1.0,
        time_us,
    };
    let (new, old) = (calibration(9, 3.0), calibration(8, 4.0));
    record(
        &store,
        events(
            1,
            vec![Event::Drawn(draw.clone()), Event::Calibrated(new.clone())],
        ),
    )
    .await;
    record(&store, events(2, vec![Event::Calibrated(old)])).await;
    for _ in 0..2 {
        assert_eq!(
            store.draws(&[grade, batch(1).grade(2)]).await.unwrap(),
            std::slice::from_ref(&draw)
        );
        let known = store.channels().await.unwrap().calibrations;
        assert_eq!(
            known.into_values().collect::<Vec<_>>(),
            std::slice::from_ref(&new),
            "the later one is used"
        );
        fixture.applied(&store).await;
    }
}

#[tokio::test]
async fn stores_visits_by_run_and_step() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    // Two waves of the same batch are one visit; another batch is another step.
    record(&store, part(1, 0, 2)).await;
    record(&store, part(1, 2, 2)).await;
    record(&store, entry(2, 2)).await;
    // Passed or overturned, with a reward of -1.5.
    let visit = |step, n: u32| Visit {
        step: Some(step),
        judged: n,
        passes: n,
        rewards: n,
        reward_sum: -1.5 * f64::from(n),
        reward_squares: 2.25 * f64::from(n),
    };
    for _ in 0..2 {
        let visits = store.visits("run-a", None).await.unwrap();
        assert_eq!(visits["prompt-1"], [visit(1, 4)]);
        assert_eq!(visits["prompt-2"], [visit(2, 2)]);
        let named = store
            .visits(
                "run-a",
                Some(&["prompt-2".to_owned(), "prompt-9".to_owned()]),
            )
            .await
            .unwrap();
        assert_eq!(named.keys().collect::<Vec<_>>(), ["prompt-2"]);
        assert!(store.visits("run-b", None).await.unwrap().is_empty());
        fixture.applied(&store).await;
    }
}
