//! Command-line arguments.

mod check;
mod jobs;
mod keys;
mod record;
mod seconds;
mod sessions;
mod shadows;
mod templates;

use std::net::SocketAddr;
use std::path::PathBuf;

use assay_node::models::{AttentionKernel, Lengths, ProductRows};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use check::Check;
pub(crate) use jobs::{JobAction, JobArguments};
pub(crate) use keys::{Audit, CreateKey, KeyAction, Keys, SetKey};
pub(crate) use record::{
    AnnotateArguments, BackupArguments, CompareArguments, CopyArguments, Export, ExportFormat,
    GradeSelection, Grades, PruneArguments, ReceiptArguments, Record, RecordAction, Replay,
    RunSelection, Runs, SetAsideArguments, Show, Tail, VerifyArguments, VerifyReceiptArguments,
};
pub(crate) use sessions::{SessionAction, SessionArguments};
pub(crate) use shadows::{ShadowAction, ShadowArguments};
pub(crate) use templates::Templates;

/// Grade rollouts for reinforcement learning with verifiable rewards
#[derive(Debug, Parser)]
#[command(name = "assay", version, propagate_version = true)]
pub(crate) struct Arguments {
    /// Configuration file in TOML [default: ./assay.toml if it exists]
    #[arg(long, global = true, value_name = "FILE", display_order = 900)]
    pub(crate) config: Option<PathBuf>,
    /// Reject unknown `ASSAY_…` variables instead of warning
    #[arg(long, global = true, display_order = 901)]
    pub(crate) strict: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the HTTP service
    Serve(Serve),
    /// Grade a file of items and write one result per line, in the same order
    Grade(Grade),
    /// Validate datasets with the graders that will grade their rollouts
    Check(Box<Check>),
    /// List templates, show one, and make tasks from the rows of a dataset
    Templates(Templates),
    /// List the graders of this binary
    Graders(OutputFormat),
    /// List recorded grades, newest first
    Grades(Grades),
    /// Show one recorded grade and why it has its verdict
    Show(Show),
    /// List recorded training runs, or show a summary of one
    Runs(Runs),
    /// Set the tags and the note of a run, or archive it
    Annotate(AnnotateArguments),
    /// Compare two recorded runs, or two ranges of steps of one run
    Compare(CompareArguments),
    /// Print grades as they are recorded
    Tail(Tail),
    /// Export recorded grades to a file
    Export(Export),
    /// Show verifier error rates, calibrate and compare channels, adjudicate grades
    Channels(Channels),
    /// List reward policies, or explain or validate one
    Policies(Policies),
    /// List, load, unload and benchmark reward models, and score inputs
    Models(Models),
    /// Submit data sets to a server, and list, watch and cancel its jobs
    Jobs(JobArguments),
    /// List, show and end interpreter sessions, and replay their logs
    Sessions(SessionArguments),
    /// Grade a share of a run again as it is recorded, with other fields in its tasks, and promote
    /// them
    Shadow(ShadowArguments),
    /// Grade recorded items again with this binary and compare the verdicts
    Replay(Replay),
    /// Print signed receipts of recorded grades, with which others can grade the items again
    Receipt(ReceiptArguments),
    /// Check the signatures of receipts, grade their items again and compare the results; exit with
    /// 1 if any differs
    VerifyReceipt(VerifyReceiptArguments),
    /// List, create, change, rotate and revoke the keys of callers
    Keys(Keys),
    /// Show the audit log: administrative acts and refused callers
    Audit(Audit),
    /// Delete runs, old grades or old bodies from the record
    Prune(PruneArguments),
    /// Copy the record to a new folder and check the copy; works while a server uses the record
    Backup(BackupArguments),
    /// Check the record for damage; works while a server uses it; exit with 1 if there is any
    Verify(VerifyArguments),
    /// Maintain the record while no server is running
    Record {
        #[command(subcommand)]
        action: RecordAction,
    },
    /// List the installed sandbox images, or build one
    Images(Images),
    /// Show what is installed and run the self-test of each grader, with timings
    Doctor(OutputFormat),
    /// Print a completion script for a shell
    Completions {
        /// Shell
        shell: Shell,
    },
    /// Print the manual page of `assay` or of a command, or write all pages
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Command, such as `grades` or `channels show` [default: `assay`]
    #[arg(value_name = "COMMAND", conflicts_with = "folder")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands to this folder, such as `~/.local/share/man/man1`
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

/// The server of a command that always needs one.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServerOptions {
    /// Server URL [default: the one that uses the database, else the configured address] [env:
    /// ASSAY_SERVER]
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) key: ServerKey,
}

