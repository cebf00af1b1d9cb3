//! `assay-trainer reward-model`: builds a reward model from a decoder and the pairs collected by
//! the service.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, ensure};
use assay_client::{Client, Retry};
use assay_core::reward_model::{ModelInput, Truncate};
use assay_core::{Completion, Hash, Random};
use assay_policy_model::{PolicyModel, PolicyModelOptions};
use assay_reward_model::{Compute, Model, ModelOptions, RewardModel};
use assay_trainer::checkpoint::copy_tokenizer;
use assay_trainer::head::Pairs;
use assay_weights::save;
use candle_core::{DType, Device, Tensor};
use serde_json::{Value, json};

use super::process::{CommandOutcome, device, logs, require_empty};
use crate::arguments::RewardModel as FitArguments;

/// Random stream that selects held-out prompts: "pairs" in ASCII.
const PAIRS: u64 = 0x70_6169_7273;

/// Number of tokens whose states are computed at a time.
const TOKENS: usize = 16_384;

/// A prompt with its accepted and its rejected completion.
type Pair = (Completion, [Completion; 2]);

pub(crate) fn run(fit: &FitArguments) -> anyhow::Result<CommandOutcome> {
    logs()?;
    ensure!(
        (0.0..1.0).contains(&fit.held_out),
        "`--held-out` must be at least 0 and below 1"
    );
    ensure!(
        fit.ridge.is_finite() && fit.ridge >= 0.0,
        "`--ridge` must be at least 0"
    );
    ensure!(fit.steps > 0, "`--steps` must be at least 1");
    require_empty(&fit.output)?;
    let pairs = tokio::runtime::Runtime::new()?.block_on(collect(fit))?;
    ensure!(
        !pairs.is_empty(),
        "the service has no pairs of `{}`; add some with `POST /v1/reward-models/{}/pairs`",
        fit.name,
        fit.name
    );
    let policy = PolicyModel::open(
        &fit.model,
        &device(),
        DType::F32,
        &PolicyModelOptions::default(),
    )?;
    // Texts must be tokenised as the service will tokenise them: by the reward model, which is
    // written with a zero head first.
    let hidden = usize::try_from(
        policy.config()["hidden_size"]
            .as_u64()
            .context("`config.json` has no `hidden_size`")?,
    )?;
    write(
        &policy,
        &fit.model,
        &fit.output,
        &Tensor::zeros((1, hidden), DType::F32, &Device::Cpu)?,
    )?;
    let source = fit.output.to_string_lossy();
    let reader = RewardModel::open(
        &fit.name,
        &source,
        &fit.output,
        &ModelOptions::default(),
        &Compute::open("cpu", 0)?,
        0,
    )?;
    let (mut training, mut held_out) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for (prompt, completions) in &pairs {
        let part = if is_held_out(prompt, fit.held_out) {
            &mut held_out
        } else {
            &mut training
        };
        for (completion, ids) in completions.iter().zip(part) {
            ids.push(read(&reader, prompt, completion)?);
        }
    }
    let training = states(&policy, &training)?;
    let head = training.fit(fit.steps, fit.ridge)?;
    write(&policy, &fit.model, &fit.output, &head.weight)?;
    let held_out_accuracy = if held_out[0].is_empty() {
        None
    } else {
        Some(states(&policy, &held_out)?.accuracy(&head.weight)?)
    };
    let report = json!({
        "pairs": pairs.len(), "held_out_pairs": held_out[0].len(), "loss": head.loss,
        "accuracy": training.accuracy(&head.weight)?, "held_out_accuracy": held_out_accuracy,
    });
    writeln!(std::io::stdout(), "{report}")?;
    Ok(CommandOutcome::Done)
}

/// Whether the pairs of a prompt are held out: all of them or none, because a head that was fitted
/// to other completions of a prompt is not new to it.
fn is_held_out(prompt: &Completion, share: f64) -> bool {
    let hash = Hash::of(&prompt.to_body());
    let mut seed = [0; 8];
    seed.copy_from_slice(&hash.as_bytes()[..8]);
    Random::stream(&[PAIRS, u64::from_le_bytes(seed)]).bernoulli(share)
}

/// Fetches all pairs of the reward model, page by page.
async fn collect(fit: &FitArguments) -> anyhow::Result<Vec<Pair>> {
    let client = Client::new(&fit.server, Retry::default())?;
    let (mut pairs, mut after) = (Vec::new(), 0);
    loop {
        let page = client
            .pairs(
                &fit.name,
                &[("after", after.to_string()), ("limit", "500".to_owned())],
            )
            .await?;
        pairs.extend(
            page.pairs
                .into_iter()
                .map(|pair| (pair.prompt, [pair.accepted, pair.rejected])),
        );
        if !page.more {
            return Ok(pairs);
        }
        after = page.next;
    }
}

/// The tokens of a rollout as the reward model reads it.
fn read(
    reader: &RewardModel,
    prompt: &Completion,
    completion: &Completion,
) -> anyhow::Result<Vec<u32>> {
    let input = ModelInput::Rollout {
        prompt: Some(prompt.clone()),
        completion: completion.clone(),
        reference: None,
    };
    let reading = reader
        .read(&input, Truncate::PromptLeft)
        .map_err(|refusal| anyhow::anyhow!("cannot read a pair: {refusal}"))?;
    Ok(reading.main.ids)
}

/// Hidden states of the last tokens of accepted and rejected texts.
fn states(
    policy: &PolicyModel,
    [accepted, rejected]: &[Vec<Vec<u32>>; 2],
) -> anyhow::Result<Pairs> {
    let all = |texts: &[Vec<u32>]| -> anyhow::Result<Tensor> {
        let (mut parts, mut start) = (Vec::new(), 0);
        while start < texts.len() {
            let (mut end, mut tokens) = (start + 1, texts[start].len());
            while end < texts.len() && tokens + texts[end].len() <= TOKENS {
                tokens += texts[end].len();
                end += 1;
            }
            let part: Vec<&[u32]> = texts[start..end].iter().map(Vec::as_slice).collect();
            parts.push(
                policy
                    .states(&part)?
                    .to_dtype(DType::F32)?
                    .to_device(&Device::Cpu)?,
            );
            start = end;
        }
        Ok(Tensor::cat(&parts, 0)?)
    };
    ensure!(
        !accepted.is_empty(),
        "all pairs are held out; use a smaller `--held-out`"
    );
    Ok(Pairs {
        accepted: all(accepted)?,
        rejected: all(rejected)?,
    })
}

/// Writes weights, head, configuration and tokenizer of the reward model.
fn write(policy: &PolicyModel, model: &Path, output: &Path, weight: &Tensor) -> anyhow::Result<()> {
    let mut config = policy.config().clone();
    let kind = config["model_type"].as_str().unwrap_or_default();
    let architecture = match kind {
        "llama" => "LlamaForSequenceClassification",
        "qwen2" => "Qwen2ForSequenceClassification",
        "mistral" => "MistralForSequenceClassification",
        _ => "Qwen3ForSequenceClassification",
    };
    config["architectures"] = json!([architecture]);
    config["num_labels"] = Value::from(1);
    config["id2label"] = json!({"0": "LABEL_0"});
    let mut tensors: BTreeMap<String, Tensor> = policy.tensors()?;
    tensors.remove("lm_head.weight");
    tensors.insert("score.weight".to_owned(), weight.clone());
    save::model(output, &config, &tensors)?;
    copy_tokenizer(model, output)
}
