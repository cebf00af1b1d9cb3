//! The command line arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Trains small language models with rewards from Assay
#[derive(Debug, Parser)]
#[command(name = "assay-trainer", version, max_term_width = 120)]
pub(crate) struct Arguments {
    /// Reject unknown `ASSAY_…` variables instead of warning
    #[arg(long, global = true)]
    pub(crate) strict: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a small policy model with random weights, and its tokenizer
    Init(Init),
    /// Train on solutions (supervised fine-tuning)
    Sft(Sft),
    /// Train on rewards of the service
    Train(Train),
    /// Perform one update from a file of completions with rewards or advantages
    Update(Update),
    /// Print the memory that a run requires
    Plan(Plan),
    /// Evaluate a policy model on held-out prompts
    Eval(Eval),
    /// Print log-probabilities of completions given as token ids
    Score(Score),
    /// Fit a reward model to preference pairs of the service
    RewardModel(RewardModel),
    /// Refit a served reward model beside a training run
    Refit(Refit),
    /// Draw learning curves of runs as SVG
    Plot(Plot),
    /// Measure training steps, generation or gradients
    Bench(Bench),
}

/// The configuration of a run.
#[derive(Debug, Args)]
pub(crate) struct RunFile {
    /// Run configuration in TOML
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Override a setting of the file, for example `training.steps=50`; repeatable
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub(crate) changes: Vec<String>,
}

/// The service that grades completions.
#[derive(Debug, Args)]
pub(crate) struct Service {
    /// URL of the service [default: `rewards.server` of the run]
    #[arg(long, value_name = "URL", conflicts_with = "embedded")]
    pub(crate) server: Option<String>,
    /// Grade in this process instead of a running service
    #[arg(long)]
    pub(crate) embedded: bool,
    /// Record of the embedded service, for example `sqlite://assay.db` [default: none]
    #[arg(long, value_name = "URL", requires = "embedded")]
    pub(crate) database: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Directory of the new policy model
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Use the alphabet of this run's problem families [default: printable ASCII]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Size of the model
    #[arg(long, value_enum, default_value = "0.1m")]
    pub(crate) shape: Shape,
    /// Architecture
    #[arg(long, value_enum, default_value = "qwen3")]
    pub(crate) family: Family,
    /// Seed of the random weights
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Sizes of policy models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// 2 layers of width 64, for tests
    #[value(name = "0.1m")]
    Tiny,
    /// 4 layers of width 128, 512 tokens
    #[value(name = "1m")]
    Small,
    /// 7 layers of width 320, 4,096 tokens
    #[value(name = "10m")]
    Medium,
}

/// Architectures of decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    /// Norms of queries and keys
    Qwen3,
    /// Biases of queries, keys and values
    Qwen2,
    /// Neither
    Llama,
}

#[derive(Debug, Args)]
pub(crate) struct Sft {
    #[command(flatten)]
    pub(crate) run: RunFile,
    /// Directory of the trained policy model
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Train {
    #[command(flatten)]
    pub(crate) run: RunFile,
    #[command(flatten)]
    pub(crate) service: Service,
    /// Directory for checkpoints, metrics and the trained policy model
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Continue from the newest checkpoint in the output directory
    #[arg(long)]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// Completions as token ids, one per line; `-` for standard input
    #[arg(value_name = "BATCH.jsonl")]
    pub(crate) batch: PathBuf,
    #[command(flatten)]
    pub(crate) run: RunFile,
    /// Output directory of the previous update [default: start from `policy.path`]
    #[arg(long, value_name = "DIR")]
    pub(crate) previous: Option<PathBuf>,
    /// Directory of the updated policy model and the optimiser state
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// The completions are from an older model: apply `training.effective_share`
    #[arg(long)]
    pub(crate) stale: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) run: RunFile,
    /// Tokens of the longest prompt with its completion [default: from the prompts]
    #[arg(long, value_name = "N")]
    pub(crate) longest: Option<usize>,
    /// Plan `sft` instead of `train`
    #[arg(long)]
    pub(crate) sft: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    #[command(flatten)]
    pub(crate) run: RunFile,
    #[command(flatten)]
    pub(crate) service: Service,
    /// Policy model [default: `policy.path` of the run]
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Score {
    /// Directory of the policy model
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// One `{"prompt": [ids], "completion": [ids]}` per line; `-` for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,
    /// Temperature that divides the logits
    #[arg(long, default_value_t = 1.0)]
    pub(crate) temperature: f64,
}

#[derive(Debug, Args)]
pub(crate) struct RewardModel {
    /// Decoder or reward model to start from
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// Directory of the new reward model
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// URL of the service that collected the pairs
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) server: String,
    /// Name of the reward model whose pairs are used
    #[arg(long, required_unless_present = "untrained")]
    pub(crate) name: Option<String>,
    /// Write the model with a head of zeros, without pairs: a start for `refit`
    #[arg(long, conflicts_with = "name")]
    pub(crate) untrained: bool,
    /// How the new model reads prompts and completions [default: as `assay.json` in the model's
    /// directory says]
    #[arg(long, value_enum)]
    pub(crate) template: Option<Template>,
    #[command(flatten)]
    pub(crate) fit: Fit,
}

