//! Appeals, corrections and histories of prompts.

use assay_engine::{Batch, BatchItem, EngineError, Mode, Reply, RewardPolicy};
use assay_record::ItemGrade;
use assay_rewards::channel::{Ledger, Settings};
use assay_rewards::{Rates, Statistic};
use serde_json::{Value, json};

use crate::fixtures::{Fixture, batch, fixture, fixture_declaring, item};

fn policy(json: &Value) -> RewardPolicy {
    RewardPolicy::inline(json).unwrap()
}

/// A policy whose judge accepts one more correct answer than the grader: one half written as a
/// decimal.
fn appeals(options: &Value) -> RewardPolicy {
    let mut rule = json!({
        "judge": { "type": "waiting", "answer": "{{ meta.known }}" },
        "negatives": 1.0,
    });
    rule.as_object_mut()
        .unwrap()
        .extend(options.as_object().unwrap().clone());
    policy(&json!({ "appeals": [rule] }))
}

/// Completions: `right` that the grader passes, `missed` correct ones that it does not pass, and
/// `wrong` ones.
fn answers(right: usize, missed: usize, wrong: usize) -> Vec<BatchItem> {
    let texts = std::iter::repeat_n("1/2", right)
        .chain(std::iter::repeat_n("0.5", missed))
        .chain(std::iter::repeat_n("3", wrong));
    let name = |(at, text)| {
        let mut item = item("exact", "1/2", text);
        let known = if text == "0.5" { "0.5" } else { "1/2" };
        item.item
            .meta
            .rest
            .insert("known".to_owned(), json!(known).into());
        item.id = Some(format!("item-{at}"));
        item.group = Some("p".to_owned());
        item
    };
    texts.enumerate().map(name).collect()
}

async fn graded(fixture: &Fixture, policy: RewardPolicy, items: Vec<BatchItem>) -> Reply {
    fixture
        .engine
        .grade(
            Batch {
                policy,
                ..batch(items)
            },
            Mode::Whole,
        )
        .await
        .unwrap()
}

fn appealed(reply: &Reply) -> Vec<usize> {
    reply
        .grades()
        .filter(|result| result.appeal.is_some())
        .map(|result| result.position as usize)
        .collect()
}

fn reward(grade: &ItemGrade) -> f64 {
    grade.reward.unwrap()
}

#[tokio::test]
async fn an_appeal_overturns_a_verdict_and_both_are_recorded() {
    let fixture = fixture().await;
    let reply = graded(
        &fixture,
        appeals(&json!({ "overturn": true })),
        answers(1, 1, 1),
    )
    .await;
    let results: Vec<_> = reply.grades().collect();
    assert_eq!(appealed(&reply), [1, 2], "only negatives are appealed");
    let (missed, wrong) = (results[1], results[2]);
    let appeal = missed.appeal.as_ref().unwrap();
    assert!(
        appeal.overturned
            && appeal.binding
            && appeal.judge == "waiting@1"
            && missed.pass == Some(false)
    );
    assert_eq!(
        missed.score.unwrap().to_string(),
        "0",
        "the grader's score is unchanged"
    );
    assert!(
        (missed.score_after_appeal.unwrap() - 1.0).abs() < 1e-12
            && (reward(missed) - 1.0).abs() < 1e-12
    );
    assert!(!wrong.appeal.as_ref().unwrap().overturned && reward(wrong).abs() < 1e-12);
    assert_eq!(
        wrong
            .score_after_appeal
            .map(|score| score.to_string())
            .as_deref(),
        Some("0")
    );
    assert_eq!(results[0].score_after_appeal, None);
    let stored = fixture.recorded.grades();
    assert_eq!(stored[1].grade.appeal.as_ref(), Some(appeal));
    assert_eq!(
        (
            stored[1].grade.pass,
            stored[1].grade.pass_after_appeal(),
            stored[1].grade.score
        ),
        (Some(false), Some(true), Some(0.0))
    );
    assert!(stored[1].source.policy_hash.is_some() && &*stored[1].source.policy == "inline");
}

