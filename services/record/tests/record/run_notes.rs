//! What operators note about runs, and lists of runs by it.

use std::collections::BTreeMap;

use assay_record::run_list::{Direction, RunFilter, RunKey, RunOrder};
use assay_record::run_notes::RunChanges;
use assay_record::{Entry, Record};
use tokio::task::JoinSet;

use crate::fixture::{Fixture, START_US, change_all, entry, record};

/// An entry of a run, whose grades have this reward.
fn of_run(n: u64, run: &str, grades: u32, reward: Option<f64>) -> Entry {
    let mut entry = entry(n, grades);
    entry.run = Some(run.into());
    change_all(&mut entry, |source, grade| {
        source.run = Some(run.into());
        grade.reward = reward;
    });
    entry
}

fn tags(tags: &[&str]) -> RunChanges {
    RunChanges {
        tags: Some(tags.iter().map(|tag| (*tag).to_owned()).collect()),
        ..RunChanges::default()
    }
}

fn note(note: &str) -> RunChanges {
    RunChanges {
        note: Some(note.to_owned()),
        ..RunChanges::default()
    }
}

async fn names(store: &Record, filter: &RunFilter, order: RunOrder) -> Vec<String> {
    let runs = store.run_list(filter, order, 0, 100).await.unwrap();
    runs.into_iter().map(|run| run.run).collect()
}

#[tokio::test]
async fn changes_the_given_fields_and_keeps_the_others() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_run(1, "a/b", 2, Some(0.5))).await;
    assert_eq!(
        store.annotate_run("absent", &note("x")).await.unwrap(),
        None
    );

    let run = store.annotate_run("a/b", &tags(&["x", "y", "x"])).await;
    assert_eq!(run.unwrap().unwrap().tags, ["x", "y"], "each tag once");
    store.annotate_run("a/b", &note("a note")).await.unwrap();
    let archived = RunChanges {
        archived: Some(true),
        ..RunChanges::default()
    };
    let run = store.annotate_run("a/b", &archived).await.unwrap().unwrap();
    assert_eq!((run.note.as_str(), run.archived), ("a note", true));
    assert_eq!(run.tags, ["x", "y"]);

    // Later grades do not change what was noted, nor does a restart.
    record(&store, of_run(2, "a/b", 2, Some(0.5))).await;
    store.close().await.unwrap();
    let store = fixture.open().await;
    let run = store.run("a/b").await.unwrap().unwrap();
    assert_eq!(
        (run.grades, run.note.as_str(), run.archived),
        (4, "a note", true)
    );
    let run = store.annotate_run("a/b", &note("")).await.unwrap().unwrap();
    assert_eq!((run.note.as_str(), run.tags.len()), ("", 2));
    store.close().await.unwrap();
}

