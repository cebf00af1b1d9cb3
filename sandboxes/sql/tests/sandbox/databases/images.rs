//! Databases are built, described and kept as images.

use assay_sqlbox::Databases;
use assay_worker::query::{
    Build, End, Image, ReadOrder, Reply, Request, Rows, Run, SAMPLE_BYTES, SAMPLE_CELL, TableRows,
    Value,
};
use serde_bytes::ByteBuf;

use super::{Fixture, LIMITS, SCHEMA, build_image, lock, try_build};

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
            order: ReadOrder::Stored,
            reply_bytes: u64::MAX,
        };
        fixture.databases.reply(&Request::Run(run))
    };
    assert!(matches!(run_by_hash(1), Reply::Ran(_)) && matches!(run_by_hash(2), Reply::Missing));
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