#[tokio::test]
async fn items_of_a_policy_without_a_judge_do_not_change_measured_rates() {
    let fixture = fixture().await;
    let rho1 = async || {
        let counts = fixture.record.channels().await.unwrap();
        let ledger = Ledger::new(counts, Settings::default());
        let report = ledger.reports().next().unwrap().clone();
        (report.rho1.unwrap().estimate.value, report.graded.unjudged)
    };
    let judge = appeals(&json!({ "positives": 1.0 }));
    graded(&fixture, judge, answers(8, 2, 10)).await;
    let (before, unjudged) = rho1().await;
    assert!((before - 0.2).abs() < 1e-12, "{before}");
    assert_eq!(unjudged, 0);
    graded(&fixture, RewardPolicy::default(), answers(5, 0, 100)).await;
    let (after, unjudged) = rho1().await;
    assert!((after - before).abs() < 1e-12, "{after}");
    assert_eq!(unjudged, 105);
}

#[tokio::test]
async fn without_overturn_an_appeal_does_not_change_the_reward() {
    let fixture = fixture().await;
    let reply = graded(&fixture, appeals(&json!({})), answers(0, 1, 0)).await;
    let result = reply.grades().next().unwrap();
    assert_eq!(result.appeal.as_ref().unwrap().as_str(), "disagreed");
    assert!(reward(result).abs() < 1e-12);
}

#[tokio::test]
async fn an_imperfect_judge_overturns_only_with_sufficient_precision() {
    let fixture = fixture().await;
    let judge = json!({ "overturn": true, "specificity": 0.98, "precision": 0.9 });
    let first = graded(&fixture, appeals(&judge), answers(20, 15, 15)).await;
    assert!(first.grades().all(|result| {
        result
            .appeal
            .as_ref()
            .is_none_or(|appeal| !appeal.overturned)
    }));
    let reason = first
        .grades()
        .nth(20)
        .unwrap()
        .appeal
        .as_ref()
        .unwrap()
        .reason
        .clone()
        .unwrap();
    assert!(reason.contains("not known yet"), "{reason}");
    // About half of the negatives are correct, so the precision of an overturned verdict is 0.5 /
    // (0.5 + 0.5 * 0.02).
    let second = graded(&fixture, appeals(&judge), answers(0, 1, 1)).await;
    assert!(
        second
            .grades()
            .next()
            .unwrap()
            .appeal
            .as_ref()
            .unwrap()
            .overturned
    );
    let strict = json!({ "overturn": true, "specificity": 0.98, "precision": 0.999 });
    let third = graded(&fixture, appeals(&strict), answers(0, 1, 1)).await;
    let reason = third
        .grades()
        .next()
        .unwrap()
        .appeal
        .as_ref()
        .unwrap()
        .reason
        .clone()
        .unwrap();
    assert!(reason.contains("below the required 0.999"), "{reason}");
}

#[tokio::test]
async fn selects_the_same_items_for_appeals_in_any_order() {
    let (one, other) = (fixture().await, fixture().await);
    let share = || appeals(&json!({ "negatives": 0.4 }));
    let first = graded(&one, share(), answers(0, 0, 50)).await;
    let again = graded(&other, share(), answers(0, 0, 50)).await;
    assert_eq!(appealed(&first), appealed(&again));
    assert!(
        (5..=40).contains(&appealed(&first).len()),
        "{}",
        appealed(&first).len()
    );
    let mut items = answers(0, 0, 50);
    items.reverse();
    let mut reversed: Vec<usize> = appealed(&graded(&other, share(), items).await)
        .iter()
        .map(|at| 49 - at)
        .collect();
    reversed.sort_unstable();
    assert_eq!(reversed, appealed(&first));
    assert!(
        first
            .grades()
            .filter_map(|result| result.appeal.as_ref())
            .all(|appeal| (appeal.probability - 0.4).abs() < 1e-12)
    );
}

