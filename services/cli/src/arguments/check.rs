//! What can be typed behind `assay check`.

use std::path::PathBuf;

use assay_check::FINDINGS;
use assay_check::reports::{FORMATS, Format};
use clap::Args;

/// A format, and the file its report goes to where that is not the output of the others.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) format: Format,
    pub(crate) file: Option<PathBuf>,
}

fn written(text: &str) -> Result<Written, String> {
    let (name, file) = text.split_once('=').map_or((text, None), |(name, file)| {
        (name, Some(PathBuf::from(file)))
    });
    let known = || {
        FORMATS
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let format = Format::from_name(name)
        .ok_or_else(|| format!("no report has the format `{name}`; there are {}", known()))?;
    Ok(Written { format, file })
}

fn code(text: &str) -> Result<String, String> {
    match assay_check::findings::code(text) {
        Some(code) => Ok(code.name.to_owned()),
        None => Err(format!(
            "no finding has the code `{text}`; docs/CHECK.md lists them"
        )),
    }
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Files in JSON lines, JSON, CSV, TSV or Parquet, or `hf://ORG/NAME[@REVISION][/PATH]`
    #[arg(required = true, value_name = "DATASET")]
    pub(crate) datasets: Vec<String>,
    /// How rows become tasks: a name such as `gsm8k`, a JSON file, or the JSON itself; without it
    /// each row has a `task`
    #[arg(long, alias = "task", value_name = "NAME|FILE|JSON")]
    pub(crate) template: Option<String>,
    /// A completion that should pass, as a text over the columns such as `{{ canonical_solution }}`
    #[arg(long, value_name = "TEXT")]
    pub(crate) solution: Option<String>,
    /// Reports to write, as `text,junit=report.xml`: those without a file go to `--output`
    #[arg(long, value_name = "FORMAT[=FILE]", value_delimiter = ',', default_value = "text", value_parser = written)]
    pub(crate) format: Vec<Written>,
    /// Where reports without a file of their own go; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Look at so many rows of each dataset, drawn at random
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sample: Option<u32>,
    /// Seed of that draw
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Worker threads [default: one a core]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Do not tell the findings of this JSON report again
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Do not tell findings of this code; may be repeated
    #[arg(long, value_name = "CODE", value_parser = code)]
    pub(crate) ignore: Vec<String>,
    /// Most findings told one by one, the others are counted; 0 tells all
    #[arg(long, value_name = "N", default_value_t = FINDINGS)]
    pub(crate) max_findings: usize,
    /// A benchmark whose prompts the datasets should not contain
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// How the prompts of that benchmark are made, as in `--template`
    #[arg(long, value_name = "NAME|FILE|JSON", requires = "against")]
    pub(crate) against_template: Option<String>,
    /// What rollouts came to: results of `assay grade` whose groups are ids of rows, or a column
    /// with rollouts or rewards
    #[arg(long, value_name = "FILE|COLUMN")]
    pub(crate) rollouts: Option<String>,
    /// Send the report to this server too: it keeps it, and shows it under `/ui/checks`
    #[arg(long, value_name = "URL")]
    pub(crate) record: Option<String>,
    /// Times that each gold and solution is graded, to see whether it gets one verdict
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) repeats: u32,
}
