//! Generated policies and groups.

use assay_core::{Reward, Score};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{part, policy, right, wrong};
use crate::policy::rules::PolicyRules;
use crate::policy::{FUNCTIONS, Sample};

/// Score of a wrong answer: 0 for half of them, otherwise partial.
fn partial_score(partial: f64) -> f64 {
    if partial < 0.45 { 0.0 } else { partial }
}

/// Policies with every kind of section that changes rewards.
fn policies() -> impl Strategy<Value = Value> {
    let share = || (0..=10u32).prop_map(|tenths| f64::from(tenths) / 10.0);
    let some = |value: BoxedStrategy<Value>| prop::option::of(value);
    let length = (1.0..200.0f64, 1.0..50.0f64, 0.01..1.0f64, share(), any::<bool>()).prop_map(
        |(max, buffer, factor, alpha, both)| {
            let mut length = json!({ "soft_overlong": { "max": max + 50.0, "buffer": buffer, "factor": factor } });
            if both {
                length["beyond"] = json!({ "threshold": buffer, "max": max + 60.0, "weight": factor });
                length["grpo_lambda"] = json!({ "alpha": alpha, "share": 1 });
            }
            length
        },
    );
    let efficiency = (
        share(),
        0.5..9.0f64,
        prop::sample::select(vec!["ppo", "grpo"]),
    )
        .prop_map(|(alpha, most, form)| {
            json!({
                "otc": { "form": form, "alpha": alpha, "max": most, "measure": "m" },
                "work": { "alpha": alpha, "reference": most, "measure": "m" },
                "cost": { "alpha": alpha, "max": most, "measure": "m" },
            })
        });
    let repetition = (0.01..1.0f64, 1..4u32).prop_map(
        |(penalty, n)| json!({ "tail_loop": { "penalty": penalty }, "ngrams": { "n": n, "penalty": penalty } }),
    );
    let combine = prop_oneof![
        share().prop_map(|weight| json!({ "weighted": { "weights": { "outcome": 1, "p": weight } } })),
        Just(json!({ "product": { "parts": ["p"] } })),
        Just(json!({ "min": { "parts": ["p"] } })),
        (share(), 0.01..2.0f64).prop_map(|(above, weight)| {
            json!({ "gate_chain": { "above": above, "chain": [{ "part": "p", "weight": weight }] } })
        }),
        share().prop_map(
            |c| json!({ "rubric": { "weights": { "outcome": 1, "p": 1 }, "critical": ["p"], "saturation": c } })
        ),
        share().prop_map(|points| json!({ "points": { "points": { "outcome": 1, "p": -points } } })),
    ];
    let shape = prop_oneof![
        Just(json!({ "sigmoid": { "k": 2, "references": [0.5, 0.1] } })),
        Just(json!({ "tanh": { "k": 3, "centre": 0.5 } })),
        Just(json!({ "arctan": { "centre": 0.5 } })),
        Just(json!({ "lsc": { "references": [0.1, 0.7] } })),
        Just(json!({ "clip": { "eta": 0.5 } })),
        Just(json!({ "min_max": {} })),
        Just(json!({ "rank": {} })),
        Just(json!({ "deviation": { "k": 0.5 } })),
    ];
    let format = (share(), share()).prop_map(
        |(factor, penalty)| json!([{ "part": "p", "factor": factor, "penalty": penalty }]),
    );
    let outcome = prop::sample::select(vec![json!("raw"), json!("backward")]);
    let sections = (
        some(outcome.boxed()),
        some(combine.boxed()),
        some(shape.boxed()),
        some(format.boxed()),
        some(efficiency.boxed()),
        some(length.boxed()),
        some(repetition.boxed()),
        some(
            share()
                .prop_map(|lambda| json!({ "diversity": lambda }))
                .boxed(),
        ),
    );
    sections.prop_map(
        |(outcome, combine, shape, format, efficiency, length, repetition, diversity)| {
            let diversity = diversity.map(|value| json!({ "lambda": value["diversity"] }));
            let names = [
                "outcome",
                "combine",
                "shape",
                "format",
                "efficiency",
                "length",
                "repetition",
                "diversity",
            ];
            let sections = [
                outcome, combine, shape, format, efficiency, length, repetition, diversity,
            ];
            Value::Object(
                names
                    .into_iter()
                    .zip(sections)
                    .filter_map(|(name, section)| Some((name.to_owned(), section?)))
                    .collect(),
            )
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn factors_and_penalties_never_raise_a_wrong_answer_above_a_right_one(
        value in policies(),
        members in prop::collection::vec(
            (
                any::<bool>(),
                0..3usize,
                0.0..300.0f64,
                0.0..9.0f64,
                any::<bool>(),
                0.0..0.9f64,
            ),
            1..9,
        ),
    ) {
        let parts = [[part("p", Some(0.0))], [part("p", Some(0.4))], [part("p", Some(1.0))]];
        let measures: Vec<_> = members.iter().map(|member| [("m", member.3)]).collect();
        let group: Vec<_> = members
            .iter()
            .zip(&measures)
            .map(|((is_right, p, tokens, _, truncated, partial), measures)| Sample {
                parts: &parts[*p],
                measures,
                tokens: Some(*tokens),
                truncated: *truncated,
                text: if *truncated { "so so so so so" } else { "so it is" },
                answer: Some(if *truncated { "1" } else { "2" }),
                // Rates of 0.2 and 0.3.
                corrected: Reward::new(if *is_right { 1.6 } else { -0.4 }).ok(),
                ..if *is_right {
                    right()
                } else {
                    Sample { score: Score::new(partial_score(*partial)).ok(), ..wrong() }
                }
            })
            .collect();
        let whole = policy(&value);
        let first_half = PolicyRules {
            efficiency: None,
            diversity: None,
            length: None,
            repetition: None,
            ..whole.clone()
        };
        let (composed, before) = (whole.compose(&group), first_half.compose(&group));
        for ((a, of_right), right_before) in members.iter().zip(&composed).zip(&before) {
            for ((b, of_wrong), wrong_before) in members.iter().zip(&composed).zip(&before) {
                let [right, wrong, right_before, wrong_before] =
                    [of_right, of_wrong, right_before, wrong_before]
                        .map(|composed| composed.reward.unwrap().get());
                let was_not_below = right_before >= wrong_before;
                if a.0 && !b.0 && (was_not_below || a.1 == b.1) {
                    prop_assert!(right >= wrong - 1e-12, "{right} < {wrong}: {of_right:?} \
                        {of_wrong:?}");
                }
            }
        }
    }

    #[test]
    fn every_function_returns_finite_numbers_in_any_group(
        members in prop::collection::vec(
            (
                prop::option::of(0.0..=1.0f64),
                any::<bool>(),
                0.0..1e6f64,
                -9.0..9.0f64,
            ),
            0..6,
        ),
    ) {
        let names = ["style", "tone", "safe", "tags", "call", "rude"];
        let parts = names.map(|name| part(name, Some(0.5)));
        let measures: Vec<_> = members
            .iter()
            .map(|(_, _, _, m)| {
                [
                    "raw_reward",
                    "reference_reward",
                    "calls",
                    "work",
                    "reference_work",
                    "cost",
                ]
                .map(|name| (name, *m))
            })
            .collect();
        let group: Vec<_> = members
            .iter()
            .zip(&measures)
            .map(|((score, pass, tokens, m), measures)| Sample {
                score: score.map(|score| Score::new(score).unwrap()),
                pass: Some(*pass),
                parts: &parts,
                measures,
                tokens: Some(*tokens),
                truncated: *pass,
                text: "a b a b",
                answer: pass.then_some("x"),
                steps: std::slice::from_ref(m),
                ..Sample::default()
            })
            .collect();
        for function in FUNCTIONS {
            let policy = policy(&serde_json::from_str(function.example).unwrap());
            let composed = policy.compose(&group);
            prop_assert_eq!(composed.len(), group.len());
            for (item, composed) in group.iter().zip(&composed) {
                let is_masked = item.score.is_none();
                prop_assert!(!is_masked || composed.reward.is_none(), "masked items stay masked");
                let is_finite = composed.terms.iter().all(|term| term.value.is_finite());
                prop_assert!(is_finite, "{composed:?}");
                prop_assert!(composed.weight.is_none_or(|weight| (0.0..=1.0).contains(&weight)));
            }
            let total: f64 = composed.iter().filter_map(|composed| composed.weight).sum();
            let weighed = composed.iter().any(|composed| composed.weight.is_some());
            prop_assert!(!weighed || (total - 1.0).abs() < 1e-9, "weights of a group sum to 1");
        }
    }
}
