//! Lists and sums over pending and stored entries equal those of a simple model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_core::{ErrorCode, Fault, GradeId};
use assay_record::chart::{GradeKind, Number, Steps, Topic, bucket};
use assay_record::rollup::{RollupKey, Rollups};
use assay_record::{Entry, GradeFilter, Neighbours, Record, StoredGrade};
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixture::{Fixture, START_US, all, batch, change_all, part, record};

fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let one = (0..6u64, 0..4u32, 0..5u32, any::<u64>()).prop_map(|(n, first, count, salt)| {
        let mut entry = part(n, first, count);
        // A batch has one run and one step, also if it has several entries.
        let run = [None, Some("run-a"), Some("run-b")][n as usize % 3];
        entry.run = run.map(Arc::from);
        entry.step = (n % 4 != 3).then_some(n as i64 % 2);
        let (run, step) = (entry.run.clone(), entry.step);
        change_all(&mut entry, |source, grade| {
            let pick = (salt >> (grade.position % 16)) as usize;
            source.run = run.clone();
            source.step = step;
            grade.id = (!pick.is_multiple_of(3)).then(|| format!("item-{}", pick % 2));
            grade.prompt_key = Some(format!("prompt-{}", pick % 3));
            grade.group = (!pick.is_multiple_of(5)).then(|| format!("group-{}", pick % 2));
            grade.grader.name = ["math", "code"][pick % 2].into();
            grade.channel = ["math/default", "math/gsm", "code/default"][pick % 3].into();
            grade.outcome = ["graded", "graded", "failed", "ungradable"][pick % 4].into();
            grade.verdict =
                (grade.outcome == "graded").then(|| ["correct", "wrong_answer"][pick % 2].into());
            grade.error = (grade.outcome == "failed")
                .then(|| Fault::transient(ErrorCode::SandboxFailed, "it ended"));
            if grade.outcome == "graded" && pick.is_multiple_of(3) {
                grade.measures.insert("truncated".into(), 1.0);
            }
            grade.score = (grade.outcome == "graded").then_some((pick % 5) as f64 / 4.0);
            grade.pass = (grade.outcome == "graded").then_some(pick.is_multiple_of(2));
            grade.time_us = START_US + (pick % 7) as i64;
        });
        entry
    });
    prop::collection::vec(one, 0..14)
}

fn maybe<T: Clone + std::fmt::Debug + 'static>(values: Vec<T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.2, select(values))
}

fn texts(values: &[&str]) -> impl Strategy<Value = Option<String>> + use<> {
    maybe(values.iter().map(|text| (*text).to_owned()).collect())
}

fn several(values: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let some = prop::sample::subsequence(values, 1..=2);
    prop::option::weighted(0.3, some).prop_map(|names| {
        let names = names.into_iter().flatten();
        names.map(str::to_owned).collect()
    })
}

fn filters() -> impl Strategy<Value = GradeFilter> {
    let texts_of_filter = (
        prop::option::weighted(
            0.5,
            select(vec![
                "run-a".to_owned(),
                "run-b".to_owned(),
                "run-c".to_owned(),
            ]),
        ),
        texts(&["math", "code"]),
        texts(&["math/default", "math/gsm", "none"]),
        several(&["graded", "failed", "ungradable"]),
        several(&["correct", "wrong_answer", "no_answer"]),
        texts(&["item-0", "item-1", "item-9"]),
        texts(&["group-0", "group-1"]),
        several(&["overturned", "upheld"]),
        several(&["sandbox_failed", "timeout"]),
        maybe(vec![true, false]),
    );
    let numbers = (
        (
            prop::option::weighted(0.4, 0..3i64),
            maybe(vec![0, 1]),
            maybe(vec![0, 1]),
            texts(&["prompt-0", "prompt-1", "prompt-9"]),
        ),
        maybe((0..7).map(batch).collect()),
        maybe(vec![0.0, 0.25, 0.5]),
        maybe(vec![0.5, 0.75, 1.0]),
        maybe((0..7).map(|n| START_US + n).collect()),
        maybe((0..8).map(|n| START_US + n).collect()),
    );
    (texts_of_filter, numbers).prop_map(|(texts, numbers)| {
        let (run, grader, channel, outcomes, verdicts, item, group, appeals, causes, truncated) =
            texts;
        let (
            (step, step_min, step_max, prompt_key),
            batch,
            score_min,
            score_max,
            since_us,
            until_us,
        ) = numbers;
        GradeFilter {
            run,
            step,
            step_min,
            step_max,
            grader,
            channel,
            outcomes,
            verdicts,
            appeals,
            causes,
            truncated,
            batch,
            caller: None,
            item,
            group,
            label: None,
            prompt_key,
            score_min,
            score_max,
            since_us,
            until_us,
            text: None,
        }
    })
}

