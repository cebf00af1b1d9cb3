//! Where reports go. Files are opened before the work, so that a check is not lost to a folder that is not there.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use assay_check::Report;
use assay_check::reports::Format;

use crate::arguments::Check;
use crate::commands::grade::refuse_to_overwrite;

/// Reports and their files; one after the other goes to the last.
pub(super) struct Reports {
    apart: Vec<(Format, File)>,
    together: Vec<Format>,
    output: Option<File>,
}

impl Reports {
    /// Opens the files.
    pub(super) fn open(arguments: &Check) -> anyhow::Result<Self> {
        let create = |path: &Path| {
            for dataset in &arguments.datasets {
                refuse_to_overwrite(Path::new(dataset), path)?;
            }
            File::create(path).with_context(|| format!("cannot write `{}`", path.display()))
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
        Ok(Self { apart, together, output })
    }

    /// Writes a report to all of them.
    pub(super) fn write(self, report: &Report) -> anyhow::Result<()> {
        for (format, file) in self.apart {
            let mut out = BufWriter::new(file);
            format.write(report, &mut out)?;
            out.flush()?;
        }
        let mut out: Box<dyn Write> = match self.output {
            Some(file) => Box::new(BufWriter::new(file)),
            None => Box::new(BufWriter::new(io::stdout().lock())),
        };
        for format in self.together {
            format.write(report, &mut out)?;
        }
        Ok(out.flush()?)
    }
}
