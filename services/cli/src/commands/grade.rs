//! `assay grade`: each line of a file an item, each output line its result, in the same order.

mod here;
mod input;
mod there;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::pin::pin;

use assay_client::{Client, Retry};
use assay_node::{Config, Node};
use assay_wire::Problem;
use assay_wire::reply::{FaultBody, ResultBody};
use futures::{Stream, StreamExt};

use super::{block_on, configuration, stop_signal};
use crate::arguments::Grade;
use crate::exit::Ended;
use crate::progress::Progress;
use input::{Chunk, Line};

/// Chunks graded at once: while one is written, the next is graded and a third is read.
const CHUNKS_AHEAD: usize = 2;

pub(crate) fn run(file: Option<&Path>, arguments: &Grade) -> anyhow::Result<Ended> {
    // Nothing is recorded unless a database is named: grading a file twice should leave no trace by surprise.
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

async fn grade_here(arguments: &Grade, config: Config) -> anyhow::Result<Ended> {
    let node = Node::start(config).await?;
    let (chunks, total) = input::chunks(&arguments.file)?;
    let run = arguments.run.as_deref();
    let results = chunks.map(|chunk| here::grade(node.engine(), chunk, run, arguments.step)).buffered(CHUNKS_AHEAD);
    let ended = write(arguments, results, total).await;
    node.stop().await;
    ended
}

async fn grade_there(arguments: &Grade, client: Client) -> anyhow::Result<Ended> {
    let (chunks, total) = input::chunks(&arguments.file)?;
    let run = arguments.run.as_deref();
    let results = chunks.map(|chunk| there::grade(&client, chunk, run, arguments.step)).buffered(CHUNKS_AHEAD);
    write(arguments, results, total).await
}

/// Lines of output for one chunk, and how many they are.
type Written = anyhow::Result<(Vec<u8>, u64)>;

async fn write(arguments: &Grade, results: impl Stream<Item = Written>, total: Option<u64>) -> anyhow::Result<Ended> {
    let mut out: Box<dyn Write> = if arguments.output.as_os_str() == "-" {
        Box::new(std::io::stdout())
    } else {
        Box::new(BufWriter::new(std::fs::File::create(&arguments.output)?))
    };
    let mut progress = Progress::new(total, "lines");
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
        let (lines, count) = chunk?;
        out.write_all(&lines)?;
        progress.advance(count);
    }
    out.flush()?;
    progress.finish();
    Ok(Ended::Done)
}

/// The result of a line that is no item: the task side is at fault, nothing is lost.
fn unread(problem: &Problem) -> ResultBody<'static> {
    let message = match &problem.pointer {
        Some(pointer) => format!("`{pointer}`: {}", problem.message),
        None => problem.message.to_string(),
    };
    ResultBody {
        id: None,
        group: None,
        grade: String::new(),
        channel: "".into(),
        grader: "".into(),
        outcome: "ungradable".into(),
        verdict: None,
        pass: None,
        score: None,
        score_after_appeal: None,
        backward: None,
        forward: None,
        reward: None,
        coefficient: None,
        coefficient_rule: None,
        components: Vec::new(),
        steps: Vec::new(),
        measures: std::collections::BTreeMap::new(),
        evidence: None,
        error: Some(FaultBody { code: problem.code, message: message.into(), retryable: false }),
        deterministic: true,
        queue_us: 0,
        grade_us: 0,
        cached: false,
        recorded: false,
    }
}

/// Puts results back between the lines that were no items.
fn join(lines: &[Line], results: impl IntoIterator<Item = Vec<u8>>) -> anyhow::Result<Vec<u8>> {
    let mut results = results.into_iter();
    let mut out = Vec::new();
    for line in lines {
        match line {
            Line::Item => out.extend_from_slice(&results.next().unwrap_or_default()),
            Line::Unread(problem) => serde_json::to_writer(&mut out, &unread(problem))?,
        }
        out.push(b'\n');
    }
    Ok(out)
}
