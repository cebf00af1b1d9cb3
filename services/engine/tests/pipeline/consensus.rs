//! Labels by consensus, and weights of items whose neighbours have no reward.

use assay_core::Task;
use assay_engine::{Batch, BatchItem, EngineError, Mode, Reply, RewardPolicy};
use assay_record::facts::GradeFacts;
use serde_json::{Value, json};

use crate::fixtures::{batch, fixture, item, without_gold};

async fn graded(policy: Value, items: Vec<BatchItem>) -> Result<Reply, EngineError> {
    let batch = Batch {
        policy: RewardPolicy::inline(&policy).unwrap(),
        ..batch(items)
    };
    fixture().await.engine.grade(batch, Mode::Whole).await
}

fn grouped(group: &str, mut item: BatchItem) -> BatchItem {
    item.group = Some(group.to_owned());
    item
}

fn group(completions: &[&str]) -> Vec<BatchItem> {
    let items = completions
        .iter()
        .map(|completion| without_gold(completion));
    items.map(|item| grouped("p", item)).collect()
}

fn rewards(reply: &Reply) -> Vec<Option<f64>> {
    reply.grades().map(|grade| grade.reward).collect()
}

fn ttrl() -> Value {
    json!({ "consensus": { "ttrl": {} } })
}

#[tokio::test]
async fn a_group_labels_itself_whatever_its_order_and_without_those_that_failed() {
    let mut completions = vec!["4", "4", "5", "fail", "4"];
    let mut expected = vec![Some(1.0), Some(1.0), Some(0.0), None, Some(1.0)];
    for _ in 0..completions.len() {
        let reply = graded(ttrl(), group(&completions)).await.unwrap();
        assert_eq!(rewards(&reply), expected);
        for grade in reply.grades().filter(|grade| grade.reward.is_some()) {
            assert_eq!(grade.verdict.as_deref(), Some("unlabelled"));
            assert_eq!((grade.score, grade.pass), (None, None), "there is no gold");
            let label = GradeFacts::of(grade).labelled.unwrap();
            assert_eq!(label.agrees, Some(grade.reward == Some(1.0)));
        }
        completions.rotate_left(1);
        expected.rotate_left(1);
    }
}

#[tokio::test]
async fn without_a_label_no_item_has_a_reward_or_is_a_failure() {
    for completions in [
        &["4", "4", "5", "5"][..],
        &["4", "4", "fail", "fail"],
        &["4", "5", "6"],
    ] {
        let reply = graded(ttrl(), group(completions)).await.unwrap();
        for (grade, completion) in reply.grades().zip(completions) {
            assert_eq!((grade.reward, grade.advantage), (None, None));
            let outcome = if *completion == "fail" {
                "failed"
            } else {
                "graded"
            };
            assert_eq!(grade.outcome, outcome, "{completions:?}");
        }
    }
}

#[tokio::test]
async fn truncated_completions_vote_for_no_answer_and_get_a_reward() {
    let mut items = group(&["4", "4", "5", "5", "5"]);
    for item in &mut items[2..] {
        item.item.meta.truncated = true;
    }
    // 2 of 5 votes.
    let policy = |share: f64| json!({ "consensus": { "ttrl": { "share": share } } });
    let reply = graded(policy(0.5), items.clone()).await.unwrap();
    assert_eq!(rewards(&reply), [None; 5]);
    let reply = graded(policy(0.4), items).await.unwrap();
    let expected = [Some(1.0), Some(1.0), Some(0.0), Some(0.0), Some(0.0)];
    assert_eq!(rewards(&reply), expected);
}

#[tokio::test]
async fn golds_and_labels_do_not_mix() {
    let refused = async |policy: Value, item: BatchItem| match graded(policy, vec![item]).await {
        Err(EngineError::Refused {
            pointer, message, ..
        }) => (pointer, message),
        other => panic!("{:?}", other.map(|reply| rewards(&reply))),
    };
    let (pointer, message) = refused(ttrl(), item("exact", "4", "4")).await;
    assert_eq!(pointer, "/items/0/task");
    assert!(message.contains("which answers are right"), "{message}");
    let (pointer, message) = refused(json!({}), without_gold("4")).await;
    assert_eq!(pointer, "/items/0/task");
    assert!(message.contains("no gold"), "{message}");
    let mut checked = without_gold("4");
    checked.checks = vec![("again".to_owned(), checked.task.clone())];
    let (pointer, _) = refused(ttrl(), checked).await;
    assert_eq!(pointer, "/items/0/checks/again");
}

#[tokio::test]
async fn golds_of_some_items_check_the_label_and_change_no_reward() {
    let gold = Task::from_json(r#"{"type":"exact","answer":"5"}"#).unwrap();
    let mut items = group(&["4", "4", "4", "5"]);
    for at in [0, 3] {
        items[at].checks = vec![("gold".to_owned(), gold.clone())];
    }
    let policy = json!({ "consensus": { "ttrl": { "gold": "gold" } } });
    let reply = graded(policy, items).await.unwrap();
    let expected = [Some(1.0), Some(1.0), Some(1.0), Some(0.0)];
    assert_eq!(rewards(&reply), expected);
    let labels: Vec<_> = reply
        .grades()
        .map(|grade| GradeFacts::of(grade).labelled.unwrap())
        .map(|label| (label.right, label.gold))
        .collect();
    let wrong = Some(false);
    assert_eq!(
        labels,
        [
            (wrong, wrong),
            (wrong, None),
            (wrong, None),
            (wrong, Some(true))
        ]
    );
}

#[tokio::test]
async fn items_with_a_reward_stand_for_those_without() {
    let of = |group, completion| grouped(group, item("exact", "4", completion));
    let items = vec![
        of("a", "4"),
        of("a", "5"),
        of("b", "4"),
        of("b", "5"),
        of("b", "fail"),
        of("b", "fail"),
    ];
    let policy = json!({ "weights": { "inverse_probability": { "by": ["group"] } } });
    let reply = graded(policy, items).await.unwrap();
    let advantages: Vec<_> = reply.grades().map(|grade| grade.advantage).collect();
    // 1, 1, 2 and 2 have the mean 1.5.
    for (found, expected) in advantages
        .iter()
        .zip([1.0 / 3.0, -1.0 / 3.0, 2.0 / 3.0, -2.0 / 3.0])
    {
        assert!((found.unwrap() - expected).abs() < 1e-12, "{advantages:?}");
    }
    assert_eq!(advantages[4..], [None, None]);
    let first = reply.grades().next().unwrap();
    assert_eq!(first.advantage_estimator.as_deref(), Some("weighted_mean"));
    let breakdown = first.reward_breakdown.as_ref().unwrap().get();
    assert!(breakdown.contains(r#""observed":1.0"#), "{breakdown}");
}
