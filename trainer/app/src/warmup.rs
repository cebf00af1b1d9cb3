//! Supervised fine-tuning on solutions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use assay_base::Random;
use assay_policy_model::optimiser::AdamW;
use assay_policy_model::{PolicyModel, Text, TokenBatch};
use candle_core::Tensor;

use crate::config::Config;
use crate::data::Source;
use crate::learn::add_gradients;
use crate::rollout;
use crate::telemetry::{Progress, Values};
use crate::text::PolicyTokenizer;

/// Random stream of batches: "solution" in ASCII.
const SOLUTION: u64 = 0x736f_6c75_7469_6f6e;

/// Trains on the solutions of a source. Calls `log` after every step with the metrics: `loss` (mean
/// negative log-likelihood per token in nats), `grad_norm` and `lr`.
///
/// # Errors
/// No prompt has a solution, a text cannot be tokenised, or the device is out of memory.
pub fn warm_up(
    config: &Config,
    policy: &PolicyModel,
    tokenizer: &PolicyTokenizer,
    source: &dyn Source,
    stop: &AtomicBool,
    log: &mut dyn FnMut(u64, &Values) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let texts = texts(policy, tokenizer, source)?;
    let mut optimiser = AdamW::new(config.optimiser.clone(), policy.parameters())?;
    let mut progress = Progress::new(config.warmup.steps, 0);
    let clock = assay_core::SystemClock::new();
    for step in 0..config.warmup.steps {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let mut random = Random::stream(&[SOLUTION, config.seed, step]);
        let chosen: Vec<Text<'_>> = (0..config.warmup.batch)
            .filter_map(|_| random.pick(&texts))
            .map(|(prompt, completion)| Text { prompt, completion })
            .collect();
        let (loss, gradients) = likelihood(policy, &chosen, config.training.micro_tokens)?;
        let rate = config.warmup.schedule.at(step, config.warmup.steps);
        let summary = optimiser.step(&gradients, rate)?;
        let values = [
            ("loss", loss),
            ("grad_norm", summary.grad_norm),
            ("lr", rate),
        ];
        log(
            step + 1,
            &values.map(|(name, value)| (name.to_owned(), value)).into(),
        )?;
        progress.step(step + 1, &format!("loss {loss:.3}"), &clock);
    }
    progress.finish();
    Ok(())
}

/// Mean negative log-likelihood of completion tokens and its gradients, computed in micro-batches
/// of at most `micro_tokens` tokens.
fn likelihood(
    policy: &PolicyModel,
    texts: &[Text<'_>],
    micro_tokens: usize,
) -> anyhow::Result<(f64, BTreeMap<String, Tensor>)> {
    let length = |text: &Text<'_>| text.prompt.len() + text.completion.len();
    let tokens = texts
        .iter()
        .map(|text| text.completion.len())
        .sum::<usize>() as f64;
    let (mut sum, mut gradients, mut start) = (0.0, BTreeMap::new(), 0);
    while start < texts.len() {
        let (mut end, mut size) = (start + 1, length(&texts[start]));
        while end < texts.len() && size + length(&texts[end]) <= micro_tokens {
            size += length(&texts[end]);
            end += 1;
        }
        let batch = TokenBatch::new(&texts[start..end], policy.vocabulary(), policy.device())?;
        let scored = policy.score(&batch, 1.0)?;
        let loss = (scored.log_probs.sum_all()? / -tokens)?;
        sum += f64::from(loss.to_scalar::<f32>()?);
        add_gradients(policy.parameters(), &loss, scored.graph, &mut gradients)?;
        start = end;
    }
    Ok((sum, gradients))
}

/// Tokens of prompts and of their solutions, with an end token.
fn texts(
    policy: &PolicyModel,
    tokenizer: &PolicyTokenizer,
    source: &dyn Source,
) -> anyhow::Result<Vec<(Vec<u32>, Vec<u32>)>> {
    let size = source
        .size()
        .context("training on solutions requires a bounded source")?;
    let end = tokenizer
        .end_tokens()
        .first()
        .copied()
        .context("the tokenizer has no end token")?;
    let mut texts = Vec::new();
    for item in (0..size).filter_map(|index| source.problem(index)) {
        if let Some(solution) = &item.solution {
            let prompt = rollout::encode_prompt(&item, tokenizer, policy)?;
            let name = || format!("the solution of the prompt with the key `{}`", item.key);
            let mut completion = tokenizer.encode(solution).with_context(name)?;
            completion.push(end);
            let (length, limit) = (prompt.len() + completion.len(), policy.max_positions());
            anyhow::ensure!(
                length <= limit,
                "{} ends at token {length}; the context length of the policy model is {limit}",
                name()
            );
            texts.push((prompt, completion));
        }
    }
    anyhow::ensure!(!texts.is_empty(), "no prompt has a `solution`");
    Ok(texts)
}