/// The key of a server.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServerKey {
    /// Key for the server; prefer the variable, because others can see the arguments of a process
    #[arg(
        long = "key",
        env = "ASSAY_KEY",
        hide_env_values = true,
        value_name = "KEY",
        global = true
    )]
    pub(crate) key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address to listen on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Database URL; empty to record nothing [default: sqlite://assay.db]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// Require no keys, behind a proxy that authenticates
    #[arg(long)]
    pub(crate) no_auth: bool,
    /// Format of log lines [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"])]
    pub(crate) log_format: Option<String>,
    /// Print the URL to standard output when the address is open
    #[arg(long)]
    pub(crate) print_url: bool,
    /// Stop when standard input is closed, which the kernel does when the program that started
    /// this one ends, even if it was killed
    #[arg(long)]
    pub(crate) exit_on_stdin_close: bool,
    /// Print the effective configuration as TOML and exit
    #[arg(long)]
    pub(crate) print_config: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.trim_start_matches(':').parse::<u16>().unwrap_or(8080);
        format!("expected an IP address and a port, such as `127.0.0.1:{port}`")
    })
}

/// The name of a run that can be part of a URL.
fn run_name(name: &str) -> Result<String, String> {
    assay_wire::fits_path(name)
        .then(|| name.to_owned())
        .ok_or_else(|| "no URL can contain this name; choose another name".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct Grade {
    /// Items as JSON lines, in the form of `items` in `POST /v1/grade`; `-` for standard input
    pub(crate) file: PathBuf,
    /// Template that makes items of rows with a `completion` column
    #[arg(long, value_name = "NAME|FILE|JSON")]
    pub(crate) template: Option<String>,
    /// File with a JSON object of values, to which tasks refer by name as `{"$shared": "NAME"}`
    #[arg(long, value_name = "FILE")]
    pub(crate) shared: Option<PathBuf>,
    /// File to write results to; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Number of worker threads [default: one per core]
    #[arg(long, value_name = "N", conflicts_with = "server")]
    pub(crate) jobs: Option<usize>,
    /// Keys of results to write, such as `reward,verdict` [default: all]
    #[arg(long, value_name = "KEY,...", value_delimiter = ',')]
    pub(crate) fields: Option<Vec<String>>,
    /// Write an explanation of each verdict as text: the intermediate values of `math`, the
    /// evidence of other graders
    #[arg(long, conflicts_with_all = ["server", "fields"])]
    pub(crate) explain: bool,
    /// Grade all lines as one batch, as in one request; at most 65,536
    #[arg(long, conflicts_with = "server")]
    pub(crate) one_batch: bool,
    /// Grade on this server instead of in this process [env: ASSAY_SERVER]
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) key: ServerKey,
    /// Let the server grade the file as a job, which survives restarts, and wait for its results
    #[arg(long, conflicts_with_all = ["database", "jobs", "one_batch", "explain", "fields"])]
    pub(crate) job: bool,
    /// Record the grades in this database [default: record nothing]
    #[arg(long, value_name = "URL", conflicts_with = "server")]
    pub(crate) database: Option<String>,
    /// Reward policy of items that name none
    #[arg(long, value_name = "NAME")]
    pub(crate) policy: Option<String>,
    /// Name of the training run to record
    #[arg(long, value_parser = run_name)]
    pub(crate) run: Option<String>,
    /// Step of the training run to record
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) step: Option<i64>,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct OutputFormat {
    /// Print JSON instead of a table: one object per line for lists, else one document
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Images {
    /// Build this image, unless it is installed
    #[arg(long, value_name = "IMAGE", requires = "interpreter")]
    pub(crate) build: Option<String>,
    /// Pack this image, which was built from the interpreter, into the folder `--packages`
    #[arg(long, value_name = "IMAGE", requires_all = ["interpreter", "packages"])]
    pub(crate) pack: Option<String>,
    /// Interpreter as a WebAssembly reactor, as built by `sandboxes/guests`
    #[arg(long, value_name = "FILE")]
    pub(crate) interpreter: Option<PathBuf>,
    /// Folder of packaged images to write
    #[arg(long, value_name = "FOLDER", requires = "pack")]
    pub(crate) packages: Option<PathBuf>,
    /// Compile packaged images now instead of at their first use: those named, or all
    #[arg(long, value_name = "IMAGE", num_args = 0.., conflicts_with_all = ["build", "pack"])]
    pub(crate) compile: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct Channels {
    #[command(subcommand)]
    pub(crate) action: Option<ChannelAction>,
    #[command(flatten)]
    pub(crate) record: Record,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelAction {
    /// List all channels (the default)
    List,
    /// Show the rates and counts of one channel
    Show {
        /// Channel, such as `math/default`, or with a grader version, such as `math/default@1`
        channel: String,
    },
    /// Estimate error rates from labelled items and store them
    ///
    /// Each line is an item as in `assay grade`, with an additional field `"label"`: `true` or
    /// `false`. Without labels, the method of Dawid and Skene estimates the rates from three or
    /// more verifiers of each item (its task and its checks)
    Calibrate {
        /// Items as JSON lines; `-` for standard input
        file: PathBuf,
        /// Print the estimates without storing them
        #[arg(long)]
        dry_run: bool,
    },
    /// Test whether a configured judge obeys instructions in completions
    ///
    /// Grades an answer that deserves no credit, and the same answer followed by attempts to
    /// instruct the judge. Calls the judge 61 times and records nothing
    Audit {
        /// Name of the judge
        judge: String,
        /// Items as JSON lines whose scores are compared with the length of their completions, and
        /// with the model that wrote them (`meta.model`); `-` for standard input
        #[arg(long, value_name = "FILE")]
        items: Option<PathBuf>,
    },
    /// Compare two channels, or two versions of one
    Compare {
        /// Channel, such as `math/default` or `math/default@1`
        first: String,
        /// Channel to compare with
        second: String,
    },
    /// Draw a random grade to adjudicate
    Draw {
        /// Exact channel, such as `math/default`
        #[arg(long)]
        channel: Option<String>,
        /// Only grades that a judge has reviewed
        #[arg(long)]
        judged: bool,
        /// Only grades that pass
        #[arg(long, conflicts_with = "not_passed")]
        passed: bool,
        /// Only grades that do not pass
        #[arg(long)]
        not_passed: bool,
    },
    /// Record whether the completion of a grade is right
    #[command(group = clap::ArgGroup::new("truth").required(true))]
    Adjudicate {
        /// Id of the grade
        grade: String,
        /// The completion is right
        #[arg(long, group = "truth")]
        right: bool,
        /// The completion is wrong
        #[arg(long, group = "truth")]
        wrong: bool,
        /// Reason, for the record
        #[arg(long)]
        note: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Policies {
    /// Name of a policy to explain
    pub(crate) name: Option<String>,
    /// Validate and explain the policy in this file (TOML or JSON)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "server"])]
    pub(crate) check: Option<PathBuf>,
    /// List the functions that policies can use
    #[arg(long, conflicts_with_all = ["name", "check"])]
    pub(crate) functions: bool,
    /// List the policies of this server [default: one that uses the database, else those of the
    /// configuration] [env: ASSAY_SERVER]
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) key: ServerKey,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct Models {
    #[command(subcommand)]
    pub(crate) action: Option<ModelAction>,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelAction {
    /// List the reward models of a server (the default)
    List,
    /// Load a model, or replace the model of that name
    Load {
        /// Name of the model
        name: String,
        /// `ORG/NAME` on the hub, or a directory in the server's model folder [default: unchanged]
        source: Option<String>,
    },
    /// Unload a model
    Unload {
        /// Name of the model
        name: String,
    },
    /// Score a file of inputs and write one result per line, in the same order; in this process
    /// unless a server is named
    Score(Score),
    /// Measure the speed of forward passes
    Bench(BenchArguments),
}

#[derive(Debug, Args)]
pub(crate) struct Score {
    /// Inputs as JSON lines, as in `POST /v1/reward-models/{name}/score`; `-` for standard input
    pub(crate) file: PathBuf,
    /// Name or directory of a model [default: the default model]
    #[arg(long, value_name = "NAME|DIR")]
    pub(crate) model: Option<String>,
    /// File to write results to; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Treatment of long inputs: `reject`, `prompt_left`, `left` or `right`
    #[arg(long, value_name = "HOW", default_value = "reject")]
    pub(crate) truncate: String,
    /// Write the options with which `affine` fits these inputs instead of results
    #[arg(long)]
    pub(crate) scale: bool,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct BenchArguments {
    /// Directory of a model
    #[arg(long, value_name = "DIR", group = "what")]
    pub(crate) model: Option<PathBuf>,
    /// Use random weights in the shape of a known model, such as `qwen3-0.6b`
    #[arg(long, value_name = "NAME", group = "what")]
    pub(crate) shape: Option<String>,
    /// Lengths in tokens; `mixed` for those of rollouts, `512+128x8` for 8 completions of a prompt
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "64,256,1024,mixed"
    )]
    pub(crate) lengths: Vec<Lengths>,
    /// Tokens per round
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    pub(crate) tokens: usize,
    /// Tokens per batch; 0 for the default of the device
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) batch_tokens: usize,
    /// Number of rounds; the median is reported
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Number of CPU threads; 0 for one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    /// Device: `cpu` or `cuda:N`
    #[arg(long, default_value = "cpu")]
    pub(crate) device: String,
    /// Number type: `f32`, `bf16` or `f16` [default: depends on the device]
    #[arg(long)]
    pub(crate) dtype: Option<String>,
    /// Rows of a product on a GPU: a power of two, or 0 to let the library choose by the batch
    #[arg(long, value_name = "N", default_value_t)]
    pub(crate) product_rows: ProductRows,
    /// Attention on a GPU: `auto`, `tiles` or `flash`
    #[arg(long, value_name = "KERNEL", default_value_t)]
    pub(crate) attention: AttentionKernel,
}
