//! What can be typed.

mod check;
mod record;

use std::net::SocketAddr;
use std::path::PathBuf;

use assay_node::models::Lengths;
use clap::{Args, Parser, Subcommand};

pub(crate) use check::Check;
pub(crate) use record::{
    Export, Format, Grades, Record, RecordAction, Replay, Runs, SetAsideArguments, Tail, Which,
};

/// Verifiable rewards for reinforcement learning: batches of rollouts in, rewards that can be
/// trusted out.
#[derive(Debug, Parser)]
#[command(name = "assay", version, propagate_version = true)]
pub(crate) struct Arguments {
    /// Configuration file (TOML); `./assay.toml` when it exists
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Reject unknown `ASSAY_…` variables instead of warning
    #[arg(long, global = true)]
    pub(crate) strict: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve HTTP; no configuration needed
    Serve(Serve),
    /// Grade a file: each line an item, each output line its result, same order
    Grade(Grade),
    /// Validate datasets with the graders that will grade their rollouts
    Check(Box<Check>),
    /// List what this binary can grade
    Graders(Output),
    /// List grades of the record, newest first
    Grades(Grades),
    /// List the training runs of the record, or say what happened in one
    Runs(Runs),
    /// Print grades as they are recorded
    Tail(Tail),
    /// Write grades of the record to a file
    Export(Export),
    /// Say how wrong verifiers are, calibrate and compare them, and adjudicate grades
    Channels(Channels),
    /// List what rewards are made of, or explain or check one policy
    Policies(Policies),
    /// List reward models, load and unload them, score inputs, time them
    Models(Models),
    /// Grade stored items again with this binary and compare
    Replay(Replay),
    /// Maintain the record while no server is running
    Record {
        #[command(subcommand)]
        action: RecordAction,
    },
    /// List the images programs run in, or build one
    Images(Images),
    /// Say what is installed and test each grader on itself, with timings
    Doctor(Output),
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address to listen on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Database of the record; empty for none [default: sqlite://assay.db]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// Print the configuration this would serve with, as TOML, and stop
    #[arg(long)]
    pub(crate) print_config: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.trim_start_matches(':').parse::<u16>().unwrap_or(8080);
        format!("write an IP address and a port, such as `127.0.0.1:{port}`")
    })
}

