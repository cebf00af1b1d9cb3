//! Properties of every preset.

use assay_objective::{Metrics, Objective, ObjectiveError, PRESETS, PolicyVersion};
use candle_core::{DType, Device, Tensor, Var};

use super::batches::{Numbers, Rows, distance};

/// All presets, and one objective with all optional parts enabled.
fn objectives() -> Vec<(String, Objective)> {
    let all = r#"{
        "preset": "dapo", "level": "sequence_token", "entropy": 0.02,
        "correction": {"weight": "token", "high": 2.0, "normalize": true,
                       "gate": {"span": "geometric", "low": 0.4}},
        "masks": {"top_entropy": 0.6, "off_policy": {"threshold": 0.3}},
        "penalties": [{"from": "reference", "coefficient": 0.1, "importance": true},
                      {"from": "teacher", "coefficient": 0.2, "estimator": "k1",
                       "straight_through": true}],
        "demonstrations": {"kind": "imitated", "share": 0.3}
    }"#;
    let presets = PRESETS
        .iter()
        .map(|preset| (preset.name.to_owned(), preset.objective()));
    presets
        .chain([("everything".to_owned(), serde_json::from_str(all).unwrap())])
        .collect()
}

fn add(sum: &mut Rows, more: &Rows) {
    for (sum, more) in sum.iter_mut().flatten().zip(more.concat()) {
        *sum += more;
    }
}

#[test]
fn micro_batches_sum_to_the_whole_batch() {
    let numbers = Numbers::new(1);
    for (name, objective) in objectives() {
        let totals = objective.totals(&numbers.batch()).unwrap();
        let whole = numbers.loss(&objective);
        // PACS compares the members of a group, so its micro-batches contain whole groups.
        let cuts: &[&[usize]] = if name == "pacs" {
            &[&[3, 3]]
        } else {
            &[&[3, 3], &[1, 4, 1], &[1; 6], &[2, 1, 3]]
        };
        for cut in cuts {
            let (mut value, mut by_logp, mut by_entropy) =
                (0.0, vec![vec![0.0; 5]; 6], vec![vec![0.0; 5]; 6]);
            let (mut start, mut metrics) = (0, Metrics::default());
            for count in *cut {
                let piece = numbers.piece(&objective, &totals, start, *count);
                value += piece.value;
                add(&mut by_logp, &piece.by_logp);
                add(&mut by_entropy, &piece.by_entropy);
                metrics.merge(&piece.metrics);
                start += count;
            }
            assert!(
                (value - whole.value).abs() < 1e-12,
                "{name} cut as {cut:?}: {value} is not {}",
                whole.value
            );
            assert!(
                distance(&by_logp, &whole.by_logp) < 1e-12,
                "{name} cut as {cut:?}"
            );
            assert!(
                distance(&by_entropy, &whole.by_entropy) < 1e-12,
                "{name} cut as {cut:?}"
            );
            for (metric, number) in whole.metrics.iter() {
                let merged = metrics.get(metric).unwrap();
                assert!(
                    (merged - number).abs() < 1e-12,
                    "{name} cut as {cut:?}: {metric} {merged} is not {number}"
                );
            }
        }
    }
}

#[test]
fn ignores_padding() {
    let clean = Numbers::new(2);
    let mut dirty = clean.clone();
    for rows in [
        &mut dirty.logp,
        &mut dirty.old,
        &mut dirty.behaviour,
        &mut dirty.reference,
        &mut dirty.teacher,
    ] {
        for (number, mask) in rows.iter_mut().flatten().zip(clean.mask.concat()) {
            if mask < 0.5 {
                *number = f64::NAN;
            }
        }
    }
    for (name, objective) in objectives() {
        let (clean, dirty) = (clean.loss(&objective), dirty.loss(&objective));
        assert!((clean.value - dirty.value).abs() < 1e-15, "{name}");
        assert!(distance(&clean.by_logp, &dirty.by_logp) < 1e-15, "{name}");
    }
}

