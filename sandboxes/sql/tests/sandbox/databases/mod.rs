//! Builds, describes and queries databases in this process.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing unwrap is a failing test"
)]

mod images;
mod limits;
mod sessions;
mod statements;

use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_sqlbox::Databases;
use assay_worker::query::{Build, End, Image, Limits, Ran, ReadOrder, Reply, Request, Run};
use serde_bytes::ByteBuf;

const SCHEMA: &str = "create table t(a integer primary key, b text, c real);
    insert into t values (1, 'x', 1.5), (2, 'y', 2.5), (3, null, null);
    create table n(n integer);
    with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000) insert into n select x from c;";

const LIMITS: Limits = Limits {
    rows: 100_000,
    bytes: 16_000_000,
    memory_bytes: 256 << 20,
    long_values: true,
    long_value_steps: u64::MAX,
};

/// A worker handles one request at a time, and its memory limit applies to the whole process. The
/// tests of this folder therefore run one at a time.
fn lock() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A database on which statements run.
struct Fixture {
    databases: Databases,
    image: ByteBuf,
    _lock: MutexGuard<'static, ()>,
}

impl Fixture {
    fn of(script: &str) -> Self {
        let lock = lock();
        let mut databases = Databases::new().unwrap();
        let image = build_image(
            &mut databases,
            Build {
                scripts: vec![script.to_owned()],
                ..Build::default()
            },
        );
        Self {
            databases,
            image,
            _lock: lock,
        }
    }

    fn run(&mut self, sql: &str, steps: u64, limits: Limits, order: ReadOrder) -> Ran {
        let image = Image {
            hash: [1; 32],
            bytes: Some(self.image.clone()),
        };
        let statements = vec![sql.to_owned()];
        let run = Run {
            statements,
            on: vec![(image, steps)],
            limits,
            order,
            reply_bytes: u64::MAX,
        };
        match self.databases.reply(&Request::Run(run)) {
            Reply::Ran(ran) => ran.into_iter().flatten().next().unwrap(),
            other => panic!("not run: {other:?}"),
        }
    }

    fn query(&mut self, sql: &str) -> Ran {
        self.run(sql, 2_000_000, LIMITS, ReadOrder::Stored)
    }

    fn value_of(&mut self, expression: &str) -> String {
        let ran = self.query(&format!("select {expression}"));
        assert_eq!(ran.end, End::Rows, "{expression}");
        ran.rows.cells().next().unwrap().to_string()
    }
}

fn try_build(databases: &mut Databases, build: Build) -> Result<ByteBuf, String> {
    match databases.reply(&Request::Build(build)) {
        Reply::Built(built) => built,
        other => panic!("not built: {other:?}"),
    }
}

fn build_image(databases: &mut Databases, build: Build) -> ByteBuf {
    try_build(databases, build).unwrap()
}
