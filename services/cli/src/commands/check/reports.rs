//! Where reports go. Files are opened before the work, so that a check is not lost to a folder that
//! is not there, and take their place after it, so that a check that breaks off leaves the reports
//! of before.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, ensure};
use assay_check::Report;
use assay_check::reports::Format;

use crate::arguments::Check;
use crate::commands::grade::refuse_to_overwrite;
use crate::output::Output;

/// Reports and their files; one after the other goes to the last.
pub(super) struct Reports {
    apart: Vec<(Format, Output)>,
    together: Vec<Format>,
    output: Option<Output>,
}

impl Reports {
    /// Opens the files.
    pub(super) fn open(arguments: &Check) -> anyhow::Result<Self> {
        let mut names = BTreeSet::new();
        let mut create = |path: &Path| {
            ensure!(
                names.insert(path.to_owned()),
                "`{}` cannot hold two reports",
                path.display()
            );
            for dataset in &arguments.datasets {
                refuse_to_overwrite(Path::new(dataset), path)?;
            }
            Output::open(path)
        };
        let (mut apart, mut together) = (Vec::new(), Vec::new());
        for written in &arguments.format {
            match &written.file {
                Some(path) => apart.push((written.format, create(path)?)),
                None => together.push(written.format),
            }
        }
        let to_file = arguments.output.as_os_str() != "-" && !together.is_empty();
        let output = to_file.then(|| create(&arguments.output)).transpose()?;
        Ok(Self {
            apart,
            together,
            output,
        })
    }

    /// Writes a report to all of them.
    pub(super) fn write(self, report: &Report) -> anyhow::Result<()> {
        for (format, output) in self.apart {
            write_to(output, &[format], report)?;
        }
        if let Some(output) = self.output {
            return write_to(output, &self.together, report);
        }
        let mut out = BufWriter::new(io::stdout().lock());
        for format in self.together {
            format.write(report, &mut out)?;
        }
        Ok(out.flush()?)
    }
}

fn write_to(output: Output, formats: &[Format], report: &Report) -> anyhow::Result<()> {
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
