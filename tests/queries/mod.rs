//! Queries in workers are deterministic and isolated from each other.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod hostile;
mod results;
mod work;

use std::path::Path;
use std::time::Duration;

use assay_node::sandboxes::Work;
use assay_worker::query::{Build, Image, Limits, Ran, ReadOrder, Reply, Request, Run};
use assay_worker::{WorkerOptions, WorkerPool};
use serde_bytes::ByteBuf;

/// Timeout of a request, far longer than any request takes.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Limits of statements.
const LIMITS: Limits = Limits {
    rows: 100_000,
    bytes: 16_000_000,
    memory_bytes: 64 << 20,
    long_values: true,
    long_value_steps: u64::MAX,
};

/// Creates two tables: rows with values of every type, and numbers to join.
const SCRIPT: &str = "
    create table mixed(id integer primary key, word text, part real, raw blob, day text);
    insert into mixed values (1, 'ink', 0.1, x'00ff', '2024-02-29'), (2, null, -0.0, null, null), (3, 'Ink', 1e300, x'', '1999-12-31'),
        (4, '', 9007199254740993, x'41', 'never');
    create table n(n integer);
    with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000) insert into n select x from c;";

fn pool(count: usize) -> WorkerPool {
    marked_pool(count, Path::new(""))
}

/// A pool whose workers can be distinguished from those of other tests by a name in the place of
/// the image folder, which workers for queries do not use.
fn marked_pool(count: usize, name: &Path) -> WorkerPool {
    let program = env!("CARGO_BIN_EXE_assay-measure").into();
    let mut arguments = Work::Queries.arguments(&[]);
    arguments[0] = name.into();
    WorkerPool::new(WorkerOptions {
        program,
        arguments,
        count,
        uses: u32::MAX,
    })
}

async fn image(workers: &WorkerPool) -> ByteBuf {
    let build = Build {
        scripts: vec![SCRIPT.to_owned()],
        ..Build::default()
    };
    match workers.ask(&Request::Build(build), TIMEOUT).await.unwrap() {
        Reply::Built(built) => built.unwrap(),
        other => panic!("not built: {other:?}"),
    }
}

async fn run(workers: &WorkerPool, image: &ByteBuf, sql: &str) -> Ran {
    let image = Image {
        hash: [7; 32],
        bytes: Some(image.clone()),
    };
    let (statements, on) = (vec![sql.to_owned()], vec![(image, 2_000_000)]);
    let run = Run {
        statements,
        on,
        limits: LIMITS,
        order: ReadOrder::Stored,
        reply_bytes: u64::MAX,
    };
    match workers.ask(&Request::Run(run), TIMEOUT).await.unwrap() {
        Reply::Ran(ran) => ran.into_iter().flatten().next().unwrap(),
        other => panic!("not run: {other:?}"),
    }
}
