//! Builds, describes and queries databases in this process.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing unwrap is a failing test"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_sqlbox::Databases;
use assay_worker::query::{
    Build, End, Image, Limits, Ran, Reply, Request, Rows, Run, SAMPLE_BYTES, SAMPLE_CELL,
    TableRows, Value,
};
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
};

/// A worker handles one request at a time, and its memory limit applies to the whole process. The
/// tests of this file therefore run one at a time.
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

    fn run(&mut self, sql: &str, steps: u64, limits: Limits, reverse: bool) -> Ran {
        let image = Image {
            hash: [1; 32],
            bytes: Some(self.image.clone()),
        };
        let statements = vec![sql.to_owned()];
        let run = Run {
            statements,
            on: vec![(image, steps)],
            limits,
            reverse,
            reply_bytes: u64::MAX,
        };
        match self.databases.reply(&Request::Run(run)) {
            Reply::Ran(ran) => ran.into_iter().flatten().next().unwrap(),
            other => panic!("not run: {other:?}"),
        }
    }

    fn query(&mut self, sql: &str) -> Ran {
        self.run(sql, 2_000_000, LIMITS, false)
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

#[test]
fn queries_return_their_rows() {
    let mut fixture = Fixture::of(SCHEMA);
    let ran = fixture.query("select a, b, c as see from t -- all\n order by a;; -- end");
    assert_eq!(
        (ran.end, ran.columns.join(" ").as_str()),
        (End::Rows, "a b see")
    );
    let rows: Vec<_> = ran.rows.rows().collect();
    assert_eq!(
        rows[0],
        [Value::Integer(1), Value::Text(b"x"), Value::Real(1.5)]
    );
    assert_eq!(rows[2], [Value::Integer(3), Value::Null, Value::Null]);
    assert!(ran.steps > 10 && ran.steps < 200, "{}", ran.steps);
    for query in [
        "values (1), (2)",
        "with x(y) as (select 7) select y from x",
        "select * from json_each('[1,2]')",
    ] {
        assert_eq!(fixture.query(query).end, End::Rows, "{query}");
    }
}

#[test]
fn accepts_only_a_single_query() {
    let mut fixture = Fixture::of(SCHEMA);
    let nothing = ["", " ; ", "-- select 1", "/* open", "\u{feff}"];
    nothing
        .iter()
        .for_each(|text| assert_eq!(fixture.query(text).end, End::Nothing, "{text:?}"));
    let several = [
        "select 1; select 2",
        "select 1; drop table t",
        "select 1; and more",
    ];
    several
        .iter()
        .for_each(|text| assert_eq!(fixture.query(text).end, End::Several, "{text}"));
    let not_queries = [
        "explain select 1",
        "explain query plan select * from t",
        "vacuum",
        "vacuum into '/tmp/x'",
        "reindex",
    ];
    not_queries
        .iter()
        .for_each(|text| assert_eq!(fixture.query(text).end, End::NotAQuery, "{text}"));
    let syntax = [
        "selec 1",
        "select 'open",
        "select (1",
        "select 1\0; drop table t",
        "I cannot say.",
    ];
    for text in syntax {
        let end = fixture.query(text).end;
        assert!(matches!(end, End::Syntax(_)), "{text}: {end:?}");
    }
    let errors = [
        "select absent from t",
        "select * from nowhere",
        "select abs(-9223372036854775808)",
        "select edit(1)",
        "select ?1",
    ];
    errors
        .iter()
        .for_each(|text| assert!(matches!(fixture.query(text).end, End::Error(_)), "{text}"));
}

#[test]
fn statements_cannot_write_or_reach_files() {
    let mut fixture = Fixture::of(SCHEMA);
    let denied = [
        "insert into t values (4, '', 0)",
        "insert into t(a) values (4) returning a",
        "update t set a = 5",
        "delete from t",
        "replace into t(a) values (1)",
        "create table z(x)",
        "create temp table z as select * from t",
        "create view v as select 1",
        "create temp trigger r before insert on t begin select 1; end",
        "create virtual table f using fts5(a)",
        "drop table t",
        "alter table t rename to u",
        "analyze",
        "attach '/tmp/x' as x",
        "attach ':memory:' as x",
        "detach main",
        "begin",
        "commit",
        "savepoint s",
        "pragma writable_schema=on",
        "pragma table_info(t)",
        "pragma case_sensitive_like=on",
        "select * from pragma_table_info('t')",
        "select * from pragma_database_list",
        "select load_extension('/tmp/x.so')",
        "select fts3_tokenizer('simple')",
        "select json_patch('{}', '{}')",
        "select sqlite_version()",
        "select * from dbstat",
        "with d as (select 1) delete from t",
    ];
    for text in denied {
        let end = fixture.query(text).end;
        assert!(matches!(end, End::Denied(_)), "{text}: {end:?}");
    }
    for absent in [
        "select readfile('/etc/passwd')",
        "select writefile('/tmp/x', 'x')",
        "select * from fsdir('/')",
    ] {
        let end = fixture.query(absent).end;
        assert!(
            matches!(end, End::Error(_) | End::Denied(_)),
            "{absent}: {end:?}"
        );
    }
    assert_eq!(
        fixture.value_of("(select count(*) from t) || (select count(*) from sqlite_schema)"),
        "'32'"
    );
}

#[test]
fn statements_do_not_affect_later_ones() {
    let mut fixture = Fixture::of(SCHEMA);
    let query = "select random(), hex(randomblob(4)), a like 'X', changes(), last_insert_rowid() \
                 from t order by 1";
    let first = fixture.query(query);
    for other in [
        "select random() from n",
        "pragma case_sensitive_like=on",
        "insert into t(a) values (9)",
        "select 1/0",
    ] {
        fixture.query(other);
        assert_eq!(fixture.query(query), first, "after `{other}`");
    }
    let endless =
        "with recursive c(x) as (select 1 union all select x + 1 from c) select max(x) from c";
    assert_eq!(fixture.query(endless).end, End::OutOfSteps);
    assert_eq!(fixture.query(query), first);
    let heavy = "select json_group_array(hex(zeroblob(5000))) from n a, n b";
    assert_eq!(
        fixture
            .run(
                heavy,
                2_000_000,
                Limits {
                    memory_bytes: 4 << 20,
                    ..LIMITS
                },
                false
            )
            .end,
        End::OutOfMemory
    );
    assert_eq!(fixture.query(query), first);
}

#[test]
fn the_clock_is_constant() {
    let mut fixture = Fixture::of(SCHEMA);
    assert_eq!(fixture.value_of("datetime('now')"), "'2026-01-01 00:00:00'");
    assert_eq!(
        fixture.value_of("current_timestamp || current_date || current_time"),
        "'2026-01-01 00:00:002026-01-0100:00:00'"
    );
    assert_eq!(
        fixture.value_of("datetime('now', 'localtime')"),
        "'2026-01-01 00:00:00'"
    );
    assert_eq!(
        fixture.value_of("unixepoch() - unixepoch('2026-01-01')"),
        "0"
    );
}

#[test]
fn enforces_limits() {
    let mut fixture = Fixture::of(SCHEMA);
    let small = Limits {
        rows: 10,
        bytes: 500,
        memory_bytes: 8 << 20,
        long_values: true,
    };
    let of = |fixture: &mut Fixture, sql: &str| fixture.run(sql, 100_000, small, false).end;
    assert_eq!(of(&mut fixture, "select n from n limit 10"), End::Rows);
    assert_eq!(
        of(&mut fixture, "select n from n limit 11"),
        End::TooManyRows
    );
    assert_eq!(
        of(&mut fixture, "select hex(zeroblob(300))"),
        End::TooManyRows
    );
    assert_eq!(
        of(&mut fixture, "select count(*) from n a, n b, n c"),
        End::OutOfSteps
    );
    assert_eq!(
        of(&mut fixture, "select length(zeroblob(200000))"),
        End::TooLong
    );
    assert_eq!(
        of(&mut fixture, "select printf('%.*c', 1000000000, 'x')"),
        End::TooLong
    );
    assert_eq!(
        of(&mut fixture, "select printf('%1000000000d', 1)"),
        End::TooLong
    );
    assert_eq!(
        of(
            &mut fixture,
            "select replace(hex(zeroblob(20000)), '0', hex(zeroblob(20000)))"
        ),
        End::TooLong
    );
    assert_eq!(
        of(&mut fixture, &format!("select '{}'", "x".repeat(100_000))),
        End::TooLong
    );
    let end = of(&mut fixture, &format!("select 1{}", "+1".repeat(5_000)));
    assert!(matches!(end, End::Error(_)), "{end:?}");
    assert_eq!(
        of(&mut fixture, &format!("select max(1{})", ",1".repeat(99))),
        End::Rows
    );
    let end = of(&mut fixture, &format!("select max(1{})", ",1".repeat(100)));
    assert!(
        matches!(&end, End::Error(message) if message.contains("too many arguments")),
        "{end:?}"
    );
}

#[test]
fn limits_values_unless_the_task_needs_long_ones() {
    let mut fixture = Fixture::of(SCHEMA);
    let short = Limits {
        long_values: false,
        ..LIMITS
    };
    let mut of = |sql: &str, limits: Limits| fixture.run(sql, 100_000, limits, false).end;
    assert_eq!(of("select length(hex(zeroblob(7000)))", short), End::Rows);
    assert_eq!(
        of("select length(hex(zeroblob(9000)))", short),
        End::TooLong
    );
    assert_eq!(of("select length(hex(zeroblob(9000)))", LIMITS), End::Rows);
    assert_eq!(
        of("select json_valid(hex(zeroblob(5000)))", short),
        End::TooLong
    );
    let long = "create table l(x); insert into l values (hex(zeroblob(20000)))";
    drop(fixture);
    let mut fixture = Fixture::of(long);
    assert_eq!(
        fixture
            .run("select length(x || x) from l", 10_000, short, false)
            .end,
        End::TooLong
    );
    assert_eq!(
        fixture
            .run(
                "select length(x), json_valid(x) from l",
                10_000,
                short,
                false
            )
            .end,
        End::Rows
    );
}

#[test]
fn slow_functions_are_charged() {
    let mut fixture = Fixture::of(SCHEMA);
    let slow = [
        "select max(instr(hex(zeroblob(44000)), hex(zeroblob(23000)) || '7' || n)) from n",
        "select count(replace(hex(zeroblob(44000)), hex(zeroblob(23000)) || '7', n)) from n",
        "select count(*) from n where hex(zeroblob(40000)) like '%0%0%0%0%0%0%0%0%0%0%1' || n",
        "select count(*) from n where hex(zeroblob(40000)) glob '*0*0*0*0*0*0*0*0*0*0*1' || n",
        "select count(trim(hex(zeroblob(40000)) || n, hex(zeroblob(40000)))) from n",
    ];
    for sql in slow {
        assert_eq!(
            fixture.run(sql, 100_000, LIMITS, false).end,
            End::OutOfSteps,
            "{sql}"
        );
    }
}

#[test]
fn replaced_functions_match_the_originals() {
    let mut fixture = Fixture::of(SCHEMA);
    let expected = [
        ("instr('añb', 'b')", "3"),
        ("instr('abc', '')", "1"),
        ("instr(x'616263', x'63')", "3"),
        ("instr(1.5, '.')", "2"),
        ("instr(null, 'a')", "NULL"),
        ("replace('aaa', 'a', 'ba')", "'bababa'"),
        ("replace(121, 2, 3)", "'131'"),
        ("replace('abc', '', 'x')", "'abc'"),
        ("replace('abc', 'b', null)", "NULL"),
        ("replace('abc', '', null)", "'abc'"),
        ("'ABC' like 'a_c'", "1"),
        ("'É' like 'é'", "0"),
        ("'a%c' like 'a\\%c' escape '\\'", "1"),
        ("'abc' like 'a\\%c' escape '\\'", "0"),
        ("'abc' like 'abc\\' escape '\\'", "0"),
        ("'' like '%'", "1"),
        ("'a' like ''", "0"),
        ("10 like '1%'", "1"),
        ("0.1 like '0.1'", "1"),
        ("null like 'a'", "NULL"),
        ("'aXbXc' like '%x%c'", "1"),
        ("'ABC' glob 'a*'", "0"),
        ("'abc' glob '[a-b]?[^d]'", "1"),
        ("'a]c' glob 'a[]]c'", "1"),
        ("'a-c' glob 'a[b-]c'", "1"),
        ("'a[' glob 'a['", "0"),
        ("trim('  a b ')", "'a b'"),
        ("ltrim('xxaxx', 'x')", "'axx'"),
        ("rtrim('xyaxy', 'yx')", "'xya'"),
        ("trim(null)", "NULL"),
        (
            "printf('%05.1f|%-4d|%s|%%|%,d', 2.26, 7, 'é', 1234567)",
            "'002.3|7   |é|%|1,234,567'",
        ),
        ("printf('%*d', 6, 42)", "'    42'"),
        ("format('%.3e', 12345.678)", "'1.235e+04'"),
        ("printf(null)", "NULL"),
        ("round(sqrt(16.0), 1)", "4.0"),
        ("power(2, 10)", "1024.0"),
        ("\"not a column\"", "'not a column'"),
        ("concat('a', null, 1)", "'a1'"),
    ];
    for (expression, value) in expected {
        assert_eq!(fixture.value_of(expression), value, "{expression}");
    }
    let error = fixture.query("select 'a' like 'b' escape 'cd'").end;
    assert!(
        matches!(&error, End::Error(message) if message.contains("ESCAPE")),
        "{error:?}"
    );
}

#[test]
fn reverses_rows_whose_order_is_undefined() {
    let mut fixture = Fixture::of(SCHEMA);
    let first = |ran: Ran| ran.rows.cells().next().unwrap().to_string();
    assert_eq!(
        first(fixture.run("select a from t", 10_000, LIMITS, true)),
        "3"
    );
    assert_eq!(
        first(fixture.run("select a from t", 10_000, LIMITS, false)),
        "1"
    );
    assert_eq!(
        first(fixture.run("select a from t order by a", 10_000, LIMITS, true)),
        "1"
    );
}

#[test]
fn scripts_can_only_build_databases() {
    let _lock = lock();
    let mut databases = Databases::new().unwrap();
    let mut of = |script: &str| {
        try_build(
            &mut databases,
            Build {
                scripts: vec![script.to_owned()],
                ..Build::default()
            },
        )
    };
    let dump = "pragma foreign_keys=off; begin transaction; create table a(x references b); insert into a values (7);
        create table b(y integer primary key autoincrement); insert into b(y) values (7); create view v as select 1;
        create index i on a(x); create trigger r after insert on a begin delete from b; end; commit;";
    assert!(of(dump).is_ok());
    assert!(of("begin; create table a(x)").is_ok());
    let rejects = |result: Result<ByteBuf, String>, part: &str| {
        let message = result.unwrap_err();
        assert!(message.contains(part), "{message}");
    };
    rejects(
        of("create table a(x); insert into b values (1)"),
        "no such table: b",
    );
    rejects(of("create table a(x"), "incomplete input");
    rejects(
        of("create table a(x);\0 create table b(x)"),
        "NUL character",
    );
    rejects(of("attach '/tmp/x' as x"), "attaching a database");
    rejects(
        of("create virtual table f using fts5(a)"),
        "a virtual table",
    );
    rejects(
        of(
            "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from \
             c",
        ),
        "steps",
    );
    let image = Some(ByteBuf::from(b"not a database at all".to_vec()));
    rejects(
        try_build(
            &mut databases,
            Build {
                image,
                ..Build::default()
            },
        ),
        "not an SQLite database",
    );
}

#[test]
fn damaged_images_are_rejected() {
    let mut fixture = Fixture::of(SCHEMA);
    let mut image = fixture.image.to_vec();
    let page = usize::from(u16::from_be_bytes([image[16], image[17]]));
    // An interior page of a table: its first child becomes its last one as well.
    let interior = (page..image.len())
        .step_by(page)
        .find(|at| image[*at] == 5)
        .unwrap();
    let cell = interior
        + usize::from(u16::from_be_bytes([
            image[interior + 12],
            image[interior + 13],
        ]));
    image.copy_within(cell..cell + 4, interior + 8);
    let build = Build {
        image: Some(ByteBuf::from(image)),
        ..Build::default()
    };
    let message = try_build(&mut fixture.databases, build).unwrap_err();
    assert!(message.contains("cannot be read: Tree"), "{message}");
}

#[test]
fn replacing_rows_preserves_the_schema() {
    let mut fixture = Fixture::of(
        "create table p(id integer primary key, name text not null unique); insert into p values (1, 'a');
         create table c(p references p, n check (n > 0)); create view v as select count(*) k from p;
         create trigger r after insert on p begin insert into c values (new.id, 1); end;",
    );
    let mut parents = Rows::new(2);
    parents.push([Value::Integer(5), Value::Text(b"x")]);
    parents.push([Value::Integer(6), Value::Text(b"x")]);
    let mut children = Rows::new(2);
    children.push([Value::Integer(5), Value::Integer(2)]);
    children.push([Value::Integer(5), Value::Integer(-2)]);
    let rows = |table: &str, columns: [&str; 2], rows: Rows| TableRows {
        table: table.to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    };
    let rows = vec![
        rows("p", ["id", "name"], parents),
        rows("c", ["p", "n"], children),
    ];
    let build = Build {
        image: Some(fixture.image.clone()),
        scripts: Vec::new(),
        rows: Some(rows),
    };
    fixture.image = build_image(&mut fixture.databases, build);
    assert_eq!(
        fixture.value_of(
            "(select group_concat(id) from p) || (select count(*) from c) || (select k from v)"
        ),
        "'511'"
    );
}

#[test]
fn describes_tables_keys_and_samples() {
    let mut fixture = Fixture::of(
        "create table p(id integer primary key, name text not null unique, note text); insert into p values (1, 'a', null);
         create table c(a, b, p references p(id), foreign key (a, b) references q, unique (b, a)); create table q(x, y, primary key (x, y));",
    );
    let image = Image {
        hash: [0; 32],
        bytes: Some(fixture.image.clone()),
    };
    let Reply::Described(tables) = fixture.databases.reply(&Request::Describe(image)) else {
        panic!("not described")
    };
    let names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["p", "c", "q"]);
    assert_eq!(
        (tables[0].keys.clone(), tables[0].has_primary_key),
        (vec![vec![0], vec![1]], true)
    );
    assert!(tables[0].columns[1].not_null && tables[0].columns[2].has_null);
    assert_eq!(
        (tables[1].keys.clone(), tables[1].has_primary_key),
        (vec![vec![1, 0]], false)
    );
    let keys: Vec<_> = tables[1]
        .foreign_keys
        .iter()
        .map(|key| (key.columns.clone(), key.table.as_str()))
        .collect();
    assert!(
        keys.contains(&(vec![0, 1], "q")) && keys.contains(&(vec![2], "p")),
        "{keys:?}"
    );
    assert_eq!((tables[0].count, tables[0].sample.len()), (1, 1));
}

