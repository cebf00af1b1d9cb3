//! `assay export`: writes recorded grades to a file, newest first, page by page.

mod columns;
mod csv;
mod jsonl;
mod parquet;
mod writer;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::pin::pin;

use anyhow::{Context, bail};
use assay_record::StoredGrade;
use futures::{StreamExt, TryStreamExt, stream};

use super::record::{PAGE, Rows, Source, open};
use crate::arguments::{Export, ExportFormat};
use crate::exit::CommandStatus;
use crate::output::OutputFile;
use crate::process::{block_on, stop_signal};
use crate::progress::Progress;
use crate::terminal;
use writer::{GradeWriter, Row};

/// Grades whose texts are read at the same time.
const READS: usize = 16;

pub(crate) fn run(file: Option<&Path>, arguments: &Export) -> anyhow::Result<CommandStatus> {
    let format = format(arguments)?;
    block_on(async {
        let source = open(file, &arguments.record).await?;
        let ended = export(&source, arguments, format).await;
        source.close().await;
        ended
    })
}

fn format(arguments: &Export) -> anyhow::Result<ExportFormat> {
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
            Some("jsonl" | "ndjson") => ExportFormat::Jsonl,
            Some("csv") => ExportFormat::Csv,
            Some("parquet") => ExportFormat::Parquet,
            _ => bail!(
                "cannot determine the format from the name `{name}`; use the extension `.jsonl`, \
                 `.csv` or `.parquet`, or add `--format`"
            ),
        },
    )
}

async fn export(
    source: &Source,
    arguments: &Export,
    format: ExportFormat,
) -> anyhow::Result<CommandStatus> {
    if arguments.file.as_os_str() == "-" {
        let mut writer = writer(
            format,
            arguments.bodies,
            BufWriter::new(terminal::raw_stdout()),
        )?;
        let ended = copy(source, arguments, writer.as_mut()).await?;
        writer.finish()?;
        return Ok(ended);
    }
    let output = OutputFile::open(&arguments.file)?;
    let unwritable = || format!("cannot write `{}`", output.name());
    let mut writer = writer(
        format,
        arguments.bodies,
        output.writer().with_context(unwritable)?,
    )?;
    let ended = copy(source, arguments, writer.as_mut()).await?;
    if ended == CommandStatus::Done {
        writer.finish().with_context(unwritable)?;
        output.finish()?;
    }
    Ok(ended)
}

fn writer<W: Write + Send + 'static>(
    format: ExportFormat,
    bodies: bool,
    out: W,
) -> anyhow::Result<Box<dyn GradeWriter>> {
    Ok(match format {
        ExportFormat::Jsonl => Box::new(jsonl::JsonLinesWriter(out)),
        ExportFormat::Csv => Box::new(csv::CsvWriter::new(out, bodies)?),
        ExportFormat::Parquet => Box::new(parquet::ParquetWriter::new(out, bodies)?),
    })
}

async fn copy(
    source: &Source,
    arguments: &Export,
    writer: &mut dyn GradeWriter,
) -> anyhow::Result<CommandStatus> {
    let mut rows = Rows::new(source, &arguments.selection);
    let mut progress = Progress::new(arguments.limit, "grades");
    let mut left = arguments.limit.unwrap_or(u64::MAX);
    let mut stop = pin!(stop_signal());
    while left > 0 {
        let limit = u32::try_from(left).unwrap_or(PAGE).min(PAGE);
        let written = async {
            let page = rows.next_of_run(limit).await?;
            let grades = page.len() as u64;
            if arguments.bodies {
                with_bodies(source, page, writer).await?;
            } else {
                let rows: Vec<Row> = page.into_iter().map(|one| Row::Grade(one.into())).collect();
                writer.write(&rows)?;
            }
            anyhow::Ok(grades)
        };
        let grades = tokio::select! {
            written = written => written?,
            () = &mut stop => {
                progress.finish();
                return Ok(CommandStatus::Interrupted);
            }
        };
        if grades == 0 {
            break;
        }
        left -= grades;
        progress.advance(grades);
    }
    progress.finish();
    if arguments.limit.unwrap_or(u64::MAX) == left && left > 0 {
        tracing::warn!("no recorded grade matches the options");
    }
    Ok(CommandStatus::Done)
}

/// Writes the grades of a page with their texts, in the same order. Reads several at once, but
/// keeps no more of them in memory, because a completion may have megabytes.
async fn with_bodies(
    source: &Source,
    page: Vec<StoredGrade>,
    writer: &mut dyn GradeWriter,
) -> anyhow::Result<()> {
    let read = |stored| source.with_texts(stored);
    let mut details = stream::iter(page).map(read).buffered(READS);
    while let Some(detail) = details.try_next().await? {
        // `None` if it was deleted since the page was read.
        if let Some(detail) = detail {
            writer.write(&[Row::Detail(detail.into())])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::columns::tests::plain;
    use super::csv::CsvWriter;
    use super::*;

    #[test]
    fn bytes_of_csv() {
        let mut writer = CsvWriter::new(Vec::new(), false).unwrap();
        writer.write(&plain()).unwrap();
        insta::assert_snapshot!(String::from_utf8(writer.into_bytes()).unwrap());
    }

    #[test]
    fn schema_and_rows_of_parquet() {
        let file = parquet::tests::file(&plain());
        insta::assert_snapshot!(parquet::tests::listed(&file));
    }
}
