//! Fits a reward model to pairs: its head, and, if asked, adapters of its body or the whole body.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::ensure;
use assay_base::Random;
use assay_policy_model::optimiser::{AdamW, AdamWSettings};
use assay_policy_model::{Gradients, LoraSettings, ScoringModel};
use candle_core::{DType, Device, Tensor};

use super::head::{self, PairStates};
use super::loss::{Certainties, Loss};
use super::pairs::TokenPair;

/// Random stream of the order of pairs: "fit" in ASCII.
const FIT: u64 = 0x0066_6974;

/// Share of the steps over which the learning rate rises.
const WARMUP: f64 = 0.05;

/// What is trained.
#[derive(Debug, Clone, PartialEq)]
pub enum Trained {
    /// The head; the body is frozen.
    Head,
    /// The head and low-rank adapters of the body.
    Adapters(LoraSettings),
    /// All weights.
    All,
}

impl Trained {
    /// The adapters, if any.
    #[must_use]
    pub fn lora(&self) -> Option<LoraSettings> {
        match self {
            Self::Adapters(lora) => Some(lora.clone()),
            Self::Head | Self::All => None,
        }
    }
}

/// How a reward model is fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct FitSettings {
    /// What is trained.
    pub trained: Trained,
    /// The loss of a pair.
    pub loss: Loss,
    /// Steps of the head on a frozen body, each over all pairs.
    pub steps: u64,
    /// Ridge penalty on the squared norm of the head on a frozen body.
    pub ridge: f64,
    /// Passes over the pairs, if the body is trained.
    pub epochs: u64,
    /// Pairs per update of the body.
    pub batch: usize,
    /// Highest learning rate of the body.
    pub learning_rate: f64,
    /// Maximum number of tokens that are processed at a time.
    pub micro_tokens: usize,
    /// Seed of the order of pairs and of adapters.
    pub seed: u64,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            trained: Trained::Head,
            loss: Loss::default(),
            steps: 300,
            ridge: 1e-3,
            epochs: 2,
            batch: 64,
            learning_rate: 1e-3,
            micro_tokens: 16_384,
            seed: 0,
        }
    }
}

impl FitSettings {
    /// Rejects settings out of range.
    ///
    /// # Errors
    /// The first such setting.
    pub fn check(&self) -> anyhow::Result<()> {
        let rate = self.learning_rate;
        ensure!(self.steps > 0, "`--steps` must be at least 1");
        ensure!(self.epochs > 0, "`--epochs` must be at least 1");
        ensure!(self.batch > 0, "`--batch` must be at least 1");
        ensure!(
            self.ridge.is_finite() && self.ridge >= 0.0,
            "`--ridge` must be at least 0"
        );
        ensure!(
            rate > 0.0 && rate <= 1.0,
            "`--learning-rate` must be above 0 and at most 1"
        );
        Ok(())
    }
}

/// Fits a model to pairs and returns the mean loss in nats of the last pass: without the ridge
/// penalty for a frozen body. A head of zeros is first fitted to the frozen body. Ends early, with
/// the weights of that moment, when `stop` is set.
///
/// # Errors
/// There are no pairs, their states are not finite or all equal, or the device is out of memory.
pub fn fit(
    model: &ScoringModel,
    pairs: &[TokenPair],
    settings: &FitSettings,
    stop: &AtomicBool,
) -> anyhow::Result<f64> {
    ensure!(!pairs.is_empty(), "no pairs to fit a reward model to");
    let head_is_zero = model.head().abs()?.sum_all()?.to_scalar::<f32>()? == 0.0;
    let is_frozen = settings.trained == Trained::Head;
    let mut loss = f64::NAN;
    if is_frozen || head_is_zero {
        let states = states(model, pairs, settings.micro_tokens)?;
        let fitted = head::fit(&states, settings.loss, settings.steps, settings.ridge)?;
        model
            .head()
            .set(&fitted.weight.to_device(model.body().device())?)?;
        loss = fitted.loss;
    }
    if is_frozen {
        return Ok(loss);
    }
    let parameters = model.parameters();
    let mut optimiser = AdamW::new(AdamWSettings::default(), &parameters)?;
    let mut gradients = Gradients::new(&parameters)?;
    let batches = pairs.len().div_ceil(settings.batch) as u64;
    let steps = batches * settings.epochs;
    for epoch in 0..settings.epochs {
        let mut sum = 0.0;
        for (at, batch) in shuffled(pairs, settings.seed, epoch)
            .chunks(settings.batch)
            .enumerate()
        {
            if stop.load(Ordering::Relaxed) {
                return Ok(loss);
            }
            let batch_loss = differentiate(model, batch, settings, &mut gradients)?;
            let step = epoch * batches + at as u64;
            let rate = settings.learning_rate * share(step, steps);
            optimiser.step(gradients.tensors(), rate)?;
            sum += batch_loss;
        }
        let count = pairs.len() as f64;
        loss = sum / count;
    }
    Ok(loss)
}

