//! Comments on grades: each is stored once, found by its grade and its labels, and deleted with its
//! grade or by its author.

use assay_core::GradeId;
use assay_record::comment::Comment;
use assay_record::{Event, GradeFilter, Record};

use crate::batches::{of_run, prune};
use crate::fixture::{self, Fixture, START_US, all, entry, events, id, record};
use crate::retention::runs;

pub(crate) fn comment(n: u64, grade: GradeId, labels: &[&str]) -> Comment {
    Comment {
        id: fixture::batch(n),
        grade,
        text: format!("comment {n}"),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        caller: "operator".to_owned(),
        time_us: START_US,
    }
}

async fn write(store: &Record, comment: &Comment) {
    let n = u64::try_from(u128::from(comment.id) >> 24 & 0xffff).unwrap() + 5_000;
    record(store, events(n, vec![Event::Commented(comment.clone())])).await;
}

async fn listed(store: &Record, label: &str, run: Option<&str>) -> Vec<GradeId> {
    let filter = GradeFilter {
        label: Some(label.to_owned()),
        run: run.map(str::to_owned),
        ..GradeFilter::default()
    };
    let listed = all(store, &filter, 1).await;
    listed.iter().map(|stored| stored.grade.grade).collect()
}

#[tokio::test]
async fn finds_comments_by_grade_and_by_label() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let graded = entry(0, 4);
    record(&store, graded.clone()).await;
    let (first, second) = (id(&graded, 0), id(&graded, 2));
    let comments = [
        comment(10, first, &["gold", "unclear"]),
        comment(11, first, &["gold"]),
        comment(12, second, &["gold"]),
    ];
    for comment in &comments {
        write(&store, comment).await;
    }
    assert_eq!(store.comments(first).await.unwrap(), comments[..2]);
    let counts = store
        .commented(&[first, second, id(&graded, 1)])
        .await
        .unwrap();
    assert_eq!(Vec::from_iter(counts), [(first, 2), (second, 1)]);
    assert_eq!(listed(&store, "gold", None).await, [second, first]);
    assert_eq!(listed(&store, "unclear", None).await, [first]);
    assert_eq!(listed(&store, "gold", Some("another")).await, []);
    let gold = GradeFilter {
        label: Some("gold".to_owned()),
        ..GradeFilter::default()
    };
    let neighbours = store.neighbours(&gold, first).await.unwrap();
    assert_eq!((neighbours.newer, neighbours.older), (Some(second), None));
    // Another caller sees neither.
    let other = store.seen_by("somebody");
    assert_eq!(other.comments(first).await.unwrap(), []);
    assert_eq!(listed(&other, "gold", None).await, []);

    let deleted = Event::CommentDeleted(first, comments[0].id);
    record(&store, events(6_000, vec![deleted])).await;
    assert_eq!(store.comments(first).await.unwrap(), comments[1..2]);
    assert_eq!(listed(&store, "unclear", None).await, []);
    store.close().await.unwrap();
}

#[tokio::test]
async fn comments_are_deleted_with_their_grades() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let (graded, kept) = (of_run(0, "deleted", 4), of_run(1, "kept", 4));
    for entry in [&graded, &kept] {
        record(&store, entry.clone()).await;
    }
    for (n, entry) in [(10, &graded), (11, &kept)] {
        write(&store, &comment(n, id(entry, 3), &["gold"])).await;
    }
    fixture.applied(&store).await;
    prune(&store, runs(&["deleted"])).await;
    assert_eq!(store.comments(id(&graded, 3)).await.unwrap(), []);
    assert_eq!(store.comments(id(&kept, 3)).await.unwrap().len(), 1);
    // A comment that is recorded later has no grade.
    write(&store, &comment(12, id(&graded, 3), &["gold"])).await;
    assert_eq!(store.comments(id(&graded, 3)).await.unwrap(), []);
    let labels = "select count(*) from comment_labels";
    assert_eq!(fixture.number(labels).await, 1);
    store.close().await.unwrap();
}
