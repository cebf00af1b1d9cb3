//! Supervised fine-tuning on solutions.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use assay_base::Random;
use assay_policy_model::optimiser::AdamW;
use assay_policy_model::{Entropies, Gradients, PolicyModel, Text, TokenBatch};

use crate::config::Config;
use crate::data::Source;
use crate::rollout;
use crate::telemetry::{Progress, Values};
use crate::text::PolicyTokenizer;

/// Random stream of batches: "solution" in ASCII.
const SOLUTION: u64 = 0x736f_6c75_7469_6f6e;

/// Tokens of prompts and of their solutions.
pub struct Solutions(Vec<(Vec<u32>, Vec<u32>)>);

/// Trains on solutions in micro-batches of `micro_tokens` tokens. Calls `log` after every step with
/// the metrics: `loss` (mean negative log-likelihood per token in nats), `grad_norm` and `lr`.
///
/// # Errors
/// The device is out of memory, or `log` fails.
pub fn warm_up(
    config: &Config,
    policy: &PolicyModel,
    Solutions(texts): &Solutions,
    micro_tokens: usize,
    stop: &AtomicBool,
    log: &mut dyn FnMut(u64, &Values) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut optimiser = AdamW::new(config.optimiser.clone(), policy.parameters())?;
    let mut gradients = Gradients::new(policy.parameters())?;
    let mut progress = Progress::new(config.warmup.steps, 0);
    let clock = assay_core::SystemClock::new();
    for step in 0..config.warmup.steps {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let mut random = Random::stream(&[SOLUTION, config.seed, step]);
        let chosen: Vec<Text<'_>> = (0..config.warmup.batch)
            .filter_map(|_| random.pick(texts))
            .map(|(prompt, completion)| Text { prompt, completion })
            .collect();
        let loss = likelihood(policy, &chosen, micro_tokens, &mut gradients)?;
        let rate = config.warmup.schedule.at(step, config.warmup.steps);
        let summary = optimiser.step(gradients.tensors(), rate)?;
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

/// Mean negative log-likelihood of completion tokens, computed in micro-batches of at most
/// `micro_tokens` tokens. Writes its gradients to `gradients`.
///
/// # Errors
/// A token is outside the vocabulary, or the device is out of memory.
pub fn likelihood(
    policy: &PolicyModel,
    texts: &[Text<'_>],
    micro_tokens: usize,
    gradients: &mut Gradients,
) -> anyhow::Result<f64> {
    let length = |text: &Text<'_>| text.prompt.len() + text.completion.len();
    let tokens = texts
        .iter()
        .map(|text| text.completion.len())
        .sum::<usize>() as f64;
    let (mut sum, mut start) = (0.0, 0);
    gradients.clear()?;
    while start < texts.len() {
        let (mut end, mut size) = (start + 1, length(&texts[start]));
        while end < texts.len() && size + length(&texts[end]) <= micro_tokens {
            size += length(&texts[end]);
            end += 1;
        }
        let batch = TokenBatch::new(&texts[start..end], policy.vocabulary(), policy.device())?;
        let scored = policy.score(&batch, 1.0, Entropies::Measured)?;
        let loss = (scored.log_probs.sum_all()? / -tokens)?;
        sum += f64::from(loss.to_scalar::<f32>()?);
        scored.graph.backward(&loss, gradients)?;
        start = end;
    }
    Ok(sum)
}

impl Solutions {
    /// Tokenises prompts and solutions, and ends each solution with the end token of the tokenizer.
    /// `context` is the context length of the policy model.
    ///
    /// # Errors
    /// No prompt has a solution, or a text cannot be tokenised or is too long.
    pub fn read(
        tokenizer: &PolicyTokenizer,
        source: &dyn Source,
        context: usize,
    ) -> anyhow::Result<Self> {
        let size = source
            .size()
            .context("training on solutions requires a bounded source")?;
        let mut texts = Vec::new();
        for item in (0..size).filter_map(|index| source.problem(index)) {
            if let Some(solution) = &item.solution {
                let prompt = rollout::encode_prompt(&item, tokenizer, context)?;
                let name = || format!("the solution of the prompt with the key `{}`", item.key);
                let mut completion = tokenizer.encode(solution).with_context(name)?;
                completion.push(tokenizer.end_token());
                let length = prompt.len() + completion.len();
                anyhow::ensure!(
                    length <= context,
                    "{} ends at token {length}; the context length of the policy model is {context}",
                    name()
                );
                texts.push((prompt, completion));
            }
        }
        anyhow::ensure!(!texts.is_empty(), "no prompt has a `solution`");
        Ok(Self(texts))
    }

    /// Tokens of the longest prompt with its solution.
    #[must_use]
    pub fn longest(&self) -> usize {
        let lengths = self.0.iter();
        lengths
            .map(|(prompt, solution)| prompt.len() + solution.len())
            .max()
            .unwrap_or_default()
    }
}
