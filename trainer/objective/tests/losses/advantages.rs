//! Advantages of small groups, compared with values computed by hand.

use std::collections::BTreeMap;

use assay_objective::advantage::Prompt;
use assay_objective::{Advantage, Advantages, Sample};
use assay_rewards::Rates;
use assay_rewards::Visit;
use candle_core::{Device, Tensor};

/// Two groups with the rewards 1, 0, masked, 0 and 1, masked.
fn samples() -> Vec<Sample> {
    let rewards = [Some(1.0), Some(0.0), None, Some(0.0), Some(1.0), None];
    let sample = |(row, reward): (usize, Option<f64>)| Sample {
        group: row / 4,
        rewards: vec![reward],
        pass: reward.map(|reward| reward > 0.5),
        tokens: 1 + row % 3,
        advantage: reward.map(|reward| reward - 0.25),
        greedy: Some(0.5),
        ..Sample::default()
    };
    rewards.into_iter().enumerate().map(sample).collect()
}

fn compute(settings: &str, samples: &[Sample]) -> Result<Advantages, String> {
    let advantage: Advantage = serde_json::from_str(settings).map_err(|error| error.to_string())?;
    advantage
        .compute(samples, &BTreeMap::new())
        .map_err(|error| error.to_string())
}

#[track_caller]
fn assert_close(got: &[Vec<f64>], expected: &[&[f64]]) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert_eq!(got.len(), expected.len(), "{got:?}");
        assert!(
            got.iter()
                .zip(*expected)
                .all(|(got, expected)| (got - expected).abs() < 1e-5),
            "{got:?} {expected:?}"
        );
    }
}