/// The expected counts for charts of a run.
fn expected_steps(entries: &[Entry], run: &str, width: i64) -> Steps {
    let (mut steps, mut seen) = (Steps::new(), BTreeSet::new());
    for entry in entries {
        for new in &entry.grades {
            let stored = &new.row;
            if seen.insert(stored.grade.grade) && entry.run.as_deref() == Some(run) {
                let body = entry
                    .bodies
                    .iter()
                    .find(|body| body.hash == stored.source.completion_hash)
                    .unwrap();
                let first = entry.step.map(|step| bucket(step, width));
                let counted = steps.entry(first).or_default();
                counted.push(stored, Some(body.content.len() as u32));
                counted.push_signals(new);
            }
        }
    }
    steps
}

/// The expected grades: the first of each id.
fn expected_grades(entries: &[Entry]) -> BTreeMap<GradeId, StoredGrade> {
    let mut grades = BTreeMap::new();
    for grade in entries.iter().flat_map(|entry| &entry.grades) {
        let stored = grade.stored().unwrap();
        grades.entry(stored.grade.grade).or_insert(stored);
    }
    grades
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn lists_equal_the_model(
        entries in entries(),
        filters in prop::collection::vec((filters(), 1..6u32), 1..12),
        stored in 0..14usize,
        small_memory in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut fixture = Fixture::new();
            if small_memory {
                fixture.options.pending_bytes = 1;
            }
            let (first, second) = entries.split_at(stored.min(entries.len()));
            let store = fixture.open().await;
            for entry in first {
                record(&store, entry.clone()).await;
            }
            store.close().await.unwrap();
            let store = fixture.open().await;
            let lock = fixture.lock_database().await;
            for entry in second {
                record(&store, entry.clone()).await;
            }
            drop(lock);
            let expected = expected_grades(&entries);
            check(&store, &expected, &filters).await;
            check_steps(&store, &entries).await;
            store.close().await.unwrap();
            let store = fixture.open().await;
            check(&store, &expected, &filters).await;
            check_steps(&store, &entries).await;
            store.close().await.unwrap();
        });
    }
}

async fn check_steps(store: &Record, entries: &[Entry]) {
    for run in ["run-a", "run-b", "run-c"] {
        for width in [1, 2, 16, 96] {
            let expected = expected_steps(entries, run, width);
            let steps = store.run_steps(run, width).await.unwrap();
            assert_eq!(steps, expected, "{run} by {width}");
            let rewards = (expected.iter())
                .map(|(step, counted)| (*step, counted.sums(Number::Reward)))
                .filter(|(_, rewards)| rewards.count > 0);
            assert_eq!(
                store.run_rewards(run, width).await.unwrap(),
                rewards.collect(),
                "{run} by {width}"
            );
        }
    }
}

/// A grade as lists show it: without its checks.
pub(crate) fn shown(grade: &StoredGrade) -> StoredGrade {
    let mut shown = grade.clone();
    shown.source.checks = None;
    shown
}