#[test]
fn caches_open_images() {
    let mut fixture = Fixture::of(SCHEMA);
    assert_eq!(fixture.query("select 1").end, End::Rows);
    let mut run_by_hash = |hash: u8| {
        let on = vec![(
            Image {
                hash: [hash; 32],
                bytes: None,
            },
            1_000,
        )];
        let statements = vec!["select 1".to_owned()];
        let run = Run {
            statements,
            on,
            limits: LIMITS,
            reverse: false,
            reply_bytes: u64::MAX,
        };
        fixture.databases.reply(&Request::Run(run))
    };
    assert!(matches!(run_by_hash(1), Reply::Ran(_)) && matches!(run_by_hash(2), Reply::Missing));
}

#[test]
fn a_reply_respects_its_byte_limit() {
    let mut fixture = Fixture::of(SCHEMA);
    let (large, small) = ("select n, hex(zeroblob(100)) from n", "select 1");
    let size = fixture.query(large).bytes();
    let mut runs = |statements: [&str; 2], reply_bytes: u64| {
        let image = Image {
            hash: [1; 32],
            bytes: Some(fixture.image.clone()),
        };
        let on = vec![(image, 2_000_000); 3];
        let statements = statements.map(str::to_owned).to_vec();
        fixture.databases.reply(&Request::Run(Run {
            statements,
            on,
            limits: LIMITS,
            reverse: false,
            reply_bytes,
        }))
    };
    let counts = |reply: Reply| match reply {
        Reply::Ran(ran) => {
            assert!(ran.iter().flatten().all(|ran| ran.end == End::Rows));
            ran.iter().map(Vec::len).collect::<Vec<_>>()
        }
        other => panic!("not run: {other:?}"),
    };
    assert_eq!(counts(runs([large, small], u64::MAX)), [3, 3]);
    assert_eq!(counts(runs([large, small], 4 * size)), [3, 3]);
    assert_eq!(
        counts(runs([large, small], 3 * size)),
        [3],
        "another statement does not fit"
    );
    assert_eq!(
        counts(runs([large, small], 3 * size - 1)),
        [2],
        "the last database does not fit"
    );
    assert_eq!(
        counts(runs([small, large], 2 * size)),
        [3, 1],
        "the last databases of the second statement do not fit"
    );
    assert_eq!(counts(runs([large, small], size)), [1]);
    match runs([large, small], size - 1) {
        Reply::TooLarge { bytes } => assert_eq!(bytes, size),
        other => panic!("{other:?} exceeds the limit"),
    }
}