#[derive(Debug, Args)]
pub(crate) struct Grade {
    /// Items as JSON lines, as in the `items` of `POST /v1/grade`; `-` for standard input
    pub(crate) file: PathBuf,
    /// How rows of a dataset become items; each row needs a `completion`: a name such as `gsm8k`, a
    /// JSON file, or the JSON itself
    #[arg(long, value_name = "NAME|FILE|JSON")]
    pub(crate) template: Option<String>,
    /// Where results go; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Worker threads [default: one a core]
    #[arg(long, value_name = "N", conflicts_with = "server")]
    pub(crate) jobs: Option<usize>,
    /// Let this server grade instead of this process
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Keep the grades in this database; without it nothing is recorded
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    pub(crate) database: Option<String>,
    /// Policy that makes rewards of items that name none: one of the configuration, or of the
    /// server
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<String>,
    /// Name of the training run in the record
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// Step of the run in the record
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) step: Option<i64>,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Output {
    /// Print JSON instead of a table
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Images {
    /// Build the image of this language from its interpreter, unless it is there
    #[arg(long, value_name = "LANGUAGE", requires = "interpreter")]
    pub(crate) build: Option<String>,
    /// The interpreter: a WebAssembly reactor, as `sandboxes/guests` makes it
    #[arg(long, value_name = "FILE", requires = "build")]
    pub(crate) interpreter: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Channels {
    #[command(subcommand)]
    pub(crate) action: Option<ChannelAction>,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelAction {
    /// List all channels (the default)
    List,
    /// Say all that is known of one channel
    Show {
        /// A channel, as `math/default`, or under a version of its grader, as `math/default@1`
        channel: String,
    },
    /// Find rates on items whose truth is known, and keep them
    ///
    /// Each line is an item as in `assay grade`, with `"label": true` or `false` beside it. Without
    /// labels, three or more verifiers on each item (its task and its checks) are fitted by the
    /// method of Dawid and Skene
    Calibrate {
        /// Items as JSON lines; `-` for standard input
        file: PathBuf,
        /// Print what was found and keep nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Say what two channels, or two versions of one, differ in
    Compare {
        /// A channel, as `math/default` or `math/default@1`
        one: String,
        /// Another
        other: String,
    },
    /// Draw a grade at random to be adjudicated
    Draw {
        /// Exact channel, as `math/default`
        #[arg(long)]
        channel: Option<String>,
        /// Only grades that a judge has looked at
        #[arg(long)]
        judged: bool,
        /// A verdict that is a pass
        #[arg(long, conflicts_with = "refused")]
        passed: bool,
        /// A verdict that is none
        #[arg(long)]
        refused: bool,
    },
    /// Say whether the completion of a grade is right
    #[command(group = clap::ArgGroup::new("truth").required(true))]
    Adjudicate {
        /// Id of the grade
        grade: String,
        /// It is right
        #[arg(long, group = "truth")]
        right: bool,
        /// It is wrong
        #[arg(long, group = "truth")]
        wrong: bool,
        /// Why
        #[arg(long)]
        note: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Policies {
    /// Explain this policy
    pub(crate) name: Option<String>,
    /// Read a policy from this file (TOML or JSON), explain it, or say what is wrong with it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "server"])]
    pub(crate) check: Option<PathBuf>,
    /// Say what every function of a policy does
    #[arg(long, conflicts_with_all = ["name", "check"])]
    pub(crate) functions: bool,
    /// Ask this server
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Models {
    #[command(subcommand)]
    pub(crate) action: Option<ModelAction>,
    /// Ask this server; without it `score` runs here, and the others ask where the configuration
    /// listens
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelAction {
    /// List the reward models of a server (the default)
    List,
    /// Load a model under a name, or replace the one there
    Load {
        /// Its name
        name: String,
        /// `org/name` of the hub, or a directory under the server's folder of models; the present
        /// source without it
        source: Option<String>,
    },
    /// Take a model away
    Unload {
        /// Its name
        name: String,
    },
    /// Score a file: each line an input, each output line its result, same order
    Score(Score),
    /// Time forward passes
    Bench(BenchArguments),
}

#[derive(Debug, Args)]
pub(crate) struct Score {
    /// Inputs as JSON lines, as in the `items` of `POST /v1/reward-models/{name}/score`; `-` for
    /// standard input
    pub(crate) file: PathBuf,
    /// A model of the configuration or of the server, by its name, or a directory with one
    /// [default: the default one]
    #[arg(long, value_name = "NAME|DIR")]
    pub(crate) model: Option<String>,
    /// Where results go; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// What happens to inputs that are too long: `refuse`, `prompt_left`, `left` or `right`
    #[arg(long, value_name = "HOW", default_value = "refuse")]
    pub(crate) truncate: String,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct BenchArguments {
    /// A directory with a model
    #[arg(long, value_name = "DIR", group = "what")]
    pub(crate) model: Option<PathBuf>,
    /// Random weights in the shape of a known model, as `qwen3-0.6b`
    #[arg(long, value_name = "NAME", group = "what")]
    pub(crate) shape: Option<String>,
    /// Lengths of inputs in tokens; `mixed` for those of rollouts
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "64,256,1024,mixed"
    )]
    pub(crate) lengths: Vec<Lengths>,
    /// Tokens of a round
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    pub(crate) tokens: usize,
    /// Tokens of a batch; 0 for as many as the service puts into one on that device
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) batch_tokens: usize,
    /// Rounds, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Threads of the CPU; 0 for one a core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// Where it runs: `cpu` or `cuda:N`
    #[arg(long, default_value = "cpu")]
    pub(crate) device: String,
    /// Type of the numbers: `f32`, `bf16` or `f16` [default: what fits the device]
    #[arg(long)]
    pub(crate) dtype: Option<String>,
}
