//! `overhead`: the cost of statistics and policies relative to the grading of mathematics.
//!
//! The same batch is graded and rendered with and without them in turns, in this process, recording
//! into memory. Processor time of all threads counts; the median of the rounds' ratios is printed
//! with their interquartile range.

use std::time::Duration;

use anyhow::ensure;
use assay_engine::{Mode, RewardPolicy};
use assay_mapping::batch;
use assay_mapping::render::Framing;
use assay_node::Node;
use assay_tests::processes::cpu_of_this;
use assay_tests::rollouts;
use assay_wire::{DecodeLimits, OwnForm};
use clap::Args;
use serde_json::{Value, json};

/// Measure the cost of statistics and policies relative to the grading of mathematics.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Items of a batch, in groups of eight
    #[arg(long, default_value_t = 1_024)]
    batch: usize,
    /// Rounds; the first warms up and is not counted
    #[arg(long, default_value_t = 30)]
    rounds: usize,
    /// Measure this policy, as JSON, instead of the built-in one
    #[arg(long)]
    policy: Option<String>,
}

/// Maximum time until the record has accepted a batch.
const SETTLED: Duration = Duration::from_millis(200);

/// The variants that are measured, each relative to the plain batch.
fn settings(policy: Option<&String>) -> anyhow::Result<Vec<(&'static str, Value, Value)>> {
    let built_in = json!({
        "efficiency": { "otc": { "form": "grpo", "alpha": 0.5, "measure": "tokens" } },
        "length": { "soft_overlong": { "max": 800, "buffer": 200 } },
        "repetition": { "tail_loop": {} },
        "diversity": { "lambda": 0.2 },
        "advantage_estimator": "rloo",
    });
    let composed = policy.map_or(Ok(built_in), |json| serde_json::from_str(json))?;
    Ok(vec![
        (
            "statistics",
            json!(["p_hat", "passk", "grpo", "informative", "answers"]),
            Value::Null,
        ),
        ("policy", json!([]), composed.clone()),
        (
            "statistics and policy",
            json!(["p_hat", "passk", "grpo", "informative", "answers"]),
            composed,
        ),
    ])
}

#[expect(clippy::print_stdout, reason = "what it measured is its output")]
pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut config = assay_tests::config(std::path::Path::new(""))?;
    config.store.database = "sqlite::memory:".into();
    config.engine.outcome_bytes = 0;
    let node = Node::start(config).await?;
    println!(
        "{} items in groups of eight, processor time of a batch",
        arguments.batch
    );
    let mut batches = 0;
    for (name, statistics, policy) in settings(arguments.policy.as_ref())? {
        let (mut plain_times, mut ratios) = (Vec::new(), Vec::new());
        for round in 0..arguments.rounds {
            // Each batch is new to the record: known bodies are cheaper to store.
            let plain = time(&node, arguments.batch, batches, &json!([]), &Value::Null).await?;
            let with = time(&node, arguments.batch, batches + 1, &statistics, &policy).await?;
            batches += 2;
            if round > 0 {
                plain_times.push(plain * 1e3);
                ratios.push(100.0 * (with / plain - 1.0));
            }
        }
        let ([_, plain, _], [low, middle, high]) = (quartiles(plain_times), quartiles(ratios));
        println!(
            "{name:22} {plain:6.1} ms without; with them {middle:+.1} % [{low:+.1}, {high:+.1}]"
        );
    }
    node.stop().await;
    Ok(())
}

/// Lower quartile, median and upper quartile.
fn quartiles(mut numbers: Vec<f64>) -> [f64; 3] {
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().saturating_sub(1);
    [1, 2, 3].map(|quarter| numbers.get(last * quarter / 4).copied().unwrap_or(f64::NAN))
}

/// Processor time of one batch, from decoding to the rendered reply, in seconds.
async fn time(
    node: &Node,
    items: usize,
    number: usize,
    statistics: &Value,
    policy: &Value,
) -> anyhow::Result<f64> {
    let mut body =
        json!({ "items": rollouts::items_from(number * items, items), "statistics": statistics });
    body["policy"] = policy.clone();
    let body = body.to_string();
    let begun = cpu_of_this();
    let decoded = assay_wire::decode(
        body.as_bytes(),
        &DecodeLimits {
            items,
            shared_bytes: 0,
        },
        &mut OwnForm,
    )?;
    let head = decoded.head.clone();
    let mut graded = assay_engine::Batch::new(
        "overhead",
        decoded.items.into_iter().map(batch::item).collect(),
    );
    if let Some(json) = head.policy.filter(Value::is_object) {
        graded.policy = RewardPolicy::inline(&json)?;
    }
    graded.statistics = head
        .statistics
        .iter()
        .filter_map(|name| assay_rewards::Statistic::from_name(name))
        .collect();
    let reply = node.engine().grade(graded, Mode::Whole).await?;
    let rendered = Framing::default().whole(&reply);
    // The record follows in the background; its cost belongs to this batch and not to the
    // next.
    tokio::time::sleep(SETTLED).await;
    let took = (cpu_of_this() - begun).as_secs_f64();
    ensure!(!rendered.is_empty(), "the reply is empty");
    Ok(took)
}
