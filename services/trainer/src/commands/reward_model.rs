//! `assay-trainer reward-model`: a reward model out of a decoder and the pairs that the service
//! collected.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, ensure};
use assay_client::{Client, Retry};
use assay_core::reward_model::{ModelInput, Truncate};
use assay_core::{Completion, Random};
use assay_policy::{PolicyModel, PolicyModelOptions};
use assay_reward_model::{Compute, Model, ModelOptions, RewardModel};
use assay_trainer::checkpoint::copy_tokenizer;
use assay_trainer::head::Pairs;
use assay_weights::save;
use candle_core::{DType, Device, Tensor};
use serde_json::{Value, json};

use super::{Ended, device, fresh, logs};
use crate::arguments::RewardModel as Fit;

/// First word of the random numbers that hold pairs out: "pairs" in ASCII.
const PAIRS: u64 = 0x70_6169_7273;

/// Tokens whose states are made at a time.
const TOKENS: usize = 16_384;

/// A prompt with its better and its worse completion.
type Pair = (Completion, [Completion; 2]);

pub(crate) fn run(fit: &Fit) -> anyhow::Result<Ended> {
    logs()?;
    ensure!(
        (0.0..1.0).contains(&fit.held_out),
        "`--held-out` is a share from 0 to below 1"
    );
    ensure!(
        fit.ridge.is_finite() && fit.ridge >= 0.0,
        "`--ridge` is 0 or more"
    );
    ensure!(fit.steps > 0, "`--steps` is at least 1");
    fresh(&fit.output)?;
    let pairs = tokio::runtime::Runtime::new()?.block_on(collect(fit))?;
    ensure!(
        !pairs.is_empty(),
        "the service has no pairs of `{}`; collect some by `POST /v1/reward-models/{}/pairs`",
        fit.name,
        fit.name
    );
    let policy = PolicyModel::open(
        &fit.model,
        &device(),
        DType::F32,
        &PolicyModelOptions::default(),
    )?;
    // The texts are read as the service will read them: by the model itself, which has a head of
    // zeros until there is a better one.
    let hidden = usize::try_from(
        policy.config()["hidden_size"]
            .as_u64()
            .context("the configuration has no `hidden_size`")?,
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
    let (mut learn, mut examine) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut random = Random::stream(&[PAIRS]);
    for (prompt, completions) in &pairs {
        let side = if random.happens(fit.held_out) {
            &mut examine
        } else {
            &mut learn
        };
        for (completion, ids) in completions.iter().zip(side) {
            ids.push(read(&reader, prompt, completion)?);
        }
    }
    let learn = states(&policy, &learn)?;
    let head = learn.fit(fit.steps, fit.ridge)?;
    write(&policy, &fit.model, &fit.output, &head.weight)?;
    let held_out = if examine[0].is_empty() {
        None
    } else {
        Some(states(&policy, &examine)?.accuracy(&head.weight)?)
    };
    let told = json!({
        "pairs": pairs.len(), "held_out_pairs": examine[0].len(), "loss": head.loss,
        "accuracy": learn.accuracy(&head.weight)?, "held_out_accuracy": held_out,
    });
    writeln!(std::io::stdout(), "{told}")?;
    Ok(Ended::Done)
}

/// Every pair of the model, a page at a time.
async fn collect(fit: &Fit) -> anyhow::Result<Vec<Pair>> {
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

/// The tokens of a rollout as the service reads it.
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
        .map_err(|refusal| anyhow::anyhow!("a pair: {refusal}"))?;
    Ok(reading.main.ids)
}

/// States of the last tokens of better and worse texts.
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
        "all pairs are held out; take a smaller `--held-out`"
    );
    Ok(Pairs {
        accepted: all(accepted)?,
        rejected: all(rejected)?,
    })
}

/// Writes body, head, configuration and tokenizer.
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
