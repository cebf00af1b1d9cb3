//! Arguments of `assay check`.

use std::path::PathBuf;

use assay_base::did_you_mean;
use assay_check::DEFAULT_MAX_FINDINGS;
use assay_check::findings::Severity;
use assay_check::reports::{FORMATS, Format};
use clap::{Args, ValueEnum};

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
    match assay_check::findings::code(text) {
        Some(code) => Ok(code.name.to_owned()),
        None => {
            let codes = assay_check::findings::ALL.iter().map(|code| code.name);
            let similar = did_you_mean(text, codes);
            let list = "; see docs/CHECK.md for the list";
            let end = if similar.is_empty() { list } else { &similar };
            Err(format!("unknown finding code `{text}`{end}"))
        }
    }
}

/// Lowest severity of findings that fail a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    Error,
    Warning,
    Never,
}

impl FailOn {
    /// The severity; `None` if no finding fails the check.
    pub(crate) fn severity(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Never => None,
        }
    }
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
    #[arg(long, value_name = "CODE,CODE", value_delimiter = ',', value_parser = finding_code)]
    pub(crate) ignore: Vec<String>,
    /// Report only findings with these codes
    #[arg(long, value_name = "CODE,CODE", value_delimiter = ',', value_parser = finding_code)]
    pub(crate) select: Vec<String>,
    /// Lowest severity of findings that fail the check, with exit code 1
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = FailOn::Warning)]
    pub(crate) fail_on: FailOn,
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