#[tokio::test]
async fn a_budget_limits_appeals_and_their_probability() {
    let fixture = fixture().await;
    let reply = graded(
        &fixture,
        appeals(&json!({ "budget": { "items": 5 } })),
        answers(0, 0, 50),
    )
    .await;
    let appeals: Vec<_> = reply
        .grades()
        .filter_map(|result| result.appeal.as_ref())
        .collect();
    assert_eq!(appeals.len(), 5);
    assert!(
        appeals
            .iter()
            .all(|appeal| (appeal.probability - 0.1).abs() < 1e-12),
        "five of fifty"
    );
}

#[tokio::test]
async fn a_failing_judge_neither_changes_nor_counts_verdicts() {
    let fixture = fixture().await;
    let broken =
        json!({ "judge": { "type": "waiting", "answer": "{{ task.gold }}" }, "overturn": true });
    let unknown =
        json!({ "appeals": [{ "judge": { "type": "nobody", "answer": "1" }, "negatives": 1 }] });
    assert_eq!(
        fixture.engine.inline_policy(&unknown).unwrap_err().pointer,
        "/appeals/0/judge/type"
    );
    let failing = json!({ "judge": { "type": "waiting", "answer": "panic" }, "overturn": true });
    for (judge, reason) in [(broken, "`/answer`"), (failing, "panicked")] {
        let reply = graded(&fixture, appeals(&judge), answers(0, 1, 0)).await;
        let result = reply.grades().next().unwrap();
        let appeal = result.appeal.as_ref().unwrap();
        assert!(
            appeal.reason.as_ref().unwrap().contains(reason),
            "{appeal:?}"
        );
        assert_eq!(
            (appeal.as_str(), result.score_after_appeal, result.pass),
            ("unjudged", None, Some(false))
        );
    }
    let ledger = fixture.engine.channels(&fixture.record).await.unwrap();
    assert_eq!(ledger.named("exact/default").unwrap().checks, [0, 0]);
}

/// Two channels of one group each.
fn two_channels() -> Vec<BatchItem> {
    let mut items = answers(1, 0, 1);
    for mut other in answers(1, 0, 1) {
        other.id = other.id.map(|id| format!("{id}-b"));
        other.group = Some("q".to_owned());
        other.channel = Some("b".to_owned());
        items.push(other);
    }
    items
}

fn advantages(reply: &Reply) -> Vec<(f64, &str)> {
    reply
        .grades()
        .map(|result| {
            (
                result.advantage.unwrap(),
                result.advantage_estimator.as_deref().unwrap(),
            )
        })
        .collect()
}

fn close(found: &[(f64, &str)], expected: &[(f64, &str)]) {
    assert_eq!(found.len(), expected.len());
    for ((found, rule), (expected, expected_rule)) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() < 1e-12 && rule == expected_rule,
            "{found} by {rule}, not {expected} by {expected_rule}"
        );
    }
}

#[tokio::test]
async fn a_reply_has_raw_and_corrected_rewards() {
    let fixture = fixture_declaring(&[("exact/default", 0.1, 0.2)]).await;
    let reply = graded(&fixture, RewardPolicy::default(), answers(1, 0, 1)).await;
    let results: Vec<_> = reply.grades().collect();
    // (1 - 0.1) / 0.7 and -0.1 / 0.7; rho1 and rho1 - 1.
    assert!((results[0].backward.unwrap() - 0.9 / 0.7).abs() < 1e-12);
    assert!((results[1].backward.unwrap() + 0.1 / 0.7).abs() < 1e-12);
    assert!((results[0].forward.unwrap() - 0.2).abs() < 1e-12);
    assert!((results[1].forward.unwrap() + 0.8).abs() < 1e-12);
    assert_eq!(
        (reward(results[0]), reward(results[1])),
        (1.0, 0.0),
        "the reward is not corrected"
    );
}

