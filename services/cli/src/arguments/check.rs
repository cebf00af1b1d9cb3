//! Arguments of `assay check`.

use std::path::PathBuf;

use assay_base::did_you_mean;
use assay_check::findings::Codes;
use assay_check::reports::{FORMATS, Format};
use assay_check::{ColumnCopy, DEFAULT_MAX_FINDINGS, FailOn};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::ServerKey;

/// A report format and its file. Without a file, the report is written to `--output`.
#[derive(Debug, Clone)]
pub(crate) struct ReportTarget {
    pub(crate) format: Format,
    pub(crate) file: Option<PathBuf>,
}

fn report_target(text: &str) -> Result<ReportTarget, String> {
    let (name, file) = text.split_once('=').map_or((text, None), |(name, file)| {
        (name, Some(PathBuf::from(file)))
    });
    let format = Format::from_name(name).ok_or_else(|| {
        let known: Vec<_> = FORMATS.iter().map(|(name, _)| *name).collect();
        format!(
            "unknown report format `{name}`; expected one of {}{}",
            known.join(", "),
            did_you_mean(name, known.iter().copied())
        )
    })?;
    Ok(ReportTarget { format, file })
}

fn finding_code(text: &str) -> Result<String, String> {
    Codes::default()
        .parse(text)
        .map(|code| code.name.to_owned())
}

/// The names of `--fail-on`.
const FAIL_ON: [(&str, FailOn); 3] = [
    ("error", FailOn::Error),
    ("warning", FailOn::Warning),
    ("never", FailOn::Never),
];

fn fail_on() -> impl TypedValueParser<Value = FailOn> {
    PossibleValuesParser::new(FAIL_ON.map(|(name, _)| name)).map(|text| {
        let known = FAIL_ON.iter().find(|(name, _)| *name == text);
        known.map_or(FailOn::default(), |(_, fail_on)| *fail_on)
    })
}

/// The columns by which a second file is joined: of the datasets, and of the file.
#[derive(Debug, Clone)]
pub(crate) struct JoinColumns {
    pub(crate) dataset: String,
    pub(crate) joined: String,
}

fn join_columns(text: &str) -> Result<JoinColumns, String> {
    let (dataset, joined) = text.split_once('=').unwrap_or((text, text));
    if dataset.is_empty() || joined.is_empty() {
        return Err("expected `COLUMN` or `COLUMN=COLUMN`, such as `id=task_id`".to_owned());
    }
    Ok(JoinColumns {
        dataset: dataset.to_owned(),
        joined: joined.to_owned(),
    })
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Dataset files, folders, patterns, `hf://ORG/NAME[@REVISION][/PATH]`, or `-`
    #[arg(required_unless_present = "explain", value_name = "DATASET")]
    pub(crate) datasets: Vec<String>,
    /// Print the documentation of a finding and exit
    #[arg(long, value_name = "CODE", value_parser = finding_code, exclusive = true)]
    pub(crate) explain: Option<String>,
    /// Template that makes tasks from rows [default: the `task` column]
    #[arg(long, alias = "task", value_name = "NAME|FILE|JSON")]
    pub(crate) template: Option<String>,
    /// Completion that should pass, as a template such as `{{ canonical_solution }}`
    #[arg(long, value_name = "TEXT")]
    pub(crate) solution: Option<String>,
    /// Column of the prompt, or a template such as `{{ question }} {{ hint }}`
    #[arg(long, value_name = "COLUMN|TEXT")]
    pub(crate) prompt: Option<String>,
    /// Copy columns under the names that the template reads, such as `answer=result.final`
    #[arg(
        long,
        value_name = "NEW=COLUMN,...",
        value_delimiter = ',',
        value_parser = ColumnCopy::parse
    )]
    pub(crate) map: Vec<ColumnCopy>,
    /// File whose columns are added to the rows with the same id
    #[arg(long, value_name = "FILE", requires = "on")]
    pub(crate) join: Option<PathBuf>,
    /// Column of the id in the datasets, and in the file of `--join` if it has another name
    #[arg(long, value_name = "COLUMN[=COLUMN]", requires = "join", value_parser = join_columns)]
    pub(crate) on: Option<JoinColumns>,
    /// Folder of SQLite databases by the column `db_id`, as published with BIRD and Spider
    #[arg(long, value_name = "FOLDER")]
    pub(crate) databases: Option<PathBuf>,
    /// Rules of your own: a TOML file with expressions over a row and its task
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Folder of the results that unchanged rows keep [default: in the user's cache folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cache: Option<PathBuf>,
    /// Grade unchanged rows again, and keep no results
    #[arg(long, conflicts_with = "cache")]
    pub(crate) no_cache: bool,
    /// Reports to write, such as `text,junit=report.xml`
    #[arg(
        long,
        value_name = "FORMAT[=FILE]",
        value_delimiter = ',',
        default_value = "text",
        value_parser = report_target
    )]
    pub(crate) format: Vec<ReportTarget>,
    /// File for reports of formats without `=FILE`; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Check only N random rows of each dataset
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sample: Option<u32>,
    /// Seed of the random sample
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of worker threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Leave out the findings of this earlier JSON report
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Leave out findings with these codes
    #[arg(long, value_name = "CODE,CODE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Report only findings with these codes
    #[arg(long, value_name = "CODE,CODE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Lowest severity of findings that fail the check, with exit code 1 [default: warning]
    #[arg(long, value_name = "SEVERITY", value_parser = fail_on())]
    pub(crate) fail_on: Option<FailOn>,
    /// Count new, remaining and fixed findings since this earlier JSON report
    #[arg(long, value_name = "FILE")]
    pub(crate) compare: Option<PathBuf>,
    /// Write the rows without findings that fail the check as JSON lines
    #[arg(long, value_name = "FILE", conflicts_with = "sample")]
    pub(crate) write_clean: Option<PathBuf>,
    /// Write tests that detect changes of right programs, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub(crate) write_tests: Option<PathBuf>,
    /// List at most N findings and count the rest; 0 for all
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_FINDINGS)]
    pub(crate) max_findings: usize,
    /// Benchmark whose prompts the datasets must not contain
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Template that makes the prompts of the benchmark
    #[arg(long, value_name = "NAME|FILE|JSON", requires = "against")]
    pub(crate) against_template: Option<String>,
    /// Rollouts: results of `assay grade` grouped by row id, or a column of rollouts or rewards
    #[arg(long, value_name = "FILE|COLUMN")]
    pub(crate) rollouts: Option<String>,
    /// Store the report on this server, which shows it under `/ui/checks`
    #[arg(long, value_name = "URL")]
    pub(crate) record: Option<String>,
    /// Write a signed certificate of the results
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,
    /// Compare the results with this certificate; exit with 1 if they differ
    #[arg(long, value_name = "FILE")]
    pub(crate) verify_certificate: Option<PathBuf>,
    /// Require that one of these public keys signed the certificate
    #[arg(long, value_name = "KEY", requires = "verify_certificate")]
    pub(crate) signed_by: Vec<String>,
    #[command(flatten)]
    pub(crate) key: ServerKey,
    /// Grade each gold and solution N times, to find verdicts that vary
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000)
    )]
    pub(crate) repeats: u32,
}