#[test]
fn descriptions_truncate_long_values() {
    let mut fixture = Fixture::of(&format!(
        "create table l(x text, y blob); create table m(z, a, b, c, d, e, f);
         with recursive c(i) as (select 1 union all select i + 1 from c where i < 300)
         insert into l select replace(hex(zeroblob({SAMPLE_CELL} / 2)), '0', 'é'), zeroblob(2 * {SAMPLE_CELL}) from c;
         with recursive c(i) as (select 1 union all select i + 1 from c where i < 200), v(b) as (select zeroblob(20000))
         insert into m select i, b, b, b, b, b, b from c, v;"
    ));
    let image = Image {
        hash: [0; 32],
        bytes: Some(fixture.image.clone()),
    };
    let Reply::Described(tables) = fixture.databases.reply(&Request::Describe(image)) else {
        panic!("not described")
    };
    let [l, m] = tables.as_slice() else {
        panic!("{} tables", tables.len())
    };
    assert_eq!(
        (l.count, l.columns[0].is_distinct, m.columns[0].is_distinct),
        (300, false, true)
    );
    let first: Vec<_> = l.sample.cells().take(2).collect();
    assert_eq!(
        first[0],
        Value::Text("é".repeat(SAMPLE_CELL / 2).as_bytes())
    );
    assert_eq!(first[1], Value::Blob(&vec![0; SAMPLE_CELL]));
    let sampled = l.sample.bytes() + m.sample.bytes();
    assert!(
        (SAMPLE_BYTES..SAMPLE_BYTES + 7 * SAMPLE_CELL).contains(&sampled),
        "{sampled} bytes"
    );
    assert!(
        l.sample.len() == 150 && m.sample.len() < 150,
        "{} and {} rows",
        l.sample.len(),
        m.sample.len()
    );
}
