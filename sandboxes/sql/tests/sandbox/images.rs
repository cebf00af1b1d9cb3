//! Hostile and broken images. Each request about them is answered or rejected within limits on
//! steps and memory, and does not end the process.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing unwrap is a failing test"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_sqlbox::Databases;
use assay_worker::query::{Build, End, Image, Limits, Ran, ReadOrder, Reply, Request, Run, Table};
use rusqlite::Connection;
use serde_bytes::ByteBuf;

const LIMITS: Limits = Limits {
    rows: 100_000,
    bytes: 16_000_000,
    memory_bytes: 256 << 20,
    long_values: false,
    long_value_steps: u64::MAX,
};

/// Page size of the images of these tests, in bytes.
const PAGE: usize = 512;

const ENDLESS: &str =
    "with recursive c(x) as (select 1 union all select x + 1 from c) select x from c";

/// Memory is limited for the whole process, so one test runs at a time.
struct Fixture {
    databases: Databases,
    _lock: MutexGuard<'static, ()>,
}

impl Fixture {
    /// Must be called before any other use of SQLite, because it installs the allocator.
    fn new() -> Self {
        static LOCK: Mutex<()> = Mutex::new(());
        let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        Self {
            databases: Databases::new().unwrap(),
            _lock: lock,
        }
    }

    fn build(&mut self, image: &[u8]) -> Result<ByteBuf, String> {
        let build = Build {
            image: Some(ByteBuf::from(image)),
            ..Build::default()
        };
        match self.databases.reply(&Request::Build(build)) {
            Reply::Built(built) => built,
            other => panic!("not built: {other:?}"),
        }
    }

    fn describe(&mut self, image: &[u8]) -> Result<Vec<Table>, String> {
        match self.databases.reply(&Request::Describe(image_of(0, image))) {
            Reply::Described(tables) => Ok(tables),
            Reply::Unable(message) => Err(message),
            other => panic!("not described: {other:?}"),
        }
    }

    /// Runs a statement on an image, which is identified by `number`.
    fn run(&mut self, number: u64, image: &[u8], sql: &str) -> Result<Ran, String> {
        let on = vec![(image_of(number, image), 2_000_000)];
        let run = Run {
            statements: vec![sql.to_owned()],
            on,
            limits: LIMITS,
            order: ReadOrder::Stored,
            reply_bytes: u64::MAX,
        };
        match self.databases.reply(&Request::Run(run)) {
            Reply::Ran(ran) => Ok(ran.into_iter().flatten().next().unwrap()),
            Reply::Unable(message) => Err(message),
            other => panic!("not run: {other:?}"),
        }
    }

    /// Asserts that every request about an image is rejected with this message.
    fn assert_rejects(&mut self, image: &[u8], expected: &str) {
        let built = self.build(image).map(drop);
        let described = self.describe(image).map(drop);
        let ran = self.run(1, image, "select 1").map(drop);
        for rejected in [built, described, ran] {
            let message = rejected.unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}

fn image_of(number: u64, image: &[u8]) -> Image {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&number.to_le_bytes());
    Image {
        hash,
        bytes: Some(ByteBuf::from(image)),
    }
}

/// An image built by a script without restrictions.
fn unrestricted_image(script: &str) -> Vec<u8> {
    let mut connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(&format!("pragma page_size = {PAGE};"))
        .unwrap();
    connection.execute_batch(script).unwrap();
    connection.serialize("main").unwrap().to_vec()
}

fn u16_at(image: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([image[at], image[at + 1]]))
}

/// Sets all children of an inner page of a tree to the same page. Pages are counted from 0.
fn set_children(image: &mut [u8], page: usize, child: usize) {
    let start = page * PAGE;
    let child = u32::try_from(child + 1).unwrap().to_be_bytes();
    for cell in 0..u16_at(image, start + 3) {
        let at = start + u16_at(image, start + 12 + 2 * cell);
        image[at..at + 4].copy_from_slice(&child);
    }
    image[start + 8..start + 12].copy_from_slice(&child);
}

/// A table with too many rows to visit in an image of ordinary size: inner pages of its tree share
/// their children.
fn endless_table() -> Vec<u8> {
    let mut image = unrestricted_image(
        "create table t(a integer primary key, b text);
         with recursive c(i) as (select 1 union all select i + 1 from c where i < 20000) insert into t select i, printf('%030d', i) from c;",
    );
    let inner: Vec<usize> = (1..image.len() / PAGE)
        .filter(|page| image[page * PAGE] == 5)
        .take(9)
        .collect();
    assert_eq!(
        (inner.len(), inner[0]),
        (9, 1),
        "the root of the table is its first inner page"
    );
    inner
        .windows(2)
        .for_each(|pair| set_children(&mut image, pair[0], pair[1]));
    image
}

#[test]
fn endless_tables_are_rejected() {
    let mut fixture = Fixture::new();
    let image = endless_table();
    let built = fixture.build(&image).unwrap_err();
    assert!(built.contains("2nd reference to page"), "{built}");
    for rejected in [
        fixture.describe(&image).map(drop),
        fixture.run(1, &image, "select 1").map(drop),
    ] {
        let message = rejected.unwrap_err();
        assert!(
            message.contains("reading the database takes more than"),
            "{message}"
        );
    }
}