#[test]
fn has_finite_gradient_on_policy() {
    let mut numbers = Numbers::new(3);
    numbers.old.clone_from(&numbers.logp);
    numbers.behaviour.clone_from(&numbers.logp);
    for (name, objective) in objectives() {
        let got = numbers.loss(&objective);
        let slopes = got.by_logp.concat();
        assert!(
            got.value.is_finite() && slopes.iter().all(|slope| slope.is_finite()),
            "{name}"
        );
        assert!(
            slopes.iter().any(|slope| slope.abs() > 1e-6),
            "the gradient of {name} is zero"
        );
    }
}

#[test]
fn loss_of_a_batch_without_tokens_is_zero() {
    let mut numbers = Numbers::new(4);
    numbers.mask = vec![vec![0.0; 5]; 6];
    for (name, objective) in objectives() {
        let got = numbers.loss(&objective);
        assert!(
            got.value.abs() < 1e-15 && got.by_logp.concat().iter().all(|slope| slope.abs() < 1e-15),
            "{name}"
        );
    }
}

#[test]
fn computes_half_precision_inputs_in_single_precision() {
    let numbers = Numbers::new(5);
    let half = |rows: &Rows| {
        Tensor::new(rows.clone(), &Device::Cpu)
            .unwrap()
            .to_dtype(DType::BF16)
            .unwrap()
    };
    for (name, objective) in objectives() {
        let logp = Var::from_tensor(&half(&numbers.logp)).unwrap();
        let batch = numbers.batch();
        let entropy = Some(half(&numbers.entropy));
        let current = assay_objective::Current {
            logp: logp.as_tensor().clone(),
            entropy,
        };
        let loss = objective
            .loss(&current, &batch, &objective.totals(&batch).unwrap())
            .unwrap()
            .loss;
        assert_eq!(loss.dtype(), DType::F32, "{name}");
        assert_eq!(
            loss.backward().unwrap().get(&logp).unwrap().dtype(),
            DType::BF16,
            "{name}"
        );
    }
}

#[test]
fn reports_missing_and_misshapen_tensors() {
    let batch = Numbers::new(6).batch();
    let current = assay_objective::Current {
        logp: batch.mask.clone(),
        entropy: Some(batch.mask.clone()),
    };
    for (name, objective) in objectives() {
        let required = objective.required_inputs();
        let totals = objective.totals(&batch).unwrap();
        let mut bare = batch.clone();
        (bare.reference, bare.teacher, bare.old, bare.scores) = (None, None, None, None);
        let needed = required.reference || required.teacher || required.old || required.scores;
        let got = objective.loss(&current, &bare, &totals);
        assert_eq!(
            matches!(got, Err(ObjectiveError::Missing(_))),
            needed,
            "{name}"
        );
    }
    let objective = PRESETS[0].objective();
    let totals = objective.totals(&batch).unwrap();
    let mut narrow = batch.clone();
    narrow.reference = Some(batch.mask.narrow(1, 0, 2).unwrap());
    let error = objective
        .loss(&current, &narrow, &totals)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "`reference` has shape [6, 2]; expected [6, 5]");
}

#[test]
fn pacs_rejects_split_groups() {
    let batch = Numbers::new(7).batch();
    let objective: Objective = serde_json::from_str(r#"{"preset": "pacs"}"#).unwrap();
    let totals = objective.totals(&batch).unwrap();
    let piece = batch.rows(0, 2).unwrap();
    let current = assay_objective::Current {
        logp: piece.mask.neg().unwrap(),
        entropy: None,
    };
    assert!(matches!(
        objective.loss(&current, &piece, &totals),
        Err(ObjectiveError::CutGroup(0))
    ));
    assert!(!PRESETS.iter().any(|preset| matches!(
        preset.objective().anchor,
        PolicyVersion::Reference | PolicyVersion::Teacher
    )));
}
