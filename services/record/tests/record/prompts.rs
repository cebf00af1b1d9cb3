//! Lists of the prompts of a run.

use assay_base::Random;
use assay_record::prompt_changes::SetTotals;
use assay_record::prompt_list::{PromptFilter, PromptOrder, PromptStatus};
use assay_record::{GradeFilter, Record};
use assay_rewards::clustered::Total;

use crate::fixture::{Fixture, all, change_all, part, record};

/// By prompt, how many of two rollouts passed at each step; `None` without a visit.
const VISITS: [(&str, [Option<u32>; 4]); 7] = [
    ("always", [Some(2), Some(2), None, Some(2)]),
    ("gained", [Some(0), None, Some(0), Some(1)]),
    ("lost", [Some(2), None, None, Some(0)]),
    ("never", [Some(0), Some(0), Some(0), None]),
    ("noisy", [Some(2), Some(0), Some(2), None]),
    ("once", [None, Some(1), None, None]),
    ("regained", [None, Some(0), Some(2), Some(0)]),
];

/// A record of the visits at steps that start at `first`.
async fn recorded(fixture: &mut Fixture, first: Option<i64>) -> Record {
    let store = fixture.open().await;
    for step in 0..4 {
        let rollouts: Vec<(&str, bool)> = VISITS
            .iter()
            .filter_map(|(prompt, visits)| Some((*prompt, visits[step]?)))
            .flat_map(|(prompt, passes)| [(prompt, passes > 0), (prompt, passes > 1)])
            .collect();
        let mut entry = part(step as u64, 0, rollouts.len() as u32);
        entry.step = first.map(|first| first + step as i64);
        let step = entry.step;
        change_all(&mut entry, |source, grade| {
            let (prompt, pass) = rollouts[grade.position as usize];
            source.step = step;
            grade.prompt_key = Some(prompt.to_owned());
            grade.pass = Some(pass);
            grade.appeal = None;
            grade.reward = Some(if pass { 1.0 } else { 0.0 });
        });
        record(&store, entry).await;
    }
    fixture.applied(&store).await;
    store
}

async fn keys(store: &Record, filter: &PromptFilter, order: PromptOrder) -> Vec<String> {
    let prompts = store.prompt_list("run-a", filter, order, 0, 100).await;
    let prompts = prompts.unwrap().into_iter();
    prompts.map(|prompt| prompt.prompt_key).collect()
}

fn with(status: PromptStatus) -> PromptFilter {
    PromptFilter {
        status: Some(status),
        ..PromptFilter::default()
    }
}

#[tokio::test]
async fn lists_prompts_by_what_their_visits_have_in_common() {
    for first in [7, -2, i64::MAX / 4 - 3] {
        let mut fixture = Fixture::new();
        let store = recorded(&mut fixture, Some(first)).await;
        let counts = store
            .prompt_counts("run-a", &PromptFilter::default())
            .await
            .unwrap();
        for (status, expected) in [
            (PromptStatus::NeverSolved, &["never"][..]),
            (PromptStatus::AlwaysSolved, &["always"]),
            (PromptStatus::Lost, &["lost", "regained"]),
            (PromptStatus::Gained, &["gained", "noisy"]),
            (PromptStatus::Noisy, &["noisy", "regained"]),
        ] {
            let found = keys(&store, &with(status), PromptOrder::Key).await;
            assert_eq!(found, expected, "{status:?}");
            assert_eq!(counts.of(Some(status)), found.len() as u64);
        }
        assert_eq!(counts.prompts, 7);
        let order = PromptOrder::Key;
        let any = PromptFilter::default();
        let prompts = store.prompt_list("run-a", &any, order, 1, 1);
        let gained = prompts.await.unwrap().remove(0);
        assert_eq!(gained.prompt_key, "gained");
        assert_eq!((gained.visits, gained.judged, gained.passes), (3, 6, 1));
        assert_eq!(
            (gained.first_step, gained.last_step),
            (Some(first), Some(first + 3))
        );
        assert_eq!(gained.mean_reward, Some(1.0 / 6.0));
    }
}

