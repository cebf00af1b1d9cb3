//! Answers that many rollouts share, and signs of reward hacking.

use assay_core::Evidence;
use assay_record::answers::{Cluster, ClusterKind};
use assay_record::prompt_list::{PromptFilter, PromptOrder, PromptStatus};
use assay_record::{Entry, Record};

use crate::fixture::{Fixture, change_all, entry, id, record};

/// The `n`th batch: rollouts of the prompt `prompt` with this gold, which give these answers, and
/// pass or not.
fn rollouts(n: u64, prompt: &str, gold: &str, answers: &[(&str, bool)]) -> Entry {
    let mut entry = entry(n, u32::try_from(answers.len()).unwrap());
    change_all(&mut entry, |_, grade| {
        let (answer, pass) = answers[grade.position as usize];
        grade.prompt_key = Some(prompt.to_owned());
        grade.evidence = Some(Evidence::new().text("extracted", answer).text("gold", gold));
        grade.pass = Some(pass);
        grade.verdict = Some(if pass { "correct" } else { "wrong_answer" }.into());
        grade.appeal = None;
        grade.reward = Some(f64::from(u8::from(pass)));
    });
    entry
}

async fn prompts(store: &Record, status: Option<PromptStatus>) -> Vec<(String, Option<String>)> {
    let filter = PromptFilter {
        status,
        ..PromptFilter::default()
    };
    let counts = store.prompt_counts("run-a", &filter).await.unwrap();
    let listed = store.prompt_list("run-a", &filter, PromptOrder::Key, 0, 9);
    let listed = listed.await.unwrap();
    assert_eq!(counts.of(status), listed.len() as u64);
    let row = |prompt: assay_record::prompt_list::PromptSummary| {
        let wrong = prompt.wrong_answer;
        (prompt.prompt_key, wrong.map(|wrong| wrong.answer))
    };
    listed.into_iter().map(row).collect()
}

#[tokio::test]
async fn prompts_have_their_most_frequent_wrong_answer() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    let agreeing = [("7", false), ("7", false), ("7", false), ("3", false)];
    record(&store, rollouts(0, "suspect", "5", &agreeing)).await;
    record(&store, rollouts(1, "suspect", "5", &agreeing)).await;
    let mixed = [("5", true), ("5", true), ("9", false), ("8", false)];
    record(&store, rollouts(2, "solved", "5", &mixed)).await;
    record(&store, rollouts(3, "right", "5", &[("5", true)])).await;
    let found = [
        ("right".to_owned(), None),
        ("solved".to_owned(), Some("8".to_owned())),
        ("suspect".to_owned(), Some("7".to_owned())),
    ];
    assert_eq!(prompts(&store, None).await, found);
    let suspects = prompts(&store, Some(PromptStatus::GoldSuspect)).await;
    assert_eq!(suspects, found[2..]);
    let filter = PromptFilter::default();
    let listed = store.prompt_list("run-a", &filter, PromptOrder::Key, 2, 1);
    let wrong = listed.await.unwrap().remove(0).wrong_answer.unwrap();
    assert_eq!((wrong.gold.as_deref(), wrong.grades), (Some("5"), 6));
    assert_eq!(
        wrong.example,
        Some(id(&rollouts(0, "suspect", "5", &agreeing), 2))
    );
    // Answers are not counted by step.
    let filter = PromptFilter {
        step_min: Some(0),
        ..PromptFilter::default()
    };
    let counts = store.prompt_counts("run-a", &filter).await.unwrap();
    assert_eq!((counts.prompts, counts.gold_suspect), (3, 0));
    store.close().await.unwrap();
}

#[tokio::test]
async fn an_answer_that_passes_for_several_golds_is_a_cluster() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for (n, gold) in [(0, "48"), (1, "49"), (2, "51"), (3, "52")] {
        let answers = [("50", true), (gold, true), ("50", false)];
        record(&store, rollouts(n, &format!("p{n}"), gold, &answers)).await;
    }
    let clusters = store.clusters("run-a", 9).await.unwrap();
    let [
        Cluster {
            kind,
            value,
            grades,
            first_step,
            last_step,
            ..
        },
    ] = clusters.as_slice()
    else {
        panic!("{clusters:?}")
    };
    assert_eq!((kind, &**value), (&ClusterKind::Answer { golds: 4 }, "50"));
    assert_eq!((*grades, *first_step, *last_step), (4, Some(0), Some(3)));
    // From the third gold on, one of two passing rollouts has a repeated answer.
    let steps = store.run_signals("run-a", 1).await.unwrap();
    let repeated: Vec<_> = steps
        .iter()
        .map(|(step, counted)| counted.step_sums(step.unwrap()).repeated)
        .map(|share| (share.hits, share.of))
        .collect();
    assert_eq!(repeated, [(0, 2), (0, 2), (1, 2), (1, 2)]);
    store.close().await.unwrap();
}

#[tokio::test]
async fn suspicious_programs_are_a_cluster_over_all_steps() {
    let fixture = Fixture::new();
    let store = fixture.open().await;
    for n in 0..3 {
        let mut batch = entry(n, 2);
        change_all(&mut batch, |_, grade| {
            grade.appeal = None;
            let text = if n == 1 { "pass" } else { "os._exit(0)" };
            grade.evidence = Some(Evidence::new().text("program", text));
        });
        record(&store, batch).await;
    }
    let clusters = store.clusters("run-a", 9).await.unwrap();
    assert_eq!(clusters.len(), 1, "{clusters:?}");
    let found = &clusters[0];
    assert_eq!(
        (&found.kind, &*found.value),
        (&ClusterKind::Sign, "os._exit")
    );
    // Only the first grade of each batch passes.
    assert_eq!(found.grades, 2);
    assert_eq!((found.first_step, found.last_step), (Some(0), Some(2)));
    assert_eq!(
        found.examples,
        [Some(id(&entry(0, 2), 0)), Some(id(&entry(2, 2), 0))]
    );
    store.close().await.unwrap();
}
