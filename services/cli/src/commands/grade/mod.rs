//! `assay grade`: grades a file of items and writes one result per line, in the same order.

mod chunk;
mod explain;
mod input;
mod job;
mod local;
mod remote;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use anyhow::{anyhow, ensure};
use assay_client::Client;
use assay_mapping::TemplateTasks;
use assay_node::{Config, Node};
use assay_templates::Templates;
use assay_wire::{Selection, Unexpanded};
use futures::{Stream, StreamExt};

use super::items::LineReader;
use crate::arguments::Grade;
use crate::exit::CommandStatus;
use crate::image_progress;
use crate::process::{block_on, client, configuration, stop_signal};
use crate::progress::Progress;
use crate::target::{self, named_server};
use crate::terminal;
use chunk::{ChunkResults, ResultFormat};
use input::{Division, MAX_BATCH_ITEMS};

/// Number of chunks graded at once. A further chunk is read meanwhile.
const CHUNKS_AHEAD: usize = 2;

pub(crate) fn run(file: Option<&Path>, arguments: &Grade) -> anyhow::Result<CommandStatus> {
    reject_same_file(&arguments.file, &arguments.output)?;
    if arguments.job {
        let server = target::server(file, arguments.server.as_deref())?;
        let client = client(&server, &arguments.key)?;
        let templates = configuration(file, Vec::new())?.templates()?;
        return block_on(job::grade(arguments, &client, &templates));
    }
    let has_run = arguments.run.is_some() || arguments.step.is_some();
    let has_local_options = arguments.database.is_some()
        || arguments.jobs.is_some()
        || arguments.one_batch
        || arguments.explain;
    let server = named_server(arguments.server.as_deref(), has_local_options);
    let is_recorded = arguments.database.is_some() || server.is_some();
    ensure!(
        is_recorded || !has_run,
        "`--run` and `--step` need a record; add `--database` or `--server`"
    );
    let selection = Selection::of_results(arguments.fields.as_deref())
        .map_err(|problem| anyhow!("`--fields`: {}", problem.message))?;
    // Nothing is recorded unless a database is named, so that grading a file again does not add
    // grades to a record by accident.
    let database = arguments.database.clone().unwrap_or_default();
    let mut settings = vec![("store", "database", database.into())];
    if let Some(jobs) = arguments.jobs {
        settings.push(("engine", "workers", i64::try_from(jobs)?.into()));
    }
    let config = configuration(file, settings)?;
    block_on(async {
        match server {
            Some(server) => {
                let client = client(&server, &arguments.key)?;
                grade_remote(arguments, selection, client, &config.templates()?).await
            }
            None => {
                let format = if arguments.explain {
                    ResultFormat::Explanation
                } else {
                    ResultFormat::Json(selection)
                };
                grade_local(arguments, format, config).await
            }
        }
    })
}

/// Fails if both paths name the same file, because creating the output would empty the input.
pub(super) fn reject_same_file(input: &Path, output: &Path) -> anyhow::Result<()> {
    let same = input
        .canonicalize()
        .ok()
        .is_some_and(|input| output.canonicalize().ok() == Some(input));
    ensure!(
        !same,
        "the output `{}` is the input; write to another file",
        output.display()
    );
    Ok(())
}

/// How the lines of the file become items.
fn lines(arguments: &Grade, templates: &Templates) -> anyhow::Result<LineReader> {
    let (template, shared) = (arguments.template.as_deref(), arguments.shared.as_deref());
    LineReader::resolve(templates, template, shared)
}

async fn grade_local(
    arguments: &Grade,
    format: ResultFormat,
    mut config: Config,
) -> anyhow::Result<CommandStatus> {
    // This process has one caller, and the number of chunks that are read ahead limits its items.
    config.engine.items_in_flight = usize::MAX;
    let node = Node::start(config).await?;
    if let Some(run) = &arguments.run {
        node.gate().check_shared_run(run)?;
    }
    image_progress::show(node.sandboxes());
    node.load_models().await?;
    let (chunks, total) = input::chunks(
        &arguments.file,
        lines(arguments, node.templates())?,
        if arguments.one_batch {
            Division::OneBatch
        } else {
            Division::Chunks
        },
        TemplateTasks::new(
            Arc::clone(node.templates()),
            node.engine().clone(),
            usize::MAX,
        ),
    )?;
    if let Some(name) = &arguments.policy {
        node.engine().policies().named(name)?;
    }
    let results = chunks
        .map(|chunk| local::grade(node.engine(), chunk, arguments, format))
        .buffered(CHUNKS_AHEAD);
    let ended = write(arguments, results, total).await;
    if arguments.database.is_none() {
        // The process ends, and its caches have many small parts, which take longer to free one by
        // one than with the process. A record must be closed.
        std::mem::forget(node.engine().clone());
    }
    node.stop().await;
    ended
}

async fn grade_remote(
    arguments: &Grade,
    selection: Selection,
    client: Client,
    templates: &Templates,
) -> anyhow::Result<CommandStatus> {
    let (chunks, total) = input::chunks(
        &arguments.file,
        lines(arguments, templates)?,
        Division::Chunks,
        // The server makes tasks from rows with its own templates.
        Unexpanded,
    )?;
    let results = chunks
        .map(|chunk| remote::grade(&client, chunk, arguments, selection))
        .buffered(CHUNKS_AHEAD);
    write(arguments, results, total).await
}

async fn write(
    arguments: &Grade,
    results: impl Stream<Item = anyhow::Result<ChunkResults>>,
    total: Option<u64>,
) -> anyhow::Result<CommandStatus> {
    let mut out: Box<dyn Write> = if arguments.output.as_os_str() == "-" {
        Box::new(terminal::raw_results())
    } else {
        Box::new(BufWriter::new(std::fs::File::create(&arguments.output)?))
    };
    let mut progress = Progress::new(total, "lines");
    let (mut lines, mut invalid, mut problem) = (0, 0, None);
    let (mut results, mut stop) = (pin!(results), pin!(stop_signal()));
    loop {
        let chunk = tokio::select! {
            chunk = results.next() => chunk,
            () = &mut stop => {
                out.flush()?;
                progress.finish();
                return Ok(CommandStatus::Interrupted);
            }
        };
        let Some(chunk) = chunk else { break };
        let chunk = chunk?;
        ensure!(
            !arguments.one_batch || lines == 0,
            "the input has more than {MAX_BATCH_ITEMS} items, so it cannot be one batch; divide it, \
             or omit `--one-batch`"
        );
        out.write_all(&chunk.lines)?;
        progress.advance(chunk.count);
        lines += chunk.count;
        invalid += chunk.invalid;
        problem = problem.or(chunk.problem);
    }
    out.flush()?;
    progress.finish();
    if lines == 0 {
        let file = arguments.file.display();
        let _ = writeln!(terminal::stderr(), "assay: `{file}` has no items");
        return Ok(CommandStatus::Findings);
    }
    if invalid == lines {
        let (file, problem) = (arguments.file.display(), problem.unwrap_or_default());
        // If stderr is closed, only the exit code reports the error.
        let _ = writeln!(
            terminal::stderr(),
            "assay: no line of `{file}` is a valid item; {problem}"
        );
        return Ok(CommandStatus::Findings);
    }
    if invalid > 0 {
        tracing::warn!(
            lines = invalid,
            "some lines are not valid items; see the errors in their results"
        );
    }
    Ok(CommandStatus::Done)
}