#[test]
fn excludes_masked_members_and_drops_groups_with_one_reward() {
    // Mean 1/3, deviation sqrt((4/9 + 1/9 + 1/9) / 2) = 0.577350; 2/3 / (0.577350 + 1e-6) =
    // 1.154699.
    let got = compute(r#"{"estimator": "group"}"#, &samples()).unwrap();
    assert_close(
        &got.values,
        &[
            &[1.154_699],
            &[-0.577_349],
            &[0.0],
            &[-0.577_349],
            &[0.0],
            &[0.0],
        ],
    );
    assert_eq!(got.keep, [true, true, false, true, false, false]);
    assert_eq!((got.masked, got.dropped_groups), (2, 1));
}

#[test]
fn scales_by_deviation_of_group_or_batch() {
    let mut four = samples()[..4].to_vec();
    four.push(Sample {
        group: 1,
        rewards: vec![Some(3.0)],
        ..Sample::default()
    });
    four.push(Sample {
        group: 1,
        rewards: vec![Some(1.0)],
        ..Sample::default()
    });
    let got = compute(r#"{"estimator": "group", "scale": "none"}"#, &four).unwrap();
    assert_close(
        &got.values,
        &[
            &[2.0 / 3.0],
            &[-1.0 / 3.0],
            &[0.0],
            &[-1.0 / 3.0],
            &[1.0],
            &[-1.0],
        ],
    );
    // 1, 0, 0, 3, 1: mean 1, variance (0 + 1 + 1 + 4 + 0) / 4 = 1.5, deviation 1.224745; with 0.5
    // added 1.724745.
    let got = compute(
        r#"{"estimator": "group", "scale": "batch", "epsilon": 0.5}"#,
        &four,
    )
    .unwrap();
    assert_close(&got.values[4..], &[&[0.579_796], &[-0.579_796]]);
}

#[test]
fn combines_several_weighted_rewards() {
    let pair = |a: [Option<f64>; 2]| Sample {
        rewards: a.to_vec(),
        ..Sample::default()
    };
    let two = [
        pair([Some(1.0), Some(0.0)]),
        pair([Some(0.0), Some(4.0)]),
        pair([None, Some(2.0)]),
    ];
    // 1, 2, 1 with weights 1 and 1/2: mean 4/3.
    let got = compute(
        r#"{"estimator": "group", "scale": "none", "weights": [1, 0.5]}"#,
        &two,
    )
    .unwrap();
    assert_close(&got.values, &[&[-1.0 / 3.0], &[2.0 / 3.0], &[-1.0 / 3.0]]);
    // z: 0.707107, -0.707107 and none; -1, 1, 0. Sums -0.292893, 0.292893, 0; deviation 0.292893.
    let settings = r#"{"estimator": "group", "epsilon": 0, "combine": "normalize_then_sum"}"#;
    assert_close(
        &compute(settings, &two).unwrap().values,
        &[&[-1.0], &[1.0], &[0.0]],
    );
    let error = compute(r#"{"estimator": "group", "weights": [1]}"#, &two).unwrap_err();
    assert_eq!(
        error,
        "row 0: the number of rewards differs from the number of `weights`"
    );
}

#[test]
fn keeps_single_completions_without_group_comparison() {
    let got = compute(r#"{"estimator": "service"}"#, &samples()).unwrap();
    assert_close(
        &got.values,
        &[&[0.75], &[-0.25], &[0.0], &[-0.25], &[0.75], &[0.0]],
    );
    assert_eq!(got.dropped_groups, 0);
    let got = compute(r#"{"estimator": "greedy"}"#, &samples()).unwrap();
    assert_close(
        &got.values,
        &[&[0.5], &[-0.5], &[0.0], &[-0.5], &[0.5], &[0.0]],
    );
    let got = compute(r#"{"estimator": "verdict", "fail": -1}"#, &samples()).unwrap();
    assert_close(
        &got.values,
        &[&[0.0], &[-1.0], &[0.0], &[-1.0], &[0.0], &[0.0]],
    );
    assert_eq!(
        got.keep,
        [false, true, false, true, false, false],
        "right completions are excluded"
    );
}

#[test]
fn computes_named_estimators_of_the_service() {
    let got = compute(r#"{"estimator": "named", "name": "rloo"}"#, &samples()).unwrap();
    assert_close(
        &got.values,
        &[&[1.0], &[-0.5], &[0.0], &[-0.5], &[0.0], &[0.0]],
    );
    // (0.2, 0.3): J = 0.5; (1 - 1/3) / 0.5.
    let advantage: Advantage =
        serde_json::from_str(r#"{"estimator": "named", "name": "gain"}"#).unwrap();
    let visit = Visit {
        rewards: 4,
        judged: 4,
        ..Visit::default()
    };
    let prompt = Prompt {
        rates: Rates::new(0.2, 0.3),
        history: vec![visit],
    };
    let prompts = BTreeMap::from([(0, prompt)]);
    assert_close(
        &advantage.compute(&samples(), &prompts).unwrap().values[..2],
        &[&[4.0 / 3.0], &[-2.0 / 3.0]],
    );
    let dcpo: Advantage =
        serde_json::from_str(r#"{"estimator": "named", "name": "dcpo"}"#).unwrap();
    let (known, unknown) = (
        dcpo.compute(&samples(), &prompts).unwrap(),
        dcpo.compute(&samples(), &BTreeMap::new()).unwrap(),
    );
    assert_ne!(known.values, unknown.values, "history changes advantages");
}

#[test]
fn best_completion_gets_its_lead() {
    let got = compute(r#"{"estimator": "best"}"#, &samples()).unwrap();
    assert_close(&got.values[..2], &[&[1.0], &[0.0]]);
    // 1 / (0.577350 + 1e-6).
    let got = compute(r#"{"estimator": "best", "scale": true}"#, &samples()).unwrap();
    assert_close(&got.values[..2], &[&[1.732_048], &[0.0]]);
}

#[test]
fn discounts_and_whitens_returns() {
    let one = |reward, shaping: &[f64]| Sample {
        rewards: vec![Some(reward)],
        tokens: 2,
        shaping: shaping.to_vec(),
        ..Sample::default()
    };
    // 0.5 * 1 = 0.5 and 1; 0 and 0 with shaping 0.25, 0: 0.25 and 0. Mean 0.4375, deviation
    // sqrt(0.546875 / 3) = 0.426956.
    let got = compute(
        r#"{"estimator": "returns", "gamma": 0.5}"#,
        &[one(1.0, &[]), one(0.0, &[0.25, 0.0])],
    )
    .unwrap();
    assert_close(
        &got.values,
        &[&[0.146_385, 1.317_466], &[-0.439_156, -1.024_696]],
    );
    let wrong = compute(
        r#"{"estimator": "returns", "gamma": 0.5}"#,
        &[one(1.0, &[0.1])],
    )
    .unwrap_err();
    assert_eq!(wrong, "row 0: `shaping` must have one number per token");
}

#[test]
fn estimates_advantages_from_critic_values() {
    let sample = Sample {
        rewards: vec![Some(1.0)],
        tokens: 2,
        values: vec![0.2, 0.4],
        ..Sample::default()
    };
    // Last: 1 - 0.4 = 0.6. First: 0.5 * 0.4 - 0.2 + 0.5 * 0.5 * 0.6 = 0.15. Whitened: two numbers
    // are -+ 1 / sqrt(2).
    let got = compute(
        r#"{"estimator": "gae", "gamma": 0.5, "lambda": 0.5}"#,
        &[sample],
    )
    .unwrap();
    assert_close(&got.values, &[&[-0.5f64.sqrt(), 0.5f64.sqrt()]]);
    let missing = compute(
        r#"{"estimator": "gae", "gamma": 0.5, "lambda": 0.5}"#,
        &samples(),
    )
    .unwrap_err();
    assert_eq!(
        missing,
        "row 0: `gae` requires `values` with one number per token"
    );
}

#[test]
fn traces_increase_advantages_of_early_tokens() {
    // Row 1 has 2 tokens, row 2 is masked; 1 + 0.5 = 1.5 and 1, times -0.577349.
    let got = compute(r#"{"estimator": "traces", "decay": 0.5}"#, &samples()).unwrap();
    assert_close(&got.values[1..2], &[&[-0.866_024, -0.577_349]]);
}

#[test]
fn assigns_values_to_positions_of_the_mask() {
    let advantages = Advantages {
        values: vec![vec![2.0, 3.0], vec![5.0], vec![7.0]],
        keep: vec![true, true, false],
        masked: 0,
        dropped_groups: 0,
    };
    let mask = Tensor::new(
        &[[1f32, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
        &Device::Cpu,
    )
    .unwrap();
    let (values, included) = advantages.tensors(&mask).unwrap();
    assert_eq!(
        values.to_vec2::<f32>().unwrap(),
        [[2.0, 0.0, 3.0], [0.0, 5.0, 5.0], [0.0; 3]]
    );
    assert_eq!(
        included.to_vec2::<f32>().unwrap(),
        [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0; 3]]
    );
    let full = Tensor::ones((3, 3), candle_core::DType::F32, &Device::Cpu).unwrap();
    let error = advantages.tensors(&full).unwrap_err().to_string();
    assert_eq!(
        error,
        "row 0: `advantages` must have one value, or one per token of the mask"
    );
}

#[test]
fn rejects_infinite_rewards() {
    let infinite = Sample {
        rewards: vec![Some(f64::INFINITY)],
        ..Sample::default()
    };
    let error = compute(r#"{"estimator": "group"}"#, &[infinite]).unwrap_err();
    assert_eq!(error, "row 0: the reward is not finite");
}
