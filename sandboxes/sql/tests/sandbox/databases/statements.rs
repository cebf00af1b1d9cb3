//! What statements return and may do.

use assay_worker::query::{End, Limits, Ran, ReadOrder, Value};

use super::{Fixture, LIMITS, SCHEMA};

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
                ReadOrder::Stored
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
        first(fixture.run("select a from t", 10_000, LIMITS, ReadOrder::ReverseScans)),
        "3"
    );
    assert_eq!(
        first(fixture.run("select a from t", 10_000, LIMITS, ReadOrder::Stored)),
        "1"
    );
    assert_eq!(
        first(fixture.run(
            "select a from t order by a",
            10_000,
            LIMITS,
            ReadOrder::ReverseScans
        )),
        "1"
    );
}

#[test]
fn reversed_rows_reach_statements_that_sort_or_group() {
    let script = "create table t(id integer not null, g text, w int generated always as (id * 2), \
                  primary key (id)); create index by_g on t(g);
                  create table u(a primary key, b) without rowid;
                  insert into t(id, g) values (1, 'x'), (2, 'y'), (3, 'x'), (4, 'y');
                  insert into u values (1, 2), (2, 1)";
    let mut fixture = Fixture::of(script);
    let mut of = |sql: &str, order: ReadOrder| {
        let ran = fixture.run(sql, 10_000, LIMITS, order);
        assert_eq!(ran.end, End::Rows, "{sql}");
        let cells: Vec<String> = ran.rows.cells().map(|cell| cell.to_string()).collect();
        cells.join(" ")
    };
    for (sql, stored, reversed) in [
        (
            "select group_concat(w) from t group by +g",
            "'2,6' '4,8'",
            "'6,2' '8,4'",
        ),
        (
            "select first_value(id) over (partition by +g) from t",
            "1 1 2 2",
            "3 3 4 4",
        ),
        ("select a from u order by 0 * b", "1 2", "1 2"),
        ("select id from t order by 0 * w", "1 2 3 4", "4 3 2 1"),
    ] {
        assert_eq!(of(sql, ReadOrder::Stored), stored, "{sql}");
        assert_eq!(of(sql, ReadOrder::ReversedRows), reversed, "{sql}");
    }
}

#[test]
fn row_ids_are_read_from_the_original() {
    let script = "create table t(a); insert into t values (7), (8), (9)";
    let mut fixture = Fixture::of(script);
    let mut of = |sql: &str| {
        let ran = fixture.run(sql, 10_000, LIMITS, ReadOrder::ReversedRows);
        let cells: Vec<String> = ran.rows.cells().map(|cell| cell.to_string()).collect();
        cells.join(" ")
    };
    assert_eq!(of("select a from t order by 1 + 0 * a"), "9 8 7");
    assert_eq!(of("select a from t order by rowid"), "7 8 9");
    assert_eq!(of("select oid, a from t where a > 7 order by a"), "2 8 3 9");
}
