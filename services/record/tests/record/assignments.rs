//! Drawn grades that operators have to adjudicate.

use assay_core::GradeId;
use assay_record::event::{Adjudication, Assignment, Draw};
use assay_record::{Event, Record};

use crate::batches::{of_run, prune};
use crate::fixture::{Fixture, START_US, entry, events, id, record};
use crate::retention::runs;

fn drawn(grade: GradeId, caller: &str, after_us: i64) -> Vec<Event> {
    let time_us = START_US + after_us;
    let draw = Draw {
        grade,
        channel: "math/default".to_owned(),
        probability: 0.5,
        weight: 1.0,
        time_us,
    };
    vec![Event::Drawn(draw), assigned(grade, caller, after_us)]
}

fn assigned(grade: GradeId, caller: &str, after_us: i64) -> Event {
    Event::Assigned(Assignment {
        grade,
        caller: caller.to_owned(),
        time_us: START_US + after_us,
    })
}

async fn open(store: &Record, operator: Option<&str>) -> Vec<(GradeId, String)> {
    let open = store.assignments(operator, 9).await.unwrap();
    open.into_iter()
        .map(|assignment| (assignment.grade, assignment.caller))
        .collect()
}

#[tokio::test]
async fn a_drawn_grade_is_open_until_it_is_adjudicated() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let graded = entry(1, 4);
    record(&store, graded.clone()).await;
    let (first, second) = (id(&graded, 0), id(&graded, 2));
    record(&store, events(100, drawn(first, "ann", 1))).await;
    record(&store, events(101, drawn(second, "bob", 2))).await;
    // A grade that was not drawn cannot be assigned.
    record(
        &store,
        events(102, vec![assigned(id(&graded, 1), "ann", 3)]),
    )
    .await;
    let of = |grade, caller: &str| (grade, caller.to_owned());
    assert_eq!(
        open(&store, None).await,
        [of(second, "bob"), of(first, "ann")]
    );
    assert_eq!(open(&store, Some("ann")).await, [of(first, "ann")]);
    assert_eq!(open(&store.seen_by("ann"), None).await, []);

    record(&store, events(103, vec![assigned(first, "bob", 4)])).await;
    assert_eq!(open(&store, Some("ann")).await, []);
    assert_eq!(
        open(&store, Some("bob")).await,
        [of(first, "bob"), of(second, "bob")]
    );
    let adjudication = Event::Adjudicated(Adjudication {
        id: 7,
        grade: first,
        channel: "math/default".to_owned(),
        version: 1,
        graded_pass: true,
        pass: true,
        weight: Some(1.0),
        corrects: None,
        judged: None,
        caller: "bob".to_owned(),
        note: None,
        time_us: START_US + 5,
    });
    record(&store, events(104, vec![adjudication])).await;
    assert_eq!(open(&store, None).await, [of(second, "bob")]);
    // An assignment from before the adjudication, recorded late, does not open it again.
    record(&store, events(105, vec![assigned(first, "ann", 4)])).await;
    assert_eq!(open(&store, None).await, [of(second, "bob")]);
    store.close().await.unwrap();
    drop(store);
    let store = fixture.open().await;
    assert_eq!(open(&store, None).await, [of(second, "bob")]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn assignments_are_deleted_with_their_grades() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let (graded, kept) = (of_run(0, "deleted", 4), of_run(1, "kept", 4));
    for (n, entry) in [(100, &graded), (101, &kept)] {
        record(&store, entry.clone()).await;
        record(&store, events(n, drawn(id(entry, 0), "ann", 1))).await;
    }
    fixture.applied(&store).await;
    prune(&store, runs(&["deleted"])).await;
    assert_eq!(open(&store, None).await, [(id(&kept, 0), "ann".to_owned())]);
    store.close().await.unwrap();
}
