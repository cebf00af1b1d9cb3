//! `assay doctor`: what is installed, and each grader tested on its own example, with timings.

use std::io::Write;
use std::path::Path;

use assay_core::{Clock, Item, SystemClock, Task};
use assay_engine::{Batch, BatchItem, Mode};
use assay_node::{Config, Node, sandboxes};
use serde::Serialize;

use super::{block_on, configuration};
use crate::arguments::Output;
use crate::exit::Ended;
use crate::table;

/// Gradings of a grader's example behind its timings.
const REPEATS: usize = 1_000;

#[derive(Serialize)]
struct Report {
    version: &'static str,
    cores: usize,
    workers: usize,
    database: String,
    /// Time from starting the node until its first grade, without a record, in microseconds.
    first_grade_us: u64,
    images: Vec<Image>,
    graders: Vec<SelfTest>,
}

#[derive(Serialize)]
struct Image {
    language: String,
    version: String,
    hash: String,
}

#[derive(Serialize)]
struct SelfTest {
    grader: String,
    state: String,
    healthy: bool,
    p50_us: u64,
    p99_us: u64,
}

pub(crate) fn run(file: Option<&Path>, output: Output) -> anyhow::Result<Ended> {
    let config = configuration(file, Vec::new())?;
    let report = block_on(examine(config))?;
    let healthy = report.graders.iter().all(|test| test.healthy);
    let mut out = std::io::stdout().lock();
    if output.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        writeln!(out, "assay {}", report.version)?;
        writeln!(out, "cores {}, worker threads {}", report.cores, report.workers)?;
        writeln!(out, "database {}", report.database)?;
        writeln!(out, "first grade {} us after starting the node", report.first_grade_us)?;
        for image in &report.images {
            writeln!(out, "image of {}: {}, {}", image.language, image.version, image.hash)?;
        }
        writeln!(out)?;
        let rows: Vec<_> = report
            .graders
            .iter()
            .map(|test| [test.grader.clone(), test.state.clone(), test.p50_us.to_string(), test.p99_us.to_string()])
            .collect();
        table::write(&mut out, ["GRADER", "SELF-TEST", "P50 US", "P99 US"], &rows)?;
    }
    Ok(if healthy { Ended::Done } else { Ended::Findings })
}

async fn examine(mut config: Config) -> anyhow::Result<Report> {
    let clock = SystemClock::new();
    let database = if config.store.database.is_empty() { "none".to_owned() } else { config.store.database.clone() };
    let cores = std::thread::available_parallelism()?.get();
    let workers = if config.engine.workers == 0 { cores } else { config.engine.workers };
    // The self-test measures grading: nothing is recorded and nothing is cached.
    config.store.database = String::new();
    config.engine.outcome_bytes = 0;
    let images = sandboxes::images(&config.cells)
        .into_iter()
        .map(|image| Image { language: image.language, version: image.version, hash: image.hash })
        .collect();
    let node = Node::start(config).await?;
    let mut graders = Vec::new();
    let mut first_grade_us = None;
    for grader in node.engine().graders().iter() {
        let spec = grader.spec();
        let mut times = Vec::with_capacity(REPEATS);
        let mut state = grader.unavailable();
        for _ in 0..if state.is_none() { REPEATS } else { 0 } {
            let item = BatchItem::new(Item::text(spec.example_completion), Task::from_json(spec.example_task)?);
            let reply = node.engine().grade(Batch::new("doctor", vec![item]), Mode::Whole).await?;
            first_grade_us.get_or_insert_with(|| micros(clock.monotonic()));
            for result in reply.results() {
                times.push(result.grade_us);
                if result.pass == Some(false) || result.outcome.grade().is_none() {
                    state = Some(format!("its own example is {:?}", result.outcome));
                }
            }
        }
        times.sort_unstable();
        let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
        graders.push(SelfTest {
            grader: spec.id(),
            healthy: state.is_none(),
            state: state.unwrap_or_else(|| "passed".to_owned()),
            p50_us: at(50),
            p99_us: at(99),
        });
    }
    node.stop().await;
    let version = env!("CARGO_PKG_VERSION");
    Ok(Report {
        version,
        cores,
        workers,
        database,
        first_grade_us: first_grade_us.unwrap_or_default(),
        images,
        graders,
    })
}

fn micros(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
