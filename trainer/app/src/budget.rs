//! Fits a run into the memory of its device before it starts: plans, chooses what is not
//! configured, and rejects what cannot fit.

use anyhow::bail;
use assay_policy_model::{Computation, MemoryPlan, PolicyModelOptions, Reference, Workload};
use candle_core::Device;
use serde_json::{Map, Value, json};

use crate::config::Config;

/// Tokens of a micro-batch if memory allows and none are configured.
pub const MICRO_TOKENS: usize = 16_384;

/// Micro-batches below this are chosen only if recomputation does not suffice.
const SMALL_MICRO_TOKENS: usize = 2_048;

/// Share of the available memory that a plan may take. The rest is for allocators, the service in
/// the same process and the process itself.
const USABLE: f64 = 0.9;

/// Bytes of a gibibyte.
pub const GIB: f64 = (1u64 << 30) as f64;

/// What a run trains on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Rewards of generated completions.
    Rewards,
    /// Solutions.
    Solutions,
    /// This number of given completions.
    Rows(usize),
}

/// A run before it starts.
#[derive(Clone, Copy)]
pub struct Demand<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The content of `config.json` of the policy model.
    pub model: &'a Value,
    /// The device.
    pub device: &'a Device,
    /// What it trains on.
    pub phase: Phase,
    /// Tokens of the longest prompt with its completion.
    pub longest: usize,
}

/// A plan that fits.
#[derive(Debug, Clone)]
pub struct Budget {
    /// Tokens of a micro-batch.
    pub micro_tokens: usize,
    /// How gradients are computed.
    pub computation: Computation,
    /// Bytes by purpose.
    pub plan: MemoryPlan,
}

impl Budget {
    /// Options of the policy model of a run.
    #[must_use]
    pub fn options(&self, config: &Config) -> PolicyModelOptions {
        PolicyModelOptions {
            lora: config.policy.lora.clone(),
            seed: config.seed,
            computation: self.computation,
        }
    }

    /// The plan in GiB, for people and programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let plan = &self.plan;
        let parts: Map<String, Value> = parts(plan)
            .map(|(name, bytes)| (name.to_owned(), gib(bytes).into()))
            .into_iter()
            .collect();
        json!({
            "micro_tokens": self.micro_tokens,
            "recompute": self.computation.recompute,
            "gib": parts,
            "training_gib": gib(plan.training()),
            "generation_gib": gib(plan.generation()),
            "peak_gib": gib(plan.peak()),
        })
    }
}

