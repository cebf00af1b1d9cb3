//! `assay export`: grades of the record as a file, newest first, page by page.

mod columns;
mod csv;
mod jsonl;
mod parquet;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::pin::pin;

use anyhow::{Context, bail};
use assay_wire::grades::GradeBody;

use super::record::{PAGE, Rows, Source, open};
use super::{block_on, stop_signal};
use crate::arguments::{Export, Format};
use crate::exit::Ended;
use crate::output::Output;
use crate::progress::Progress;

/// A file in some format.
trait Sink {
    fn write(&mut self, grades: &[GradeBody]) -> anyhow::Result<()>;

    /// Writes what comes last, if anything does, and hands everything to the system.
    fn finish(self: Box<Self>) -> anyhow::Result<()>;
}

pub(crate) fn run(file: Option<&Path>, arguments: &Export) -> anyhow::Result<Ended> {
    let format = format(arguments)?;
    block_on(async {
        let source = open(file, &arguments.record).await?;
        let ended = export(&source, arguments, format).await;
        source.close().await;
        ended
    })
}

fn format(arguments: &Export) -> anyhow::Result<Format> {
    if let Some(format) = arguments.format {
        return Ok(format);
    }
    let name = arguments.file.display();
    Ok(
        match arguments
            .file
            .extension()
            .and_then(|extension| extension.to_str())
        {
            Some("jsonl" | "ndjson") => Format::Jsonl,
            Some("csv") => Format::Csv,
            Some("parquet") => Format::Parquet,
            _ => bail!(
                "`{name}` does not say its format: end it in `.jsonl`, `.csv` or `.parquet`, or \
                 give `--format`"
            ),
        },
    )
}

async fn export(source: &Source, arguments: &Export, format: Format) -> anyhow::Result<Ended> {
    if arguments.file.as_os_str() == "-" {
        let mut sink = sink(format, BufWriter::new(std::io::stdout()))?;
        let ended = copy(source, arguments, sink.as_mut()).await?;
        sink.finish()?;
        return Ok(ended);
    }
    let output = Output::open(&arguments.file)?;
    let unwritable = || format!("cannot write `{}`", output.name());
    let mut sink = sink(format, output.writer().with_context(unwritable)?)?;
    let ended = copy(source, arguments, sink.as_mut()).await?;
    if ended == Ended::Done {
        sink.finish().with_context(unwritable)?;
        output.finish()?;
    }
    Ok(ended)
}

fn sink<W: Write + Send + 'static>(format: Format, out: W) -> anyhow::Result<Box<dyn Sink>> {
    Ok(match format {
        Format::Jsonl => Box::new(jsonl::Lines(out)),
        Format::Csv => Box::new(csv::Table::new(out)?),
        Format::Parquet => Box::new(parquet::Columns::new(out)?),
    })
}

async fn copy(source: &Source, arguments: &Export, sink: &mut dyn Sink) -> anyhow::Result<Ended> {
    let mut rows = Rows::new(source, &arguments.which);
    let mut progress = Progress::new(arguments.limit, "grades");
    let mut left = arguments.limit.unwrap_or(u64::MAX);
    let mut stop = pin!(stop_signal());
    while left > 0 {
        let limit = u32::try_from(left).unwrap_or(PAGE).min(PAGE);
        let page = tokio::select! {
            page = rows.next(limit) => page?,
            () = &mut stop => {
                progress.finish();
                return Ok(Ended::Interrupted);
            }
        };
        if page.is_empty() {
            break;
        }
        sink.write(&page)?;
        left -= page.len() as u64;
        progress.advance(page.len() as u64);
    }
    progress.finish();
    if arguments.limit.unwrap_or(u64::MAX) == left && left > 0 {
        // A name written wrong would look like a run without grades.
        tracing::warn!("no grade of the record fits; `assay runs` lists the runs");
    }
    Ok(Ended::Done)
}
