//! `load`: compares batches over HTTP with recording to the same batches in-process without
//! it, in alternating rounds of one run on one machine. Prints rates, their ratio, and the p50 and
//! p99 of a batch. Of a round over HTTP, the rates until the last reply and until the database has
//! all its grades are shown.
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
use assay_node::{Node, NodeError};
use assay_tests::rollouts;
use assay_wire::{DecodeLimits, OwnForm};
use clap::Args;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

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
    /// Database on a PostgreSQL server, to which a second node records the same batches
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
}

/// A node that records what it grades, with the rate of the rounds over HTTP.
struct Served {
    name: &'static str,
    node: Arc<Node>,
    url: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), NodeError>>,
    replied: Rate,
    applied: Rate,
    latencies: Vec<Duration>,
}

impl Served {
    async fn start(name: &'static str, database: String, spool: PathBuf) -> anyhow::Result<Self> {
        let node = Arc::new(node(database, spool).await?);
        let listener = node.listen().await?;
        let url = format!("http://{}/v1/grade", listener.local_addr()?);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn({
            let node = Arc::clone(&node);
            async move {
                let stop = async move {
                    // Stops when the sender is dropped as well.
                    let _ = stopped.await;
                };
                node.serve(listener, stop).await
            }
        });
        Ok(Self {
            name,
            node,
            url,
            stop,
            serving,
            replied: Rate::default(),
            applied: Rate::default(),
            latencies: Vec::new(),
        })
    }

    /// Waits until the database has all grades.
    async fn wait_until_applied(&self) -> anyhow::Result<()> {
        let record = self.node.engine().record().context("a record")?;
        while record.state().pending > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    async fn stop(self) -> anyhow::Result<()> {
        drop(self.stop);
        Ok(self.serving.await??)
    }
}

pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let bodies = Arc::new(bodies(&arguments)?);
    let folder = arguments.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = folder.join(format!("assay-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let local = Arc::new(node(String::new(), PathBuf::new()).await?);
    let sqlite = format!("sqlite://{}", folder.join("load.db").display());
    let mut served = vec![Served::start("SQLite", sqlite, PathBuf::new()).await?];
    if let Some(url) = &arguments.postgres {
        let spool = folder.join("spool");
        served.push(Served::start("PostgreSQL", url.clone(), spool).await?);
    }
    // The client library is built with TLS, which requires a provider even for plain connections.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::new();

    let (mut grading, mut whole) = (Rate::default(), Rate::default());
    let clock = SystemClock::new();
    let in_flight = arguments.in_flight;
    for round in 0..arguments.rounds {
        let counted = round > 0;
        for (json, rate) in [(false, &mut grading), (true, &mut whole)] {
            let span = timed(&clock, in_process(&local, &bodies, in_flight, json)).await?;
            rate.add(counted, &bodies, arguments.batch, span);
        }
        for served in &mut served {
            let posted = post_all(&http, &served.url, &bodies, in_flight);
            let until_reply = timed(&clock, posted).await?;
            let until_applied = until_reply + timed(&clock, served.wait_until_applied()).await?;
            let size = arguments.batch;
            served.replied.add(counted, &bodies, size, until_reply);
            served.applied.add(counted, &bodies, size, until_applied);
            for body in bodies.iter().take(if counted { bodies.len() } else { 0 }) {
                let span = timed(&clock, post(&http, &served.url, body.clone())).await?;
                served.latencies.push(span);
            }
        }
    }
    report(&arguments, [&grading, &whole], &mut served);
    for served in served {
        served.stop().await?;
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

async fn node(database: String, spool: PathBuf) -> anyhow::Result<Node> {
    let mut config = assay_tests::config(Path::new(""))?;
    config.store.database = database.into();
    config.store.spool = spool;
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
    let decoded = assay_wire::decode(
        body,
        &DecodeLimits {
            items: usize::MAX,
            shared_bytes: 0,
        },
        &mut OwnForm,
    )?;
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
fn report(arguments: &Arguments, [grading, whole]: [&Rate; 2], served: &mut [Served]) {
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
    for served in served {
        let rate = served.replied.per_second();
        let share = |of: &Rate| 100.0 * rate / of.per_second();
        println!("HTTP, {:24}  {rate:>9.0} items/s", served.name);
        println!(
            "  share of in-process           {:>8.1} % (JSON in and out), {:.1} % (grading only)",
            share(whole),
            share(grading)
        );
        println!(
            "  until the database has them   {:>9.0} items/s",
            served.applied.per_second()
        );
        served.latencies.sort_unstable();
        let at = |percent: usize| {
            let at = served.latencies.len() * percent / 100;
            ms(served.latencies.get(at).copied().unwrap_or_default())
        };
        println!(
            "  a batch alone                 p50 {:.1} ms, p99 {:.1} ms",
            at(50),
            at(99)
        );
    }
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