/// Bytes by the name of their purpose.
fn parts(plan: &MemoryPlan) -> [(&'static str, u64); 11] {
    [
        ("weights", plan.weights),
        ("masters", plan.masters),
        ("moments", plan.moments),
        ("gradients", plan.gradients),
        ("reference", plan.reference),
        ("activations", plan.activations),
        ("layer", plan.layer),
        ("logits", plan.logits),
        ("update", plan.update),
        ("generator", plan.generator),
        ("cache", plan.cache),
    ]
}

/// GiB with three decimals.
fn gib(bytes: u64) -> f64 {
    (bytes as f64 / GIB * 1e3).round() / 1e3
}

/// Bytes that a run may use: those configured, else a share of those available on the device.
/// `None` if the system does not tell.
#[must_use]
pub fn limit(config: &Config, device: &Device) -> Option<u64> {
    match config.training.memory_gib {
        // A size in bytes is within the range of u64.
        Some(gib) => Some((gib * GIB) as u64),
        None => assay_weights::available_memory(device).map(|bytes| (bytes as f64 * USABLE) as u64),
    }
}

impl Demand<'_> {
    /// The first combination of micro-batches and recomputation that fits into `limit` bytes.
    /// `micro_tokens` are those of the run that is resumed.
    ///
    /// # Errors
    /// None fits, or the model is not a supported decoder.
    pub fn fit(self, limit: Option<u64>, micro_tokens: Option<usize>) -> anyhow::Result<Budget> {
        let training = &self.config.training;
        let micro_tokens = micro_tokens.or(training.micro_tokens);
        let mut least: Option<Budget> = None;
        for (recompute, tokens) in candidates(training.recompute, micro_tokens) {
            let budget = self.budget(recompute, tokens)?;
            if limit.is_none_or(|limit| budget.plan.peak() <= limit)
                && budget.plan.is_computable(self.device)
            {
                return Ok(budget);
            }
            let size = |budget: &Budget| (budget.plan.peak(), budget.plan.training());
            if least
                .as_ref()
                .is_none_or(|least| size(&budget) < size(least))
            {
                least = Some(budget);
            }
        }
        let Some(least) = least else {
            bail!("no micro-batch can be planned");
        };
        if !least.plan.is_computable(self.device) {
            bail!(
                "a tensor of the run has {} numbers, and operations on a GPU support fewer than \
                 2^32; use shorter texts or micro-batches",
                least.plan.largest
            );
        }
        let limit = limit.unwrap_or(u64::MAX);
        let needs = parts(&least.plan)
            .into_iter()
            .filter(|(_, bytes)| *bytes > 0)
            .map(|(name, bytes)| format!("{name} {:.2}", bytes as f64 / GIB))
            .collect::<Vec<_>>()
            .join(", ");
        bail!(
            "the run needs at least {:.2} GiB (updates {:.2}, generation {:.2}; {needs}; micro-batches \
             of {} tokens), and {:.2} GiB can be used; {}",
            least.plan.peak() as f64 / GIB,
            least.plan.training() as f64 / GIB,
            least.plan.generation() as f64 / GIB,
            least.micro_tokens,
            limit as f64 / GIB,
            self.remedy(limit)?
        )
    }

    /// What would fit.
    fn remedy(self, limit: u64) -> anyhow::Result<String> {
        for (recompute, tokens) in candidates(None, None) {
            let budget = self.budget(recompute, tokens)?;
            if budget.plan.peak() <= limit && budget.plan.is_computable(self.device) {
                return Ok(format!(
                    "`training.recompute = {recompute}` with `training.micro_tokens = \
                     {tokens}` would fit"
                ));
            }
        }
        let mut small = self.config.clone();
        small.rollout.sampling.rows = 1;
        let smaller = Demand {
            config: &small,
            ..self
        };
        if smaller.budget(true, 1)?.plan.peak() <= limit {
            return Ok("a lower `rollout.sampling.rows` would fit".to_owned());
        }
        small.policy.lora.get_or_insert_default();
        let smaller = Demand {
            config: &small,
            ..self
        };
        let peak = smaller.budget(true, 1)?.plan.peak();
        if peak <= limit && self.config.policy.lora.is_none() {
            return Ok("adapters (`[policy.lora]`) would fit".to_owned());
        }
        Ok("choose a smaller model".to_owned())
    }

    /// The plan of a combination.
    fn budget(self, recompute: bool, micro_tokens: usize) -> anyhow::Result<Budget> {
        let config = self.config;
        let required = config.objective.required_inputs();
        let rollout = &config.rollout;
        // Texts are not split, and groups are not if the objective compares their members.
        let (unit, texts) = match self.phase {
            Phase::Rewards if required.scores => (rollout.samples, rollout.prompts),
            Phase::Rewards => (1, rollout.prompts * rollout.samples),
            Phase::Solutions => (1, config.warmup.batch),
            Phase::Rows(rows) => (1, rows),
        };
        let unit = unit.saturating_mul(self.longest);
        let tokens = micro_tokens
            .max(unit)
            .min(unit.saturating_mul(texts.max(1)));
        let computation = Computation {
            recompute,
            vocabulary_rows: config.training.vocabulary_rows,
            composed: false,
        };
        let trains_on_rewards = self.phase == Phase::Rewards;
        let reference =
            if self.phase != Phase::Solutions && required.reference && config.policy.lora.is_none()
            {
                Reference::Copy
            } else {
                Reference::Shared
            };
        let workload = Workload {
            lora: config.policy.lora.clone(),
            computation,
            dtype: config.policy.dtype.tensors(),
            reference,
            tokens,
            scored: tokens,
            longest: self.longest,
            rows: if trains_on_rewards {
                rollout.sampling.rows.min(rollout.prompts * rollout.samples)
            } else {
                0
            },
            generates_ahead: trains_on_rewards && rollout.staleness > 0,
        };
        Ok(Budget {
            micro_tokens,
            computation,
            plan: MemoryPlan::new(self.model, &workload, self.device)?,
        })
    }
}

/// Combinations of recomputation and tokens of a micro-batch, the fastest first.
fn candidates(recompute: Option<bool>, tokens: Option<usize>) -> Vec<(bool, usize)> {
    let halves = || std::iter::successors(Some(MICRO_TOKENS), |tokens| Some(tokens / 2));
    let sizes: Vec<usize> = match tokens {
        Some(tokens) => vec![tokens],
        None => halves().take_while(|tokens| *tokens > 0).collect(),
    };
    let large = |tokens: &usize| *tokens >= SMALL_MICRO_TOKENS || sizes.len() == 1;
    let mut all: Vec<(bool, usize)> = Vec::new();
    for recompute in [false, true] {
        all.extend(
            sizes
                .iter()
                .filter(|size| large(size))
                .map(|size| (recompute, *size)),
        );
    }
    for recompute in [true, false] {
        all.extend(
            sizes
                .iter()
                .filter(|size| !large(size))
                .map(|size| (recompute, *size)),
        );
    }
    all.retain(|(own, _)| recompute.is_none_or(|wanted| wanted == *own));
    all
}