/// Share of pairs whose accepted completion scores higher; a tie counts as half. `None` without
/// pairs.
///
/// # Errors
/// The device is out of memory.
pub fn accuracy(
    model: &ScoringModel,
    pairs: &[TokenPair],
    micro_tokens: usize,
) -> anyhow::Result<Option<f64>> {
    if pairs.is_empty() {
        return Ok(None);
    }
    let states = states(model, pairs, micro_tokens)?;
    let head = model.head().as_detached_tensor().to_device(&Device::Cpu)?;
    Ok(Some(states.accuracy(&head)?))
}

/// Scores of the accepted completions and then of the rejected ones.
///
/// # Errors
/// The device is out of memory.
pub fn scores(
    model: &ScoringModel,
    pairs: &[TokenPair],
    micro_tokens: usize,
) -> anyhow::Result<Vec<f32>> {
    let states = states(model, pairs, micro_tokens)?;
    let head = model.head().as_detached_tensor().to_device(&Device::Cpu)?;
    let states = Tensor::cat(&[states.accepted, states.rejected], 0)?;
    Ok(states.matmul(&head.t()?)?.flatten_all()?.to_vec1()?)
}

/// The sum of the losses of a batch. Writes the gradients of their mean to `gradients`.
fn differentiate(
    model: &ScoringModel,
    batch: &[&TokenPair],
    settings: &FitSettings,
    gradients: &mut Gradients,
) -> anyhow::Result<f64> {
    let tokens = |pair: &&TokenPair| pair.accepted.len() + pair.rejected.len();
    let count = batch.len() as f64;
    let mut sum = 0.0;
    gradients.clear()?;
    for part in parts(batch, tokens, settings.micro_tokens) {
        let texts: Vec<&[u32]> = part
            .iter()
            .map(|pair| pair.accepted.as_slice())
            .chain(part.iter().map(|pair| pair.rejected.as_slice()))
            .collect();
        let scored = model.score(&texts)?;
        let [accepted, rejected] =
            [0, part.len()].map(|start| scored.scores.narrow(0, start, part.len()));
        let certainties = Certainties::of(part, model.body().device())?;
        let loss = settings.loss.of(&accepted?, &rejected?, &certainties)?;
        let loss = (loss.sum_all()? / count)?;
        sum += f64::from(loss.to_scalar::<f32>()?) * count;
        scored.graph.backward(&loss, gradients)?;
    }
    Ok(sum)
}

/// Share of the highest learning rate at a step: a linear rise, then a linear decay to 0.
fn share(step: u64, steps: u64) -> f64 {
    let (at, steps) = ((step + 1) as f64, steps as f64);
    let rise = (steps * WARMUP).max(1.0);
    (at / rise).min((steps - at + 1.0) / (steps - rise + 1.0))
}

/// The pairs in the order of an epoch.
fn shuffled(pairs: &[TokenPair], seed: u64, epoch: u64) -> Vec<&TokenPair> {
    let mut random = Random::stream(&[FIT, seed, epoch]);
    let mut order: Vec<&TokenPair> = pairs.iter().collect();
    random.shuffle(&mut order);
    order
}

/// Splits items into parts of at most `limit` in total; a larger item is alone.
fn parts<T>(items: &[T], size: impl Fn(&T) -> usize, limit: usize) -> Vec<&[T]> {
    let (mut parts, mut start) = (Vec::new(), 0);
    while start < items.len() {
        let (mut end, mut total) = (start + 1, size(&items[start]));
        while end < items.len() && total + size(&items[end]) <= limit {
            total += size(&items[end]);
            end += 1;
        }
        parts.push(&items[start..end]);
        start = end;
    }
    parts
}