#[tokio::test]
async fn concurrent_changes_of_different_fields_are_all_kept() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    record(&store, of_run(1, "r", 1, None)).await;
    for round in 0..20 {
        let archived = RunChanges {
            archived: Some(round % 2 == 0),
            ..RunChanges::default()
        };
        let tag = format!("round-{round}");
        let mut changes = JoinSet::new();
        for change in [tags(&[&tag]), note(&tag), archived] {
            let store = store.clone();
            changes.spawn(async move { store.annotate_run("r", &change).await.unwrap() });
        }
        assert_eq!(changes.join_all().await.len(), 3);
        let run = store.run("r").await.unwrap().unwrap();
        assert_eq!(run.tags, std::slice::from_ref(&tag));
        assert_eq!((run.note, run.archived), (tag, round % 2 == 0));
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn lists_runs_by_search_tag_and_archive() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for (n, run) in (1..).zip(["alpha", "beta", "be_a", "alice:own"]) {
        record(&store, of_run(n, run, 1, None)).await;
    }
    store
        .annotate_run("alpha", &tags(&["good", "x"]))
        .await
        .unwrap();
    store
        .annotate_run("beta", &tags(&["goo", "x"]))
        .await
        .unwrap();
    store
        .annotate_run("be_a", &note("Forked from ALPHA, 100 %"))
        .await
        .unwrap();
    let archived = RunChanges {
        archived: Some(true),
        ..RunChanges::default()
    };
    store.annotate_run("beta", &archived).await.unwrap();
    let by_name = RunOrder::from(RunKey::Name);
    let listed = async |search: Option<&str>, tag: Option<&str>, archived| {
        let filter = RunFilter {
            search: search.map(str::to_owned),
            tag: tag.map(str::to_owned),
            archived,
        };
        names(&store, &filter, by_name).await
    };
    let all = ["alice:own", "alpha", "be_a", "beta"];
    assert_eq!(listed(None, None, None).await, all);
    assert_eq!(listed(None, None, Some(true)).await, ["beta"]);
    assert_eq!(listed(None, None, Some(false)).await, all[..3]);
    assert_eq!(listed(Some("LPHA"), None, None).await, ["alpha", "be_a"]);
    assert_eq!(listed(Some("e_a"), None, None).await, ["be_a"]);
    assert_eq!(listed(Some("100 %"), None, None).await, ["be_a"]);
    assert_eq!(listed(Some("\\"), None, None).await, [""; 0]);
    assert_eq!(listed(None, Some("goo"), None).await, ["beta"]);
    assert_eq!(listed(None, Some("x"), Some(false)).await, ["alpha"]);

    // A caller finds its runs by the names that it gave them.
    let alice = store.seen_by("alice");
    let search = |text: &str| RunFilter {
        search: Some(text.to_owned()),
        ..RunFilter::default()
    };
    assert_eq!(names(&alice, &search("own"), by_name).await, ["own"]);
    assert_eq!(names(&alice, &search("alice"), by_name).await, [""; 0]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn sorts_runs_in_both_directions_and_lists_pages() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for (n, run, grades, reward) in [
        (1, "c", 3, Some(0.25)),
        (2, "a", 1, Some(1.0)),
        (3, "d", 2, None),
        (4, "b", 4, Some(-0.5)),
    ] {
        record(&store, of_run(n, run, grades, reward)).await;
    }
    let all = RunFilter::default();
    for (key, direction, expected) in [
        (
            RunKey::LastUsed,
            Direction::Descending,
            ["b", "d", "a", "c"],
        ),
        (RunKey::LastUsed, Direction::Ascending, ["c", "a", "d", "b"]),
        (RunKey::Name, Direction::Ascending, ["a", "b", "c", "d"]),
        (RunKey::Grades, Direction::Descending, ["b", "c", "d", "a"]),
        // Without a reward last, in both directions.
        (
            RunKey::MeanReward,
            Direction::Descending,
            ["a", "c", "b", "d"],
        ),
        (
            RunKey::MeanReward,
            Direction::Ascending,
            ["b", "c", "a", "d"],
        ),
    ] {
        let order = RunOrder { key, direction };
        assert_eq!(names(&store, &all, order).await, expected, "{order:?}");
    }
    let by_name = RunOrder::from(RunKey::Name);
    let page = store.run_list(&all, by_name, 1, 2).await.unwrap();
    let page: Vec<_> = page.iter().map(|run| run.run.as_str()).collect();
    assert_eq!(page, ["b", "c"]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_trend_has_the_last_columns_of_the_charts() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for n in 0..40 {
        let mut entry = of_run(n, "r", 2, Some(n as f64));
        if n == 39 {
            change_all(&mut entry, |_, grade| grade.outcome = "failed".into());
        }
        record(&store, entry).await;
    }
    let mut without_step = of_run(100, "r", 1, Some(9.0));
    without_step.step = None;
    change_all(&mut without_step, |source, _| source.step = None);
    record(&store, without_step).await;

    let trend = store.run_trend("r", 1, 3).await.unwrap();
    let columns: BTreeMap<_, _> = trend
        .iter()
        .map(|(step, column)| (*step, (column.grades, column.failed, column.rewards.mean())))
        .collect();
    assert_eq!(
        columns,
        BTreeMap::from([
            (37, (2, 0, Some(37.0))),
            (38, (2, 0, Some(38.0))),
            (39, (2, 2, Some(39.0))),
        ])
    );
    let trend = store.run_trend("r", 16, 100).await.unwrap();
    assert_eq!(trend.keys().copied().collect::<Vec<_>>(), [0, 16, 32]);
    assert_eq!(trend[&0].rewards.mean(), Some(7.5));
    assert!(store.run_trend("absent", 1, 9).await.unwrap().is_empty());

    // The ids of all batches begin at the same time.
    assert_eq!(store.run_grades_since("r", START_US).await.unwrap(), 81);
    assert_eq!(
        store.run_grades_since("r", START_US + 1_000).await.unwrap(),
        0
    );
    store.close().await.unwrap();
}