#[tokio::test]
async fn divides_advantages_by_j_only_in_batches_of_several_channels() {
    let fixture = fixture_declaring(&[("exact/default", 0.1, 0.2), ("exact/b", 0.0, 0.5)]).await;
    let one = graded(&fixture, RewardPolicy::default(), answers(1, 0, 1)).await;
    close(&advantages(&one), &[(0.5, "mean"), (-0.5, "mean")]);
    let mixed = graded(&fixture, RewardPolicy::default(), two_channels()).await;
    let (a, b) = (0.5 / 0.7, 0.5 / 0.5);
    close(
        &advantages(&mixed),
        &[(a, "mean/j"), (-a, "mean/j"), (b, "mean/j"), (-b, "mean/j")],
    );
}

#[tokio::test]
async fn the_noise_fixed_z_score_needs_groups_of_sixteen() {
    let fixture = fixture_declaring(&[("exact/default", 0.1, 0.2)]).await;
    let zfix = || policy(&json!({ "advantage_estimator": "zfix" }));
    let small = graded(&fixture, zfix(), answers(1, 0, 1)).await;
    close(
        &advantages(&small),
        &[(0.5 / 0.7, "gain"), (-0.5 / 0.7, "gain")],
    );
    let large = graded(&fixture, zfix(), answers(8, 0, 8)).await;
    // p = (0.5 - 0.1) / 0.7; 0.5 / 0.7 / sqrt(p (1 - p)).
    let p: f64 = 0.4 / 0.7;
    let (advantage, rule) = advantages(&large)[0];
    assert!((advantage - 0.5 / 0.7 / (p * (1.0 - p)).sqrt()).abs() < 1e-9 && rule == "zfix");
}

#[tokio::test]
async fn no_correction_when_the_interval_of_j_touches_zero() {
    // The other channel has only a few checks, so the interval of its J is wide.
    let fixture = fixture_declaring(&[("exact/default", 0.1, 0.2)]).await;
    let few = appeals(&json!({ "negatives": 1.0, "positives": 1.0 }));
    let only_b = || two_channels().split_off(2);
    graded(&fixture, few, only_b()).await;
    let reply = graded(&fixture, RewardPolicy::default(), two_channels()).await;
    assert!(
        advantages(&reply).iter().all(|(_, rule)| *rule == "mean"),
        "{:?}",
        advantages(&reply)
    );
    let channels = reply.channels();
    assert_eq!(channels[0].uncorrected, None);
    let reason = channels[1].uncorrected.unwrap().to_string();
    assert!(
        reason.contains("the sign of a correction is uncertain"),
        "{reason}"
    );
    assert!(
        reply
            .grades()
            .skip(2)
            .all(|result| result.backward.is_none() && result.forward.is_none())
    );
}

