//! `load`: compares batches over HTTP with recording to the same batches in-process without
//! it, in alternating rounds of one run on one machine. Prints rates, their ratio, and the p50 and
//! p99 of a batch.
//!
//! Client, service and workers share the cores of the machine. Outcomes are not cached, so that
//! each item is graded.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use assay_core::{Clock, SystemClock};
use assay_engine::{Batch, Mode};
use assay_mapping::batch;
use assay_mapping::render::Framing;
use assay_node::Node;
use assay_tests::rollouts;
use assay_wire::{DecodeLimits, OwnForm};
use clap::Args;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Compare batches over HTTP with the same batches in-process.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Items as JSON lines; generated rollouts by default
    #[arg(long)]
    items: Option<PathBuf>,
    /// Items of a batch
    #[arg(long, default_value_t = 1_024)]
    batch: usize,
    /// Batches of a round
    #[arg(long, default_value_t = 16)]
    batches: usize,
    /// Rounds; the first warms up and is not counted
    #[arg(long, default_value_t = 6)]
    rounds: usize,
    /// Batches in flight when rates are taken; latencies are taken with one
    #[arg(long, default_value_t = 4)]
    in_flight: usize,
    /// Folder of the database; a temporary one unless given
    #[arg(long)]
    folder: Option<PathBuf>,
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let bodies = Arc::new(bodies(&arguments)?);
    let folder = arguments.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = folder.join(format!("assay-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let local = Arc::new(node(String::new()).await?);
    let served = Arc::new(node(format!("sqlite://{}", folder.join("load.db").display())).await?);
    let listener = served.listen().await?;
    let url = format!("http://{}/v1/grade", listener.local_addr()?);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn({
        let served = Arc::clone(&served);
        async move {
            let stop = async move {
                // Stops when the sender is dropped as well.
                let _ = stopped.await;
            };
            served.serve(listener, stop).await
        }
    });
    // The client library is built with TLS, which requires a provider even for plain connections.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::new();

    let (mut grading, mut whole, mut over_http) =
        (Rate::default(), Rate::default(), Rate::default());
    let mut latencies = Vec::new();
    let clock = SystemClock::new();
    for round in 0..arguments.rounds {
        let counted = round > 0;
        let span = timed(
            &clock,
            in_process(&local, &bodies, arguments.in_flight, false),
        )
        .await?;
        grading.add(counted, &bodies, arguments.batch, span);
        let span = timed(
            &clock,
            in_process(&local, &bodies, arguments.in_flight, true),
        )
        .await?;
        whole.add(counted, &bodies, arguments.batch, span);
        let span = timed(&clock, post_all(&http, &url, &bodies, arguments.in_flight)).await?;
        over_http.add(counted, &bodies, arguments.batch, span);
        for body in bodies.iter().take(if counted { bodies.len() } else { 0 }) {
            latencies.push(timed(&clock, post(&http, &url, body.clone())).await?);
        }
    }
    latencies.sort_unstable();
    report(&arguments, [&grading, &whole, &over_http], &latencies);
    drop(stop);
    serving.await??;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

async fn node(database: String) -> anyhow::Result<Node> {
    let mut config = assay_tests::config(Path::new(""))?;
    config.store.database = database.into();
    config.engine.outcome_bytes = 0;
    config.server.listen = ([127, 0, 0, 1], 0).into();
    Ok(Node::start(config).await?)
}

fn bodies(arguments: &Arguments) -> anyhow::Result<Vec<Vec<u8>>> {
    let size = arguments.batch;
    let items: Vec<Value> = match &arguments.items {
        None => rollouts::items(size * arguments.batches),
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read `{}`", file.display()))?;
            let lines: Vec<Value> = text
                .lines()
                .map(serde_json::from_str)
                .collect::<Result<_, _>>()?;
            ensure!(!lines.is_empty(), "`{}` has no item", file.display());
            let without_id = |mut item: Value| {
                // Lines repeat to fill the batches; ids must not.
                item.as_object_mut().map(|fields| fields.remove("id"));
                item
            };
            lines
                .into_iter()
                .map(without_id)
                .cycle()
                .take(size * arguments.batches)
                .collect()
        }
    };
    let batches = items.chunks(size).enumerate();
    Ok(batches
        .map(|(step, items)| {
            json!({ "run": "load", "step": step, "items": items })
                .to_string()
                .into()
        })
        .collect())
}

/// Grades every body without HTTP and without a record; with `json`, from the body's bytes to the
/// reply's.
async fn in_process(
    node: &Arc<Node>,
    bodies: &Arc<Vec<Vec<u8>>>,
    in_flight: usize,
    json: bool,
) -> anyhow::Result<()> {
    let mut batches = Vec::new();
    for body in bodies.iter() {
        batches.push(if json { None } else { Some(read(body)?) });
    }
    let mut running = JoinSet::new();
    for (at, batch) in batches.into_iter().enumerate() {
        if running.len() == in_flight {
            running
                .join_next()
                .await
                .context("a batch is running")???;
        }
        let (node, bodies) = (Arc::clone(node), Arc::clone(bodies));
        running.spawn(async move {
            let batch = match batch {
                Some(batch) => batch,
                None => read(&bodies[at])?,
            };
            let reply = node.engine().grade(batch, Mode::Whole).await?;
            if json {
                ensure!(
                    !Framing::default().whole(&reply).is_empty(),
                    "a reply has bytes"
                );
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(())
}

fn read(body: &[u8]) -> anyhow::Result<Batch> {
    let decoded = assay_wire::decode(body, &DecodeLimits { items: usize::MAX }, &mut OwnForm)?;
    Ok(Batch::new(
        "load",
        decoded.items.into_iter().map(batch::item).collect(),
    ))
}

async fn post_all(
    http: &reqwest::Client,
    url: &str,
    bodies: &Arc<Vec<Vec<u8>>>,
    in_flight: usize,
) -> anyhow::Result<()> {
    let mut running = JoinSet::new();
    for body in bodies.iter() {
        if running.len() == in_flight {
            running
                .join_next()
                .await
                .context("a batch is running")???;
        }
        let (http, url, body) = (http.clone(), url.to_owned(), body.clone());
        running.spawn(async move { post(&http, &url, body).await });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(())
}

async fn post(http: &reqwest::Client, url: &str, body: Vec<u8>) -> anyhow::Result<()> {
    let response = http
        .post(url)
        .header("content-type", "application/json")
        .body(body)
        .send()
        .await?;
    let status = response.status();
    let reply = response.bytes().await?;
    ensure!(
        status.is_success(),
        "the service answered {status}: {}",
        String::from_utf8_lossy(&reply)
    );
    let recorded = b"\"recorded\":true";
    let found = reply
        .windows(recorded.len())
        .any(|window| window == recorded);
    ensure!(found, "grades were not recorded");
    Ok(())
}

async fn timed(
    clock: &SystemClock,
    work: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Duration> {
    let started = clock.monotonic();
    work.await?;
    Ok(clock.monotonic().saturating_sub(started))
}

#[derive(Default)]
struct Rate {
    items: usize,
    span: Duration,
}

impl Rate {
    fn add(&mut self, counted: bool, bodies: &[Vec<u8>], batch: usize, span: Duration) {
        if counted {
            self.items += bodies.len() * batch;
            self.span += span;
        }
    }

    fn per_second(&self) -> f64 {
        self.items as f64 / self.span.as_secs_f64()
    }
}

#[expect(clippy::print_stdout, reason = "the report is what the command is for")]
fn report(arguments: &Arguments, [grading, whole, over_http]: [&Rate; 3], latencies: &[Duration]) {
    let at = |share: usize| {
        latencies
            .get(latencies.len() * share / 100)
            .copied()
            .unwrap_or_default()
    };
    let share = |rate: &Rate| 100.0 * over_http.per_second() / rate.per_second();
    println!(
        "batches of {} items, {} in flight",
        arguments.batch, arguments.in_flight
    );
    println!(
        "in-process, grading only        {:>9.0} items/s",
        grading.per_second()
    );
    println!(
        "in-process, JSON in and out     {:>9.0} items/s",
        whole.per_second()
    );
    println!(
        "HTTP, recording on              {:>9.0} items/s",
        over_http.per_second()
    );
    println!(
        "HTTP share of in-process        {:>8.1} % (JSON in and out), {:.1} % (grading only)",
        share(whole),
        share(grading)
    );
    println!(
        "a batch alone over HTTP         p50 {:.1} ms, p99 {:.1} ms",
        ms(at(50)),
        ms(at(99))
    );
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
