//! Properties of all policies: the order of sections, masking, and that no factor or penalty raises
//! a wrong answer above a right one.

mod generated;

use assay_core::{Reward, Score};
use serde_json::{Value, json};

use super::TermKind::{Bonus, Efficiency, Gate, Outcome, Penalty, Shape, Veto};
use super::rules::PolicyRules;
use super::{Part, RewardResult, Sample};

fn policy(value: &Value) -> PolicyRules {
    PolicyRules::from_json(value).unwrap_or_else(|error| panic!("{value}: {error}"))
}

fn right() -> Sample<'static> {
    Sample {
        score: Some(Score::ONE),
        pass: Some(true),
        tokens: Some(100.0),
        ..Sample::default()
    }
}

fn wrong() -> Sample<'static> {
    Sample {
        score: Some(Score::ZERO),
        pass: Some(false),
        ..right()
    }
}

fn part(name: &'static str, score: Option<f64>) -> Part<'static> {
    let score = score.map(|score| Score::new(score).unwrap());
    Part {
        name,
        score,
        pass: score.map(|score| score.get() >= 0.5),
    }
}

fn rewards(composed: &[RewardResult<'_>]) -> Vec<Option<f64>> {
    composed
        .iter()
        .map(|composed| composed.reward.map(Reward::get))
        .collect()
}

fn assert_close(found: &[RewardResult<'_>], expected: &[Option<f64>]) {
    let found = rewards(found);
    let same = |(a, b): (&Option<f64>, &Option<f64>)| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        (a, b) => a.is_none() && b.is_none(),
    };
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(same),
        "{found:?} is not {expected:?}"
    );
}

#[test]
fn without_a_policy_the_reward_is_the_score() {
    let half = Sample {
        score: Score::new(0.5).ok(),
        pass: Some(false),
        ..Sample::default()
    };
    let empty = PolicyRules::default();
    let composed = empty.compose(&[right(), half, Sample::default()]);
    assert_close(&composed, &[Some(1.0), Some(0.5), None]);
    assert_eq!(
        composed[2],
        RewardResult::default(),
        "a masked item has no breakdown"
    );
    assert!(empty.compose(&[]).is_empty());
}

#[test]
fn correction_precedes_the_shape() {
    let corrected = |item: Sample<'static>, value| Sample {
        corrected: Reward::new(value).ok(),
        ..item
    };
    let group = [corrected(right(), 1.6), corrected(wrong(), -0.4), right()];
    let policy =
        policy(&json!({ "outcome": "backward", "shape": { "sigmoid": { "references": [0] } } }));
    let composed = policy.compose(&group);
    // python: 1 / (1 + math.exp(-x)) for 1.6, -0.4 and 1; the last has no correction.
    assert_close(
        &composed,
        &[
            Some(0.832_018_385_133_924_5),
            Some(0.401_312_339_887_548),
            Some(0.731_058_578_630_004_9),
        ],
    );
    assert_eq!(composed[0].terms[0].name, "backward");
    assert_eq!(composed[2].terms[0].name, "score_uncorrected");
}

#[test]
fn terms_are_in_the_fixed_order() {
    let parts = [
        part("safe", Some(0.0)),
        part("tags", Some(0.0)),
        part("style", Some(1.0)),
    ];
    let safe = [
        part("safe", Some(1.0)),
        part("tags", Some(0.0)),
        part("style", Some(1.0)),
    ];
    let measures = [("calls", 2.0)];
    let item = Sample {
        parts: &parts,
        measures: &measures,
        answer: Some("4"),
        text: "a a",
        truncated: true,
        ..right()
    };
    // The sections are in another order intentionally.
    let policy = policy(&json!({
        "repetition": { "tail_loop": {} },
        "length": { "soft_overlong": { "max": 110, "buffer": 20 } },
        "diversity": { "lambda": 0.2 },
        "efficiency": { "otc": {} },
        "format": [{ "part": "tags", "factor": 0.5, "penalty": 0.25 }],
        "shape": { "bounds": { "low": 0, "high": 1 } },
        "combine": { "min": { "parts": ["style"] } },
        "veto": { "parts": ["safe"] },
    }));
    let kinds = |composed: &RewardResult<'_>| {
        composed
            .terms
            .iter()
            .map(|term| term.kind)
            .collect::<Vec<_>>()
    };
    let composed = policy.compose(&[
        item,
        Sample {
            parts: &safe,
            ..item
        },
    ]);
    assert_eq!(
        kinds(&composed[0]),
        [
            Veto, Outcome, Outcome, Shape, Gate, Penalty, Penalty, Penalty
        ]
    );
    assert_eq!(
        kinds(&composed[1])[..6],
        [Outcome, Outcome, Shape, Gate, Penalty, Efficiency]
    );
    assert_eq!(kinds(&composed[1])[6], Bonus);
}