#[tokio::test]
async fn estimators_fall_back_to_the_mean_without_error_rates() {
    let fixture = fixture().await;
    for name in ["gain", "zfix", "backward", "forward"] {
        let reply = graded(
            &fixture,
            policy(&json!({ "advantage_estimator": name })),
            answers(1, 0, 1),
        )
        .await;
        close(&advantages(&reply), &[(0.5, "mean"), (-0.5, "mean")]);
        let reason = reply.channels()[0].uncorrected.unwrap().to_string();
        assert!(
            reason.contains("appeal negatives and audit positives"),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn a_policy_may_declare_error_rates() {
    let fixture = fixture().await;
    let rates = json!({ "exact/default": { "rho0": 0.1, "rho1": 0.2 } });
    let declared = json!({ "advantage_estimator": "forward", "rates": rates });
    let reply = graded(&fixture, policy(&declared), answers(1, 0, 1)).await;
    close(&advantages(&reply), &[(0.2, "forward"), (-0.8, "forward")]);
}

#[tokio::test]
async fn a_policy_combines_checks_and_explains_the_reward() {
    let fixture = fixture().await;
    let mut items = answers(1, 0, 1);
    for (item, answer) in items.iter_mut().zip(["9", "3"]) {
        item.checks.push((
            "format".to_owned(),
            crate::fixtures::item("waiting", answer, "").task,
        ));
    }
    let weighted =
        policy(&json!({ "combine": { "weighted": { "weights": { "outcome": 3, "format": 1 } } } }));
    let reply = graded(&fixture, weighted, items).await;
    let results: Vec<_> = reply.grades().collect();
    assert!((reward(results[0]) - 0.75).abs() < 1e-12 && (reward(results[1]) - 0.25).abs() < 1e-12);
    let reward_breakdown: Value =
        serde_json::from_str(results[0].reward_breakdown.as_ref().unwrap().get()).unwrap();
    let terms = &reward_breakdown["terms"];
    assert_eq!(terms[0]["name"], "score", "{terms}");
    assert!(
        fixture.recorded.grades()[0]
            .grade
            .reward_breakdown
            .as_ref()
            .unwrap()
            .get()
            .contains("weighted")
    );
}

#[tokio::test]
async fn a_failed_check_makes_no_reward() {
    let fixture = fixture().await;
    let mut items = answers(1, 0, 0);
    items[0]
        .checks
        .push(("format".to_owned(), item("waiting", "panic", "").task));
    let reply = graded(
        &fixture,
        policy(&json!({ "combine": { "min": { "parts": ["format"] } } })),
        items,
    )
    .await;
    let result = reply.grades().next().unwrap();
    assert_eq!((result.reward, result.advantage), (None, None));
    let reward_breakdown: Value =
        serde_json::from_str(result.reward_breakdown.as_ref().unwrap().get()).unwrap();
    assert!(
        reward_breakdown["missing"]
            .as_str()
            .unwrap()
            .contains("format")
    );
}

#[tokio::test]
async fn rejects_different_policies_within_a_group() {
    let fixture = fixture().await;
    let mut items = answers(1, 0, 1);
    items[1].policy = Some(policy(&json!({ "advantage_estimator": "rloo" })));
    let error = fixture
        .engine
        .grade(batch(items), Mode::Whole)
        .await
        .map(drop)
        .unwrap_err();
    let EngineError::Refused {
        pointer, message, ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(pointer, "/items/1/policy");
    assert!(
        message.contains("another policy at `/items/0`"),
        "{message}"
    );
}

#[tokio::test]
async fn statistics_use_the_history_of_prompts() {
    let fixture = fixture().await;
    let visit = |step: i64, right: usize| {
        let items = answers(right, 0, 4 - right).into_iter().map(|mut item| {
            item.prompt_key = Some("p1".to_owned());
            item
        });
        let statistics = vec![Statistic::Curriculum];
        Batch {
            run: Some("run".into()),
            step: Some(step),
            statistics,
            ..batch(items.collect())
        }
    };
    let first = fixture
        .engine
        .grade(visit(1, 4), Mode::Whole)
        .await
        .unwrap();
    let second = fixture
        .engine
        .grade(visit(2, 4), Mode::Whole)
        .await
        .unwrap();
    let belief = |reply: &Reply| {
        reply.groups()[0].statistics["curriculum"]["mopps"]["mean"]
            .as_f64()
            .unwrap()
    };
    assert!(
        belief(&second) > belief(&first),
        "the estimated pass rate of a prompt that is always solved increases"
    );
    assert_eq!(first.groups()[0].prompt_key.as_deref(), Some("p1"));
}

#[tokio::test]
async fn uses_error_rates_declared_in_the_configuration() {
    let fixture = fixture_declaring(&[("exact/default", 0.05, 0.1)]).await;
    let reply = graded(&fixture, RewardPolicy::default(), answers(1, 0, 1)).await;
    assert_eq!(reply.channels()[0].usable(), Rates::new(0.05, 0.1));
}