async fn check(
    store: &Record,
    expected: &BTreeMap<GradeId, StoredGrade>,
    filters: &[(GradeFilter, u32)],
) {
    for (filter, page) in filters {
        let matching: Vec<&StoredGrade> = expected
            .values()
            .rev()
            .filter(|grade| filter.keeps(grade))
            .collect();
        let listed = all(store, filter, *page).await;
        let shown: Vec<StoredGrade> = matching.iter().map(|grade| shown(grade)).collect();
        assert_eq!(listed, shown, "{filter:?}");
        for grade in expected.keys() {
            let ids = matching.iter().map(|stored| stored.grade.grade);
            let neighbours = Neighbours {
                newer: ids.clone().rfind(|id| id > grade),
                older: ids.clone().find(|id| id < grade),
            };
            assert_eq!(
                store.neighbours(filter, *grade).await.unwrap(),
                neighbours,
                "{filter:?} {grade}"
            );
        }
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for StoredGrade { grade, .. } in matching {
            let kind = GradeKind {
                grader: &grade.grader.name,
                channel: &grade.channel,
                result: grade.verdict.as_deref().unwrap_or(&grade.outcome),
                truncated: grade.is_truncated(),
                cause: grade.error.as_ref().map(|error| error.code.as_str()),
            };
            *counted.entry(kind.word()).or_default() += 1;
        }
        let kinds = store.kind_counts(filter, 1_000).await.unwrap();
        let found = kinds.counted.values_of(Topic::Kind);
        let found: BTreeMap<String, u64> = found.map(|(kind, n)| (kind.to_owned(), n)).collect();
        assert_eq!((found, kinds.more), (counted, false), "{filter:?}");
    }
    for (id, grade) in expected {
        assert_eq!(store.grade(*id).await.unwrap().as_ref(), Some(grade));
    }
    let mut by_run: BTreeMap<&str, Vec<&StoredGrade>> = BTreeMap::new();
    for grade in expected.values() {
        if let Some(run) = grade.source.run.as_deref() {
            by_run.entry(run).or_default().push(grade);
        }
    }
    assert_eq!(store.run("never").await.unwrap(), None);
    assert_eq!(store.run_series("never").await.unwrap(), Rollups::new());
    let runs = store.runs(10).await.unwrap();
    assert_eq!(runs.len(), by_run.len());
    assert_eq!(store.run("run-c").await.unwrap(), None);
    for run in runs {
        assert_eq!(store.run(&run.run).await.unwrap().as_ref(), Some(&run));
        let grades = &by_run[run.run.as_str()];
        let count = |outcome: &str| {
            grades
                .iter()
                .filter(|stored| stored.grade.outcome == outcome)
                .count() as u64
        };
        let scores: Vec<f64> = grades
            .iter()
            .filter_map(|stored| stored.grade.score)
            .collect();
        assert_eq!(
            (run.grades, run.graded, run.failed, run.ungradable),
            (
                grades.len() as u64,
                count("graded"),
                count("failed"),
                count("ungradable")
            )
        );
        assert_eq!(
            run.passed,
            grades
                .iter()
                .filter(|stored| stored.grade.outcome == "graded")
                .filter(|stored| stored.grade.pass_after_appeal() == Some(true))
                .count() as u64
        );
        // Sums of quarters are exact in any order.
        assert_eq!(
            run.mean_score,
            (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
        );
        let rewards = grades.iter().filter_map(|stored| stored.grade.reward);
        let rewards: Vec<f64> = rewards.collect();
        assert_eq!(
            run.mean_reward,
            (!rewards.is_empty()).then(|| rewards.iter().sum::<f64>() / rewards.len() as f64)
        );
        assert_eq!(
            run.last_step,
            grades.iter().filter_map(|stored| stored.source.step).max()
        );
        assert_eq!(
            Some(run.first_us),
            grades.iter().map(|stored| stored.grade.time_us).min()
        );
        assert_eq!(
            Some(run.last_us),
            grades.iter().map(|stored| stored.grade.time_us).max()
        );
        let mut series = Rollups::new();
        for grade in grades {
            series.entry(RollupKey::of(grade)).or_default().push(grade);
        }
        assert_eq!(store.run(&run.run).await.unwrap().as_ref(), Some(&run));
        assert_eq!(store.run_series(&run.run).await.unwrap(), series);
    }
}