#[derive(Debug, Args)]
pub(crate) struct Refit {
    /// Run from whose grades pairs are chosen
    #[arg(long)]
    pub(crate) run: String,
    /// Name of the reward model in the service
    #[arg(long)]
    pub(crate) name: String,
    /// URL of the service
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) server: String,
    /// The service's `reward_models.folder`, into which new models are written
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Subfolder of the new models [default: `NAME-refits`]
    #[arg(long, value_name = "NAME")]
    pub(crate) output: Option<String>,
    /// Use only grades of this channel
    #[arg(long)]
    pub(crate) channel: Option<String>,
    /// Use only completions that are right or wrong with at least this probability, 0.5 to 1
    #[arg(long, value_name = "P")]
    pub(crate) min_certainty: Option<f64>,
    /// Maximum number of pairs of a prompt
    #[arg(long, default_value_t = 8)]
    pub(crate) per_prompt: u32,
    /// JSON pointer to the gold answer in tasks, for models that compare with one: `/answer`
    #[arg(long, value_name = "POINTER")]
    pub(crate) reference: Option<String>,
    /// Number of new pairs after which the model is refitted
    #[arg(long, default_value_t = 500)]
    pub(crate) min_pairs: usize,
    /// Maximum number of pairs of a fit; the newest are used
    #[arg(long, default_value_t = 20_000)]
    pub(crate) window: usize,
    /// Seconds between checks for new grades
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub(crate) interval: u64,
    /// Number of refits [default: until interrupted]
    #[arg(long)]
    pub(crate) rounds: Option<u64>,
    /// Number of models to keep
    #[arg(long, default_value_t = 3)]
    pub(crate) keep: usize,
    #[command(flatten)]
    pub(crate) fit: Fit,
}

/// How a reward model is fitted.
#[derive(Debug, Args)]
pub(crate) struct Fit {
    /// Weights to train, in addition to the head
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) body: Body,
    /// Loss of a pair
    #[arg(long, value_enum, default_value = "pairs")]
    pub(crate) loss: LossName,
    /// Share of the prompts whose pairs are held out for evaluation
    #[arg(long, default_value_t = 0.1)]
    pub(crate) held_out: f64,
    /// Steps of the head on a frozen body, each over all pairs
    #[arg(long, default_value_t = 300)]
    pub(crate) steps: u64,
    /// Ridge penalty on the squared norm of the head on a frozen body
    #[arg(long, default_value_t = 1e-3)]
    pub(crate) ridge: f64,
    /// Rank of adapters
    #[arg(long, default_value_t = 16)]
    pub(crate) rank: usize,
    /// Passes over the pairs, if the body is trained
    #[arg(long, default_value_t = 2)]
    pub(crate) epochs: u64,
    /// Pairs per update of the body
    #[arg(long, default_value_t = 64)]
    pub(crate) batch: usize,
    /// Highest learning rate of the body
    #[arg(long, default_value_t = 1e-3)]
    pub(crate) learning_rate: f64,
    /// Seed of the order of pairs and of adapters
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Parts of the body that are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Body {
    /// Freeze the body
    None,
    /// Train low-rank adapters (LoRA), merged into the weights at the end
    Adapters,
    /// Train all weights
    All,
}

/// Losses of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LossName {
    /// The accepted completion scores higher (Bradley-Terry)
    Pairs,
    /// Right completions score above 0, wrong ones below (binary cross-entropy)
    Labels,
}

/// Built-in templates of reward models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Template {
    /// The chat template of the tokenizer
    Chat,
    /// Prompt and completion, concatenated
    Text,
    /// Question, reference answer and completion in tags
    VerifyRm,
}

#[derive(Debug, Args)]
pub(crate) struct Plot {
    /// A curve: a label and the `metrics.jsonl` files of its runs, for example
    /// `plain=a/metrics.jsonl,b/metrics.jsonl`; repeatable
    #[arg(long = "series", value_name = "LABEL=FILE,FILE", required = true)]
    pub(crate) series: Vec<String>,
    /// Metric to draw
    #[arg(long, default_value = "held_out/accuracy")]
    pub(crate) metric: String,
    /// Title of the plot
    #[arg(long, default_value = "")]
    pub(crate) title: String,
    /// SVG file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) what: BenchKind,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchKind {
    /// Time training steps on random tokens
    Step {
        #[command(flatten)]
        sizes: BenchSizes,
        /// Texts per step
        #[arg(long, default_value_t = 16)]
        batch: usize,
        /// Tokens per text
        #[arg(long, default_value_t = 64)]
        length: usize,
        /// Keep only the input of each layer, and compute the rest again
        #[arg(long)]
        recompute: bool,
        /// Scored tokens whose logits are in memory at a time [default: by the vocabulary]
        #[arg(long, value_name = "N")]
        vocabulary_rows: Option<usize>,
    },
    /// Time generation after random prompts
    Generate {
        #[command(flatten)]
        sizes: BenchSizes,
        /// Number of prompts
        #[arg(long, default_value_t = 32)]
        prompts: usize,
        /// Tokens per prompt
        #[arg(long, default_value_t = 16)]
        prompt_length: usize,
        /// Completions per prompt
        #[arg(long, default_value_t = 4)]
        samples: usize,
        /// Tokens per completion
        #[arg(long, default_value_t = 64)]
        new_tokens: usize,
    },
    /// Print the gradient norm of each parameter
    Gradients {
        /// Directory of the policy model
        #[arg(long, value_name = "DIR")]
        model: PathBuf,
        /// Texts, one `{"prompt": [ids], "completion": [ids]}` per line
        #[arg(long, value_name = "FILE")]
        input: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct BenchSizes {
    /// Directory of the policy model
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// Timed rounds after a warm-up round; the median is reported
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// Number of threads; 0 for one per core
    #[arg(long, default_value_t = 0)]
    pub(crate) threads: usize,
}