#[test]
fn veto_applies_first_and_never_raises_a_reward() {
    let (unmet, met) = ([part("safe", Some(0.0))], [part("safe", Some(1.0))]);
    let group = [
        Sample {
            parts: &unmet,
            measures: &[("calls", 0.0)],
            ..right()
        },
        Sample {
            parts: &met,
            measures: &[("calls", 3.0)],
            ..right()
        },
        Sample {
            parts: &met,
            corrected: Reward::new(-0.5).ok(),
            measures: &[("calls", 3.0)],
            ..wrong()
        },
        Sample {
            parts: &unmet,
            corrected: Reward::new(-0.5).ok(),
            measures: &[("calls", 3.0)],
            ..wrong()
        },
    ];
    let plain = json!({ "veto": { "parts": ["safe"] }, "efficiency": { "otc": { "alpha": 1 } } });
    // The vetoed item is not right, so the fewest calls of a right answer are 3, not 0.
    assert_close(
        &policy(&plain).compose(&group),
        &[Some(0.0), Some(1.0), Some(0.0), Some(0.0)],
    );
    let backward = json!({ "veto": { "parts": ["safe"] }, "outcome": "backward" });
    assert_close(
        &policy(&backward).compose(&group),
        &[Some(0.0), Some(1.0), Some(-0.5), Some(-0.5)],
    );
    // Penalties apply to vetoed items as well.
    let long = json!({
        "veto": { "parts": ["safe"] },
        "length": { "soft_overlong": { "max": 100, "buffer": 50 } },
    });
    assert_close(
        &policy(&long).compose(&group),
        &[Some(-1.0), Some(0.0), Some(-1.0), Some(-1.0)],
    );
}

#[test]
fn gates_precede_penalties() {
    let closed = [part("tags", Some(0.0))];
    let item = Sample {
        parts: &closed,
        ..wrong()
    };
    let value = json!({
        "format": [{ "part": "tags" }],
        "length": { "soft_overlong": { "max": 100, "buffer": 50, "factor": 0.5 } },
    });
    assert_close(&policy(&value).compose(&[item]), &[Some(-0.5)]);
    // 0 * 1 - 0.5; in the other order (1 - 0.5) * 0 = 0. An item that is neither right nor wrong
    // has no floor that would hide the difference.
    let neutral = Sample {
        score: Some(Score::ONE),
        pass: None,
        ..item
    };
    assert_close(&policy(&value).compose(&[neutral]), &[Some(-0.5)]);
}

#[test]
fn efficiency_precedes_penalties() {
    let item = Sample {
        measures: &[("cost", 1.0)],
        ..right()
    };
    let value = json!({
        "efficiency": { "cost": { "alpha": 0.5, "max": 2 } },
        "length": { "soft_overlong": { "max": 100, "buffer": 50, "factor": 0.2 } },
    });
    // 1 * (1 - 0.5 / 2) - 0.2 = 0.55; in the other order (1 - 0.2) * 0.75 = 0.6.
    assert_close(&policy(&value).compose(&[item]), &[Some(0.55)]);
}

#[test]
fn factors_do_not_affect_wrong_answers() {
    let value = json!({
        "efficiency": { "cost": { "alpha": 1, "max": 2 } },
        "diversity": { "lambda": 1 },
    });
    let partial = Sample {
        score: Score::new(0.5).ok(),
        measures: &[("cost", 1.0)],
        answer: Some("a"),
        ..wrong()
    };
    let item = Sample {
        measures: &[("cost", 2.0)],
        ..right()
    };
    // The right answer has the maximum cost, and gets as much as the best wrong answer.
    assert_close(
        &policy(&value).compose(&[partial, item]),
        &[Some(0.5), Some(0.5)],
    );
    assert_close(&policy(&value).compose(&[item]), &[Some(0.0)]);
    // No factor applies to an item that is neither right nor wrong.
    assert_close(
        &policy(&value).compose(&[Sample {
            pass: None,
            ..partial
        }]),
        &[Some(0.5)],
    );
}

