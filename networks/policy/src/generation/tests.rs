use std::cell::Cell;
use std::sync::Arc;

use candle_core::Device;

use super::*;
use crate::tests::families;
use crate::{Batch, PolicyModelOptions, Text};

const NEVER: &dyn Fn(&[bool]) -> bool = &|_| false;

fn policy(family: usize) -> PolicyModel {
    let options = PolicyModelOptions {
        seed: 8,
        ..PolicyModelOptions::default()
    };
    PolicyModel::draw(families().remove(family), &Device::Cpu, &options).unwrap()
}

/// Several completions of prompts of different lengths.
fn wanted() -> Vec<Wanted> {
    let prompts: [Arc<[u32]>; 3] = [Arc::new([1, 2, 3, 4, 5]), Arc::new([6]), Arc::new([7, 8])];
    let request = |at: u64| Wanted {
        prompt: Arc::clone(&prompts[at as usize / 4]),
        written: Vec::new(),
        key: [5, 1, at],
    };
    (0..12).map(request).collect()
}

fn sampling() -> Sampling {
    Sampling {
        temperature: 0.9,
        max_tokens: 14,
        ..Sampling::default()
    }
}

fn close(one: &[Written], other: &[Written]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(other) {
        assert_eq!((&one.tokens, one.ended), (&other.tokens, other.ended));
        assert!(
            one.log_probs
                .iter()
                .zip(&other.log_probs)
                .all(|(one, other)| (one - other).abs() < 1e-5)
        );
    }
}

#[test]
fn what_is_written_has_the_log_probs_it_is_trained_with() {
    for family in 0..families().len() {
        let policy = policy(family);
        let wanted = wanted();
        let written = generate(&policy, &wanted, &sampling(), &[9], NEVER).unwrap();
        assert!(written.iter().any(|one| one.ended) && written.iter().any(|one| !one.ended));
        let texts: Vec<Text<'_>> = wanted
            .iter()
            .zip(&written)
            .map(|(wanted, written)| Text {
                prompt: &wanted.prompt,
                completion: &written.tokens,
            })
            .collect();
        let batch = Batch::new(&texts, 11, &Device::Cpu).unwrap();
        let scored = policy
            .score(&batch, 0.9)
            .unwrap()
            .log_probs
            .to_vec1::<f32>()
            .unwrap();
        let told: Vec<f32> = written
            .iter()
            .flat_map(|written| written.log_probs.clone())
            .collect();
        let off = scored
            .iter()
            .zip(&told)
            .map(|(one, other)| (one - other).abs())
            .fold(0.0, f32::max);
        assert!(scored.len() == told.len() && off < 1e-5, "off by {off}");
        for written in &written {
            assert!(
                written.ended == (written.tokens.last() == Some(&9))
                    && !written.tokens[..written.tokens.len() - 1].contains(&9)
            );
        }
    }
}

#[test]
fn company_does_not_change_what_is_written() {
    let policy = policy(0);
    let together = generate(&policy, &wanted(), &sampling(), &[9], NEVER).unwrap();
    for rows in [1, 3, 5] {
        close(
            &generate(
                &policy,
                &wanted(),
                &Sampling { rows, ..sampling() },
                &[9],
                NEVER,
            )
            .unwrap(),
            &together,
        );
    }
    let alone: Vec<Written> = wanted()
        .into_iter()
        .map(|one| {
            generate(&policy, &[one], &sampling(), &[9], NEVER)
                .unwrap()
                .remove(0)
        })
        .collect();
    close(&alone, &together);
}

#[test]
fn what_was_broken_off_goes_on_as_if_it_had_not_been() {
    let policy = policy(1);
    let whole = generate(&policy, &wanted(), &sampling(), &[9], NEVER).unwrap();
    let asked = Cell::new(0);
    let pause = |_: &[bool]| asked.replace(asked.get() + 1) == 4;
    let first = generate(&policy, &wanted(), &sampling(), &[9], &pause).unwrap();
    assert!(first.iter().any(|one| !one.ended && one.tokens.len() == 4));
    let mut joined = first.clone();
    let open: Vec<usize> = (0..joined.len()).filter(|at| !joined[*at].ended).collect();
    let again: Vec<Wanted> = open
        .iter()
        .map(|at| Wanted {
            written: first[*at].tokens.clone(),
            ..wanted()[*at].clone()
        })
        .collect();
    let rest = generate(&policy, &again, &sampling(), &[9], NEVER).unwrap();
    for (at, rest) in open.into_iter().zip(rest) {
        joined[at].tokens.extend(rest.tokens);
        joined[at].log_probs.extend(rest.log_probs);
        joined[at].ended = rest.ended;
    }
    close(&joined, &whole);
}

#[test]
fn what_other_devices_keep_is_the_same() {
    for family in 0..families().len() {
        let policy = policy(family);
        let rows = generate(
            &policy,
            &wanted(),
            &Sampling {
                rows: 7,
                ..sampling()
            },
            &[9],
            NEVER,
        )
        .unwrap();
        let cache = Cache::Padded(padded::Padded::new(&policy.config, &Device::Cpu));
        let padded = with_cache(
            &policy,
            &wanted(),
            &Sampling {
                rows: 7,
                ..sampling()
            },
            &[9],
            NEVER,
            cache,
        )
        .unwrap();
        close(&padded, &rows);
    }
}

#[test]
fn learning_is_seen_by_what_writes() {
    let policy = policy(0);
    let greedy = Sampling {
        temperature: 0.0,
        ..sampling()
    };
    let before = generate(&policy, &wanted(), &greedy, &[], NEVER).unwrap();
    for var in policy.parameters().values() {
        var.set(&(var.as_detached_tensor() * -1.0).unwrap())
            .unwrap();
    }
    assert_ne!(
        before,
        generate(&policy, &wanted(), &greedy, &[], NEVER).unwrap()
    );
}

#[test]
fn texts_end_where_the_policy_ends() {
    let policy = policy(0);
    let long = Wanted {
        prompt: vec![1; 60].into(),
        written: Vec::new(),
        key: [0; 3],
    };
    let written = generate(
        &policy,
        &[long],
        &Sampling {
            max_tokens: 50,
            ..sampling()
        },
        &[],
        NEVER,
    )
    .unwrap();
    assert_eq!((written[0].tokens.len(), written[0].ended), (4, false));
}

#[test]
fn settings_that_mean_nothing_are_refused() {
    for (wrong, word) in [
        (
            Sampling {
                temperature: -1.0,
                ..sampling()
            },
            "temperature",
        ),
        (
            Sampling {
                top_p: 0.0,
                ..sampling()
            },
            "top_p",
        ),
        (
            Sampling {
                min_p: 1.5,
                ..sampling()
            },
            "min_p",
        ),
        (
            Sampling {
                max_tokens: 0,
                ..sampling()
            },
            "max_tokens",
        ),
    ] {
        assert!(
            generate(&policy(0), &wanted(), &wrong, &[], NEVER)
                .unwrap_err()
                .to_string()
                .contains(word)
        );
    }
}
