//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Trains small language models on rewards of the service `assay`.
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
    /// Make a small policy with weights drawn at random, and its tokenizer
    Init(Init),
    /// Learn from solutions, before there are rewards
    Sft(Sft),
    /// Learn from rewards: write, have it graded, take a step, again
    Train(Train),
    /// Examine a policy on prompts it does not learn from
    Eval(Eval),
    /// Tell log-probabilities of completions given as ids of tokens
    Score(Score),
    /// Fit the head of a reward model on pairs that the service collected
    RewardModel(RewardModel),
    /// Draw learning curves of runs
    Picture(Picture),
    /// Time a machine: training steps, writing, gradients
    Bench(Bench),
}

/// A run in a file.
#[derive(Debug, Args)]
pub(crate) struct RunFile {
    /// The run, in TOML
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// A setting that wins over the file's, as in `training.steps=50`; may be given again
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub(crate) changes: Vec<String>,
}

/// Who grades.
#[derive(Debug, Args)]
pub(crate) struct Service {
    /// A running service; without it the one the run names
    #[arg(long, value_name = "URL", conflicts_with = "embedded")]
    pub(crate) server: Option<String>,
    /// Grade in this process; nothing else needs to run
    #[arg(long)]
    pub(crate) embedded: bool,
    /// Record of an embedded service, as `sqlite://assay.db`; without it nothing is recorded
    #[arg(long, value_name = "URL", requires = "embedded")]
    pub(crate) database: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Directory of the new policy
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// A run whose families of problems make the alphabet; without it printable ASCII
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// How large
    #[arg(long, value_enum, default_value = "0.1m")]
    pub(crate) shape: Shape,
    /// Which architecture
    #[arg(long, value_enum, default_value = "qwen3")]
    pub(crate) family: Family,
    /// Where the random numbers start
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// How large a policy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// 2 layers of 64: for tests
    #[value(name = "0.1m")]
    Tiny,
    /// 4 layers of 128, 512 tokens
    #[value(name = "1m")]
    Small,
    /// 7 layers of 320, 4,096 tokens
    #[value(name = "10m")]
    Medium,
}

/// Architectures of decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    /// With norms of queries and keys
    Qwen3,
    /// With biases of queries, keys and values
    Qwen2,
    /// With neither
    Llama,
}

#[derive(Debug, Args)]
pub(crate) struct Sft {
    #[command(flatten)]
    pub(crate) run: RunFile,
    /// Directory of the policy that comes out
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Train {
    #[command(flatten)]
    pub(crate) run: RunFile,
    #[command(flatten)]
    pub(crate) service: Service,
    /// Folder of checkpoints, numbers and the policy that comes out
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Go on from the newest checkpoint of the folder
    #[arg(long)]
    pub(crate) resume: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    #[command(flatten)]
    pub(crate) run: RunFile,
    #[command(flatten)]
    pub(crate) service: Service,
    /// A policy instead of the one the run names
    #[arg(long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Score {
    /// The policy
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// `{"prompt": [ids], "completion": [ids]}` a line; `-` for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) input: PathBuf,
    /// Logits are divided by it
    #[arg(long, default_value_t = 1.0)]
    pub(crate) temperature: f64,
}

#[derive(Debug, Args)]
pub(crate) struct RewardModel {
    /// A decoder whose hidden states the head reads
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// Directory of the reward model that comes out
    #[arg(long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// The service that collected the pairs
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) server: String,
    /// The reward model whose pairs are learned from
    #[arg(long)]
    pub(crate) name: String,
    /// Steps of the fit, each over all pairs
    #[arg(long, default_value_t = 300)]
    pub(crate) steps: u64,
    /// Weight of the square of the head, against fitting what is only there by chance
    #[arg(long, default_value_t = 1e-3)]
    pub(crate) ridge: f64,
    /// Share of the pairs that is only examined
    #[arg(long, default_value_t = 0.1)]
    pub(crate) held_out: f64,
}

#[derive(Debug, Args)]
pub(crate) struct Picture {
    /// A curve: a label and the `metrics.jsonl` of its runs, as in
    /// `plain=a/metrics.jsonl,b/metrics.jsonl`; may be given again
    #[arg(long = "series", value_name = "LABEL=FILE,FILE", required = true)]
    pub(crate) series: Vec<String>,
    /// Which number
    #[arg(long, default_value = "held_out/accuracy")]
    pub(crate) metric: String,
    /// What stands above
    #[arg(long, default_value = "")]
    pub(crate) title: String,
    /// The SVG
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
    /// Time steps of training on random tokens
    Step {
        #[command(flatten)]
        sizes: BenchSizes,
        /// Texts of a step
        #[arg(long, default_value_t = 16)]
        batch: usize,
        /// Tokens of a text
        #[arg(long, default_value_t = 64)]
        length: usize,
    },
    /// Time writing after random prompts
    Generate {
        #[command(flatten)]
        sizes: BenchSizes,
        /// Prompts
        #[arg(long, default_value_t = 32)]
        prompts: usize,
        /// Tokens of a prompt
        #[arg(long, default_value_t = 16)]
        prompt_length: usize,
        /// Completions of each prompt
        #[arg(long, default_value_t = 4)]
        samples: usize,
        /// Tokens of a completion
        #[arg(long, default_value_t = 64)]
        new_tokens: usize,
    },
    /// Tell the norm of the gradient of each parameter for `{"prompt": [ids], "completion": [ids]}`
    /// a line
    Gradients {
        /// The policy
        #[arg(long, value_name = "DIR")]
        model: PathBuf,
        /// The texts
        #[arg(long, value_name = "FILE")]
        input: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct BenchSizes {
    /// The policy
    #[arg(long, value_name = "DIR")]
    pub(crate) model: PathBuf,
    /// Rounds, after one that is not counted; the median counts
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// Threads; 0 for one a core
    #[arg(long, default_value_t = 0)]
    pub(crate) threads: usize,
}
