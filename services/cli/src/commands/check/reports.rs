//! Report files. They are opened before the check, so that a missing folder is an error early, and
//! replaced after it, so that a check that fails leaves earlier reports unchanged.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, ensure};
use assay_check::Report;
use assay_check::reports::Format;

use crate::arguments::Check;
use crate::commands::grade::reject_same_file;
use crate::output::OutputFile;
use crate::terminal;

/// The reports to write.
pub(super) struct Reports {
    /// Formats with a file of their own.
    separate: Vec<(Format, OutputFile)>,
    /// Formats that are written to `output`, one after the other.
    combined: Vec<Format>,
    /// The file of `--output`; `None` for standard output.
    output: Option<OutputFile>,
}

impl Reports {
    /// Opens the files.
    ///
    /// # Errors
    /// A file cannot be created, is named twice, or is one of the datasets.
    pub(super) fn open(arguments: &Check) -> anyhow::Result<Self> {
        let mut names = BTreeSet::new();
        let mut create = |path: &Path| {
            ensure!(
                names.insert(path.to_owned()),
                "two reports are to be written to `{}`; name a file for each",
                path.display()
            );
            for dataset in &arguments.datasets {
                reject_same_file(Path::new(dataset), path)?;
            }
            OutputFile::open(path)
        };
        let (mut separate, mut combined) = (Vec::new(), Vec::new());
        for target in &arguments.format {
            match &target.file {
                Some(path) => separate.push((target.format, create(path)?)),
                None => combined.push(target.format),
            }
        }
        let to_file = arguments.output.as_os_str() != "-" && !combined.is_empty();
        let output = to_file.then(|| create(&arguments.output)).transpose()?;
        Ok(Self {
            separate,
            combined,
            output,
        })
    }

    /// Writes the report in all formats.
    pub(super) fn write(self, report: &Report) -> anyhow::Result<()> {
        for (format, output) in self.separate {
            write_to(output, &[format], report)?;
        }
        if let Some(output) = self.output {
            return write_to(output, &self.combined, report);
        }
        let mut out = BufWriter::new(terminal::raw_results());
        for format in self.combined {
            format.write(report, &mut out)?;
        }
        Ok(out.flush()?)
    }
}

fn write_to(output: OutputFile, formats: &[Format], report: &Report) -> anyhow::Result<()> {
    let write = || -> anyhow::Result<()> {
        let mut out = output.writer()?;
        for format in formats {
            format.write(report, &mut out)?;
        }
        Ok(out.flush()?)
    };
    write().with_context(|| format!("cannot write `{}`", output.name()))?;
    output.finish()
}
