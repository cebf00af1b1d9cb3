//! What one of several nodes does at a time: drawing grades for operators, and deleting.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_core::GradeId;
use assay_record::event::Draw;
use assay_record::storage::{PruneState, RetentionLimits};
use assay_record::{Event, GradeFilter, Record};

use crate::batches::{of_run, prune};
use crate::fixture::{Fixture, START_US, all, entry, events, record};
use crate::retention::runs;

/// Draws a grade as an operator does: the newest one that was not drawn.
async fn draw(store: &Record, n: u64) -> GradeId {
    let exclusion = store.exclude_operators().await.unwrap();
    let grades = all(store, &GradeFilter::default(), 50).await;
    let ids: Vec<GradeId> = grades.iter().map(|stored| stored.grade.grade).collect();
    let drawn = store.draws(&ids).await.unwrap();
    let is_drawn = |id: &GradeId| drawn.iter().any(|draw| draw.grade == *id);
    let grade = *ids.iter().find(|id| !is_drawn(id)).unwrap();
    let draw = Draw {
        grade,
        channel: "math/default".to_owned(),
        probability: 0.5,
        weight: 1.0,
        time_us: START_US,
    };
    record(store, events(n, vec![Event::Drawn(draw)])).await;
    store.release(exclusion).await.unwrap();
    grade
}

#[tokio::test]
async fn no_grade_is_drawn_on_two_nodes() {
    let fixture = Fixture::on_postgres();
    let one = fixture.open().await;
    let other = fixture.open_replica("other").await;
    record(&one, entry(1, 40)).await;
    fixture.applied(&one).await;
    let draws_of = async |store: &Record, first: u64| {
        let mut drawn = Vec::new();
        for n in first..first + 15 {
            drawn.push(draw(store, n).await);
        }
        drawn
    };
    let (of_one, of_other) = tokio::join!(draws_of(&one, 100), draws_of(&other, 200));
    let distinct: BTreeSet<GradeId> = of_one.into_iter().chain(of_other).collect();
    assert_eq!(distinct.len(), 30);
    assert_eq!(fixture.number("select count(*) from draws").await, 30);
}

#[tokio::test]
async fn an_exclusion_ends_with_its_node() {
    let fixture = Fixture::on_postgres();
    let one = fixture.open().await;
    let other = fixture.open_replica("other").await;
    let exclusion = one.exclude_operators().await.unwrap();
    let waiting = other.exclude_operators();
    let waited = tokio::time::timeout(Duration::from_millis(300), waiting).await;
    assert!(waited.is_err(), "two nodes draw at once");
    drop(exclusion);
    let exclusion = other.exclude_operators().await.unwrap();
    other.release(exclusion).await.unwrap();
}

const TAKE: &str = "select pg_advisory_lock(4711046254)";

#[tokio::test]
async fn a_prune_is_refused_while_another_node_deletes() {
    let fixture = Fixture::on_postgres();
    let store = fixture.open().await;
    record(&store, entry(1, 4)).await;
    let mut another = fixture.connect().await.unwrap();
    another.execute(TAKE).await.unwrap();
    let refused = prune(&store, runs(&["run-a"])).await;
    assert_eq!(refused.state, PruneState::Failed);
    let reason = refused.error.unwrap();
    assert!(reason.contains("another node"), "{reason}");
    assert_eq!(fixture.number("select count(*) from grades").await, 4);
    drop(another);
    // The server ends the lock soon after the connection.
    while prune(&store, runs(&["run-a"])).await.state != PruneState::Done {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(fixture.number("select count(*) from grades").await, 0);
    store.close().await.unwrap();
}

#[tokio::test]
async fn one_of_two_nodes_enforces_the_limits() {
    let mut fixture = Fixture::on_postgres();
    fixture.options.limits = RetentionLimits {
        grade_age_us: 1_000_000,
        ..RetentionLimits::default()
    };
    fixture.options.limits_interval = Duration::from_millis(20);
    let mut another = fixture.connect().await.unwrap();
    another.execute(TAKE).await.unwrap();
    let one = fixture.open().await;
    let other = fixture.open_replica("other").await;
    record(&one, of_run(1, "run", 4)).await;
    fixture.applied(&one).await;
    fixture.clock.advance(Duration::from_secs(3_600));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(fixture.number("select count(*) from grades").await, 4);
    drop(another);
    while fixture.number("select count(*) from grades").await > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for node in [&one, &other] {
        node.close().await.unwrap();
    }
    let verified = assay_record::verify(&fixture.options, |_| {}).await;
    assert_eq!(verified.unwrap().damages, []);
}
