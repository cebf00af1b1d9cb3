//! Benchmark of forward passes on sequences of given lengths, for `assay models bench`.

use std::path::PathBuf;
use std::time::Duration;

use assay_core::{Clock, SystemClock};
use assay_weights::{Directory, LoadError, Weights, synthetic};
use serde::Serialize;

use crate::network::{Network, Outline};
use crate::sequence::BatchTiles;
use crate::{AttentionKernel, Compute, GpuOptions, ModelOptions, Sequence, shapes};

/// Model to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The model in this directory. Its tokenizer and templates are not used.
    Directory(PathBuf),
    /// Synthetic weights in one of [`shapes::NAMES`].
    Shape(String),
}

/// Distribution of sequence lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// All sequences have this number of tokens.
    Fixed(usize),
    /// Log-normal lengths similar to those of completions (mean 256, sigma 0.6), clamped to 8 to
    /// 2,048 tokens.
    Mixed,
    /// Completions of prompts: groups of sequences that start with the same tokens.
    Groups {
        /// Tokens of a prompt.
        prompt: usize,
        /// Tokens of a completion.
        completion: usize,
        /// Completions of a prompt.
        size: usize,
    },
}

impl Lengths {
    /// `PROMPT+COMPLETIONxSIZE`, such as `512+128x8`.
    fn groups(text: &str) -> Option<Self> {
        let (prompt, rest) = text.split_once('+')?;
        let (completion, size) = rest.split_once('x')?;
        let [prompt, completion, size] =
            [prompt, completion, size].map(|number| number.parse().ok().filter(|n| *n > 0));
        Some(Self::Groups {
            prompt: prompt?,
            completion: completion?,
            size: size?,
        })
    }

    /// The longest sequence, unless lengths are random.
    fn longest(self) -> Option<usize> {
        match self {
            Self::Fixed(length) => Some(length),
            Self::Mixed => None,
            Self::Groups {
                prompt, completion, ..
            } => Some(prompt.saturating_add(completion)),
        }
    }
}

impl std::fmt::Display for Lengths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(length) => write!(f, "{length}"),
            Self::Mixed => write!(f, "mixed"),
            Self::Groups {
                prompt,
                completion,
                size,
            } => write!(f, "{prompt}+{completion}x{size}"),
        }
    }
}

impl std::str::FromStr for Lengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(length) if length > 0 => Ok(Self::Fixed(length)),
            _ if text == "mixed" => Ok(Self::Mixed),
            _ => Self::groups(text).ok_or_else(|| {
                format!(
                    "invalid length `{text}`: use a number of tokens, `mixed`, or tokens of \
                     prompts, tokens of completions and completions of a prompt, such as \
                     `512+128x8`"
                )
            }),
        }
    }
}

/// Settings of a benchmark.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Model to measure.
    pub subject: Subject,
    /// Length distributions. Each produces one row of the report.
    pub lengths: Vec<Lengths>,
    /// Tokens per round.
    pub tokens: usize,
    /// Number of measured rounds, of which the median is reported. One warm-up round is run first.
    pub rounds: usize,
    /// Maximum number of tokens per batch. 0 uses the node's default for the device.
    pub batch_tokens: usize,
    /// Data type. `None` uses the default of the device.
    pub dtype: Option<String>,
    /// How the network computes on a GPU.
    pub gpu: GpuOptions,
}

/// A row of the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchRow {
    /// `64`, `mixed` or `512+128x8`.
    pub length: String,
    /// Length of each sequence of a round, in tokens.
    pub lengths: Vec<usize>,
    /// Tokens per round.
    pub tokens: usize,
    /// Duration of the median round, in seconds.
    pub seconds: f64,
    /// Tokens per second.
    pub tokens_per_second: f64,
    /// Floating-point operations per second in products with weights, in 10^9.
    pub gflops: f64,
    /// Share of padding that would be needed if the same batches were padded to their longest
    /// sequence, with sequences in their original order.
    pub padding_avoided: f64,
    /// Whether sequences produced bit-identical outputs alone and in their batches.
    pub invariant: bool,
}

/// Report of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchReport {
    /// Device: `cpu` or `cuda:N`.
    pub device: String,
    /// Number of threads for products on a CPU.
    pub threads: usize,
    /// Data type.
    pub dtype: &'static str,
    /// Rows of a product; 0 if not fixed. Absent on a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product_rows: Option<usize>,
    /// Kernel of attention. Absent on a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<AttentionKernel>,
    /// Number of parameters without embeddings, that is, of the weights used in products.
    pub body_parameters: u64,
    /// Time to load or generate the weights, in seconds.
    pub load_seconds: f64,
    /// One row for each length distribution.
    pub rows: Vec<BenchRow>,
}

