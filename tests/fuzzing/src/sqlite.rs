//! SQL statements and database images, as workers run and read them.
//!
//! Properties: a run is within its limits; nothing is written; the same statement on the same image
//! has the same result and steps, whatever ran before it; the node accepts every reply.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use assay_sqlbox::Databases;
use assay_worker::fuzzing::{reply, write};
use assay_worker::query::{Build, End, Image, Limits, Ran, ReadOrder, Reply, Request, Run, Table};
use serde_bytes::ByteBuf;

const SCRIPT: &str = "create table t(a integer primary key, b text, c real, d blob);
    insert into t values (1, 'x', 1.5, x'00'), (2, 'y', -2.5, null), (3, null, 1e300, x'ff'), (4, '2024-02-29', 0, '[1]');
    create table u(a references t, n integer unique); insert into u values (1, 10), (1, 20), (3, 30);
    create view v as select b, sum(n) as s from t join u using (a) group by b;
    create index i on t(b);";

/// Returns everything that the database contains.
const CONTENT: &str = "select (select group_concat(quote(a) || quote(b) || quote(c) || quote(d)) \
    from t), (select group_concat(quote(a) || quote(n)) from u), (select group_concat(quote(sql)) \
    from sqlite_schema)";

const STEPS: u64 = 100_000;

const LIMITS: Limits = Limits {
    rows: 200,
    bytes: 100_000,
    memory_bytes: 16 << 20,
    long_values: false,
    long_value_steps: STEPS / 2,
};

/// Most tables of an image that are read.
const MOST_TABLES: usize = 4;

/// The shortest page of a database, in bytes.
const SHORTEST: usize = 512;

/// A worker answers one request at a time, and memory is limited for the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a statement. The bits of the first byte select reverse scans, long values and reversed
/// rows; the rest is SQL.
pub fn statement(bytes: &[u8]) {
    static IMAGE: LazyLock<ByteBuf> = LazyLock::new(|| {
        let build = Build {
            scripts: vec![SCRIPT.to_owned()],
            ..Build::default()
        };
        build_with(&mut databases(), build).expect("the script makes a database")
    });
    let Some((flags, sql)) = bytes.split_first() else {
        return;
    };
    let Ok(sql) = std::str::from_utf8(sql) else {
        return;
    };
    let order = match flags & 5 {
        0 => ReadOrder::Stored,
        1 => ReadOrder::ReverseScans,
        _ => ReadOrder::ReversedRows,
    };
    let limits = Limits {
        long_values: flags & 2 == 2,
        ..LIMITS
    };
    let _turn = alone();
    let mut databases = databases();
    let content = ask(&mut databases, &IMAGE, CONTENT, ReadOrder::Stored, LIMITS);
    assert_eq!(content.end, End::Rows);
    let ran = ask(&mut databases, &IMAGE, sql, order, limits);
    check(&ran, limits);
    assert_eq!(
        ask(&mut databases, &IMAGE, CONTENT, ReadOrder::Stored, LIMITS),
        content,
        "{sql:?} leaves something behind"
    );
    let again = ask(&mut databases, &IMAGE, sql, order, limits);
    check_same(&again, &ran, sql);
    check_same(
        &ask(&mut self::databases(), &IMAGE, sql, order, limits),
        &ran,
        sql,
    );
}

/// Reads an image.
pub fn image(bytes: &[u8]) {
    if bytes.len() < SHORTEST {
        return;
    }
    let _turn = alone();
    let mut databases = databases();
    let build = |bytes: &[u8]| Build {
        image: Some(ByteBuf::from(bytes.to_vec())),
        ..Build::default()
    };
    let built = build_with(&mut databases, build(bytes));
    assert_eq!(
        build_with(&mut databases, build(bytes)),
        built,
        "deterministic"
    );
    let image = match built {
        Ok(image) => image,
        Err(message) => {
            assert!(!message.is_empty());
            return;
        }
    };
    let again = build_with(&mut databases, build(&image));
    assert_eq!(
        again.as_ref(),
        Ok(&image),
        "an image that was built is unchanged"
    );
    let Some(tables) = describe(&mut databases, &image) else {
        return;
    };
    assert_eq!(
        describe(&mut self::databases(), &image).as_ref(),
        Some(&tables),
        "deterministic"
    );
    for table in tables.iter().take(MOST_TABLES) {
        let sql = format!("select * from \"{}\"", table.name.replace('"', "\"\""));
        for order in [ReadOrder::Stored, ReadOrder::ReversedRows] {
            let Some(ran) = try_ask(&mut databases, &image, &sql, order, LIMITS) else {
                continue;
            };
            check(&ran, LIMITS);
            let again = try_ask(&mut self::databases(), &image, &sql, order, LIMITS)
                .expect("the image opens again");
            check_same(&again, &ran, &sql);
        }
    }
}

fn databases() -> Databases {
    Databases::new().expect("SQLite works in this process")
}

/// The reply that the node receives to this request.
fn received(databases: &mut Databases, request: &Request) -> Reply {
    let sent = write(&databases.reply(request)).expect("a reply is written");
    reply::<Request>(&sent).expect("the node accepts a reply")
}

fn build_with(databases: &mut Databases, build: Build) -> Result<ByteBuf, String> {
    match received(databases, &Request::Build(build)) {
        Reply::Built(built) => built,
        other => panic!("not built: {other:?}"),
    }
}

/// The tables of an image; `None` if it cannot be read.
fn describe(databases: &mut Databases, image: &ByteBuf) -> Option<Vec<Table>> {
    match received(databases, &Request::Describe(named(image))) {
        Reply::Described(tables) => Some(tables),
        Reply::Unable(_) => None,
        other => panic!("not described: {other:?}"),
    }
}

fn named(image: &ByteBuf) -> Image {
    Image {
        hash: [0; 32],
        bytes: Some(image.clone()),
    }
}

fn ask(
    databases: &mut Databases,
    image: &ByteBuf,
    sql: &str,
    order: ReadOrder,
    limits: Limits,
) -> Ran {
    try_ask(databases, image, sql, order, limits).expect("the image opens")
}

/// Runs a statement; `None` if the image cannot be opened.
fn try_ask(
    databases: &mut Databases,
    image: &ByteBuf,
    sql: &str,
    order: ReadOrder,
    limits: Limits,
) -> Option<Ran> {
    let on = vec![(named(image), STEPS)];
    let run = Run {
        statements: vec![sql.to_owned()],
        on,
        limits,
        order,
        reply_bytes: u64::MAX,
    };
    match received(databases, &Request::Run(run)) {
        Reply::Ran(runs) => runs.into_iter().flatten().next(),
        Reply::Unable(_) => None,
        other => panic!("not run: {other:?}"),
    }
}

fn check(ran: &Ran, limits: Limits) {
    assert!(ran.steps <= STEPS, "{} steps", ran.steps);
    assert!(
        ran.rows.len() as u64 <= limits.rows && ran.rows.bytes() as u64 <= limits.bytes,
        "{ran:?}"
    );
    if let End::Denied(message) | End::Syntax(message) | End::Error(message) = &ran.end {
        assert!(!message.is_empty());
    }
}

/// Asserts that two runs are the same. How much memory SQLite has in use before a run may decide
/// one that is at its limit.
fn check_same(again: &Ran, ran: &Ran, sql: &str) {
    if ![&again.end, &ran.end].contains(&&End::OutOfMemory) {
        assert_eq!(again, ran, "{sql:?}");
    }
}
