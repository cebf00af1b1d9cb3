//! `assay-overhead`: what statistics and policies cost beside the grading of mathematics.
//!
//! The same batch is graded and rendered with and without them in turns, in this process, recording into memory. Processor time of
//! all threads counts; of each side the best round.

use std::process::ExitCode;

use anyhow::ensure;
use assay_api::{batch, render};
use assay_engine::{Mode, Policy};
use assay_node::Node;
use assay_tests::beside::best;
use assay_tests::processes::cpu_of_this;
use assay_tests::rollouts;
use assay_wire::DecodeLimits;
use clap::Parser;
use serde_json::{Value, json};

/// Time statistics and policies beside the grading of mathematics.
#[derive(Parser)]
struct Arguments {
    /// Items of a batch, in groups of eight
    #[arg(long, default_value_t = 1_024)]
    batch: usize,
    /// Rounds; the first warms up and is not counted
    #[arg(long, default_value_t = 30)]
    rounds: usize,
}

/// What is measured, each beside the plain batch.
fn settings() -> Vec<(&'static str, Value, Value)> {
    let composed = json!({
        "efficiency": { "otc": { "form": "grpo", "alpha": 0.5, "measure": "tokens" } },
        "length": { "soft_overlong": { "max": 800, "buffer": 200 } },
        "repetition": { "tail_loop": {} },
        "diversity": { "lambda": 0.2 },
        "coefficient": "rloo",
    });
    vec![
        ("statistics", json!(["p_hat", "passk", "grpo", "informative", "answers"]), Value::Null),
        ("policy", json!([]), composed.clone()),
        ("statistics and policy", json!(["p_hat", "passk", "grpo", "informative", "answers"]), composed),
    ]
}

fn main() -> anyhow::Result<ExitCode> {
    if let Some(code) = assay_node::sandboxes::answer_role() {
        return Ok(code);
    }
    let arguments = Arguments::parse();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run(&arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut config = assay_tests::config(std::path::Path::new(""))?;
    config.store.database = "sqlite::memory:".to_owned();
    config.engine.outcome_bytes = 0;
    let node = Node::start(config).await?;
    println!("{} items in groups of eight, processor time of a batch", arguments.batch);
    for (name, statistics, policy) in settings() {
        let mut times = [f64::INFINITY; 2];
        for round in 0..arguments.rounds {
            let plain = time(&node, arguments.batch, round, &json!([]), &Value::Null).await?;
            let with = time(&node, arguments.batch, round, &statistics, &policy).await?;
            if round > 0 {
                best(&mut times, [plain, with]);
            }
        }
        let [plain, with] = times.map(|seconds| seconds * 1e3);
        println!("{name:22} {plain:6.1} ms without, {with:6.1} ms with: {:+.1} %", 100.0 * (with / plain - 1.0));
    }
    node.stop().await;
    Ok(())
}

/// Processor time of one batch, from decoding to the rendered reply, in seconds.
async fn time(node: &Node, items: usize, round: usize, statistics: &Value, policy: &Value) -> anyhow::Result<f64> {
    let mut body = json!({ "items": rollouts::items_from(round * items, items), "statistics": statistics });
    body["policy"] = policy.clone();
    let body = body.to_string();
    let begun = cpu_of_this();
    let decoded = assay_wire::decode(body.as_bytes(), &DecodeLimits { items })?;
    let head = decoded.head.clone();
    let mut graded = assay_engine::Batch::new("overhead", decoded.items.into_iter().map(batch::item).collect());
    if let Some(json) = head.policy.filter(Value::is_object) {
        graded.policy = Policy::inline(&json)?;
    }
    graded.statistics =
        head.statistics.iter().filter_map(|name| assay_correction::Statistic::from_name(name)).collect();
    let reply = node.engine().grade(graded, Mode::Whole).await?;
    let rendered = render::whole(&reply, &[]);
    let took = (cpu_of_this() - begun).as_secs_f64();
    ensure!(!rendered.is_empty(), "the reply is empty");
    Ok(took)
}