#[test]
fn checking_a_database_computes_no_generated_columns() {
    let mut fixture = Fixture::new();
    let image = unrestricted_image(
        "create table t(a, c as (hex(zeroblob(15000))) stored); insert into t(a) values (1), (null);
         alter table t add column b text as (zeroblob(2000000000));",
    );
    let image = fixture.build(&image).unwrap();
    let tables = fixture.describe(&image).unwrap();
    let columns: Vec<_> = tables[0]
        .columns
        .iter()
        .map(|column| (column.name.as_str(), column.has_null))
        .collect();
    assert_eq!(
        (tables.len(), tables[0].count, columns),
        (1, 2, vec![("a", true)])
    );
    assert_eq!(
        fixture
            .run(1, &image, "select count(a) from t")
            .unwrap()
            .end,
        End::Rows
    );
    assert_eq!(
        fixture.run(1, &image, "select b from t").unwrap().end,
        End::TooLong
    );
    // Values as long as stored ones are allowed.
    assert_eq!(
        fixture.run(1, &image, "select c || '' from t").unwrap().end,
        End::Rows
    );
}

#[test]
fn checking_a_database_evaluates_no_views_triggers_or_indexes() {
    let mut fixture = Fixture::new();
    let image = unrestricted_image(&format!(
        "create table t(a check (a < 10)); insert into t values (1), (2), (3);
         create view v as {ENDLESS}; create index i on t(a + 1); create index p on t(a) where a > 1;
         create trigger r after insert on t begin insert into t {ENDLESS}; end;
         create table filler(x); insert into filler values (zeroblob(20000));"
    ));
    let built = fixture.build(&image).unwrap();
    for image in [image.as_slice(), built.as_slice()] {
        let tables = fixture.describe(image).unwrap();
        let names: Vec<_> = tables
            .iter()
            .map(|table| (table.name.as_str(), table.count))
            .collect();
        assert_eq!(names, [("t", 3), ("filler", 1)]);
    }
    assert_eq!(
        fixture.run(1, &built, "select max(a) from t").unwrap().end,
        End::Rows
    );
    assert_eq!(
        fixture.run(1, &built, "select max(x) from v").unwrap().end,
        End::OutOfSteps
    );
}

#[test]
fn virtual_tables_are_not_described() {
    let mut fixture = Fixture::new();
    let image = unrestricted_image(
        "create virtual table f using fts5(x); insert into f values ('a'); create table t(a);",
    );
    let tables = fixture.describe(&image).unwrap();
    let names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
    assert!(
        names.contains(&"t") && names.contains(&"f_data") && !names.contains(&"f"),
        "{names:?}"
    );
}

#[test]
fn views_declared_as_tables_are_rejected() {
    let mut fixture = Fixture::new();
    for root in [0, 2] {
        let image = unrestricted_image(&format!(
            "create table t(a); pragma writable_schema = on;
             insert into sqlite_schema values ('table', 'v', 'v', {root}, 'create view v as {ENDLESS}');"
        ));
        fixture.assert_rejects(&image, "malformed database schema");
    }
}

#[test]
fn names_that_are_not_utf_8_are_rejected() {
    let mut fixture = Fixture::new();
    let mut image = unrestricted_image(
        "create table t(unusual, other); insert into t values (1, zeroblob(20000));",
    );
    let at = image
        .windows(7)
        .position(|window| window == b"unusual")
        .unwrap();
    image[at + 1] = 0xff;
    fixture.assert_rejects(&image, "not UTF-8");
}

#[test]
fn broken_images_are_answered_or_rejected() {
    let mut fixture = Fixture::new();
    let valid = unrestricted_image(
        "create table t(a integer primary key, b text collate nocase, c as (length(b)), unique (b, a));
         create table u(x, y real not null default 1, primary key (y, x)) without rowid; create view v as select b from t;
         create table p(t references t(a), n); create index i on p(n) where n > 3;
         with recursive c(i) as (select 1 union all select i + 1 from c where i < 400)
         insert into t select i, printf('%d text %0*d', i, i % 700, i) from c;
         insert into u select a, a / 3.0 from t; insert into p select a, a % 7 from t;",
    );
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random >> 33).unwrap() % limit
    };
    let statements = [
        "select * from t order by b",
        "select y, max(x) from u group by 1",
        "select * from v, p limit 900",
    ];
    let (mut answered, mut rejected) = (0, 0);
    for number in 1..=500 {
        let mut image = valid.clone();
        // Half of the images are changed only in the first pages, which contain the schema.
        let end = if number % 2 == 0 {
            image.len()
        } else {
            4 * PAGE
        };
        for _ in 0..=below(8) {
            let at = 16 + below(end - 16);
            image[at] = u8::try_from(below(256)).unwrap();
        }
        let built = fixture.build(&image).is_ok();
        let described = fixture.describe(&image).is_ok();
        let ran = statements
            .iter()
            .all(|sql| fixture.run(number, &image, sql).is_ok());
        for is_answered in [built, described, ran] {
            *(if is_answered {
                &mut answered
            } else {
                &mut rejected
            }) += 1;
        }
    }
    assert!(
        answered > 100 && rejected > 100,
        "{answered} answered, {rejected} rejected"
    );
}
