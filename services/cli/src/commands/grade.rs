//! `assay grade`: each line of a file an item, each output line its result, in the same order.

mod here;
mod input;
mod rows;
mod there;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::pin::pin;

use anyhow::ensure;
use assay_client::{Client, Retry};
use assay_node::{Config, Node};
use futures::{Stream, StreamExt};
use serde_json::{Value, json};

use super::{block_on, configuration, stop_signal, template};
use crate::arguments::Grade;
use crate::exit::Ended;
use crate::progress::Progress;
use crate::terminal;
use input::{Line, Unread};

/// Chunks graded at once: while one is written, the next is graded and a third is read.
const CHUNKS_AHEAD: usize = 2;

pub(crate) fn run(file: Option<&Path>, arguments: &Grade) -> anyhow::Result<Ended> {
    refuse_to_overwrite(&arguments.file, &arguments.output)?;
    let named = arguments.run.is_some() || arguments.step.is_some();
    let recorded = arguments.database.is_some() || arguments.server.is_some();
    ensure!(
        recorded || !named,
        "`--run` and `--step` name grades in a record; add `--database` or `--server`"
    );
    // Nothing is recorded unless a database is named: grading a file twice should leave no trace by
    // surprise.
    let database = arguments.database.clone().unwrap_or_default();
    let mut settings = vec![("store", "database", database.into())];
    if let Some(jobs) = arguments.jobs {
        settings.push(("engine", "workers", i64::try_from(jobs)?.into()));
    }
    let config = configuration(file, settings)?;
    block_on(async {
        match &arguments.server {
            Some(server) => grade_there(arguments, Client::new(server, Retry::default())?).await,
            None => grade_here(arguments, config).await,
        }
    })
}

/// Creating the output would empty the input before it is read.
pub(super) fn refuse_to_overwrite(input: &Path, output: &Path) -> anyhow::Result<()> {
    let same = input
        .canonicalize()
        .ok()
        .is_some_and(|input| output.canonicalize().ok() == Some(input));
    ensure!(
        !same,
        "`{}` is the input; write the results to another file",
        output.display()
    );
    Ok(())
}

async fn grade_here(arguments: &Grade, config: Config) -> anyhow::Result<Ended> {
    let node = Node::start(config).await?;
    node.load_models().await?;
    let (chunks, total) = input::chunks(
        &arguments.file,
        template::maybe(arguments.template.as_deref())?,
    )?;
    if let Some(name) = &arguments.policy {
        node.engine().policies().named(name)?;
    }
    let results = chunks
        .map(|chunk| here::grade(node.engine(), chunk, arguments))
        .buffered(CHUNKS_AHEAD);
    let ended = write(arguments, results, total).await;
    node.stop().await;
    ended
}

async fn grade_there(arguments: &Grade, client: Client) -> anyhow::Result<Ended> {
    let (chunks, total) = input::chunks(
        &arguments.file,
        template::maybe(arguments.template.as_deref())?,
    )?;
    let results = chunks
        .map(|chunk| there::grade(&client, chunk, arguments))
        .buffered(CHUNKS_AHEAD);
    write(arguments, results, total).await
}

/// What one chunk became.
struct Written {
    /// Lines of output.
    lines: Vec<u8>,
    /// How many.
    count: u64,
    /// How many of them were no items.
    unread: u64,
    /// Why the first of those was none.
    problem: Option<String>,
}

async fn write(
    arguments: &Grade,
    results: impl Stream<Item = anyhow::Result<Written>>,
    total: Option<u64>,
) -> anyhow::Result<Ended> {
    let mut out: Box<dyn Write> = if arguments.output.as_os_str() == "-" {
        Box::new(std::io::stdout())
    } else {
        Box::new(BufWriter::new(std::fs::File::create(&arguments.output)?))
    };
    let mut progress = Progress::new(total, "lines");
    let (mut lines, mut unread, mut problem) = (0, 0, None);
    let (mut results, mut stop) = (pin!(results), pin!(stop_signal()));
    loop {
        let chunk = tokio::select! {
            chunk = results.next() => chunk,
            () = &mut stop => {
                out.flush()?;
                progress.finish();
                return Ok(Ended::Interrupted);
            }
        };
        let Some(chunk) = chunk else { break };
        let written = chunk?;
        out.write_all(&written.lines)?;
        progress.advance(written.count);
        lines += written.count;
        unread += written.unread;
        problem = problem.or(written.problem);
    }
    out.flush()?;
    progress.finish();
    if lines > 0 && unread == lines {
        let (file, problem) = (arguments.file.display(), problem.unwrap_or_default());
        // If stderr is closed, only the exit code reports the error.
        let _ = writeln!(
            terminal::stderr(),
            "assay: no line of `{file}` is an item that can be graded; {problem}"
        );
        return Ok(Ended::Findings);
    }
    if unread > 0 {
        tracing::warn!(
            lines = unread,
            "some lines were no items; their results say why"
        );
    }
    Ok(Ended::Done)
}

/// The result of a line that is no item, with every key of a result: the task side is at fault,
/// nothing is lost.
fn unread(line: &Unread) -> Value {
    let Unread {
        id, group, problem, ..
    } = line;
    let message = message(line);
    json!({
        "id": id, "group": group, "grade": null, "channel": null, "grader": null,
        "outcome": "ungradable", "verdict": null, "pass": null, "score": null, "appeal": null, "score_after_appeal": null,
        "backward": null, "forward": null, "reward": null, "reward_breakdown": null, "advantage": null, "advantage_estimator": null,
        "components": [], "steps": [], "measures": {}, "evidence": null,
        "error": { "code": problem.code, "message": message, "retryable": false },
        "deterministic": true, "queue_us": 0, "grade_us": 0, "cached": false, "recorded": false,
    })
}

/// Where and why a line is not a valid item.
fn message(Unread { line, problem, .. }: &Unread) -> String {
    match problem.pointer.as_deref() {
        Some("") | None => format!("line {line}: {}", problem.message),
        Some(pointer) => format!("line {line}: `{pointer}`: {}", problem.message),
    }
}

/// Puts results back between the lines that were no items.
fn join(lines: &[Line], results: impl IntoIterator<Item = Vec<u8>>) -> anyhow::Result<Written> {
    let mut results = results.into_iter();
    let mut written = Written {
        lines: Vec::new(),
        count: lines.len() as u64,
        unread: 0,
        problem: None,
    };
    for line in lines {
        match line {
            Line::Item(_) => written
                .lines
                .extend_from_slice(&results.next().unwrap_or_default()),
            Line::Unread(line) => {
                serde_json::to_writer(&mut written.lines, &unread(line))?;
                written.unread += 1;
                written.problem.get_or_insert_with(|| message(line));
            }
        }
        written.lines.push(b'\n');
    }
    Ok(written)
}