#[tokio::test]
async fn sorts_and_restricts_prompts() {
    let mut fixture = Fixture::new();
    let store = recorded(&mut fixture, Some(0)).await;
    let all = PromptFilter::default();
    for (order, first) in [
        (PromptOrder::Visits, ["always", "gained"]),
        (PromptOrder::LowestRate, ["never", "gained"]),
        (PromptOrder::HighestRate, ["always", "noisy"]),
        (PromptOrder::LastStep, ["always", "gained"]),
        (PromptOrder::Key, ["always", "gained"]),
    ] {
        assert_eq!(keys(&store, &all, order).await[..2], first, "{order:?}");
    }
    let later = PromptFilter {
        step_min: Some(2),
        ..all
    };
    let expected = ["always", "gained", "lost", "never", "noisy", "regained"];
    assert_eq!(keys(&store, &later, PromptOrder::Key).await, expected);
    assert_eq!(store.prompt_counts("run-b", &all).await.unwrap().prompts, 0);
}

#[tokio::test]
async fn lists_the_grades_of_a_prompt_with_and_without_steps() {
    for first in [Some(0), None] {
        let mut fixture = Fixture::new();
        let store = recorded(&mut fixture, first).await;
        let filter = GradeFilter {
            run: Some("run-a".to_owned()),
            prompt_key: Some("lost".to_owned()),
            ..GradeFilter::default()
        };
        let grades = all(&store, &filter, 3).await;
        let passes: Vec<_> = grades.iter().map(|stored| stored.grade.pass).collect();
        assert_eq!(passes, [false, false, true, true].map(Some));
        let counts = store
            .prompt_counts("run-a", &PromptFilter::default())
            .await
            .unwrap();
        assert_eq!(counts.prompts, 7);
    }
}

#[tokio::test]
async fn lists_a_whole_run_and_all_its_steps_alike() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let mut random = Random::new(1);
    for n in 0..24 {
        let mut entry = part(n / 2, n as u32 % 2 * 8, 8);
        // Several batches have the same step, two of them none.
        entry.step = (n < 20).then_some(n as i64 / 6 - 1);
        let step = entry.step;
        change_all(&mut entry, |source, grade| {
            source.step = step;
            grade.prompt_key = Some(format!("prompt-{}", random.below(6)));
            grade.pass = [Some(true), Some(false), None][random.below(3)];
            grade.appeal = None;
            grade.reward = (random.below(4) > 0).then(|| random.uniform());
        });
        record(&store, entry).await;
        if n % 5 == 0 {
            fixture.applied(&store).await;
        }
    }
    let whole = PromptFilter::default();
    let steps = PromptFilter {
        step_min: Some(-1),
        ..whole
    };
    let (all, counted) = (
        store.prompt_counts("run-a", &whole).await.unwrap(),
        store.prompt_counts("run-a", &steps).await.unwrap(),
    );
    assert_eq!(all, counted);
    assert_eq!(all.prompts, 6);
    for order in PromptOrder::ALL {
        let list = async |filter| {
            store
                .prompt_list("run-a", filter, *order, 0, 9)
                .await
                .unwrap()
        };
        let (all, listed) = (list(&whole).await, list(&steps).await);
        assert_eq!(all.len(), 6);
        for (all, mut listed) in all.into_iter().zip(listed) {
            // These sums also have the rewards of visits without a verdict, and are added in
            // another order.
            assert!(all.mean_reward.is_some());
            listed.mean_reward = all.mean_reward;
            assert_eq!(all, listed, "{order:?}");
        }
    }
    let total = Total {
        count: 100.0,
        sum: 50.0,
    };
    let totals = SetTotals { a: total, b: total };
    let compare = async |last| {
        let (a, b) = (("run-a", i64::MIN..=last), ("run-a", i64::MIN..=-1));
        let compared = store.prompt_comparison(&a, &b, [totals; 2], 9);
        compared.await.unwrap()
    };
    let (all, each) = (compare(i64::MAX).await, compare(i64::MAX - 1).await);
    assert_eq!(all.changes, each.changes);
    assert!(all.changes.common > 0);
    let [(all, each), _] = [0, 1].map(|set| (all.sums[set], each.sums[set]));
    assert_eq!(
        (all.prompts, all.judged, all.passes, all.rewards.count),
        (each.prompts, each.judged, each.passes, each.rewards.count)
    );
    assert!((all.rewards.sum - each.rewards.sum).abs() < 1e-9);
    assert!((all.rewards.squares - each.rewards.squares).abs() < 1e-9);
}