/// Runs a benchmark on `compute`.
///
/// # Errors
/// The model cannot be loaded or run, or a length exceeds its maximum.
pub fn bench(bench: &Bench, compute: &Compute) -> Result<BenchReport, LoadError> {
    let dtype = compute.dtype(bench.dtype.as_deref())?;
    let options = ModelOptions::default();
    let clock = SystemClock::new();
    let started = clock.monotonic();
    let (weights, outline) = match &bench.subject {
        Subject::Directory(path) => {
            let directory = Directory::open(path)?;
            let weights = directory.weights(compute.device(), dtype)?;
            let outline = Outline::detect(&directory, &weights, &options)?;
            (weights, outline)
        }
        Subject::Shape(name) => {
            let config = shapes::config(name)?;
            let weights = Weights::synthetic(synthetic::tensors(&config)?, compute.device(), dtype);
            let outline = Outline::from_config(config, &weights, &options, false, None)?;
            (weights, outline)
        }
    };
    let max_tokens = outline.max_tokens;
    let vocabulary = outline.backbone.vocabulary();
    let body_parameters = weights.parameters() - weights.embedding_parameters();
    let network = Network::read(outline, &weights, &options, &[])?.with_gpu(compute.gpu());
    drop(weights);
    let gpu = (!compute.is_cpu()).then(|| compute.gpu());
    let mut report = BenchReport {
        device: compute.name(),
        threads: compute.threads(),
        dtype: crate::compute::dtype_name(dtype),
        product_rows: gpu.map(|gpu| gpu.product_rows.get().unwrap_or_default()),
        attention: gpu.map(|gpu| gpu.attention),
        body_parameters,
        load_seconds: seconds_since(&clock, started),
        rows: Vec::new(),
    };
    for lengths in &bench.lengths {
        if let Some(length) = lengths.longest()
            && length > max_tokens
        {
            return Err(LoadError::new(format!(
                "length {length} exceeds the maximum of {max_tokens} tokens of the model"
            )));
        }
        let sequences = sequences(*lengths, bench.tokens, max_tokens, vocabulary);
        report.rows.push(row(
            bench,
            *lengths,
            &sequences,
            &network,
            compute,
            body_parameters,
            &clock,
        )?);
    }
    Ok(report)
}

fn row(
    bench: &Bench,
    lengths: Lengths,
    sequences: &[Sequence],
    network: &Network,
    compute: &Compute,
    body_parameters: u64,
    clock: &SystemClock,
) -> Result<BenchRow, LoadError> {
    let batches = batches(sequences, bench.batch_tokens, network.shares_prefixes());
    let mut outputs = Vec::new();
    let mut times = Vec::new();
    for round in 0..=bench.rounds.max(1) {
        let started = clock.monotonic();
        outputs = batches
            .iter()
            .map(|batch| compute.run(|| network.run(batch)))
            .collect::<Result<Vec<_>, _>>()?
            .concat();
        if round > 0 {
            times.push(seconds_since(clock, started));
        }
    }
    times.sort_by(f64::total_cmp);
    let seconds = times[times.len() / 2];
    // Check a few sequences only: a whole round would double the time.
    let mut invariant = true;
    for at in (0..sequences.len()).step_by(sequences.len().div_ceil(8).max(1)) {
        invariant &= compute.run(|| network.run(&[&sequences[at]]))?.first() == outputs.get(at);
    }
    let tokens: usize = sequences.iter().map(Sequence::len).sum();
    let padded: usize = batches
        .iter()
        .map(|batch| {
            batch.len()
                * batch
                    .iter()
                    .map(|sequence| sequence.len())
                    .max()
                    .unwrap_or_default()
        })
        .sum();
    Ok(BenchRow {
        length: lengths.to_string(),
        lengths: sequences.iter().map(Sequence::len).collect(),
        tokens,
        seconds,
        tokens_per_second: tokens as f64 / seconds,
        gflops: 2.0 * body_parameters as f64 * tokens as f64 / seconds / 1e9,
        padding_avoided: 1.0 - tokens as f64 / padded.max(1) as f64,
        invariant,
    })
}

fn seconds_since(clock: &SystemClock, started: Duration) -> f64 {
    clock.monotonic().saturating_sub(started).as_secs_f64()
}

/// Splits sequences into batches in order, each filled up to `tokens`. Tokens that sequences of a
/// batch share count once if `shares` is set.
fn batches(sequences: &[Sequence], tokens: usize, shares: bool) -> Vec<Vec<&Sequence>> {
    let mut batches: Vec<Vec<&Sequence>> = Vec::new();
    let (mut budget, mut shared) = (0, BatchTiles::default());
    for sequence in sequences {
        let tiles = if shares {
            sequence.tile_hashes()
        } else {
            Vec::new()
        };
        if shared.added(sequence.len(), &tiles) > budget || batches.is_empty() {
            batches.push(Vec::new());
            (budget, shared) = (tokens, BatchTiles::default());
        }
        budget = budget.saturating_sub(shared.add(sequence.len(), &tiles));
        if let Some(batch) = batches.last_mut() {
            batch.push(sequence);
        }
    }
    batches
}

/// Sequences of pseudo-random ids from a fixed seed, with at least `tokens` tokens in total.
fn sequences(
    lengths: Lengths,
    tokens: usize,
    max_tokens: usize,
    vocabulary: usize,
) -> Vec<Sequence> {
    // Lengths are small.
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let mut sequences = Vec::new();
    let mut total = 0;
    while total < tokens {
        let length = match lengths {
            Lengths::Fixed(length) => length,
            Lengths::Groups {
                prompt, completion, ..
            } => prompt + completion,
            Lengths::Mixed => {
                // The sum of twelve uniform numbers approximates a normal distribution.
                let normal = (0..12)
                    .map(|_| draw() as f64 / (1u64 << 53) as f64)
                    .sum::<f64>()
                    - 6.0;
                ((256.0 * (0.6 * normal - 0.18).exp()) as usize).clamp(8, 2_048)
            }
        };
        let length = length.clamp(1, max_tokens);
        total += length;
        let mut ids: Vec<u32> = (0..length)
            .map(|_| (draw() % vocabulary as u64) as u32)
            .collect();
        if let Lengths::Groups { prompt, size, .. } = lengths {
            let first: Option<&Sequence> = sequences.get(sequences.len() / size * size);
            if let Some(first) = first {
                ids[..prompt].copy_from_slice(&first.ids[..prompt]);
            }
        }
        sequences.push(Sequence::whole(ids));
    }
    sequences
}
