//! `assay-trainer bench`: timings and gradient norms, for comparison with other libraries on the
//! same weights.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use assay_base::Random;
use assay_core::{Clock, SystemClock};
use assay_policy_model::optimiser::{AdamW, AdamWSettings};
use assay_policy_model::{
    Computation, Entropies, GenerationRequest, Gradients, Graph, MemoryPlan, PolicyModel,
    PolicyModelOptions, Reference, Sampling, Text, TokenBatch, Workload, generate,
};
use assay_trainer::budget::GIB;
use candle_core::{DType, Tensor};
use serde_json::{Value, json};

use super::process::{CommandOutcome, device, on_deep_stack};
use super::score::{self, TokenIds};
use crate::arguments::{Bench, BenchKind, BenchSizes};

pub(crate) fn run(bench: &Bench) -> anyhow::Result<CommandOutcome> {
    let report = on_deep_stack(|| match &bench.what {
        BenchKind::Step {
            sizes,
            batch,
            length,
            recompute,
            vocabulary_rows,
        } => {
            let computation = Computation {
                recompute: *recompute,
                vocabulary_rows: *vocabulary_rows,
                ..Computation::default()
            };
            step(sizes, *batch, *length, computation)
        }
        BenchKind::Generate {
            sizes,
            prompts,
            prompt_length,
            samples,
            new_tokens,
        } => generation(sizes, [*prompts, *prompt_length, *samples, *new_tokens]),
        BenchKind::Gradients { model, input } => gradient_norms(model, input),
    })?;
    writeln!(std::io::stdout(), "{report}")?;
    Ok(CommandOutcome::Done)
}

fn open(sizes: &BenchSizes, computation: Computation) -> anyhow::Result<PolicyModel> {
    if sizes.threads > 0 {
        rayon::ThreadPoolBuilder::new()
            .num_threads(sizes.threads)
            .build_global()?;
    }
    Ok(PolicyModel::open(
        &sizes.model,
        &device(),
        DType::F32,
        &PolicyModelOptions {
            computation,
            ..PolicyModelOptions::default()
        },
    )?)
}

/// Random tokens, the same in every run.
fn random_tokens(count: usize, vocabulary: usize, stream: u64) -> Vec<u32> {
    let mut random = Random::stream(&[stream]);
    (0..count)
        .map(|_| u32::try_from(random.below(vocabulary)).unwrap_or_default())
        .collect()
}

/// The median in milliseconds.
fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times
        .get(times.len() / 2)
        .map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// Mean negative log-probability of the completion tokens.
fn loss(policy: &PolicyModel, texts: &[TokenIds]) -> anyhow::Result<(Tensor, Graph)> {
    let texts: Vec<Text<'_>> = texts.iter().map(TokenIds::text).collect();
    let batch = TokenBatch::new(&texts, policy.vocabulary(), policy.device())?;
    let scored = policy.score(&batch, 1.0, Entropies::Measured)?;
    Ok((scored.log_probs.mean_all()?.neg()?, scored.graph))
}

