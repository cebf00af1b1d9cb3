use std::cell::Cell;
use std::sync::Arc;

use candle_core::Device;

use super::*;
use crate::tests::families;
use crate::{PolicyModelOptions, Text, TokenBatch};

const NEVER: &dyn Fn(&[bool]) -> bool = &|_| false;

fn policy(family: usize) -> PolicyModel {
    let options = PolicyModelOptions {
        seed: 8,
        ..PolicyModelOptions::default()
    };
    PolicyModel::draw(families().remove(family), &Device::Cpu, &options).unwrap()
}

/// Requests for several completions of prompts with different lengths.
fn requests() -> Vec<GenerationRequest> {
    let prompts: [Arc<[u32]>; 3] = [Arc::new([1, 2, 3, 4, 5]), Arc::new([6]), Arc::new([7, 8])];
    let request = |index: u64| GenerationRequest {
        prompt: Arc::clone(&prompts[index as usize / 4]),
        prefix: Vec::new(),
        key: [5, 1, index],
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

fn assert_close(one: &[GeneratedCompletion], other: &[GeneratedCompletion]) {
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
fn generated_log_probs_equal_scored_log_probs() {
    for family in 0..families().len() {
        let policy = policy(family);
        let requests = requests();
        let completions = generate(&policy, &requests, &sampling(), &[9], NEVER).unwrap();
        assert!(completions.iter().any(|completion| completion.ended));
        assert!(completions.iter().any(|completion| !completion.ended));
        let texts: Vec<Text<'_>> = requests
            .iter()
            .zip(&completions)
            .map(|(request, completion)| Text {
                prompt: &request.prompt,
                completion: &completion.tokens,
            })
            .collect();
        let batch = TokenBatch::new(&texts, 11, &Device::Cpu).unwrap();
        let scored = policy
            .score_only(&batch, 0.9)
            .unwrap()
            .log_probs
            .to_vec1::<f32>()
            .unwrap();
        let generated: Vec<f32> = completions
            .iter()
            .flat_map(|completion| completion.log_probs.clone())
            .collect();
        let difference = scored
            .iter()
            .zip(&generated)
            .map(|(one, other)| (one - other).abs())
            .fold(0.0, f32::max);
        assert_eq!(scored.len(), generated.len());
        assert!(difference < 1e-5, "differs by {difference}");
        for GeneratedCompletion { tokens, ended, .. } in &completions {
            assert!(
                *ended == (tokens.last() == Some(&9)) && !tokens[..tokens.len() - 1].contains(&9)
            );
        }
    }
}

#[test]
fn completions_do_not_depend_on_other_requests() {
    let policy = policy(0);
    let together = generate(&policy, &requests(), &sampling(), &[9], NEVER).unwrap();
    for rows in [1, 3, 5] {
        assert_close(
            &generate(
                &policy,
                &requests(),
                &Sampling { rows, ..sampling() },
                &[9],
                NEVER,
            )
            .unwrap(),
            &together,
        );
    }
    let alone: Vec<GeneratedCompletion> = requests()
        .into_iter()
        .map(|request| {
            generate(&policy, &[request], &sampling(), &[9], NEVER)
                .unwrap()
                .remove(0)
        })
        .collect();
    assert_close(&alone, &together);
}

#[test]
fn continues_paused_completions_identically() {
    let policy = policy(1);
    let whole = generate(&policy, &requests(), &sampling(), &[9], NEVER).unwrap();
    let calls = Cell::new(0);
    let pause = |_: &[bool]| calls.replace(calls.get() + 1) == 4;
    let first = generate(&policy, &requests(), &sampling(), &[9], &pause).unwrap();
    assert!(
        first
            .iter()
            .any(|completion| !completion.ended && completion.tokens.len() == 4)
    );
    let mut joined = first.clone();
    let open: Vec<usize> = (0..joined.len())
        .filter(|index| !joined[*index].ended)
        .collect();
    let continued: Vec<GenerationRequest> = open
        .iter()
        .map(|index| GenerationRequest {
            prefix: first[*index].tokens.clone(),
            ..requests()[*index].clone()
        })
        .collect();
    let rest = generate(&policy, &continued, &sampling(), &[9], NEVER).unwrap();
    for (index, rest) in open.into_iter().zip(rest) {
        joined[index].tokens.extend(rest.tokens);
        joined[index].log_probs.extend(rest.log_probs);
        joined[index].ended = rest.ended;
    }
    assert_close(&joined, &whole);
}

#[test]
fn padded_cache_yields_the_same_completions() {
    for family in 0..families().len() {
        let policy = policy(family);
        let rows = generate(
            &policy,
            &requests(),
            &Sampling {
                rows: 7,
                ..sampling()
            },
            &[9],
            NEVER,
        )
        .unwrap();
        let cache = Cache::Padded(padded::PaddedCache::new(&policy.config, &Device::Cpu));
        let padded = with_cache(
            &policy,
            &requests(),
            &Sampling {
                rows: 7,
                ..sampling()
            },
            &[9],
            NEVER,
            cache,
        )
        .unwrap();
        assert_close(&padded, &rows);
    }
}

#[test]
fn generation_uses_updated_weights() {
    let policy = policy(0);
    let greedy = Sampling {
        temperature: 0.0,
        ..sampling()
    };
    let before = generate(&policy, &requests(), &greedy, &[], NEVER).unwrap();
    for var in policy.parameters().values() {
        var.set(&(var.as_detached_tensor() * -1.0).unwrap())
            .unwrap();
    }
    assert_ne!(
        before,
        generate(&policy, &requests(), &greedy, &[], NEVER).unwrap()
    );
}

#[test]
fn stops_at_the_context_length() {
    let policy = policy(0);
    let long = GenerationRequest {
        prompt: vec![1; 60].into(),
        prefix: Vec::new(),
        key: [0; 3],
    };
    let completions = generate(
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
    let completion = &completions[0];
    assert_eq!((completion.tokens.len(), completion.ended), (4, false));
}

#[test]
fn rejects_invalid_settings() {
    for (invalid, name) in [
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
            generate(&policy(0), &requests(), &invalid, &[], NEVER)
                .unwrap_err()
                .to_string()
                .contains(name)
        );
    }
}