#[test]
fn efficiency_multiplies_the_difference_to_a_wrong_answer() {
    let parts = [part("style", Some(1.0))];
    let item = Sample {
        parts: &parts,
        measures: &[("cost", 1.0)],
        ..right()
    };
    let value = json!({
        "combine": { "weighted": { "weights": { "outcome": 3, "style": 1 } } },
        "efficiency": { "cost": { "alpha": 1, "max": 2 } },
    });
    // A wrong answer with that style gets 1/4, a right one 1; half of the difference of 3/4
    // remains: 1/4 + 3/8.
    assert_close(&policy(&value).compose(&[item]), &[Some(0.625)]);
}

#[test]
fn penalties_stop_at_the_floor() {
    let value = json!({
        "length": {
            "soft_overlong": { "max": 100, "buffer": 50 },
            "beyond": { "threshold": 10, "max": 100 },
        },
    });
    let policy = policy(&value);
    let composed = policy.compose(&[
        right(),
        Sample {
            tokens: Some(1.0),
            ..wrong()
        },
        wrong(),
    ]);
    assert_close(&composed, &[Some(0.0), Some(0.0), Some(-2.0)]);
    let floor = composed[0].terms.last().unwrap();
    assert_eq!(floor.name, "right_answer_floor");
    assert!((floor.value - 1.0).abs() < 1e-12);
}

#[test]
fn right_answers_stay_above_wrong_answers_with_more_parts() {
    let (none, all) = ([part("s", Some(0.0))], [part("s", Some(1.0))]);
    let plain = Sample {
        parts: &none,
        measures: &[("cost", 2.0)],
        ..right()
    };
    let styled = Sample {
        parts: &all,
        tokens: Some(1.0),
        measures: &[("cost", 0.0)],
        ..wrong()
    };
    let mut value = json!({ "combine": { "weighted": { "weights": { "outcome": 3, "s": 2 } } } });
    // 3/5 for the right one, 2/5 for the wrong one.
    assert_close(
        &policy(&value).compose(&[plain, styled]),
        &[Some(0.6), Some(0.4)],
    );
    value["efficiency"] = json!({ "cost": { "alpha": 0.5, "max": 2 } });
    // Half of the difference of 1/5 to the wrong answer remains.
    assert_close(
        &policy(&value).compose(&[plain, styled]),
        &[Some(0.5), Some(0.4)],
    );
    value["length"] = json!({ "soft_overlong": { "max": 100, "buffer": 50 } });
    assert_close(
        &policy(&value).compose(&[plain, styled]),
        &[Some(0.4), Some(0.4)],
    );
    // Without wrong answers in its group the floor is 0: 3/5 * 1/2 - 1.
    assert_close(&policy(&value).compose(&[plain]), &[Some(0.0)]);
    // Weights may place the wrong answer (3/5) above the right one (2/5); that order is preserved.
    value["combine"]["weighted"]["weights"] = json!({ "outcome": 2, "s": 3 });
    assert_close(
        &policy(&value).compose(&[plain, styled]),
        &[Some(0.0), Some(0.6)],
    );
}

#[test]
fn missing_parts_mask_the_item() {
    let (graded, failed) = ([part("style", Some(1.0))], [part("style", None)]);
    let value = json!({ "combine": { "weighted": { "weights": { "outcome": 1, "style": 1 } } } });
    let policy = policy(&value);
    let of = |parts| Sample { parts, ..right() };
    let composed = policy.compose(&[of(&graded), of(&failed), of(&[]), Sample::default()]);
    assert_close(&composed, &[Some(1.0), None, None, None]);
    let missing = |at: usize| composed[at].missing.clone().unwrap_or_default();
    assert!(
        missing(1).contains("`style` has no score"),
        "{}",
        missing(1)
    );
    assert!(missing(2).contains("others of its group"), "{}", missing(2));
    assert_eq!(
        composed[3].missing, None,
        "inputs of masked items are not checked"
    );
    let alone = policy.compose(&[of(&[])]);
    assert!(
        alone[0]
            .missing
            .as_ref()
            .unwrap()
            .contains("no item of the group")
    );
}