/// Hidden states of the last tokens, in `f32` on the CPU.
fn states(
    model: &ScoringModel,
    pairs: &[TokenPair],
    micro_tokens: usize,
) -> anyhow::Result<PairStates> {
    let side = |of: &dyn Fn(&TokenPair) -> &Vec<u32>| -> anyhow::Result<Tensor> {
        let texts: Vec<&[u32]> = pairs.iter().map(|pair| of(pair).as_slice()).collect();
        let states = parts(&texts, |text| text.len(), micro_tokens)
            .into_iter()
            .map(|part| {
                let states = model.body().states(part)?;
                Ok(states.to_dtype(DType::F32)?.to_device(&Device::Cpu)?)
            })
            .collect::<anyhow::Result<Vec<Tensor>>>()?;
        Ok(Tensor::cat(&states, 0)?)
    };
    Ok(PairStates {
        accepted: side(&|pair| &pair.accepted)?,
        rejected: side(&|pair| &pair.rejected)?,
        certainties: Certainties::of(&pairs.iter().collect::<Vec<_>>(), &Device::Cpu)?,
    })
}

#[cfg(test)]
mod tests {
    use assay_policy_model::PolicyModelOptions;
    use serde_json::json;

    use super::*;

    /// A decoder without a head.
    fn model(trained: &Trained) -> ScoringModel {
        let folder = tempfile::tempdir().unwrap();
        let config = json!({
            "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 32,
            "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2,
            "num_key_value_heads": 1, "head_dim": 16, "vocab_size": 24, "rms_norm_eps": 1e-6,
            "max_position_embeddings": 64, "tie_word_embeddings": true,
        });
        assay_weights::synthetic::write(folder.path(), &config).unwrap();
        let options = PolicyModelOptions {
            lora: trained.lora(),
            seed: 1,
            ..PolicyModelOptions::default()
        };
        ScoringModel::open(folder.path(), &Device::Cpu, &options).unwrap()
    }

    /// Right completions repeat the first two tokens of the prompt, wrong ones swap them: a head
    /// on a random body finds that hard.
    fn pairs(count: usize, seed: u64) -> Vec<TokenPair> {
        let mut random = Random::stream(&[seed]);
        let mut token = || 1 + u32::try_from(random.below(20)).unwrap();
        let pair = |_| {
            let (one, mut other) = (token(), token());
            if one == other {
                other = 21;
            }
            TokenPair {
                accepted: vec![one, other, 22, one, other],
                rejected: vec![one, other, 22, other, one],
                certainties: [1.0, 1.0],
            }
        };
        (0..count).map(pair).collect()
    }

    fn held_out_accuracy(trained: Trained, loss: Loss, seed: u64) -> f64 {
        let settings = FitSettings {
            trained,
            loss,
            epochs: 12,
            batch: 32,
            learning_rate: 5e-3,
            seed,
            ..FitSettings::default()
        };
        let model = model(&settings.trained);
        let stop = AtomicBool::new(false);
        fit(&model, &pairs(400, 3), &settings, &stop).unwrap();
        accuracy(&model, &pairs(200, 4), 512).unwrap().unwrap()
    }

    #[test]
    fn a_trained_body_learns_what_a_head_cannot() {
        let head = held_out_accuracy(Trained::Head, Loss::Pairs, 0);
        for trained in [Trained::Adapters(LoraSettings::default()), Trained::All] {
            for loss in [Loss::Pairs, Loss::Labels] {
                let body = held_out_accuracy(trained.clone(), loss, 0);
                assert!(body > head + 0.15, "{trained:?}: {head} {body}");
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_weights() {
        let run = |seed: u64| {
            let settings = FitSettings {
                trained: Trained::All,
                epochs: 1,
                seed,
                ..FitSettings::default()
            };
            let model = model(&settings.trained);
            fit(&model, &pairs(100, 3), &settings, &AtomicBool::new(false)).unwrap();
            scores(&model, &pairs(10, 4), 512).unwrap()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn the_learning_rate_rises_and_falls() {
        let rates: Vec<f64> = (0..40).map(|step| share(step, 40)).collect();
        assert!((rates[0] - 0.5).abs() < 1e-12 && (rates[1] - 1.0).abs() < 1e-12);
        assert!(rates[1..].windows(2).all(|pair| pair[1] < pair[0]));
        assert!(rates.iter().all(|rate| *rate > 0.0 && *rate <= 1.0));
        assert_eq!(share(0, 1), 1.0);
    }

    #[test]
    fn rejects_an_empty_set() {
        let settings = FitSettings::default();
        let model = model(&settings.trained);
        let error = fit(&model, &[], &settings, &AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().contains("no pairs"));
    }
}
