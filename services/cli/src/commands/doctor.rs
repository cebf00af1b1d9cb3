//! `assay doctor`: shows what is installed and grades the example of each grader, with timings.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use assay_base::url::redacted;
use assay_core::execution::{Execution, ExecutionEnd, Runtime};
use assay_core::{Clock, Item, Lane, SystemClock, Task};
use assay_engine::{Batch, BatchItem, Mode};
use assay_node::sandboxes::ImageInfo;
use assay_node::{Config, Node};
use serde::Serialize;

use crate::arguments::OutputFormat;
use crate::exit::CommandStatus;
use crate::image_progress;
use crate::process::{block_on, configuration};
use crate::table;
use crate::terminal;

/// How often each grader grades its example.
const REPEATS: usize = 1_000;

/// How often each image runs a trivial program.
const PROGRAMS: usize = 300;

#[derive(Serialize)]
struct DoctorReport {
    version: &'static str,
    cores: usize,
    workers: usize,
    database: String,
    /// Number of entries that the database rejected, kept in its spool.
    set_aside: u64,
    /// Time from the start of the node to its first grade, without a record, in microseconds.
    first_grade_us: u64,
    /// Kernel mechanisms that confine sandbox workers, and whether each is available.
    confinement: BTreeMap<&'static str, bool>,
    images: Vec<Image>,
    missing_images: Vec<Missing>,
    graders: Vec<SelfTest>,
}

#[derive(Serialize)]
struct Image {
    name: String,
    language: String,
    version: String,
    hash: String,
    modules: Vec<String>,
    /// Time from sending a trivial program to a worker to its result.
    p50_us: u64,
    p99_us: u64,
}

/// An image that is not installed.
#[derive(Serialize)]
struct Missing {
    name: &'static str,
    /// How to install it.
    install: String,
}

#[derive(Serialize)]
struct SelfTest {
    grader: String,
    state: String,
    healthy: bool,
    p50_us: u64,
    p99_us: u64,
}

pub(crate) fn run(file: Option<&Path>, output: OutputFormat) -> anyhow::Result<CommandStatus> {
    let config = configuration(file, Vec::new())?;
    let report = block_on(examine(config))?;
    let healthy = report.graders.iter().all(|test| test.healthy) && report.set_aside == 0;
    let mut out = terminal::results();
    if output.json {
        writeln!(out, "{}", terminal::pretty(&report)?)?;
    } else {
        writeln!(out, "assay {}", report.version)?;
        writeln!(
            out,
            "cores {}, worker threads {}",
            report.cores, report.workers
        )?;
        writeln!(out, "database {}", report.database)?;
        if report.set_aside > 0 {
            writeln!(
                out,
                "  {} entries of the record are set aside; run `assay record set-aside` to list \
                 them",
                report.set_aside
            )?;
        }
        writeln!(
            out,
            "first grade {} us after starting the node",
            report.first_grade_us
        )?;
        let mechanisms = |available: bool| {
            let matching = report
                .confinement
                .iter()
                .filter(|(_, is_available)| **is_available == available);
            let names: Vec<&str> = matching.map(|(mechanism, _)| *mechanism).collect();
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        };
        writeln!(
            out,
            "workers are confined by {}; missing on this machine: {}",
            mechanisms(true),
            mechanisms(false)
        )?;
        for image in &report.images {
            let Image {
                name,
                language: _,
                version,
                hash,
                modules,
                p50_us,
                p99_us,
            } = image;
            let modules = modules.len();
            writeln!(out, "image {name}: {version}, {modules} modules, {hash}")?;
            writeln!(out, "  trivial program: p50 {p50_us} us, p99 {p99_us} us")?;
        }
        for Missing { name, install } in &report.missing_images {
            writeln!(out, "image {name}: not installed; {install}")?;
        }
        writeln!(out)?;
        let rows: Vec<_> = report
            .graders
            .iter()
            .map(|test| {
                [
                    test.grader.clone(),
                    test.state.clone(),
                    test.p50_us.to_string(),
                    test.p99_us.to_string(),
                ]
            })
            .collect();
        table::write(&mut out, ["GRADER", "SELF-TEST", "P50 US", "P99 US"], &rows)?;
    }
    Ok(if healthy {
        CommandStatus::Done
    } else {
        CommandStatus::Findings
    })
}