#[test]
fn reports_missing_inputs_by_name() {
    let missing = |value: Value, item: Sample<'_>| {
        policy(&value).compose(&[item])[0].missing.clone().unwrap()
    };
    let bare = Sample {
        tokens: None,
        ..right()
    };
    assert!(missing(json!({ "length": { "rorecomp": {} } }), bare).contains("tokens"));
    assert!(missing(json!({ "efficiency": { "otc": {} } }), bare).contains("`calls`"));
    assert!(missing(json!({ "outcome": { "measure": "raw" } }), bare).contains("`raw`"));
    let nan = Sample {
        measures: &[("raw", f64::NAN)],
        ..bare
    };
    assert!(missing(json!({ "outcome": { "measure": "raw" } }), nan).contains("`raw`"));
}

#[test]
fn references_may_be_measures() {
    let value = json!({
        "outcome": { "measure": "raw" },
        "shape": { "sigmoid": { "references": ["ref", 0.5] } },
    });
    let of = |measures| Sample {
        measures,
        pass: None,
        ..right()
    };
    let composed = policy(&value);
    let composed = composed.compose(&[
        of(&[("raw", 2.0), ("ref", 1.0)]),
        of(&[("raw", 2.0), ("ref", 2.0)]),
        of(&[("raw", 2.0)]),
    ]);
    // python: s = lambda x: 1 / (1 + math.exp(-x)); (s(1) + s(1.5)) / 2, (s(0) + s(1.5)) / 2
    assert_close(
        &composed,
        &[
            Some(0.774_316_527_411_824_2),
            Some(0.658_787_238_096_821_8),
            None,
        ],
    );
}

#[test]
fn stages_replace_the_combination() {
    let call = |score| [part("call", Some(score))];
    let (parsed, malformed) = (call(1.0), call(0.0));
    let value = json!({ "progressive": [{ "part": "call" }, { "part": "outcome", "weight": 3 }] });
    let composed = policy(&value);
    let composed = composed.compose(&[
        Sample {
            parts: &parsed,
            ..right()
        },
        Sample {
            parts: &parsed,
            ..wrong()
        },
        Sample {
            parts: &malformed,
            ..right()
        },
    ]);
    // (1 + 3) / 4, 1 / 4, and 0 where the first stage is not reached.
    assert_close(&composed, &[Some(1.0), Some(0.25), Some(0.0)]);
}

#[test]
fn groups_without_a_clear_label_have_no_reward() {
    let item = |answer| Sample { answer, ..wrong() };
    let policy = policy(&json!({ "consensus": { "ttrl": { "share": 0.5 } } }));
    let agreed = policy.compose(&[
        item(Some("4")),
        item(Some("4")),
        item(Some("5")),
        Sample {
            answer: Some("5"),
            ..Sample::default()
        },
    ]);
    assert_close(&agreed, &[Some(1.0), Some(1.0), Some(0.0), None]);
    let label = agreed[2].label.as_ref().unwrap();
    assert_eq!(
        (label.answer.as_deref(), label.agrees),
        (Some("4"), Some(false))
    );
    assert!(
        (label.share - 2.0 / 3.0).abs() < 1e-12,
        "masked members are not counted"
    );
    let split = policy.compose(&[item(Some("4")), item(Some("5")), item(None)]);
    assert_close(&split, &[None, None, None]);
    assert_eq!(split[0].label.as_ref().unwrap().answer, None);
    assert_close(&policy.compose(&[item(None)]), &[None]);
}

#[test]
fn agreement_is_corrected_by_the_rates_of_the_label() {
    let item = |answer| Sample { answer, ..wrong() };
    let group: Vec<_> = [["4"; 6].as_slice(), &["5", "6", "7", "8"]]
        .concat()
        .into_iter()
        .map(|answer| item(Some(answer)))
        .collect();
    let corrected = policy(&json!({ "outcome": "backward", "consensus": { "ttrl": {} } }));
    let composed = corrected.compose(&group);
    let label = composed[0].label.as_ref().unwrap();
    // 6 votes against 1 each, and an unseen answer: 4 P(Bin(8, 1/2) <= 1) + 2^-7.
    let error = 4.0 * 9.0 / 256.0 + 1.0 / 128.0;
    assert!((label.error - error).abs() < 1e-12);
    let right = (1.0 - error) * 0.6 + error * 0.1;
    let (rho0, rho1) = (error * 0.6 / (1.0 - right), error * 0.1 / right);
    let j = 1.0 - rho0 - rho1;
    let rewards = rewards(&composed);
    assert!((rewards[0].unwrap() - (1.0 - rho0) / j).abs() < 1e-9);
    assert!((rewards[9].unwrap() + rho0 / j).abs() < 1e-9);
    // All agree, so agreement says nothing.
    let composed = corrected.compose(&group[..6]);
    assert_close(&composed, &[None; 6]);
    assert!(
        composed[0]
            .missing
            .as_ref()
            .unwrap()
            .contains("J of the label")
    );
}

