//! Lists of the prompts of a run.

use assay_record::prompt_list::{PromptFilter, PromptOrder, PromptStatus};
use assay_record::{GradeFilter, Record};

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
