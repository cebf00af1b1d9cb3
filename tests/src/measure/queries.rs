//! `queries`: compares grading predictions with the method by which Text-to-SQL benchmarks
//! evaluate them in Python (`sqlite3`, sets of rows), in one run on one machine. Every prediction
//! is a different text, so that nothing is cached. Times are processor time: of this
//! process and of its workers on one side, of the interpreter on the other.

use std::path::Path;

use anyhow::ensure;
use assay_core::{Item, Task};
use assay_engine::{Batch, BatchItem, Engine, Mode};
use assay_node::Node;
use assay_tests::compared;
use assay_tests::processes::{cpu_of_children, cpu_of_this};
use clap::Args;
use serde_json::json;

/// Compare the speed of grading queries with Python's evaluation.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Number of times to grade each pair of small queries
    #[arg(long, default_value_t = 500)]
    times: usize,
    /// Number of times to grade each pair of queries on 20,000 rows
    #[arg(long, default_value_t = 15)]
    large_times: usize,
}

/// A handful of rows.
const SMALL: &str = "
    create table shop(id integer primary key, town text, opened text);
    create table sale(id integer primary key, shop integer references shop, item text, price real, day text);
    insert into shop values (1, 'Lund', '2019-03-01'), (2, 'Vaasa', '2021-07-15'), (3, 'Lund', '2022-01-09');
    insert into sale values (1, 1, 'tea', 3.5, '2024-01-01'), (2, 1, 'jam', 5.25, '2024-01-02'), (3, 2, 'tea', 3.25, '2024-01-02'),
        (4, 3, 'ink', 12.0, '2024-01-03'), (5, 2, 'pen', 1.75, '2024-01-03'), (6, 3, 'tea', 3.75, null);";

const SMALL_PAIRS: &[(&str, &str)] = &[
    (
        "select town, count(*) from shop group by 1",
        "select town, count(*) from shop group by town",
    ),
    (
        "select item from sale where price = (select max(price) from sale)",
        "select item from sale order by price desc limit 1",
    ),
    (
        "select s.town, sum(price) from sale join shop s on s.id = shop group by s.town",
        "select town, sum(price) from shop join sale on sale.shop = shop.id group by town",
    ),
    (
        "select distinct item from sale where item like 'T%'",
        "select distinct item from sale where item like 't%'",
    ),
    (
        "select count(day) from sale",
        "select count(*) from sale where day is not null",
    ),
];

/// 20,000 rows.
const LARGE: &str = "
    create table reading(id integer primary key, station integer, kind text, value real);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
    insert into reading select i, i * 7919 % 500, char(97 + i % 11), (i * 104729 % 10007) / 8.0 from n;";

const LARGE_PAIRS: &[(&str, &str)] = &[
    (
        "select station, avg(value), count(*) from reading group by 1",
        "select station, avg(value), count(*) from reading group by station",
    ),
    (
        "select kind, max(value) from reading group by 1",
        "select kind, max(value) from reading group by kind",
    ),
    (
        "select id, station, value from reading where id > 0",
        "select id, station, value from reading",
    ),
];

pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let node = Node::start(assay_tests::config(Path::new(""))?).await?;
    compare(
        node.engine(),
        "small queries",
        SMALL,
        SMALL_PAIRS,
        arguments.times,
    )
    .await?;
    compare(
        node.engine(),
        "queries on 20,000 rows",
        LARGE,
        LARGE_PAIRS,
        arguments.large_times,
    )
    .await?;
    node.stop().await;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a report is what this binary is for")]
async fn compare(
    engine: &Engine,
    what: &str,
    script: &str,
    pairs: &[(&str, &str)],
    times: usize,
) -> anyhow::Result<()> {
    let work = json!({"script": script, "pairs": pairs, "times": times});
    let [python] = compared::in_python("python3", "tests/load/queries/sets.py", &work)?;
    // Prepare tasks and send images to the workers before measuring.
    grade(engine, script, pairs, 8, "warm").await?;
    let before = (cpu_of_this(), cpu_of_children());
    grade(engine, script, pairs, times, "run").await?;
    let (assay, workers) = (
        cpu_of_this().saturating_sub(before.0),
        cpu_of_children().saturating_sub(before.1),
    );
    let count = (times * pairs.len()) as f64;
    let (assay, workers) = (assay.as_secs_f64() / count, workers.as_secs_f64() / count);
    println!(
        "{what}: python {:.1} us a pair, assay {:.1} us ({:.1} in workers): {:.1} x",
        1e6 * python,
        1e6 * (assay + workers),
        1e6 * workers,
        python / (assay + workers)
    );
    Ok(())
}

async fn grade(
    engine: &Engine,
    script: &str,
    pairs: &[(&str, &str)],
    times: usize,
    name: &str,
) -> anyhow::Result<()> {
    let mut items = Vec::with_capacity(times * pairs.len());
    for (prediction, gold) in pairs {
        let task = json!({"type": "sql", "dialect": "sqlite", "database": {"schema": script}, "gold": gold});
        let task = Task::from_json(&task.to_string())?;
        for number in 0..times {
            let item = Item::text(&format!("```sql\n{prediction} -- {name} {number}\n```"));
            items.push(BatchItem::new(item, task.clone()));
        }
    }
    let reply = engine.grade(Batch::new(name, items), Mode::Whole).await?;
    for grade in reply.grades() {
        let right = grade.verdict.as_deref() == Some("correct");
        ensure!(right, "not right: {grade:?}");
    }
    Ok(())
}