#[test]
fn confident_answers_outvote_others() {
    let measures = [[("sure", 0.9)], [("sure", 0.1)]];
    let item = |answer, sure: usize| Sample {
        answer: Some(answer),
        measures: &measures[sure],
        ..wrong()
    };
    let group = [
        item("4", 0),
        item("5", 1),
        item("5", 1),
        item("5", 1),
        wrong(),
    ];
    let weighted = policy(&json!({ "consensus": { "ttrl": { "confidence": "sure" } } }));
    let expected = [Some(1.0), Some(0.0), Some(0.0), Some(0.0), None];
    let composed = weighted.compose(&group);
    assert_close(&composed, &expected);
    assert!(composed[4].missing.as_ref().unwrap().contains("`sure`"));
}

#[test]
fn grpo_lambda_shortens_groups_with_a_high_accuracy() {
    let of = |tokens| Sample {
        tokens: Some(tokens),
        ..right()
    };
    let value = json!({ "length": { "grpo_lambda": { "alpha": 0.6, "accuracy": 0.6 } } });
    // Lengths 100 and 300: mean 200, std 100; python: 1 - .6 / (1 + math.exp(1)), 1 - .6 / (1 +
    // math.exp(-1))
    let short = [
        Some(0.838_635_147_178_002_9),
        Some(0.561_364_852_821_997),
        Some(0.0),
    ];
    assert_close(
        &policy(&value).compose(&[of(100.0), of(300.0), wrong()]),
        &short,
    );
    assert_close(
        &policy(&value).compose(&[of(100.0), of(300.0), wrong(), wrong()]),
        &[Some(1.0), Some(1.0), Some(0.0), Some(0.0)],
    );
    let share = json!({ "length": { "grpo_lambda": { "share": 0.5 } } });
    let (good, bad): (&[Sample<'_>], &[Sample<'_>]) =
        (&[of(100.0), of(300.0)], &[of(100.0), wrong()]);
    let share = policy(&share);
    let composed = share.compose_batch(&[bad, good]);
    assert_close(&composed[0], &[Some(1.0), Some(0.0)]);
    assert_close(&composed[1], &short[..2]);
}

#[test]
fn filter_steps_and_tags_do_not_change_rewards() {
    let value = json!({
        "filter": { "best_worst": {} },
        "steps": { "delta": { "alpha": 1 } },
        "length": { "rorecomp": { "share": 1 } },
    });
    let group = [
        Sample {
            steps: &[0.9, 0.4, 0.7],
            ..right()
        },
        wrong(),
        Sample::default(),
        Sample {
            pass: None,
            ..wrong()
        },
    ];
    let policy = policy(&value);
    let composed = policy.compose(&group);
    assert_close(&composed, &[Some(1.0), Some(0.0), None, Some(0.0)]);
    assert_eq!(
        composed
            .iter()
            .map(|composed| composed.weight)
            .collect::<Vec<_>>(),
        [Some(0.5), Some(0.25), None, Some(0.25)]
    );
    let tags: Vec<_> = composed.iter().map(|composed| composed.tag).collect();
    assert_eq!(tags, [Some("priority"), Some("priority"), None, None]);
    // 0.9 - 0.4, 0.4, 0
    assert!(
        composed[0]
            .steps
            .iter()
            .zip([0.5, 0.4, 0.0])
            .all(|(a, b)| (a - b).abs() < 1e-12)
    );
}

#[test]
fn rewards_are_never_infinite() {
    let value = json!({
        "outcome": { "measure": "raw" },
        "combine": { "gate_chain": { "chain": [{ "part": "p", "weight": 1e9 }] } },
    });
    let parts = [part("p", Some(1.0))];
    let item = Sample {
        parts: &parts,
        measures: &[("raw", f64::MAX)],
        ..right()
    };
    let policy = policy(&value);
    let composed = &policy.compose(&[item, item])[0];
    assert!(
        composed
            .reward
            .is_none_or(|reward| reward.get().is_finite())
    );
}
