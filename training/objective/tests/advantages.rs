//! Advantages of small groups, by hand.

use std::collections::BTreeMap;

use assay_core::Visit;
use assay_correction::Rates;
use assay_objective::advantage::Prompt;
use assay_objective::{Advantage, Advantages, Sample};
use candle_core::{Device, Tensor};

/// Two groups: 1, 0, a masked one, 0; and one graded completion beside a masked one.
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

fn of(settings: &str, samples: &[Sample]) -> Result<Advantages, String> {
    let advantage: Advantage = serde_json::from_str(settings).map_err(|error| error.to_string())?;
    advantage
        .of(samples, &BTreeMap::new())
        .map_err(|error| error.to_string())
}

#[track_caller]
fn close(got: &[Vec<f64>], expected: &[&[f64]]) {
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
fn masked_members_do_not_vote_and_single_ones_are_dropped() {
    // Mean 1/3, deviation sqrt((4/9 + 1/9 + 1/9) / 2) = 0.577350; 2/3 / (0.577350 + 1e-6) =
    // 1.154699.
    let got = of(r#"{"estimator": "group"}"#, &samples()).unwrap();
    close(
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
fn the_deviation_is_of_the_group_of_the_batch_or_none() {
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
    let got = of(r#"{"estimator": "group", "scale": "none"}"#, &four).unwrap();
    close(
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
    let got = of(
        r#"{"estimator": "group", "scale": "batch", "epsilon": 0.5}"#,
        &four,
    )
    .unwrap();
    close(&got.values[4..], &[&[0.579_796], &[-0.579_796]]);
}

#[test]
fn several_rewards_are_weighed() {
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
    let got = of(
        r#"{"estimator": "group", "scale": "none", "weights": [1, 0.5]}"#,
        &two,
    )
    .unwrap();
    close(&got.values, &[&[-1.0 / 3.0], &[2.0 / 3.0], &[-1.0 / 3.0]]);
    // z: 0.707107, -0.707107 and none; -1, 1, 0. Sums -0.292893, 0.292893, 0; deviation 0.292893.
    let settings = r#"{"estimator": "group", "epsilon": 0, "combine": "normalize_then_sum"}"#;
    close(
        &of(settings, &two).unwrap().values,
        &[&[-1.0], &[1.0], &[0.0]],
    );
    let error = of(r#"{"estimator": "group", "weights": [1]}"#, &two).unwrap_err();
    assert_eq!(
        error,
        "row 0: it has another number of rewards than there are `weights`"
    );
}

#[test]
fn estimators_without_a_group_keep_single_completions() {
    let got = of(r#"{"estimator": "service"}"#, &samples()).unwrap();
    close(
        &got.values,
        &[&[0.75], &[-0.25], &[0.0], &[-0.25], &[0.75], &[0.0]],
    );
    assert_eq!(got.dropped_groups, 0);
    let got = of(r#"{"estimator": "greedy"}"#, &samples()).unwrap();
    close(
        &got.values,
        &[&[0.5], &[-0.5], &[0.0], &[-0.5], &[0.5], &[0.0]],
    );
    let got = of(r#"{"estimator": "verdict", "wrong": -1}"#, &samples()).unwrap();
    close(
        &got.values,
        &[&[0.0], &[-1.0], &[0.0], &[-1.0], &[0.0], &[0.0]],
    );
    assert_eq!(
        got.keep,
        [false, true, false, true, false, false],
        "what is right is left out"
    );
}

#[test]
fn the_service_names_the_others() {
    let got = of(r#"{"estimator": "named", "name": "rloo"}"#, &samples()).unwrap();
    close(
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
    close(
        &advantage.of(&samples(), &prompts).unwrap().values[..2],
        &[&[4.0 / 3.0], &[-2.0 / 3.0]],
    );
    let dcpo: Advantage =
        serde_json::from_str(r#"{"estimator": "named", "name": "dcpo"}"#).unwrap();
    let (known, unknown) = (
        dcpo.of(&samples(), &prompts).unwrap(),
        dcpo.of(&samples(), &BTreeMap::new()).unwrap(),
    );
    assert_ne!(known.values, unknown.values, "history counts");
}

#[test]
fn the_best_of_a_group_gets_its_lead() {
    let got = of(r#"{"estimator": "best"}"#, &samples()).unwrap();
    close(&got.values[..2], &[&[1.0], &[0.0]]);
    // 1 / (0.577350 + 1e-6).
    let got = of(r#"{"estimator": "best", "scale": true}"#, &samples()).unwrap();
    close(&got.values[..2], &[&[1.732_048], &[0.0]]);
}

#[test]
fn returns_are_discounted_and_whitened() {
    let one = |reward, shaping: &[f64]| Sample {
        rewards: vec![Some(reward)],
        tokens: 2,
        shaping: shaping.to_vec(),
        ..Sample::default()
    };
    // 0.5 * 1 = 0.5 and 1; 0 and 0 with shaping 0.25, 0: 0.25 and 0. Mean 0.4375, deviation
    // sqrt(0.546875 / 3) = 0.426956.
    let got = of(
        r#"{"estimator": "returns", "gamma": 0.5}"#,
        &[one(1.0, &[]), one(0.0, &[0.25, 0.0])],
    )
    .unwrap();
    close(
        &got.values,
        &[&[0.146_385, 1.317_466], &[-0.439_156, -1.024_696]],
    );
    let wrong = of(
        r#"{"estimator": "returns", "gamma": 0.5}"#,
        &[one(1.0, &[0.1])],
    )
    .unwrap_err();
    assert_eq!(wrong, "row 0: it has not one `shaping` for each token");
}

#[test]
fn advantages_are_estimated_from_values() {
    let sample = Sample {
        rewards: vec![Some(1.0)],
        tokens: 2,
        values: vec![0.2, 0.4],
        ..Sample::default()
    };
    // Last: 1 - 0.4 = 0.6. First: 0.5 * 0.4 - 0.2 + 0.5 * 0.5 * 0.6 = 0.15. Whitened: two numbers
    // are -+ 1 / sqrt(2).
    let got = of(
        r#"{"estimator": "gae", "gamma": 0.5, "lambda": 0.5}"#,
        &[sample],
    )
    .unwrap();
    close(&got.values, &[&[-0.5f64.sqrt(), 0.5f64.sqrt()]]);
    let missing = of(
        r#"{"estimator": "gae", "gamma": 0.5, "lambda": 0.5}"#,
        &samples(),
    )
    .unwrap_err();
    assert_eq!(missing, "row 0: `gae` needs one of `values` for each token");
}

#[test]
fn traces_weigh_early_tokens() {
    // Row 1 has 2 tokens, row 2 is masked; 1 + 0.5 = 1.5 and 1, times -0.577349.
    let got = of(r#"{"estimator": "traces", "decay": 0.5}"#, &samples()).unwrap();
    close(&got.values[1..2], &[&[-0.866_024, -0.577_349]]);
}

#[test]
fn values_go_to_the_places_of_the_mask() {
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
    let (values, votes) = advantages.tensors(&mask).unwrap();
    assert_eq!(
        values.to_vec2::<f32>().unwrap(),
        [[2.0, 0.0, 3.0], [0.0, 5.0, 5.0], [0.0; 3]]
    );
    assert_eq!(
        votes.to_vec2::<f32>().unwrap(),
        [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0; 3]]
    );
    let full = Tensor::ones((3, 3), candle_core::DType::F32, &Device::Cpu).unwrap();
    let error = advantages.tensors(&full).unwrap_err().to_string();
    assert_eq!(
        error,
        "row 0: advantages are not one for each token of the mask"
    );
}

#[test]
fn rewards_are_finite() {
    let infinite = Sample {
        rewards: vec![Some(f64::INFINITY)],
        ..Sample::default()
    };
    let error = of(r#"{"estimator": "group"}"#, &[infinite]).unwrap_err();
    assert_eq!(error, "row 0: its reward is no finite number");
}