fn step(
    sizes: &BenchSizes,
    batch: usize,
    length: usize,
    computation: Computation,
) -> anyhow::Result<Value> {
    anyhow::ensure!(
        batch > 0 && length > 1,
        "`--batch` must be at least 1 and `--length` at least 2"
    );
    let policy = open(sizes, computation)?;
    let tokens = random_tokens(batch * length, policy.vocabulary(), 1);
    let texts: Vec<TokenIds> = tokens
        .chunks_exact(length)
        .map(|text| TokenIds {
            prompt: text[..1].to_vec(),
            completion: text[1..].to_vec(),
        })
        .collect();
    let settings = AdamWSettings {
        max_grad_norm: 0.0,
        ..AdamWSettings::default()
    };
    let mut optimiser = AdamW::new(settings, policy.parameters())?;
    let mut gradients = Gradients::new(policy.parameters())?;
    let clock = SystemClock::new();
    let mut times = [const { Vec::new() }; 4];
    for round in 0..=sizes.rounds {
        let started = clock.monotonic();
        let (loss, graph) = loss(&policy, &texts)?;
        loss.to_scalar::<f32>()?;
        let forward = clock.monotonic();
        gradients.clear()?;
        graph.backward(&loss, &mut gradients)?;
        drop(loss);
        let backward = clock.monotonic();
        optimiser.step(gradients.tensors(), 1e-4)?;
        let done = clock.monotonic();
        if round > 0 {
            let parts = [
                forward - started,
                backward - forward,
                done - backward,
                done - started,
            ];
            times
                .iter_mut()
                .zip(parts)
                .for_each(|(times, part)| times.push(part));
        }
    }
    let workload = Workload {
        lora: None,
        computation,
        dtype: policy.dtype(),
        reference: Reference::Shared,
        tokens: batch * length,
        scored: batch * (length - 1),
        longest: length,
        rows: 0,
        generates_ahead: false,
    };
    let plan = MemoryPlan::new(policy.config(), &workload, policy.device())?;
    let [forward, backward, optimise, all] = times.each_mut().map(|times| median(times));
    Ok(json!({
        "parameters": policy.size(), "tokens": batch * length, "forward_ms": forward,
        "backward_ms": backward, "optimiser_ms": optimise, "step_ms": all,
        "tokens_s": (batch * length) as f64 / all * 1e3,
        "planned_gib": plan.training() as f64 / GIB,
    }))
}

fn generation(
    sizes: &BenchSizes,
    [prompts, prompt_length, samples, new_tokens]: [usize; 4],
) -> anyhow::Result<Value> {
    anyhow::ensure!(prompt_length > 0, "`--prompt-length` must be at least 1");
    let policy = open(sizes, Computation::default())?;
    let tokens = random_tokens(prompts * prompt_length, policy.vocabulary(), 2);
    let sampling = Sampling {
        max_tokens: new_tokens,
        ..Sampling::default()
    };
    let mut requests = Vec::with_capacity(prompts * samples);
    for (index, prompt) in (0u64..).zip(tokens.chunks_exact(prompt_length)) {
        let prompt: Arc<[u32]> = prompt.into();
        let request = |sample| GenerationRequest {
            prompt: Arc::clone(&prompt),
            prefix: Vec::new(),
            key: [0, index, sample],
        };
        requests.extend((0..samples as u64).map(request));
    }
    let clock = SystemClock::new();
    let (mut times, mut count) = (Vec::new(), 0);
    for round in 0..=sizes.rounds {
        let started = clock.monotonic();
        let completions = generate(&policy, &requests, &sampling, &[], &|_| false)?;
        if round > 0 {
            times.push(clock.monotonic() - started);
        }
        count = completions
            .iter()
            .map(|completion| completion.tokens.len())
            .sum();
    }
    let all = median(&mut times);
    Ok(json!({
        "parameters": policy.size(), "tokens": count, "ms": all,
        "tokens_s": count as f64 / all * 1e3,
    }))
}

fn gradient_norms(model: &std::path::Path, input: &std::path::Path) -> anyhow::Result<Value> {
    let texts = score::read(input)?;
    let policy = PolicyModel::open(model, &device(), DType::F32, &PolicyModelOptions::default())?;
    let (loss, graph) = loss(&policy, &texts)?;
    let norm = |gradient: &Tensor| -> anyhow::Result<f64> {
        let squares: f64 = gradient
            .flatten_all()?
            .to_vec1::<f32>()?
            .iter()
            .map(|number| f64::from(*number).powi(2))
            .sum();
        Ok(squares.sqrt())
    };
    let mut gradients = Gradients::new(policy.parameters())?;
    graph.backward(&loss, &mut gradients)?;
    let norms = gradients
        .tensors()
        .iter()
        .map(|(name, gradient)| Ok((name.clone(), norm(gradient)?)))
        .collect::<anyhow::Result<BTreeMap<String, f64>>>()?;
    Ok(json!({ "loss": loss.to_scalar::<f32>()?, "norms": norms }))
}