async fn examine(mut config: Config) -> anyhow::Result<DoctorReport> {
    let clock = SystemClock::new();
    let database = if config.store.database.is_empty() {
        "none".to_owned()
    } else {
        redacted(config.store.database.reveal())
    };
    let cores = std::thread::available_parallelism()?.get();
    let workers = if config.engine.workers == 0 {
        cores
    } else {
        config.engine.workers
    };
    let set_aside = assay_node::set_aside_entries(&config)?;
    // The self-test measures grading, so it neither records nor caches outcomes.
    config.store.database = "".into();
    config.engine.outcome_bytes = 0;
    let node = Node::start(config).await?;
    image_progress::show(node.sandboxes());
    let installed = node.sandboxes().images();
    let missing = node.sandboxes().missing_images();
    node.load_models().await?;
    let mut graders = Vec::new();
    let mut first_grade_us = None;
    for grader in node.engine().graders().iter() {
        let spec = grader.spec();
        let mut times = Vec::with_capacity(REPEATS);
        let mut state = grader.unavailable();
        // Reward models and judges are optional and have no example to grade. The configured models
        // were loaded above, which also runs each once. A judge may cost money.
        let is_optional = matches!(spec.lane, Lane::Device | Lane::Remote);
        for _ in 0..if state.is_none() && !is_optional {
            REPEATS
        } else {
            0
        } {
            let item = BatchItem::new(
                Item::text(spec.example_completion),
                Task::from_json(spec.example_task)?,
            );
            let reply = node
                .engine()
                .grade(Batch::new("doctor", vec![item]), Mode::Whole)
                .await?;
            first_grade_us.get_or_insert_with(|| micros(clock.monotonic()));
            for grade in reply.grades() {
                times.push(grade.grade_us);
                if grade.pass == Some(false) || grade.outcome != "graded" {
                    state = Some(format!("the example does not pass: {grade:?}"));
                }
            }
        }
        let (p50_us, p99_us) = percentiles(times);
        graders.push(SelfTest {
            grader: spec.id().to_string(),
            healthy: state.is_none() || is_optional,
            state: state.unwrap_or_else(|| "passed".to_owned()),
            p50_us,
            p99_us,
        });
    }
    let confinement = node
        .confinement()
        .await?
        .mechanisms()
        .map(|(mechanism, is_available)| (mechanism.as_str(), is_available))
        .collect();
    let mut images = Vec::new();
    for name in installed {
        node.sandboxes()
            .prepare(name)
            .await
            .map_err(|reason| anyhow!(reason))?;
        let image = node.sandboxes().image(name).map(Arc::unwrap_or_clone);
        let image = image.with_context(|| format!("no image `{name}` is installed"))?;
        let (p50_us, p99_us) = time_program(&node, &clock, &image).await?;
        let ImageInfo {
            name,
            language,
            version,
            hash,
            modules,
        } = image;
        images.push(Image {
            name,
            language,
            version,
            hash,
            modules,
            p50_us,
            p99_us,
        });
    }
    node.stop().await;
    let version = env!("CARGO_PKG_VERSION");
    Ok(DoctorReport {
        version,
        cores,
        workers,
        database,
        set_aside,
        first_grade_us: first_grade_us.unwrap_or_default(),
        confinement,
        images,
        missing_images: missing
            .into_iter()
            .map(|image| Missing {
                name: image.name,
                install: image.install,
            })
            .collect(),
        graders,
    })
}

/// Runs a trivial program in an image, with a different input each time. Returns the p50 and p99
/// times in microseconds.
async fn time_program(
    node: &Node,
    clock: &SystemClock,
    image: &ImageInfo,
) -> anyhow::Result<(u64, u64)> {
    let runtimes = node.programs().runtimes();
    let of_image = |runtime: &&Runtime| runtime.language == image.language;
    let program = runtimes
        .iter()
        .find(of_image)
        .map(|runtime| runtime.sum_program)
        .unwrap_or_default();
    let mut times = Vec::with_capacity(PROGRAMS);
    for number in 0..=PROGRAMS {
        let started = clock.monotonic();
        let execution = Execution {
            language: image.language.clone(),
            image: Some(image.name.clone()),
            text: program.to_owned(),
            stdin: format!("1 2 {number}\n").into_bytes(),
            files: Vec::new(),
            fetch: Vec::new(),
            linked: None,
            arguments: Vec::new(),
            seconds: 10.0,
            memory_bytes: None,
            queue_timeout: Duration::from_secs(60),
        };
        let executed = node.programs().execute(execution).await?;
        anyhow::ensure!(
            executed.end == ExecutionEnd::Exited(0),
            "a trivial program in `{}` ended with {executed:?}; rebuild the images with \
             `make images`",
            image.name
        );
        times.push(micros(clock.monotonic().saturating_sub(started)));
    }
    // The first run starts a worker and compiles the program.
    times.remove(0);
    Ok(percentiles(times))
}

fn micros(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// The median and the 99th percentile.
fn percentiles(mut times: Vec<u64>) -> (u64, u64) {
    times.sort_unstable();
    let at = |share: usize| {
        let time = times.get(times.len() * share / 100);
        time.copied().unwrap_or_default()
    };
    (at(50), at(99))
}
