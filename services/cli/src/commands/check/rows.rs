//! Files that a check writes besides its reports: rows without findings, and proposed tests.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, ensure};
use assay_check::{CleanRows, Dataset, FlaggedRows, Report, STANDARD_INPUT};

use crate::arguments::Check;
use crate::commands::grade::reject_same_file;
use crate::output::OutputFile;
use crate::terminal;

/// Opens the file of the clean rows.
///
/// # Errors
/// The file cannot be created or is one of the datasets, or a dataset cannot be read twice.
pub(super) fn open(arguments: &Check, path: &Path) -> anyhow::Result<OutputFile> {
    for dataset in &arguments.datasets {
        ensure!(
            dataset != STANDARD_INPUT,
            "`--write-clean` reads datasets twice, but standard input can be read once; name a file"
        );
        reject_same_file(Path::new(dataset), path)?;
    }
    OutputFile::open(path)
}

/// Writes the rows that are not flagged, and what was left out to standard error.
pub(super) fn write_clean(
    file: OutputFile,
    datasets: &[Dataset],
    flagged: &FlaggedRows,
) -> anyhow::Result<()> {
    let write = || -> anyhow::Result<CleanRows> {
        Ok(assay_check::write_clean(
            datasets,
            flagged,
            &mut file.writer()?,
        )?)
    };
    let CleanRows { written, dropped } =
        write().with_context(|| format!("cannot write `{}`", file.name()))?;
    let (name, all) = (
        file.name().to_owned(),
        written + dropped.values().sum::<u64>(),
    );
    file.finish()?;
    let codes: Vec<String> = dropped
        .iter()
        .map(|(code, count)| format!("{count} {code}"))
        .collect();
    let end = if codes.is_empty() {
        String::new()
    } else {
        format!("; left out: {}", codes.join(", "))
    };
    // If stderr is closed, the file was written all the same.
    let _ = writeln!(
        terminal::stderr(),
        "wrote {written} of {all} rows to `{name}`{end}"
    );
    Ok(())
}

/// Writes the proposed tests as JSON lines.
pub(super) fn write_tests(file: OutputFile, report: &Report) -> anyhow::Result<()> {
    let write = || -> anyhow::Result<()> {
        let mut out = file.writer()?;
        terminal::json_lines(&mut out, &report.tests)?;
        Ok(out.flush()?)
    };
    write().with_context(|| format!("cannot write `{}`", file.name()))?;
    file.finish()
}
